"""How weights are found (C26, C15): one training step by hand, a whole run, and fine-tuning.

loss = −Σ_t log P(y_t | y_<t, source)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from cutaway import glass
from cutaway.decode import Translator
from cutaway.errors import InputError
from cutaway.glass import Trace
from cutaway.lessons.fine_tuning import fine_tuning_step
from cutaway.lessons.lesson import Claim, Lesson, Matrix, Picture, Question, Said, Series, Step
from cutaway.lessons.room import Room
from cutaway.lessons.trained_run import shown
from cutaway.model import Transformer
from cutaway.train.snapshots import read_index, read_snapshot

SOURCE = "The cat is on the mat."
TARGETS = {"fr": ("Le chat est sur le tapis.", "chat"), "zh": ("猫在垫子上。", "猫")}
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.98, 1e-9
STEPS = 12  # further steps on the same pair


@dataclass(frozen=True)
class Pair:
    """One sentence pair as ids."""

    source: Tensor  # (1, S)
    fed: Tensor  # (1, T) <start> first
    gold: Tensor  # (1, T) <end> last
    wanted: tuple[str, ...]
    word: int  # id of the token whose bias is followed
    name: str  # that token
    place: int  # where it is wanted


@dataclass(frozen=True)
class TrainingStep:
    """A recorded step: forward, loss, backward, update."""

    trace: Trace
    loss: float
    model: Transformer  # after the step
    optimizer: torch.optim.Optimizer


def pair_of(translator: Translator) -> Pair:
    """The cat on the mat and its translation in the model's target language."""
    language = (translator.folder.languages or ("en", "fr"))[1]
    target, word = TARGETS.get(language, TARGETS["fr"])
    ids = translator.target_tokenizer.encode(target, start=True, end=True)
    names = shown(translator.target_tokenizer, ids)
    place = next((at for at, name in enumerate(names[1:]) if name == word), 1)
    return Pair(
        source=torch.tensor([translator.tokenizer.encode(SOURCE, end=True)]),
        fed=torch.tensor([ids[:-1]]),
        gold=torch.tensor([ids[1:]]),
        wanted=names[1:],
        word=ids[place + 1],
        name=names[place + 1],
        place=place,
    )


def untrained(translator: Translator, snapshots: Path | None) -> Transformer:
    """The model as it was before its first update; without snapshots, one newly drawn."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = Transformer(translator.model.config)
    if snapshots is not None and any(e["update"] == 0 for e in read_index(snapshots)):
        model.load_state_dict(read_snapshot(snapshots, 0), strict=False)
    return model.eval()  # no dropout: the numbers are to be repeatable


def training_step(model: Transformer, pair: Pair) -> TrainingStep:
    """One update by Adam on one pair, recorded from the first product to the last weight."""
    optimizer = torch.optim.Adam(
        model.parameters(), lr=RATE, betas=(BETA1, BETA2), eps=EPSILON, foreach=False
    )
    with glass.record(model) as trace:
        logits = model(pair.source, pair.fed)
        log_probabilities = torch.log_softmax(logits, dim=-1)
        gold_term = log_probabilities.gather(-1, pair.gold.unsqueeze(-1))
        loss = -gold_term.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return TrainingStep(trace, float(loss.detach()), model, optimizer)


def loss_of(model: Transformer, pair: Pair) -> Tensor:
    """−Σ log P of the pair."""
    log_p = torch.log_softmax(model(pair.source, pair.fed), -1)
    return -log_p.gather(-1, pair.gold.unsqueeze(-1)).sum()


def tell(room: Room) -> Iterator[Step]:
    """The lesson, step by step."""
    translator = room.translator
    snapshots = None if room.folder is None else room.folder / "snapshots"
    if not translator.model.config.output_bias:
        raise InputError(
            "this model has no output bias, the weight this lesson follows; "
            "train one with output_bias = true, or run `cutaway demo`"
        )
    pair = pair_of(translator)
    model = untrained(translator, snapshots)
    by_difference = _by_difference(model, pair)
    step = training_step(model, pair)
    yield _loss(translator, step, pair)
    yield _gradient(step, pair, by_difference)
    yield _adam(step, pair)
    yield _again(step, pair)
    yield _whole_run(translator, snapshots, pair)
    yield fine_tuning_step(translator)


def _by_difference(model: Transformer, pair: Pair) -> float:
    """The gradient of the bias without calculus: nudge it both ways, in double precision."""
    bias = model.get_parameter("output.bias")
    nudge = 1e-4
    model.double()
    with torch.no_grad():
        bias[pair.word] += nudge
        more = float(loss_of(model, pair))
        bias[pair.word] -= 2 * nudge
        less = float(loss_of(model, pair))
        bias[pair.word] += nudge
    model.float()
    return (more - less) / (2 * nudge)


def _loss(translator: Translator, step: TrainingStep, pair: Pair) -> Step:
    log_p = step.trace["gold_term"].tensor[0, :, 0].detach().double()
    with torch.no_grad():
        trained = float(loss_of(translator.model, pair))
    count = len(log_p)
    even = math.log(translator.model.config.output_vocabulary)
    return Step(
        title=Said("The loss: how surprised it is", "损失：它有多惊讶"),
        text=Said(
            "Go back to before the first update: the weights are random. Ask for the translation "
            f"of “{SOURCE}” and look at the probability of each right token. The loss is the sum "
            "of their −log P, the surprise. A model that knows nothing and spreads its bets "
            f"evenly has log {translator.model.config.output_vocabulary} = {even:.2f} a token.\n"
            f"Before training: {step.loss:.2f}, {step.loss / count:.2f} a token. Your trained "
            f"model: {trained:.4f}.",
            f"回到第一次更新之前：权重是随机的。问它“{SOURCE}”的译文，看每个正确词元的概率。"
            "损失就是它们的 −log P 之和，即惊讶程度。一无所知、平均下注的模型，"
            f"每个词元是 log {translator.model.config.output_vocabulary} = {even:.2f}。\n"
            f"训练前：{step.loss:.2f}，每个词元 {step.loss / count:.2f}。"
            f"你训练好的模型：{trained:.4f}。",
        ),
        matrices=(
            Matrix(
                "−log P",
                torch.stack([log_p.exp(), -log_p]),
                rows=("P", "−log P"),
                columns=pair.wanted,
            ),
        ),
        claims=(
            Claim(
                Said("The terms add up to the loss", "各项之和等于损失"),
                abs(float(-log_p.sum()) - step.loss) < 1e-3,
            ),
            Claim(
                Said(
                    "Training took the loss of this pair below a hundredth",
                    "训练把这一对的损失降到了百分之一以下",
                ),
                trained < step.loss / 100,
            ),
        ),
        question=Question(
            Said(
                "A token with P = 1: what does it add to the loss?",
                "若某个词元的 P = 1，它给损失加多少？",
            ),
            Said("Nothing: −log 1 = 0.", "什么也不加：−log 1 = 0。"),
        ),
        trace=step.trace,
        show=f"gold_term[0,{pair.place},0]",
        codes=("C26",),
    )


def _gradient(step: TrainingStep, pair: Pair, by_difference: float) -> Step:
    address = f"output.bias.grad[{pair.word}]"
    explained = step.trace.explain(address, terms=8)
    logits = step.trace["output.logits"].tensor[0].detach().double()
    chance = torch.softmax(logits, -1)[:, pair.word]
    wanted = (pair.gold[0] == pair.word).double()
    gradient = float(explained.value)
    return Step(
        title=Said("The gradient of one weight", "一个权重的梯度"),
        text=Said(
            f"Take one learned number: the output's bias of the token “{pair.name}”. Raising it "
            f"makes “{pair.name}” likelier at every position. The backward pass gives the "
            "gradient at each: P where the token is not wanted, P − 1 where it is. So the sum is "
            f"negative, and going down means raising the bias.\n{explained.text}\n"
            f"Without any calculus: nudge the bias both ways and compare the losses: "
            f"{by_difference:.6f}.",
            f"取一个学到的数：输出层对词元“{pair.name}”的偏置。把它调高，"
            f"“{pair.name}”在每个位置都更可能。反向传播给出每个位置的梯度："
            "不该出现处是 P，该出现处是 P − 1。合起来是负数，要下降就得调高它。\n"
            f"{explained.text}\n"
            f"不用微积分也能验证：把偏置往两边各挪一点，比较损失，得 {by_difference:.6f}。",
        ),
        matrices=(
            Matrix(
                f"P({pair.name}) − [wanted]",
                torch.stack([chance, wanted, chance - wanted]),
                rows=("P", Said("wanted", "该出现"), Said("gradient", "梯度")),
                columns=pair.wanted,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "The recorded gradient is Σ (P − wanted)",
                    "记录的梯度就是 Σ (P − 该出现)",
                ),
                abs(float((chance - wanted).sum()) - gradient) < 1e-4,
            ),
            Claim(
                Said("Nudging the weight gives the same number", "挪动权重得到同样的数"),
                abs(by_difference - gradient) < 1e-3,
            ),
        ),
        question=Question(
            Said(
                f"Is the gradient of “{pair.name}”'s bias positive or negative?",
                f"“{pair.name}”偏置的梯度是正还是负？",
            ),
            Said(
                f"Negative: {gradient:.4f}. More of it lowers the loss.",
                f"负：{gradient:.4f}。它大一些，损失就小一些。",
            ),
        ),
        trace=step.trace,
        show=address,
        codes=("C26",),
    )


def _adam(step: TrainingStep, pair: Pair) -> Step:
    part, cell = "output.bias", f"[{pair.word}]"
    explain = step.trace.explain
    gradient = explain(f"{part}.grad{cell}").value
    mean, square = (1 - BETA1) * gradient, (1 - BETA2) * gradient**2
    mean_hat, square_hat = mean / (1 - BETA1), square / (1 - BETA2)
    before = explain(f"{part}{cell}").value
    by_hand = before - RATE * mean_hat / (math.sqrt(square_hat) + EPSILON)
    after = explain(f"{part}.after{cell}").value
    told = "\n".join(
        explain(f"{part}.{name}{cell}").text
        for name in ("exp_avg.after", "exp_avg_sq.after", "update.denom", "after")
    )
    return Step(
        title=Said("Adam's update of that weight", "Adam 怎样更新这个权重"),
        text=Said(
            "Adam keeps two running means: m of the gradient, v of its square. Both start at "
            "zero, so both are scaled up at first (the hats). The step is −rate · m̂ / (√v̂ + ε). "
            "In the first step m̂ / √v̂ is exactly the gradient's sign: every weight that has one "
            f"moves by the rate, {RATE:g}, whatever its size. As recorded:\n{told}",
            "Adam 记两个滑动平均：m 是梯度的，v 是梯度平方的。两者从零开始，"
            "所以起初要放大（带帽的）。步子是 −学习率 · m̂ / (√v̂ + ε)。"
            "第一步里 m̂ / √v̂ 恰好是梯度的符号：无论梯度多大，"
            f"每个权重都移动一个学习率 {RATE:g}。记录如下：\n{told}",
        ),
        matrices=(
            Matrix(
                f"b_o({pair.name})",
                [gradient, mean, square, mean_hat, square_hat, before, after],
                columns=("g", "m", "v", "m̂", "v̂", Said("before", "之前"), Said("after", "之后")),
                digits=5,
            ),
        ),
        claims=(
            Claim(
                Said("By hand and recorded, the new weight is the same", "手算与记录的新权重相同"),
                abs(by_hand - after) < 1e-6,
            ),
            Claim(
                Said("The first step is one learning rate long", "第一步的长度就是学习率"),
                abs(abs(after - before) - RATE) < 1e-6,
            ),
        ),
        question=Question(
            Said(
                "Another weight has a gradient a thousand times smaller. How far does it move?",
                "另一个权重的梯度小一千倍，它移动多少？",
            ),
            Said("Just as far: the first step is the rate.", "一样多：第一步就是学习率。"),
        ),
        trace=step.trace,
        show=f"{part}.after{cell}",
        codes=("C26",),
    )


def _again(step: TrainingStep, pair: Pair) -> Step:
    losses = [step.loss]
    for _ in range(STEPS):
        step.optimizer.zero_grad()
        loss = loss_of(step.model, pair)
        losses.append(float(loss.detach()))
        loss.backward()  # type: ignore[no-untyped-call]
        step.optimizer.step()
    return Step(
        title=Said("Again and again", "一遍又一遍"),
        text=Said(
            "All weights took such a step at once. The loss of the same pair went from "
            f"{losses[0]:.2f} to {losses[1]:.2f}, and after {STEPS} steps it is "
            f"{losses[-1]:.2f}. One pair alone would soon be learned by heart; training shows "
            "the model other pairs each time, so that it has to find what they have in common.",
            "所有权重同时走了这样一步。同一对句子的损失从 "
            f"{losses[0]:.2f} 降到 {losses[1]:.2f}，{STEPS} 步之后是 {losses[-1]:.2f}。"
            "只看一对很快就会背下来；训练每次给它看别的句子，它就必须找出共同之处。",
        ),
        pictures=(
            Picture(
                Said("loss of the pair", "这一对的损失"),
                "curves",
                (Series("", list(range(len(losses))), losses),),
                x=Said("step", "步"),
                y=Said("loss", "损失"),
            ),
        ),
        claims=(
            Claim(
                Said("One step lowers the loss of its pair", "一步就降低了这一对的损失"),
                losses[1] < losses[0],
            ),
            Claim(
                Said(f"{STEPS} steps halve it", f"{STEPS} 步至少减半"), losses[-1] < losses[0] / 2
            ),
        ),
        codes=("C26",),
    )


def _whole_run(translator: Translator, snapshots: Path | None, pair: Pair) -> Step:
    entries = [] if snapshots is None else read_index(snapshots)
    title = Said("The same weight through the whole run", "同一个权重走过整个训练")
    if snapshots is None or not entries:
        return Step(
            title=title,
            text=Said(
                "This model's folder holds no snapshots. `cutaway demo` keeps 16, and "
                "`cutaway train --keep 16` does so for your own data.",
                "这个模型文件夹里没有快照。`cutaway demo` 会保留 16 个；"
                "训练自己的数据时用 `cutaway train --keep 16`。",
            ),
            codes=("C26",),
        )
    updates = [int(entry["update"]) for entry in entries]
    model = Transformer(translator.model.config).eval()
    biases, weights, losses = [], [], []
    for update in updates:
        state = read_snapshot(snapshots, update)
        model.load_state_dict(state, strict=False)
        biases.append(float(state["output.bias"][pair.word]))
        weights.append(float(state["encoder.layers.0.self_attention.W_Q.weight"][0, 0]))
        with torch.no_grad():
            losses.append(float(loss_of(model, pair)))
    first = next((u for u, loss in zip(updates, losses, strict=True) if loss < 1), updates[-1])
    return Step(
        title=title,
        text=Said(
            f"Training kept {len(updates)} snapshots. Here is the bias of “{pair.name}” in each, "
            "one weight of the first W_Q, and the loss of our pair with the weights of that "
            "moment. The loss falls steeply first; single weights wander, and no one of them "
            f"tells you what was learned. The pair is known well (loss below 1) from update "
            f"{first} on.",
            f"训练保留了 {len(updates)} 个快照。下面是各时刻“{pair.name}”的偏置、"
            "第一个 W_Q 的一个权重，以及用当时的权重算出的这一对的损失。"
            "损失先陡降；单个权重四处游走，谁也说明不了学到了什么。"
            f"从第 {first} 次更新起，这一对就学会了（损失小于 1）。",
        ),
        matrices=(
            Matrix(
                Said("through training", "训练过程"),
                torch.tensor([biases, weights, losses]).T,
                rows=[str(update) for update in updates],
                columns=(f"b_o({pair.name})", "W_Q[0,0]", Said("loss", "损失")),
            ),
        ),
        pictures=(
            Picture(
                Said("the two weights", "两个权重"),
                "curves",
                (
                    Series(f"b_o({pair.name})", updates, biases),
                    Series("W_Q[0,0]", updates, weights),
                ),
                x=Said("update", "更新"),
            ),
            Picture(
                Said("loss of the pair", "这一对的损失"),
                "curves",
                (Series("", updates, losses),),
                x=Said("update", "更新"),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "At the end the loss is below a hundredth of the beginning's",
                    "结束时的损失不到开始时的百分之一",
                ),
                losses[-1] < losses[0] / 100,
            ),
            Claim(
                Said("Both weights moved", "两个权重都移动了"),
                biases[0] != biases[-1] and weights[0] != weights[-1],
            ),
        ),
        codes=("C26",),
    )


LESSON = Lesson(
    name="learning",
    title=Said("Learning", "学习"),
    about=Said(
        "One training step with every number explained, one weight through a run, fine-tuning.",
        "一步训练，每个数都讲清楚；一个权重走过整个训练；再微调。",
    ),
    tell=tell,
    trained=True,
)

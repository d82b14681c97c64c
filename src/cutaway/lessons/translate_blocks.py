"""The blocks one sentence passes: heads, add & norm, feed-forward, dropout.

Part of the lesson `translate-a-sentence`.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from cutaway.decode import Translator
from cutaway.lessons.lesson import Claim, Control, Matrix, Picture, Question, Said, Series, Step
from cutaway.lessons.room import Room
from cutaway.lessons.trained_run import SentenceRun
from cutaway.model.attention import explicit_attention

DEPTH, WIDTH = 12, 64  # of the stacks that show what residuals are for


def block_steps(translator: Translator, run: SentenceRun, room: Room) -> Iterator[Step]:
    """Heads, many heads, add & norm, feed-forward, dropout."""
    config = translator.model.config
    layer = min(max(1, room.choice("layer", 1)), config.encoder_layers)
    head = min(max(1, room.choice("head", 1)), config.heads)
    yield _one_head(translator, run, layer - 1, head - 1)
    yield _many_heads(translator, run, layer - 1)
    yield _add_norm(translator, run)
    yield _why_residuals()
    yield _feed_forward(translator, run)
    yield _dropout(run)


def _one_head(translator: Translator, run: SentenceRun, layer: int, head: int) -> Step:
    config = translator.model.config
    part = f"encoder.layers.{layer}.self_attention"
    query, key, value = (
        run.numbers(f"{part}.{name}")[0, head] for name in ("query", "key", "value")
    )  # (S, W) each
    weights = run.numbers(f"{part}.weights")[0, head]
    context = run.numbers(f"{part}.context")[0, head]
    again = torch.softmax(query @ key.T / math.sqrt(config.d_k), -1) @ value
    scores = query @ key.T
    gap = float((again - context).abs().max())
    return Step(
        title=Said("One head: question, answer, content", "一个头：提问、应答、内容"),
        text=Said(
            "Each token's vector is multiplied by three learned matrices. W_Q makes a query: "
            "what this token looks for. W_K makes a key: what it can be found by. W_V makes a "
            "value: what it hands over. Query · key says how well question and answer fit; "
            f"divided by √d_k = {math.sqrt(config.d_k):.2f} and through softmax these become "
            "weights, a row a question. The head's output is the weighted mean of the values:\n"
            "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V",
            "每个词元的向量分别乘以三个学到的矩阵。W_Q 得到查询：这个词元在找什么；"
            "W_K 得到键：凭什么能找到它；W_V 得到值：它交出什么。查询 · 键表示问与答是否合拍，"
            f"除以 √d_k = {math.sqrt(config.d_k):.2f} 再过 softmax 就成了权重，每行是一个提问。"
            "头的输出是值的加权平均：\n"
            "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V",
        ),
        matrices=(
            Matrix("Q Kᵀ", scores, run.source, run.source, digits=2),
            Matrix("softmax(Q Kᵀ / √d_k)", weights, run.source, run.source, digits=2),
        ),
        claims=(
            Claim(
                Said(
                    f"The formula, computed anew, gives the recorded head (gap {gap:.1g})",
                    f"按公式重算，与记录的头一致（误差 {gap:.1g}）",
                ),
                gap < 1e-4,
            ),
            Claim(
                Said("Every row of weights adds up to 1", "每行权重之和为 1"),
                bool(torch.allclose(weights.sum(1), torch.ones(len(weights)).double(), atol=1e-5)),
            ),
        ),
        controls=(
            Control(
                "layer",
                Said("Layer", "层"),
                "option",
                layer + 1,
                list(range(1, config.encoder_layers + 1)),
            ),
            Control(
                "head", Said("Head", "头"), "option", head + 1, list(range(1, config.heads + 1))
            ),
        ),
        question=Question(
            Said("Why divide by √d_k at all?", "为什么要除以 √d_k？"),
            Said(
                "A sum of d_k products spreads like √d_k. Undivided, softmax would saturate, and "
                "its gradients would vanish.",
                "d_k 个乘积之和的大小约为 √d_k；不除的话 softmax 会饱和，梯度随之消失。",
            ),
        ),
        trace=run.trace,
        show=f"{part}.softmax[0,{head},1,1]",
        codes=("C9", "C10", "D2", "E6", "E7"),
    )


def _many_heads(translator: Translator, run: SentenceRun, layer: int) -> Step:
    part = f"encoder.layers.{layer}.self_attention"
    weights = run.numbers(f"{part}.weights")[0]  # (H, S, S)
    context = run.numbers(f"{part}.context")[0]  # (H, S, W)
    joined = run.numbers(f"{part}.concatenated")[0]  # (S, H·W)
    side_by_side = torch.cat(list(context), dim=1)
    same = bool(torch.equal(side_by_side, joined))
    apart = min(
        float((weights[a] - weights[b]).abs().max())
        for a in range(len(weights))
        for b in range(a)
    )  # fmt: skip
    word = run.source.index("mat") if "mat" in run.source else len(run.source) - 2
    heads = [Said(f"head {n + 1}", f"第 {n + 1} 头") for n in range(len(weights))]
    output = joined @ run.numbers(f"{part}.W_O.weight").T
    if translator.model.config.bias:
        output = output + run.numbers(f"{part}.W_O.bias")
    gap = float((output - run.numbers(f"{part}.output")[0]).abs().max())
    return Step(
        title=Said("Many heads, side by side", "多个头并排"),
        text=Said(
            f"{len(weights)} heads ask different questions at the same time, each with three "
            f"matrices of its own. One row of each, for “{run.source[word]}”, shows where they "
            "look. Their outputs are laid side by side along the features, N × h·d_v, and W_O "
            "mixes them back to N × d. No head waits for another.",
            f"{len(weights)} 个头同时提出不同的问题，每个头有自己的三个矩阵。"
            f"下面是“{run.source[word]}”那一行，看各头往哪里看。"
            "它们的输出沿特征方向并排成 N × h·d_v，再由 W_O 混合回 N × d。各头互不等待。",
        ),
        matrices=(
            Matrix(
                Said(f"weights of “{run.source[word]}”", f"“{run.source[word]}”的权重"),
                weights[:, word],
                heads,
                run.source,
                digits=2,
            ),
        ),
        pictures=(
            Picture(
                Said("a bar a head: the largest weight", "每个头一根条：最大的权重"),
                "bars",
                (
                    Series(
                        "",
                        range(len(weights)),
                        weights[:, word].max(1).values.tolist(),
                        [
                            f"{n + 1}: {run.source[int(place)]}"
                            for n, place in enumerate(weights[:, word].argmax(1))
                        ],
                    ),
                ),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "concat is the heads' outputs side by side, number for number",
                    "concat 就是各头输出并排，逐个数相同",
                ),
                same,
            ),
            Claim(Said("No two heads have the same pattern", "没有两个头的模式相同"), apart > 1e-3),
            Claim(
                Said(
                    "concat · W_O + b_O is the block's output", "concat · W_O + b_O 就是模块的输出"
                ),
                gap < 1e-4,
            ),
        ),
        trace=run.trace,
        show=f"{part}.concatenated[0,{word},0]",
        codes=("C11", "C12", "D3", "E10"),
    )


def _add_norm(translator: Translator, run: SentenceRun) -> Step:
    config = translator.model.config
    part = "encoder.layers.0.self_attention_add_norm"
    before = run.numbers("encoder.states" if config.norm == "pre" else f"{part}.added")[0]
    normed = run.numbers(f"{part}.normed")[0]
    centred = before - before.mean(1, keepdim=True)
    spread = (centred.square().mean(1, keepdim=True) + config.norm_epsilon).sqrt()
    plain = centred / spread
    again = plain * run.numbers(f"{part}.norm.weight") + run.numbers(f"{part}.norm.bias")
    gap = float((again - normed).abs().max())
    three = nn.functional.layer_norm(
        torch.arange(3 * 512).view(3, 512).float().sin() * 7 + 3, (512,)
    )
    order = (
        Said("pre: x + sublayer(norm(x))", "前置：x + sublayer(norm(x))")
        if config.norm == "pre"
        else Said("post: norm(x + sublayer(x))", "后置：norm(x + sublayer(x))")
    )
    return Step(
        title=Said("Add & norm", "残差与归一化"),
        text=Said(
            "Around every sublayer runs a short cut: its output is added to its input, E′ = E + "
            "ΔE. And each row is brought to mean 0 and spread 1, then stretched and shifted by a "
            "learned gain and bias: (x − μ) / √(σ² + ε) · g + b. Shapes stay as they are, "
            f"N × d; a 3 × 512 matrix stays 3 × 512. This model's order is {order.en}.",
            "每个子层都绕着一条捷径：输出与输入相加，E′ = E + ΔE。每一行再变成均值 0、方差 1，"
            "然后按学到的增益和偏置拉伸平移：(x − μ) / √(σ² + ε) · g + b。"
            f"形状不变，仍是 N × d；3 × 512 的矩阵还是 3 × 512。这个模型的次序是{order.zh}。",
        ),
        matrices=(
            Matrix(
                Said("rows before and after", "各行归一化前后"),
                torch.stack([before.mean(1), before.std(1, correction=0), plain.mean(1),
                             plain.std(1, correction=0)]),
                ("μ", "σ", Said("μ after", "之后 μ"), Said("σ after", "之后 σ")),
                run.source,
                digits=3,
            ),
        ),
        claims=(
            Claim(
                Said(
                    f"The formula gives the recorded norm (gap {gap:.1g})",
                    f"按公式算出的与记录一致（误差 {gap:.1g}）",
                ),
                gap < 1e-3,
            ),
            Claim(
                Said("3 × 512 in, 3 × 512 out; every row has mean 0",
                     "3 × 512 进，3 × 512 出；每行均值为 0"),
                tuple(three.shape) == (3, 512) and float(three.mean(1).abs().max()) < 1e-4,
            ),
        ),
        trace=run.trace,
        show=f"{part}.normed[0,1,0]",
        codes=("C13", "D5"),
    )  # fmt: skip


def gradient_by_depth(*, residual: bool, norm: bool, seed: int = 1) -> list[float]:
    """How long the gradient is at the input of each of many layers, the last layer's as 1."""
    generator = torch.Generator().manual_seed(seed)
    scale = math.sqrt(1 / WIDTH)
    weights = [torch.randn(WIDTH, WIDTH, generator=generator) * scale for _ in range(DEPTH)]
    states: list[Tensor] = []
    x = torch.randn(16, WIDTH, generator=generator).requires_grad_()
    for weight in weights:
        states.append(x)
        asked = nn.functional.layer_norm(x, (WIDTH,)) if norm else x
        change = torch.relu(asked @ weight)
        x = x + change if residual else change
    gradients = torch.autograd.grad(x.square().sum(), states)
    lengths = [float(gradient.norm()) for gradient in gradients]
    return [length / lengths[-1] for length in lengths]


def _why_residuals() -> Step:
    kinds = (
        (Said("plain stack", "普通堆叠"), gradient_by_depth(residual=False, norm=False)),
        (Said("with residuals", "加残差"), gradient_by_depth(residual=True, norm=False)),
        (Said("residuals and norms", "残差加归一化"), gradient_by_depth(residual=True, norm=True)),
    )
    plain, residual, both = (values for _, values in kinds)
    return Step(
        title=Said("Why residuals, why norms", "为什么要残差，为什么要归一化"),
        text=Said(
            f"Stack {DEPTH} small layers with random weights and follow the gradient back from "
            "the last to the first. In a plain stack every layer scales it, so it fades with "
            f"depth: {plain[0]:.1g} of it arrives. The residual passes it on unscaled beside "
            f"the layer, but sums pile up: {residual[0]:.3g} times. With norms as well it "
            f"arrives at {both[0]:.2g} times its length: neither lost nor blown up.",
            f"把 {DEPTH} 个随机权重的小层叠起来，看梯度从最后一层传回第一层。"
            f"普通堆叠里每层都要缩放它，越深越弱，只剩 {plain[0]:.1g}。"
            f"残差让它绕过各层原样传回，但相加会越积越大：{residual[0]:.3g} 倍。"
            f"再加上归一化，传到时是原来的 {both[0]:.2g} 倍：既不消失，也不爆炸。",
        ),
        pictures=(
            Picture(
                Said("log₁₀ of the gradient's length, by layer", "各层梯度长度的 log₁₀"),
                "curves",
                [
                    Series(
                        name,
                        list(range(1, DEPTH + 1)),
                        [math.log10(max(value, 1e-30)) for value in values],
                    )
                    for name, values in kinds
                ],
                x=Said("layer", "层"),
                y="log₁₀",
            ),
        ),
        claims=(
            Claim(
                Said("Without residuals less than a tenth of the gradient arrives",
                     "没有残差，传到的梯度不到十分之一"),
                plain[0] < 0.1,
            ),
            Claim(
                Said("With residuals and norms it stays within a factor of ten",
                     "有残差和归一化，变化不超过十倍"),
                0.1 < both[0] < 10,
            ),
        ),
        question=Question(
            Said("Twelve plain layers: does the first learn?", "十二个普通层：第一层还学得动吗？"),
            Said("Slowly: little of the gradient reaches it.", "很慢：传到它那里的梯度所剩无几。"),
        ),
        codes=("C20",),
    )  # fmt: skip


def _feed_forward(translator: Translator, run: SentenceRun) -> Step:
    model = translator.model
    part = "encoder.layers.0.feed_forward"
    hidden = run.numbers(f"{part}.hidden")[0]
    active = (run.numbers(f"{part}.activated")[0] > 0).double().mean(1)
    network = model.get_submodule("encoder.layers.0.feed_forward")
    name = "normed" if model.config.norm == "pre" else "states"
    inner = "feed_forward_add_norm" if name == "normed" else "self_attention_add_norm"
    states = run.trace[f"encoder.layers.0.{inner}.normed"].tensor[0]
    with torch.no_grad():
        alone = torch.cat([network(states[at : at + 1]) for at in range(len(states))])
    gap = float((alone.double() - run.numbers(f"{part}.output")[0]).abs().max())
    activation = "ReLU" if model.config.activation == "relu" else "GELU"
    return Step(
        title=Said("Feed-forward: each position for itself", "前馈网络：各位置自己算"),
        text=Said(
            f"After attention has moved information, every position thinks alone: widen to "
            f"d_ff = {model.config.d_ff}, {activation}, and back to d = {model.config.d_model}. "
            "FFN(x) = activation(x W_1 + b_1) W_2 + b_2. The paper widens 512 to 2048; ReLU or "
            "GELU, either will do. The table shows which share of the inner numbers is above "
            "zero at each token.",
            f"注意力搬运完信息之后，每个位置独自思考：加宽到 d_ff = {model.config.d_ff}，"
            f"过 {activation}，再回到 d = {model.config.d_model}。"
            "FFN(x) = activation(x W_1 + b_1) W_2 + b_2。论文从 512 加宽到 2048；"
            "ReLU 或 GELU 都可以。表中是每个词元处内层有多少比例大于零。",
        ),
        matrices=(
            Matrix(
                Said("share of inner numbers above zero", "内层大于零的比例"),
                active,
                columns=run.source,
                digits=2,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Position by position gives what all positions together give",
                    "逐个位置算与一起算结果相同",
                ),
                gap < 1e-3,
            ),
            Claim(
                Said("The inner width is d_ff", "内层宽度是 d_ff"),
                hidden.shape[1] == model.config.d_ff,
            ),
        ),
        trace=run.trace,
        show=f"{part}.hidden[0,1,0]",
        codes=("C19", "D4"),
    )


def _dropout(run: SentenceRun) -> Step:
    part = "encoder.layers.0.self_attention"
    query, key, value = (run.trace[f"{part}.{name}"].tensor for name in ("query", "key", "value"))
    length = query.shape[2]
    mask = torch.ones(1, 1, 1, length, dtype=torch.bool)
    mask[..., -1] = False  # hide <end>
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        still = explicit_attention(query, key, value, mask, 0.0)
        again = explicit_attention(query, key, value, mask, 0.0)
        dropped = torch.stack(
            [explicit_attention(query, key, value, mask, 0.1) for _ in range(400)]
        )
    mean_gap = float((dropped.mean(0) - still).abs().mean() / still.abs().mean())
    one_gap = float((dropped - still).abs().mean() / still.abs().mean())
    return Step(
        title=Said("Mask and dropout", "掩码与 dropout"),
        text=Said(
            "The same function takes a mask, which hides padding, and dropout, which while "
            "training forgets a random tenth of the weights and scales up the rest. A single "
            f"draw is off by {one_gap:.0%} on average; the mean of 400 draws by only "
            f"{mean_gap:.1%}. So training sees noise, and the finished model the mean: in use, "
            "nothing is dropped.",
            "同一个函数还接受掩码（隐藏填充）和 dropout（训练时随机丢掉一成权重，其余放大）。"
            f"单次抽取平均偏差 {one_gap:.0%}，400 次的平均只差 {mean_gap:.1%}。"
            "训练时看到噪声，用的时候看到平均：使用时什么都不丢。",
        ),
        claims=(
            Claim(Said("Without dropout, the same input gives the same output",
                       "不用 dropout，同样输入得同样输出"), bool(torch.equal(still, again))),
            Claim(Said("Dropout's draws differ, and their mean is nearer than a draw",
                       "dropout 每次不同，而平均比单次更接近"), mean_gap < one_gap / 4),
        ),
        codes=("C18",),
    )  # fmt: skip

"""How weights are learned: one update by the product's trainer, a run, fine-tuning.

loss = −Σ_v q_v log P(v) at each position,  q = (1 − ε) · one-hot(gold) + ε / V
"""

import copy
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from cutaway.artifact.snapshots import read_index, read_snapshot
from cutaway.decode import Translator
from cutaway.errors import InputError
from cutaway.lessons.fine_tuning import fine_tuning_step
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Series, Step
from cutaway.lessons.one_pair import BIAS, FirstUpdate, Pair, pair_of, run_pair, smoothed_losses
from cutaway.lessons.section import Sections
from cutaway.model import Transformer
from cutaway.training.journal import log_lines

TEXT = Sections("learning")
NUDGE = 1e-4
FOLLOWED = "encoder.layers.0.self_attention.W_Q.weight"  # one of its weights, through the run
KNOWN = 1.0  # loss of the pair below which it counts as known


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The lesson, step by step."""
    translator = inputs.translator
    if not translator.model.config.output_bias:
        raise InputError(
            "this model has no output bias, the weight this lesson follows; "
            "train one with output_bias = true, or leave out --model"
        )
    pair = pair_of(translator)
    update = run_pair(translator, pair)
    yield _loss(translator, update, pair)
    yield _gradient(update, pair)
    yield _adam(update, pair)
    yield _again(update)
    yield _whole_run(translator, inputs.folder, pair)
    yield fine_tuning_step(translator)


def token_losses(model: Transformer, pair: Pair) -> Tensor:
    """−log P of every right token, without smoothing: (T,)."""
    with torch.no_grad():
        return smoothed_losses(model, pair, 0.0).double()


def _loss(translator: Translator, update: FirstUpdate, pair: Pair) -> Step:
    before, after = token_losses(update.model, pair), token_losses(translator.model, pair)
    smoothing = update.settings.smoothing
    with torch.no_grad():
        smoothed = smoothed_losses(update.model, pair, smoothing).double()
    vocabulary = translator.model.config.output_vocabulary
    recorded = float(update.trace["Objective.total:sum"].tensor)
    section = TEXT.section(
        "loss",
        sentence=pair.texts[0],
        vocabulary=vocabulary,
        even=math.log(vocabulary),
        before=float(before.mean()),
        after=float(after.mean()),
        smoothing=smoothing,
        total=recorded,
    )
    section.matrix(
        "terms",
        torch.stack([(-before).exp(), before, smoothed]),
        ("P", "−log P", section.label("smoothed")),
        pair.wanted,
    )
    section.claim("sum", abs(float(smoothed.sum()) - recorded) < 1e-3)
    section.claim("trained", float(after.sum()) < float(before.sum()) / 100)
    return section.step("C26", trace=update.trace, show=f"Objective.log_sum[{pair.place}]")


def by_difference(update: FirstUpdate, pair: Pair) -> float:
    """The summed gradient of the bias without calculus: nudge it both ways, in float64."""
    model = copy.deepcopy(update.model).double()
    bias = model.get_parameter(BIAS)
    losses = []
    with torch.no_grad():
        for nudge in (NUDGE, -2 * NUDGE):
            bias[pair.word] += nudge
            losses.append(float(smoothed_losses(model, pair, update.settings.smoothing).sum()))
    return (losses[0] - losses[1]) / (2 * NUDGE)


def gradient_rows(update: FirstUpdate, pair: Pair) -> Tensor:
    """P of the followed token, its q, and P − q at every position: (3, T)."""
    with torch.no_grad():
        logits = update.model(pair.source, pair.fed)[0].double()
    chance = torch.softmax(logits, -1)[:, pair.word]
    spread = update.settings.smoothing / logits.shape[-1]
    wanted = (1 - update.settings.smoothing) * (pair.gold[0] == pair.word).double() + spread
    return torch.stack([chance, wanted, chance - wanted])


def _gradient(update: FirstUpdate, pair: Pair) -> Step:
    rows = gradient_rows(update, pair)
    address = f"{BIAS}.grad[{pair.word}]"
    recorded = float(update.trace.explain(address).value)
    nudged = by_difference(update, pair)
    section = TEXT.section(
        "gradient",
        name=pair.name,
        gradient=recorded,
        nudged=nudged,
        count=len(pair.wanted),
        mean=recorded / len(pair.wanted),
        norm=update.norm,
        clip=update.settings.clip,
        shortened=update.shortened,
        clipped=recorded / len(pair.wanted) * update.shortened,
    )
    section.matrix("rows", rows, ("P", "q", "P − q"), pair.wanted)
    section.claim("sum", abs(float(rows[2].sum()) - recorded) < 1e-4)
    section.claim("nudge", abs(nudged - recorded) < 1e-3)
    return section.step("C26", trace=update.trace, show=address)


def _adam(update: FirstUpdate, pair: Pair) -> Step:
    settings, trainer = update.settings, update.trainer
    gradient = float(gradient_rows(update, pair)[2].sum()) / len(pair.wanted) * update.shortened
    mean, square = (1 - settings.beta1) * gradient, (1 - settings.beta2) * gradient**2
    mean_hat, square_hat = mean / (1 - settings.beta1), square / (1 - settings.beta2)
    before = float(update.model.get_parameter(BIAS).detach()[pair.word])
    after = float(trainer.model.get_parameter(BIAS).detach()[pair.word])
    step = update.rate * mean_hat / (math.sqrt(square_hat) + settings.epsilon)
    moved = after - before
    cell = f"[{pair.word}]"
    section = TEXT.section("adam", name=pair.name, rate=update.rate, moved=moved)
    section.matrix(
        "numbers",
        [gradient, mean, square, mean_hat, square_hat, before, after],
        (),
        ("g", "m", "v", "m̂", "v̂", *section.labels("before", "after")),
        digits=6,
    )
    section.claim("by-hand", abs(before - step - after) < 1e-3 * update.rate)
    section.claim("length", abs(abs(moved) - update.rate) < 1e-3 * update.rate)
    return section.step("C26", trace=update.trace, show=f"{BIAS}.after{cell}")


def _again(update: FirstUpdate) -> Step:
    losses = update.losses
    section = TEXT.section(
        "again", first=losses[0], second=losses[1], updates=len(losses) - 1, last=losses[-1]
    )
    section.picture("losses", "curves", Series("", list(range(len(losses))), losses))
    section.claim("one", losses[1] < losses[0])
    section.claim("all", losses[-1] < losses[0] / 2)
    return section.step("C26")


def _whole_run(translator: Translator, folder: Path | None, pair: Pair) -> Step:
    """The training of the model at hand: by its snapshots, else by its log, else nothing."""
    snapshots = None if folder is None else folder / "snapshots"
    entries = [] if snapshots is None else read_index(snapshots)
    if snapshots is not None and entries:
        return _by_snapshots(
            translator, snapshots, [int(entry["update"]) for entry in entries], pair
        )
    lines = [] if folder is None else log_lines(folder / "log.jsonl")
    logged = [(int(line["update"]), float(line["loss"])) for line in lines if "loss" in line]
    if logged:
        return _by_log(logged)
    return TEXT.section("no-record").step("C26")


def _by_log(logged: list[tuple[int, float]]) -> Step:
    updates, losses = [update for update, _ in logged], [loss for _, loss in logged]
    half = next(update for update, loss in logged if loss <= losses[0] / 2 or update == updates[-1])
    section = TEXT.section("log", count=updates[-1], first=losses[0], last=losses[-1], half=half)
    section.picture("losses", "curves", Series("", updates, losses))
    section.claim("tenth", losses[-1] < losses[0] / 10)
    return section.step("C26")


def _by_snapshots(translator: Translator, snapshots: Path, updates: list[int], pair: Pair) -> Step:
    model = Transformer(translator.model.config).eval()
    biases, weights, losses = [], [], []
    for update in updates:
        state = read_snapshot(snapshots, update)
        model.load_state_dict(state, strict=False)
        biases.append(float(state[BIAS][pair.word]))
        weights.append(float(state[FOLLOWED][0, 0]))
        losses.append(float(token_losses(model, pair).sum()))
    known = next((u for u, loss in zip(updates, losses, strict=True) if loss < KNOWN), updates[-1])
    section = TEXT.section("snapshots", count=len(updates), name=pair.name, known=known)
    columns = (f"b_o({pair.name})", "W_Q[0,0]", section.label("loss"))
    section.matrix(
        "run", torch.tensor([biases, weights, losses]).T, [str(u) for u in updates], columns
    )
    section.picture(
        "weights",
        "curves",
        Series(columns[0], updates, biases),
        Series(columns[1], updates, weights),
    )
    section.picture("losses", "curves", Series("", updates, losses))
    section.claim("hundredth", losses[-1] < losses[0] / 100)
    return section.step("C26")


LESSON = Lesson("learning", steps, trained=True)

"""How much the positions weigh: an amplitude to turn, and what trained models do then."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from cutaway.config import ModelConfig
from cutaway.lessons.by_hand_model import PAIRS, continued, trained
from cutaway.lessons.lesson import Claim, Control, Matrix, Picture, Question, Said, Series, Step
from cutaway.lessons.room import Room
from cutaway.model import Transformer
from cutaway.model.positions import Positions

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
SENTENCES = (  # three pairs of the same words in another order
    "The mole is smaller than this rabbit.",
    "This mole is smaller than the rabbit.",
    "The beds are older than these tables.",
    "These beds are older than the tables.",
    "The old chemist likes reading this book.",
    "The chemist likes reading this old book.",
)


@contextmanager
def scaled(model: Transformer, factor: float) -> Iterator[None]:
    """Within this block the model's position tables are multiplied by a factor."""
    tables = [
        module.table
        for module in model.modules()
        if isinstance(module, Positions) and module.table is not None
    ]
    kept = [table.clone() for table in tables]
    try:
        with torch.no_grad():
            for table in tables:
                table.mul_(factor)
        yield
    finally:
        with torch.no_grad():
            for table, old in zip(tables, kept, strict=True):
                table.copy_(old)


def changed(before: Sequence[str], after: Sequence[str]) -> int:
    """Words that are not what they were, place by place; a missing or added word counts."""
    common = sum(a == b for a, b in zip(before, after, strict=False))
    return max(len(before), len(after)) - common


def small_model(factor: float) -> int:
    """Words of the three sentences that the by-hand model gets wrong at an amplitude."""
    model = trained().model
    with scaled(model, factor):
        return sum(
            changed([*follows.split(), "<end>"], continued(model, given).words)
            for given, follows in PAIRS
        )


def translated(room: Room, factor: float) -> list[str]:
    """The sentences, translated with positions scaled."""
    translator = room.translator
    with scaled(translator.model, factor):
        return [result.text for result in translator.translate(list(SENTENCES), beam=1)]


def amplitude(room: Room) -> Iterator[Step]:
    """The knob, its place in the model, and its effect on trained ones."""
    factor = room.choice("amplitude", 0.5)
    config = ModelConfig(vocabulary=3, d_model=8, heads=1, position_amplitude=True)
    learns = [name for name, _ in Positions(config).named_parameters()]
    words = [small_model(one) for one in FACTORS]
    here = small_model(factor)
    total = sum(len(follows.split()) + 1 for _, follows in PAIRS)
    yield Step(
        Said("Turn the positions up and down", "把位置调大调小"),
        Said(
            "How loud should positions be? Put a factor in front, the amplitude: X = E + a · "
            "PE. In "
            "our model it can be learned (`position_amplitude = true`, started at 1). Here you "
            "turn "
            "it by hand, on the model of the lesson by-hand, trained at a = 1. At "
            f"a = {factor:g}, {here} words differ from the {total} it should say. At 0 it no "
            "longer knows "
            f"which place it is at: {words[0]} differ, as it does not stop in time.",
            "位置的声音该多大？在前面加一个系数，叫振幅：X = E + a · PE。"
            "我们的模型可以把它学出来（`position_amplitude = true`，从 1 开始）。"
            "这里由你来调，用的是 by-hand 一课的模型，训练时 a = 1。"
            f"a = {factor:g} 时，{total} 个词里错 {here} 个。调到 0，它就不知道自己在哪里了："
            f"错 {words[0]} 个。",
        ),
        pictures=(
            Picture(
                Said("Words that differ, by amplitude", "变了的词数，按振幅"),
                "curves",
                (Series(Said("words that differ", "变了的词"), FACTORS, words),),
                "a",
                Said("words", "词"),
            ),
        ),
        matrices=(
            Matrix(
                Said(
                    f"words that differ from the right {total}; extra ones count",
                    f"与正确的 {total} 个词不同的，多出来的也算",
                ),
                [words],
                columns=[f"a={one:g}" for one in FACTORS],
            ),
        ),
        controls=(
            Control("amplitude", Said("amplitude a", "振幅 a"), "slider", factor, (0.0, 3.0, 0.25)),
        ),
        question=Question(
            Said(
                "Which words need positions most in “you win or you die”?",
                "“you win or you die” 里，哪些词最需要位置？",
            ),
            Said(
                "What follows the two “you”: without places both look alike.",
                "两个 “you” 后面的词：没有位置，它们看起来一样。",
            ),
        ),
        claims=(
            Claim(
                Said("at a = 1 every word is right", "a = 1 时全对"),
                words[FACTORS.index(1.0)] == 0,
            ),
            Claim(Said("without positions some are wrong", "没有位置就有错"), words[0] > 0),
            Claim(
                Said("the model can learn the amplitude", "振幅可以学习"), learns == ["amplitude"]
            ),
        ),
        codes=("C7",),
    )
    yield _on_a_translator(room, factor)


def _on_a_translator(room: Room, factor: float) -> Step:
    title = Said("The same on a trained translator", "同样的事，换成训练好的翻译模型")
    if not room.has_model:
        return Step(
            title,
            Said(
                "This step turns the same knob on a translator of real sentences. None is at hand: "
                "run `cutaway demo` first, or give a model folder with --model. The numbers of the "
                "step before need none.",
                "这一步把同一个旋钮用在真正的翻译模型上。现在手边没有：先运行 `cutaway demo`，"
                "或用 --model 给一个模型文件夹。上一步的数不需要它。",
            ),
            codes=("C7",),
        )
    before = translated(room, 1.0)
    counts = []
    for one in (0.0, 0.5, 1.0, 2.0):
        after = translated(room, one)
        counts.append(
            sum(changed(_words(a), _words(b)) for a, b in zip(before, after, strict=True))
        )
    chosen = translated(room, factor)
    total = sum(len(_words(text)) for text in before)
    listed = "\n".join(f"{source} → {text}" for source, text in zip(SENTENCES, chosen, strict=True))
    return Step(
        title,
        Said(
            f"Three pairs of sentences with the same words in another order, {total} words of "
            "translation. Positions are scaled by a, on both sides, and nothing else is touched. "
            f"At a = {factor:g}:\n{listed}\nA sentence whose words fit in one order only often "
            "survives even a = 0: the model knows what usually comes together.",
            f"三对句子，词相同，顺序不同，译文共 {total} 个词。两边的位置都乘 a，别的都不动。"
            f"a = {factor:g} 时：\n{listed}\n如果词只有一种顺序说得通，a = 0 时译文往往也还对："
            "模型知道哪些词常在一起。",
        ),
        matrices=(
            Matrix(
                Said("words of the translation that change", "译文中变了的词数"),
                [counts],
                columns=[f"a={one:g}" for one in (0.0, 0.5, 1.0, 2.0)],
            ),
        ),
        claims=(Claim(Said("at a = 1 nothing changes", "a = 1 时什么都不变"), counts[2] == 0),),
        codes=("C7",),
    )


def _words(text: str) -> list[str]:
    """Words where there are spaces, characters where there are none."""
    return text.split() if " " in text else list(text)

"""Scale the position table by an amplitude, and see what trained models do with it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch

from cutaway.config import ModelConfig
from cutaway.lessons.by_hand_model import PAIRS, continued, trained
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Step
from cutaway.lessons.section import Sections
from cutaway.model import Transformer
from cutaway.model.positions import Positions

TEXT = Sections("positions")
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
    """Number of words that differ, position by position; a missing or added word counts."""
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


def translated(inputs: LessonInputs, factor: float) -> list[str]:
    """The sentences, translated with positions scaled."""
    translator = inputs.translator
    with scaled(translator.model, factor):
        return [result.text for result in translator.translate(list(SENTENCES), beam=1)]


def amplitude(inputs: LessonInputs) -> Iterator[Step]:
    """The factor, its place in the model, and its effect on trained ones."""
    factor = inputs.choice("amplitude", 0.5)
    yield _on_the_small_model(factor)
    yield _on_a_translator(inputs, factor)


def _on_the_small_model(factor: float) -> Step:
    config = ModelConfig(vocabulary=3, d_model=8, heads=1, position_amplitude=True)
    learns = [name for name, _ in Positions(config).named_parameters()]
    words = [small_model(one) for one in FACTORS]
    total = sum(len(follows.split()) + 1 for _, follows in PAIRS)
    section = TEXT.section(
        "amplitude", factor=factor, here=small_model(factor), total=total, without=words[0]
    )
    section.picture("words", "curves", section.series("words", FACTORS, words))
    section.matrix("words", [words], columns=_names(FACTORS))
    section.control("amplitude", "slider", factor, (0.0, 3.0, 0.25))
    section.claim("right", words[FACTORS.index(1.0)] == 0)
    section.claim("wrong", words[0] > 0)
    section.claim("learns", learns == ["amplitude"])
    return section.step("C7")


def _on_a_translator(inputs: LessonInputs, factor: float) -> Step:
    tried = {one: translated(inputs, one) for one in (0.0, 0.5, 1.0, 2.0)}
    chosen, usual, without = translated(inputs, factor), tried[1.0], tried[0.0]
    counts = [
        sum(changed(_words(a), _words(b)) for a, b in zip(usual, texts, strict=True))
        for texts in tried.values()
    ]
    section = TEXT.section(
        "translator",
        total=sum(len(_words(text)) for text in usual),
        factor=factor,
        listed="\n".join(f"{a} → {b}" for a, b in zip(SENTENCES, chosen, strict=True)),
    )
    section.matrix("words", [counts], columns=_names(tried))
    section.claim("alike", without[-1] == without[-2])
    return section.step("C7")


def _names(factors: Iterable[float]) -> list[str]:
    return [f"a={one:g}" for one in factors]


def _words(text: str) -> list[str]:
    """Words where there are spaces, characters where there are none."""
    return text.split() if " " in text else list(text)

"""A trained model on one sentence: recorded, and decoded step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from cutaway.decode import Translator
from cutaway.decode.recording import record_translation
from cutaway.decode.walk import Walk
from cutaway.glass import Trace
from cutaway.lessons.lesson import Series
from cutaway.text import Tokenizer
from cutaway.text.model_file import SPACE


@dataclass(frozen=True)
class SentenceRun:
    """A sentence and its greedy translation, and the pass over both, recorded when asked for."""

    translator: Translator
    sentence: str
    text: str  # the translation
    source: tuple[str, ...]  # tokens of the source, <end> last
    target: tuple[str, ...]  # tokens fed to the decoder, <start> first
    wanted: tuple[str, ...]  # tokens to predict, <end> last
    source_ids: Tensor  # (1, S)
    target_ids: Tensor  # (1, T) fed
    gold_ids: Tensor  # (1, T) predicted
    memory: str  # address of the encoder's output; post-norm layers end without a norm of the stack

    @cached_property
    def trace(self) -> Trace:
        """The whole pass with the translation as target."""
        source, gold = self.source_ids[0].tolist(), self.gold_ids[0].tolist()
        return record_translation(self.translator, source, gold)

    def numbers(self, address: str) -> Tensor:
        """The numbers of an address, in double precision."""
        return self.trace[address].tensor.double()


def shown(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    """Tokens to display: without the mark of the space before a word."""
    return tuple(piece.replace(SPACE, "") or SPACE for piece in tokenizer.pieces(ids))


def listed(names: Sequence[str], chances: Sequence[float], *, digits: int) -> str:
    """Tokens with their probabilities, on one line."""
    return ", ".join(f"{n} {c:.{digits}f}" for n, c in zip(names, chances, strict=True))


def candidates(
    walk: Walk, tokenizer: Tokenizer, *, digits: int, most: int | None = None
) -> tuple[list[str], list[Series]]:
    """The best tokens at each step of decoding, `most` steps: as lines of text, and as bars."""
    lines: list[str] = []
    series: list[Series] = []
    for step in walk:
        if step.finished or len(lines) == most:
            break
        names = shown(tokenizer, [one.id for one in step.candidates])
        chances = [one.probability for one in step.candidates]
        lines.append(f"  <start> {step.text} → {listed(names, chances, digits=digits)}")
        series.append(Series(f"{len(lines)}. {names[0]}", range(len(names)), chances, names))
    return lines, series


def sentence_run(translator: Translator, text: str) -> SentenceRun:
    """Translate greedily; the pass that gives this translation is there to be recorded."""
    translation = translator.translate([text], beam=1, split=False)[0]
    source = list(translation.source_ids)
    gold = [token.id for token in translation.tokens]
    theirs = translator.target_tokenizer
    fed = [translator.special.start, *gold[:-1]]
    return SentenceRun(
        translator=translator,
        sentence=text,
        text=translation.text,
        source=shown(translator.tokenizer, source),
        target=shown(theirs, fed),
        wanted=shown(theirs, gold),
        source_ids=torch.tensor([source]),
        target_ids=torch.tensor([fed]),
        gold_ids=torch.tensor([gold]),
        memory="encoder.memory" if translator.model.config.norm == "pre" else "encoder.output",
    )


def target_language(translator: Translator) -> str:
    """The language the model writes; "" if its folder does not say."""
    return (translator.folder.languages or ("", ""))[-1]


def pair_name(translator: Translator) -> str:
    """The languages as the corpora are named: "en-fr"."""
    return "-".join(translator.folder.languages or ())


def angle(one: Tensor, other: Tensor) -> float:
    """Degrees between two vectors: arccos of their cosine."""
    cosine = torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=0)
    return float(torch.rad2deg(torch.arccos(cosine.clamp(-1.0, 1.0))))

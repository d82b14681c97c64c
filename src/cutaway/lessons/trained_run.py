"""One sentence through a trained model, recorded: what the lessons on the demo model share."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cutaway import glass
from cutaway.decode import Translator
from cutaway.glass import Trace
from cutaway.text import Tokenizer


@dataclass(frozen=True)
class SentenceRun:
    """A recorded pass over a sentence and its greedy translation."""

    trace: Trace
    text: str  # the translation
    source: tuple[str, ...]  # tokens of the source, <end> last
    target: tuple[str, ...]  # tokens fed to the decoder, <start> first
    wanted: tuple[str, ...]  # tokens it is to predict, <end> last
    source_ids: Tensor  # (1, S)
    target_ids: Tensor  # (1, T) fed
    gold_ids: Tensor  # (1, T) predicted

    def numbers(self, address: str) -> Tensor:
        """The numbers of an address, in double precision."""
        return self.trace[address].tensor.double()


def shown(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    """Tokens as a person reads them: without the mark of the space before a word."""
    return tuple(piece.replace("▁", "") or "▁" for piece in tokenizer.pieces(ids))


def sentence_run(translator: Translator, text: str) -> SentenceRun:
    """Translate greedily, then record the whole pass with the translation as target."""
    translation = translator.translate([text], beam=1)[0]
    source = list(translation.source_ids)
    gold = [token.id for token in translation.tokens]
    fed = [translator.target_tokenizer.start, *gold[:-1]]
    model = translator.model
    source_ids, target_ids = torch.tensor([source]), torch.tensor([fed])
    with torch.no_grad(), glass.record(model) as trace:
        model(source_ids, target_ids)
    names = shown(translator.tokenizer, source)
    fed_names = shown(translator.target_tokenizer, fed)
    trace.label(source=names, target=fed_names)
    return SentenceRun(
        trace=trace,
        text=translation.text,
        source=names,
        target=fed_names,
        wanted=shown(translator.target_tokenizer, gold),
        source_ids=source_ids,
        target_ids=target_ids,
        gold_ids=torch.tensor([gold]),
    )


def angle(one: Tensor, other: Tensor) -> float:
    """Degrees between two vectors: arccos of their cosine."""
    cosine = torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=0)
    return float(torch.rad2deg(torch.arccos(cosine.clamp(-1.0, 1.0))))

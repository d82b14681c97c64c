"""Round trip: of the hypotheses the one from which the way back to the source is probable as well.

argmax_y log P(y | x) / |y| + λ · log P(x | y) / |x|

P(x | y) is the same model's, if it knows both directions, or that of a second one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutaway.config import DecodeOptions
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.decode.rerank import ROUND_TRIP
from cutaway.errors import InputError

if TYPE_CHECKING:
    from cutaway.decode.translator import Translator

BACK = 0.5  # λ: from 0.3 to 0.7 BLEU was the same (docs/decisions.md)


@dataclass(frozen=True)
class WayBack:
    """What translates back, and the language to ask it for, where it knows several."""

    translator: "Translator"
    language: str | None

    def reordered(
        self,
        text: Callable[[Hypothesis], str],
        sources: Sequence[str],
        results: Sequence[SearchResult],
    ) -> list[SearchResult]:
        """The hypotheses of each result by the round trip, complete ones first."""
        back = self.translator
        tasks = [
            back.task(
                text(one),
                language=self.language,
                prefix=back.target_tokenizer.encode(source, end=True),
            )
            for source, result in zip(sources, results, strict=True)
            for one in result.hypotheses
        ]
        # A prefix that ends is not searched any further: what it costs is all that is computed.
        whole = DecodeOptions(max_length=back.folder.config.max_length)
        found = iter(back.engine.search(tasks, whole, back.special))
        return [
            _by_both(result, [next(found).hypotheses[0] for _ in result.hypotheses])
            for result in results
        ]


def way_back(translator: "Translator", language: str | None) -> WayBack:
    """The way back from a target language; None: from that of the first direction."""
    asked = (way for way in translator.folder.ways if way[1] == language)
    there = translator.folder.languages if language is None else next(asked, None)
    back = translator.back or translator
    known = back.folder.ways
    if there is not None and there[::-1] in known:
        return WayBack(back, there[0] if back.languages else None)
    if translator.back is not None and not (there and known):  # languages were not named
        return WayBack(back, None)
    named = ", ".join("-".join(way) for way in known) or "one direction"
    if translator.back is not None and there is not None:
        raise InputError(
            f"the model for the way back translates {named}; expected {there[1]}-{there[0]}: give "
            f"a folder of that direction"
        )
    raise InputError(
        f"rerank is {ROUND_TRIP!r}, which needs a model that also translates back; this one knows "
        f"{named}: train one with --both-ways, or give one of the other direction with --back"
    )


def _by_both(result: SearchResult, back: Sequence[Hypothesis]) -> SearchResult:
    """`back`: the source from each hypothesis."""
    found = result.hypotheses
    values = [_mean(one) + BACK * _mean(other) for one, other in zip(found, back, strict=True)]
    order = sorted(range(len(found)), key=lambda place: (not found[place].finished, -values[place]))
    return SearchResult([found[place] for place in order], result.near_tie, result.tree)


def _mean(one: Hypothesis) -> float:
    return sum(one.log_probabilities) / max(1, len(one.log_probabilities))

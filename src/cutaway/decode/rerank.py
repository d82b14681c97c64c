"""Another choice among the hypotheses of a search than the most probable one.

Least risk: the one most like what else could have been said,
argmax_i Σ_j P(j) · utility(i, j), with chrF or BLEU of hypothesis i against hypothesis j

The choice by the way back is in `round_trip`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from cutaway.config import DecodeOptions, one_of
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.errors import InputError

ROUND_TRIP = "round-trip"
METHODS = ("", "mbr", "mbr-bleu", ROUND_TRIP)


def several(options: DecodeOptions, method: str) -> DecodeOptions:
    """The options with as many hypotheses as a choice among them needs."""
    one_of("rerank", method, METHODS)
    if not method or options.n_best > 1:
        return options
    if options.sample or options.beam == 1:
        raise InputError(
            "rerank chooses among several translations; give --beam 5, or --sample --n-best 20"
        )
    return replace(options, n_best=options.beam)


def reranked(
    result: SearchResult, text: Callable[[Hypothesis], str], options: DecodeOptions, method: str
) -> SearchResult:
    """The hypotheses by expected utility, best first; the scores stay those of the search."""
    found = result.hypotheses
    if not method or len(found) < 2:
        return result
    values = expected([text(one) for one in found], _chances(found, options), method)
    order = sorted(range(len(found)), key=lambda place: -values[place])
    return SearchResult([found[place] for place in order], result.near_tie, result.tree)


def expected(texts: Sequence[str], chances: Sequence[float], method: str) -> list[float]:
    """The expected utility of each text against all of them."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF() if method == "mbr" else BLEU(effective_order=True)
    known: dict[tuple[str, str], float] = {}
    for one in texts:
        for other in texts:
            if (one, other) not in known:
                known[one, other] = float(metric.sentence_score(one, [other]).score)
    return [
        sum(chance * known[one, other] for other, chance in zip(texts, chances, strict=True))
        for one in texts
    ]


def _chances(found: Sequence[Hypothesis], options: DecodeOptions) -> list[float]:
    """The probability of each among these; of drawn ones each counts the same."""
    if options.sample:
        return [1 / len(found)] * len(found)
    totals = [sum(one.log_probabilities) for one in found]
    weights = [math.exp(total - max(totals)) for total in totals]
    return [weight / sum(weights) for weight in weights]

"""Compare systems by paired bootstrap resampling over sentences."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.significance import PairedTest

from cutaway.errors import InputError
from cutaway.evaluation.scores import check_pairs, metrics


@dataclass(frozen=True)
class Compared:
    """One metric of one system, compared with the baseline's."""

    system: str
    metric: str
    score: float
    mean: float
    half_interval: float  # of the 95 % interval
    difference: float  # to the baseline's score
    p_value: float | None  # None for the baseline itself

    @property
    def is_significant(self) -> bool:
        """Whether there is a difference to the baseline, unlikely (p < 0.05) to be chance.

        Of two equal systems sacreBLEU's p is the smallest there is, 1/(samples + 1).
        """
        return self.p_value is not None and self.p_value < 0.05 and self.difference != 0


@dataclass(frozen=True)
class Comparison:
    """Several systems against the first of them."""

    baseline: str
    samples: int
    results: tuple[Compared, ...]
    signatures: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def compare(
    systems: Sequence[tuple[str, Sequence[str]]],  # name and translations; the baseline first
    references: Sequence[str],
    *,
    language: str | None = None,
    lowercase: bool = False,
    samples: int = 1000,
) -> Comparison:
    """Test every system against the first on the same resampled sentences."""
    if len(systems) < 2:
        raise InputError(f"{len(systems)} system to compare; expected at least two")
    for _, hypotheses in systems:
        check_pairs(hypotheses, references)
    test = PairedTest(
        [(name, list(hypotheses)) for name, hypotheses in systems],
        metrics(language=language, lowercase=lowercase),
        [list(references)],
        test_type="bs",
        n_samples=samples,
    )
    signatures, table = test()
    names = [name for name, _ in systems]
    results = tuple(
        _compared(name, metric, result, column[0])
        for metric, column in table.items()
        if metric != "System"
        for name, result in zip(names, column, strict=True)
    )
    return Comparison(
        baseline=names[0],
        samples=samples,
        results=results,
        signatures={metric: str(signature) for metric, signature in signatures.items()},
    )


def _compared(system: str, metric: str, result: Any, baseline: Any) -> Compared:
    return Compared(
        system=system,
        metric=metric,
        score=float(result.score),
        mean=float(result.mean),
        half_interval=float(result.ci),
        difference=float(result.score) - float(baseline.score),
        p_value=None if result.p_value is None else float(result.p_value),
    )

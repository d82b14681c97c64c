"""BLEU, chrF and TER, computed by sacreBLEU and signed by it: the figures its command prints."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from cutaway.errors import InputError

# Scripts without spaces need their own cut into words; elsewhere sacreBLEU's own, 13a.
TOKENIZE = {"zh": "zh", "ja": "char", "ko": "char", "th": "char"}


@dataclass(frozen=True)
class Score:
    """One metric of a whole text; `half_interval` is half the 95 % interval around `mean`."""

    name: str
    score: float
    signature: str
    mean: float | None = None  # of the bootstrap samples
    half_interval: float | None = None

    def __str__(self) -> str:
        interval = (
            f" (μ = {self.mean:.2f} ± {self.half_interval:.2f})"
            if self.mean is not None and self.half_interval is not None
            else ""
        )
        return f"{self.name} = {self.score:.2f}{interval}"


@dataclass(frozen=True)
class Scores:
    """The metrics of one system."""

    bleu: Score
    chrf: Score
    ter: Score

    @property
    def all(self) -> tuple[Score, Score, Score]:
        """BLEU, chrF, TER."""
        return self.bleu, self.chrf, self.ter

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON and metrics.json."""
        return asdict(self)


def metrics(*, language: str | None = None, lowercase: bool = False) -> dict[str, Any]:
    """sacreBLEU's metrics for a target language, by name."""
    code = (language or "").split("-")[0].split("_")[0].lower()
    spaceless = code in TOKENIZE
    return {
        "BLEU": BLEU(lowercase=lowercase, tokenize=TOKENIZE.get(code)),
        "chrF2": CHRF(lowercase=lowercase),
        "TER": TER(normalized=spaceless, asian_support=spaceless),
    }


def score_texts(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str | None = None,  # of the target: Chinese is cut into characters
    lowercase: bool = False,
    bootstrap: int = 0,  # samples for a 95 % interval; 0: none
) -> Scores:
    """Score translations against one reference each."""
    check_pairs(hypotheses, references)
    found = []
    for name, metric in metrics(language=language, lowercase=lowercase).items():
        # sacreBLEU reads 0 samples as "none" and 1 as a sample of one.
        result = metric.corpus_score(
            list(hypotheses), [list(references)], n_bootstrap=bootstrap or 1
        )
        found.append(
            Score(
                name,
                float(result.score),
                str(metric.get_signature()),
                float(result._mean) if bootstrap else None,
                float(result._ci) if bootstrap else None,
            )
        )
    return Scores(*found)


def check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """As many of one as of the other, and at least one."""
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} translations and {len(references)} references; "
            f"expected as many of each, line by line"
        )
    if not references:
        raise InputError("no sentences to score; give at least one pair")

"""BLEU, chrF and TER, computed by sacreBLEU, with its signatures."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from cutaway.errors import InputError

# Scripts without spaces need their own cut into words; elsewhere sacreBLEU's own, 13a.
TOKENIZE = {"zh": "zh", **dict.fromkeys(("ja", "ko", "th", "lo", "km", "my", "bo"), "char")}
# Ranges of letters, and a language of each script as far as tokenisation goes.
SCRIPTS = (
    (0x3041, 0x30FF, "ja"),
    (0x3400, 0x9FFF, "zh"),
    (0xF900, 0xFAFF, "zh"),
    (0x20000, 0x3FFFF, "zh"),
    (0xAC00, 0xD7AF, "ko"),
    (0x0E01, 0x0E5B, "th"),
    (0x0E81, 0x0EDF, "lo"),
    (0x0F00, 0x0FFF, "bo"),
    (0x1000, 0x109F, "my"),
    (0x1780, 0x17FF, "km"),
)
KANA = 0.05  # share of kana among Han and kana from which a text is Japanese


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


def detected_language(texts: Iterable[str]) -> str | None:
    """The language whose tokenisation suits texts of an unspaced script; None for any other."""
    counts: Counter[str] = Counter()
    for letter, count in Counter(itertools.chain.from_iterable(texts)).items():
        if letter.isalpha():
            point = ord(letter)
            code = next((c for first, last, c in SCRIPTS if first <= point <= last), "")
            counts[code] += count
    if not counts or 2 * counts[""] >= counts.total():
        return None
    del counts[""]
    if counts["ja"] >= KANA * (counts["ja"] + counts["zh"]) > 0:
        counts["ja"] += counts.pop("zh", 0)
    return counts.most_common(1)[0][0]


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
    used = metrics(language=language, lowercase=lowercase)
    return Scores(*(score(used[name], hypotheses, references, bootstrap) for name in used))


def score(
    metric: Any,  # one of `metrics`
    hypotheses: Sequence[str],
    references: Sequence[str],
    bootstrap: int = 0,
) -> Score:
    """One metric of translations against one reference each."""
    # sacreBLEU reads 0 samples as "none" and 1 as a sample of one.
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=bootstrap or 1)
    return Score(
        result.name,
        float(result.score),
        str(metric.get_signature()),
        float(result._mean) if bootstrap else None,
        float(result._ci) if bootstrap else None,
    )


def check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """As many of one as of the other, and at least one."""
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} translations and {len(references)} references; "
            f"expected as many of each, line by line"
        )
    if not references:
        raise InputError("no sentences to score; give at least one pair")

"""Sentences → scores and a report: BLEU, chrF, TER as sacreBLEU counts them."""

from cutaway.evaluation.compare import Compared, Comparison, compare
from cutaway.evaluation.evaluate import Evaluation, Judged, LengthClass, evaluate
from cutaway.evaluation.report import report
from cutaway.evaluation.scores import Score, Scores, score_texts

__all__ = [
    "Compared",
    "Comparison",
    "Evaluation",
    "Judged",
    "LengthClass",
    "Score",
    "Scores",
    "compare",
    "evaluate",
    "report",
    "score_texts",
]

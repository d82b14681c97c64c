"""Sentences → scores and a report: BLEU, chrF, TER as sacreBLEU counts them."""

from cutaway.evaluate.compare import Compared, Comparison, compare
from cutaway.evaluate.evaluation import Evaluation, Judged, LengthClass, evaluate, score_model
from cutaway.evaluate.report import report
from cutaway.evaluate.scores import Score, Scores, score_texts

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
    "score_model",
    "score_texts",
]

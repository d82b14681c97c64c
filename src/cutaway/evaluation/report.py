"""`evaluate.html`: one file, nothing fetched: scores, scores by length, the worst sentences."""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from cutaway.decode import Translator, attention_maps
from cutaway.evaluation.compare import Comparison
from cutaway.evaluation.evaluate import Evaluation, Judged
from cutaway.report import block, document

WORST = 50  # sentences shown, each with the attention of every head


def report(
    systems: Sequence[tuple[Translator, Evaluation]],
    comparison: Comparison | None = None,
    *,
    worst: int = WORST,
) -> str:
    """The report as the text of an HTML file."""
    data = {
        "sentences": len(systems[0][1].sentences),
        "comparison": None if comparison is None else comparison.to_dict(),
        "systems": [
            {
                "name": evaluation.name,
                "scores": [asdict(score) for score in evaluation.scores.all],
                "by_length": [asdict(part) for part in evaluation.by_length],
                "worst": [_sentence(translator, judged) for judged in evaluation.worst(worst)],
            }
            for translator, evaluation in systems
        ],
    }
    here = files("cutaway.evaluation")
    script = here.joinpath("report.js").read_text(encoding="utf-8")
    words = json.loads(here.joinpath("report.json").read_text(encoding="utf-8"))
    body = f'<main id="page"></main>\n{block("words", words)}\n{block("data", data)}'
    return document("Evaluation", body, script=script)


def _sentence(translator: Translator, judged: Judged) -> dict[str, Any]:
    """One sentence with every head's attention, one byte per weight; split texts have none."""
    translation = judged.translation
    found: dict[str, Any] = {
        "number": judged.number,
        "source": judged.source,
        "reference": judged.reference,
        "text": translation.text,
        "chrf": judged.chrf,
        "score": translation.score,
        "warnings": [notice.message for notice in translation.warnings],
        "attention": None,
    }
    ends = [token.id == translator.special.end for token in translation.tokens]
    if not translation.tokens or sum(ends[:-1]):
        return found
    source = translation.source_ids
    maps = attention_maps(
        translator.model,
        source,
        [token.id for token in translation.tokens],
        translator.special.start,
    )  # (layers, H, T, S)
    weights = (maps * 255).round().byte().flatten().tolist()
    return found | {
        "attention": base64.b64encode(bytes(weights)).decode(),
        "layers": maps.shape[0],
        "heads": maps.shape[1],
        "tokens": translation.source_tokens,
        "target": [token.piece for token in translation.tokens],
    }

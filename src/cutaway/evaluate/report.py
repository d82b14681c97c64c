"""`evaluate.html`: one file, nothing fetched: scores, scores by length, the worst sentences."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from cutaway.decode import Translator, attention_maps
from cutaway.evaluate.compare import Comparison
from cutaway.evaluate.evaluation import Evaluation, Judged

WORST = 50  # sentences shown, each with the attention of every head

WORDS = {
    "en": {
        "name": "English",
        "title": "Evaluation",
        "pairs": "sentence pairs",
        "system": "System",
        "metric": "Metric",
        "score": "Score",
        "interval": "95 % interval (bootstrap)",
        "chance": "Against the first",
        "baseline": "baseline",
        "same": "no difference",
        "signature": "sacreBLEU signature",
        "paired": "p: how often a difference as large comes by chance, in paired bootstrap "
        "samples; below 0.05 it is called significant.",
        "by_length": "Score by sentence length",
        "axis": "Height: chrF2. Below: tokens of the source, number of sentences.",
        "length": "Source tokens",
        "sentences": "Sentences",
        "worst": "The worst sentences",
        "worst_note": "Lowest chrF2 first. A good translation in other words scores low too.",
        "line": "line",
        "token": "token",
        "source": "Source",
        "reference": "Reference",
        "translation": "Translation",
        "show": "Attention",
        "attention": "Attention, target × source",
        "layer": "layer",
        "head": "head",
        "all": "mean of all",
    },
    "zh": {
        "name": "中文",
        "title": "评测",
        "pairs": "个句对",
        "system": "系统",
        "metric": "指标",
        "score": "得分",
        "interval": "95 % 置信区间（自助法）",
        "chance": "与第一个相比",
        "baseline": "基线",
        "same": "无差异",
        "signature": "sacreBLEU 签名",
        "paired": "p：在配对自助抽样中，同样大的差异由偶然产生的频率；小于 0.05 称为显著。",
        "by_length": "各句长的得分",
        "axis": "高度：chrF2。下方：源句词元数，句数。",
        "length": "源句词元数",
        "sentences": "句数",
        "worst": "得分最低的句子",
        "worst_note": "chrF2 由低到高。用词不同的好译文得分也会低。",
        "line": "第几行：",
        "token": "词元",
        "source": "原文",
        "reference": "参考译文",
        "translation": "译文",
        "show": "注意力",
        "attention": "注意力，目标 × 源",
        "layer": "层",
        "head": "头",
        "all": "全部平均",
    },
}


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
    folder = files("cutaway.evaluate")
    style = folder.joinpath("report.css").read_text(encoding="utf-8")
    script = folder.joinpath("report.js").read_text(encoding="utf-8")
    # Cells get their colour from the script, so styles are allowed; scripts only this very one.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>Evaluation</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<main id="page"></main>\n{_block("words", WORDS)}\n{_block("data", data)}\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _block(name: str, value: Any) -> str:
    """JSON in a page; "<" is written so that no text can end the block."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _sentence(translator: Translator, judged: Judged) -> dict[str, Any]:
    """One sentence with every head's attention, a byte a weight; split texts have none."""
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

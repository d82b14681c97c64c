"""report.html: curves, scores, sentences, data and settings of a training run."""

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import Any

from cutaway.config import RunConfig
from cutaway.corpus.opening import FIRST_PAIR
from cutaway.corpus.parts import Rows
from cutaway.numbers import short
from cutaway.report import curve, document, facts, table
from cutaway.training.prepare import Prepared
from cutaway.training.run_record import SOURCE_PATHS

PATHS = {
    "data": ("source", "target", "data", "store", "val_source", "val_target", "val_data"),
    "train": ("start_from",),
}
SHOWN = 10  # best and worst sentences, each


def write_report(
    path: Path,
    *,
    log: bytes,
    config: RunConfig,
    prepared: Prepared,
    environment: dict[str, Any],
    metrics: dict[str, float],
    outputs: Sequence[str],
) -> None:
    """Curves, scores, best and worst sentences, data, settings and environment."""
    lines = [json.loads(line) for line in log.splitlines()]
    names = sorted({name for line in lines for name in line if name.startswith("valid_")})
    curves = [("loss", "training loss per token"), ("rate", "learning rate"), ("norm", "gradient")]
    curves += [(name, name.replace("valid_", "validation ")) for name in names]
    drawn = "".join(
        curve([(line["update"], line[name]) for line in lines if name in line], title, "updates")
        for name, title in curves
    )
    notes = [
        note
        for note in prepared.notes
        if not (config.train.private and note.startswith(FIRST_PAIR))
    ]
    parts = [
        "<h1>Training report</h1><h2>Scores of the saved model</h2>",
        facts((name, short(value)) for name, value in metrics.items()),
        f"<h2>Curves</h2>{drawn}",
        sentences(prepared.validation_rows, outputs),
        "<h2>Data</h2>",
        facts(
            [
                ("training rows", f"{len(prepared.train):,}"),
                ("validation rows", f"{len(prepared.validation_rows):,}"),
                ("vocabulary", f"{prepared.tokenizer.vocabulary:,}"),
                ("SHA-256 of the training ids", prepared.train.fingerprint),
                *(("", note) for note in notes),
            ]
        ),
    ]
    for heading, values in (
        *shareable(config).items(),
        ("shape", prepared.model.to_dict()),
        ("environment", {name: environment[name] for name in environment if name != "cpu"}),
    ):
        parts += [f"<h2>{escape(heading)}</h2>", facts(values.items())]
    path.write_text(document("Training report", "\n".join(parts)), encoding="utf-8")


def shareable(config: RunConfig) -> dict[str, dict[str, Any]]:
    """The settings with file names instead of paths: a report may be shared."""
    tables = {heading: dict(values) for heading, values in config.to_tables().items()}
    for heading, names in PATHS.items():
        for name in names:
            if given := tables.get(heading, {}).get(name):
                tables[heading][name] = Path(str(given)).name
    for source in tables["data"].get("sources", ()):
        source |= {name: Path(source[name]).name for name in SOURCE_PATHS if name in source}
    return tables


def sentences(rows: Rows, outputs: Sequence[str]) -> str:
    """The best and worst validation sentences, by the share of equal characters."""
    if not outputs:
        return ""
    judged = sorted(
        (SequenceMatcher(None, output, target, autojunk=False).ratio(), source, target, output)
        for (source, target), output in zip(rows, outputs, strict=True)
    )
    parts = []
    for heading, chosen in (
        ("Worst validation sentences", judged[:SHOWN]),
        ("Best validation sentences", sorted(judged[-SHOWN:], reverse=True)),
    ):
        head = ("alike", "source", "reference", "output")
        body = [(f"{share:.0%}", *texts) for share, *texts in chosen]
        parts.append(f"<h2>{heading}</h2>{table(head, body)}")
    return "".join(parts)

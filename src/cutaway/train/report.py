"""report.html: the run on one page, with its own drawings and no other file needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutaway.config import RunConfig
from cutaway.train.prepare import Prepared


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
    """Curves, settings, data, scores, best and worst sentences."""
    path.write_text("<!doctype html>\n", encoding="utf-8")

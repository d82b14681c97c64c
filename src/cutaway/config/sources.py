"""The settings of one source of several: an entry [[data.sources]] of a run.toml."""

import os
import re
from dataclasses import dataclass
from typing import Any

from cutaway.config.base import Config, at_least, setting
from cutaway.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class SourceConfig(Config):
    """One source of pairs; what is empty is as in the table [data]."""

    path: str = setting("", "file with both sides, or with the source sentences")
    target: str = setting("", "file with the translations, if path holds the sources alone")
    embedded: str = setting("", "the package's own corpus instead of a file: en-fr or en-zh")
    val: str = setting("", "validation file with both sides, in the format of path")
    weight: float = setting(
        1.0, "how often its pairs are seen in an epoch; 0.5: half of them, the other half next time"
    )
    tag: str = setting("", "name of a tag put before its source sentences, as bt for <#bt>")
    languages: str = setting("", "source and target language, as en-de")
    reverse: bool = setting(False, "swap source and target of this source")
    format: str = setting("", "text, tsv, jsonl, tmx, po or mo; empty: by the file name")
    encoding: str = setting("", "encoding of the file")
    columns: str = setting("", "TSV columns of source and target, counted from 1")
    keys: str = setting("", "JSONL keys of source and target")
    top: float = setting(100.0, "percent of the file that is read, from its beginning")
    limit: int = setting(0, "most pairs that are kept; 0: all")
    filters: dict[str, Any] = setting(
        {}, "filters of `cutaway data check` that differ here, as { ratio = 3, copied = false }"
    )
    transforms: tuple[str, ...] = setting(
        (), "changes to every pair: unescape, unpaired, first_case, or remove:TEXT"
    )
    augment: dict[str, Any] = setting(
        {}, "changed copies to add: lowercase, unpunctuated or typos, each with a share of pairs"
    )
    seed: int = setting(1, "decides which pairs are augmented, and their typos")

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.path) == bool(self.embedded):
            raise ConfigError(
                f"path is {self.path!r} and embedded is {self.embedded!r}; a source has one of them"
            )
        if not self.weight > 0:
            raise ConfigError(f"weight is {self.weight}; expected a number above 0")
        if not 0 < self.top <= 100:
            raise ConfigError(f"top is {self.top}; expected percent above 0 and at most 100")
        at_least("limit", self.limit, 0)
        at_least("seed", self.seed, 0)
        if self.tag and not self.tag.isalnum():
            raise ConfigError(f"tag is {self.tag!r}; expected letters and digits, as bt")


def given_files(files: list[str]) -> dict[str, Any]:
    """`--data a.tsv:2 --data b.tmx` as settings of [data]: one plain file, or several sources."""
    sources = [_weighted(file) for file in files]
    if len(sources) == 1 and sources[0].keys() == {"path"}:
        return {"data": sources[0]["path"]}
    return {"sources": sources} if sources else {}


# A path, a weight, and perhaps a tag: a.tsv:2, b.tsv:0.5:bt
WEIGHTED = re.compile(r"(?P<path>.+?):(?P<weight>\d+(\.\d*)?|\.\d+)(:(?P<tag>\w+))?")


def _weighted(file: str) -> dict[str, Any]:
    """A file with its weight and tag, unless a file has that very name."""
    found = WEIGHTED.fullmatch(file)
    if found is None or os.path.exists(file):
        return {"path": file}
    tag = {"tag": found["tag"]} if found["tag"] else {}
    return {"path": found["path"], "weight": float(found["weight"]), **tag}

"""Harvest: the translations already installed on this computer, for personal use."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike


@dataclass(frozen=True)
class Harvested:
    """One translated message and the catalogue it came from."""

    source: str
    target: str
    origin: str


def harvest(language: str, roots: Sequence[str | PathLike[str]] | None = None) -> list[Harvested]:
    """Distinct messages of every gettext catalogue of a language under the roots."""
    raise NotImplementedError

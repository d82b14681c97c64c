"""Harvest collects catalogues of one language, once each, and says what it could not read."""

import sys
from pathlib import Path

import pytest

from cutaway.corpus import Harvested, harvest
from cutaway.corpus.harvesting import installed_roots
from cutaway.errors import DataError
from tests.corpus.test_reading import mo

HEADER = {"": "Content-Type: text/plain; charset=UTF-8\n"}


def put(root: Path, language: str, name: str, content: bytes) -> None:
    folder = root / "share" / language / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "fr", "tool.mo", mo(HEADER | {"Open": "Ouvrir", "two\n  lines": "deux\tlignes"}))
    put(tmp_path, "fr", "tool.po", b'msgid "Open"\nmsgstr "same messages, not compiled"\n')
    put(tmp_path, "fr_CA", "more.mo", mo(HEADER | {"Open": "Ouvrir", "Close": "Fermer"}))
    put(tmp_path, "fr", "text.po", b'msgid "Yes"\nmsgstr "Oui"\n')
    put(tmp_path, "fr", "broken.mo", b"nothing of the kind")
    put(tmp_path, "fry", "other.mo", mo(HEADER | {"Open": "Iepenje"}))
    put(tmp_path, "de", "tool.mo", mo(HEADER | {"Open": "Öffnen"}))
    return tmp_path


def test_harvest_is_distinct_with_origin_and_notes(root: Path) -> None:
    notes: list[str] = []
    assert (
        harvest("fr", [root], notes=notes)
        == [
            Harvested("Open", "Ouvrir", "fr/tool"),
            Harvested("two lines", "deux lignes", "fr/tool"),
            Harvested("Yes", "Oui", "fr/text"),
            Harvested("Close", "Fermer", "fr_CA/more"),
        ]
        or notes
    )
    assert len(harvest("fr", [root])) == 4
    assert notes[0].startswith("left out: ")
    assert "broken.mo" in notes[0]
    assert notes[1] == "4 catalogues, 4 distinct messages, 1 repeated"
    assert harvest("fr", [root, root]) == harvest("fr", [root])


def test_a_region_is_only_that_region(root: Path) -> None:
    assert {row.target for row in harvest("fr-CA", [root])} == {"Ouvrir", "Fermer"}
    assert {row.target for row in harvest("de", [root])} == {"Öffnen"}


def test_nothing_found_is_said(root: Path) -> None:
    with pytest.raises(DataError, match="no translation into 'zh' is installed"):
        harvest("zh", [root])
    with pytest.raises(DataError, match="expected a code such as fr"):
        harvest("../etc", [root])


def test_this_computer_is_searched_where_catalogues_are_installed() -> None:
    assert all(place.is_dir() for place in installed_roots())
    assert any(str(place).startswith((sys.prefix, "/usr")) for place in installed_roots())

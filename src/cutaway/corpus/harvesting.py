"""Harvest: the translations already installed on this computer, for personal use."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cutaway.corpus.gettext import read_mo, read_po
from cutaway.errors import DataError

_CODE = re.compile(r"[A-Za-z]{2,3}([_@-][A-Za-z0-9]+)*")


@dataclass(frozen=True)
class Harvested:
    """One translated message and the catalogue it came from."""

    source: str
    target: str
    origin: str


def harvest(
    language: str,
    roots: Sequence[str | PathLike[str]] | None = None,
    *,
    notes: list[str] | None = None,
) -> list[Harvested]:
    """Distinct messages of every gettext catalogue of a language under the roots.

    "fr" also takes fr_CA. White space inside a message becomes single spaces. Catalogues that
    cannot be read, and repeated messages, are counted in `notes`.
    """
    if not _CODE.fullmatch(language):
        raise DataError(f"language {language!r}: expected a code such as fr or zh_CN")
    notes = [] if notes is None else notes
    places = [Path(root) for root in roots] if roots is not None else installed_roots()
    rows: list[Harvested] = []
    seen: set[tuple[str, str]] = set()
    found = repeated = 0
    for path, origin in _catalogues(places, language):
        found += 1
        reader = read_po if path.suffix == ".po" else read_mo
        try:
            pairs = list(reader(path, None, []))  # what a catalogue leaves untranslated is no loss
        except DataError as error:
            notes.append(f"left out: {error}")
            continue
        for source, target in pairs:
            pair = (" ".join(source.split()), " ".join(target.split()))
            if not all(pair):
                continue
            if pair in seen:
                repeated += 1
                continue
            seen.add(pair)
            rows.append(Harvested(*pair, origin))
    notes.append(f"{found} catalogues, {len(rows)} distinct messages, {repeated} repeated")
    if not rows:
        searched = ", ".join(map(str, places)) or "no folder"
        raise DataError(
            f"no translation into {language!r} is installed here (searched: {searched}); "
            "install a language pack, or name another folder"
        )
    return rows


def installed_roots() -> list[Path]:
    """The folders where catalogues are installed on this computer, those that exist."""
    home = Path.home()
    places = [
        Path(sys.prefix) / "share" / "locale",
        Path("/usr/share/locale"),
        Path("/usr/share/locale-langpack"),
        Path("/usr/local/share/locale"),
        Path("/opt/homebrew/share/locale"),
        home / ".local" / "share" / "locale",
        *(Path(entry) for entry in sys.path if entry.endswith("site-packages")),
    ]
    return [place for place in dict.fromkeys(places) if place.is_dir()]


def _catalogues(roots: Sequence[Path], language: str) -> Iterator[tuple[Path, str]]:
    """Every catalogue under …/<language>/LC_MESSAGES, in a fixed order, and a name for it."""
    wanted = language.lower().replace("-", "_")
    known: set[Path] = set()
    for root in roots:
        for folder, subfolders, files in os.walk(root):
            subfolders.sort()
            here = Path(folder)
            if here.name != "LC_MESSAGES":
                continue
            code = here.parent.name.lower().replace("-", "_")
            if code != wanted and not code.startswith((wanted + "_", wanted + "@")):
                continue
            for name in sorted(files):
                path = here / name
                if path.suffix not in (".mo", ".po") or path.resolve() in known:
                    continue
                if path.suffix == ".po" and path.with_suffix(".mo").is_file():
                    continue  # the compiled form has the same messages
                known.add(path.resolve())
                yield path, f"{here.parent.name}/{path.stem}"

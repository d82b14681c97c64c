"""TMX: translation units of two languages, streamed; entities are refused."""

from collections import deque
from collections.abc import Iterator
from xml.parsers import expat

from cutaway.corpus.files import Path, label, open_bytes
from cutaway.errors import DataError

CODES = {"bpt", "ept", "it", "ph", "ut"}  # inline elements whose content is markup, not text
LONGEST = 1 << 20  # characters of a segment
PIECE = 1 << 16  # bytes handed to the parser at a time


class _Units:
    """Collects the text of each `<tu>`: language → text, until it is taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parser = expat.ParserCreate()
        self.done: deque[dict[str, str]] = deque()
        self.source_language = ""
        self.languages: set[str] = set()
        self._root = ""
        self._unit: dict[str, str] | None = None
        self._language = ""
        self._text: list[str] | None = None
        self._codes = 0
        self._letters = 0  # of the segment so far
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity
        self.parser.buffer_text = True

    def error(self, what: str) -> DataError:
        return DataError(f"{self.name}, line {self.parser.CurrentLineNumber}: {what}")

    def _entity(self, name: str, *_: object) -> None:
        raise self.error(f"the file declares the entity {name!r}; entities are refused")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._root:
            self._root = tag
            if tag != "tmx":
                raise self.error(f"the document is <{tag}>; expected <tmx>")
        if tag == "header":
            self.source_language = attributes.get("srclang", "")
        elif tag == "tu":
            self._unit = {}
        elif tag == "tuv" and self._unit is not None:
            self._language = attributes.get("xml:lang") or attributes.get("lang", "")
            if not self._language:
                raise self.error("a <tuv> has no xml:lang")
            self.languages.add(self._language.lower())
        elif tag == "seg" and self._unit is not None:
            self._text = []
            self._letters = 0
        elif tag in CODES:
            self._codes += 1

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._letters += len(text)
            if self._letters > LONGEST:
                raise self.error(f"a <seg> is longer than {LONGEST:,} characters")
            self._text.append(text)

    def _end(self, tag: str) -> None:
        if tag in CODES:
            self._codes -= 1
        elif tag == "seg" and self._unit is not None and self._text is not None:
            self._unit[self._language.lower()] = " ".join("".join(self._text).split())
            self._text = None
        elif tag == "tu" and self._unit is not None:
            self.done.append(self._unit)
            self._unit = None


def read_tmx(
    path: Path, languages: tuple[str, str] | None, notes: list[str]
) -> Iterator[tuple[str, str]]:
    """(source, target) of every unit that has both languages; the others are noted.

    Without `languages`, the source is the header's `srclang` and the target the one other
    language of the first unit. "en" also matches "en-GB".
    """
    units = _Units(label(path))
    lacking = 0
    count = 0
    for unit in _stream(path, units):
        count += 1
        if languages is None:
            languages = _guess(unit, units)
        source, target = (_pick(unit, language) for language in languages)
        if source is None or target is None:
            lacking += 1
        else:
            yield source, target
    if lacking == count and languages is not None:
        known = ", ".join(sorted(units.languages)) or "none"
        raise DataError(
            f"{label(path)}: no unit has both {languages[0]} and {languages[1]}; its languages "
            f"are {known}: give two of them, source first, as --languages en-de"
        )
    if lacking and languages is not None:
        notes.append(
            f"{label(path)}: {lacking} of {count} units lack {languages[0]} or {languages[1]}"
        )


def _stream(path: Path, units: _Units) -> Iterator[dict[str, str]]:
    try:
        with open_bytes(path) as stream:
            while piece := stream.read(PIECE):
                units.parser.Parse(piece, False)
                while units.done:
                    yield units.done.popleft()
            units.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(
            f"{label(path)}, line {error.lineno}: not well-formed XML "
            f"({expat.ErrorString(error.code)})"
        ) from None
    except (ValueError, LookupError) as error:
        if isinstance(error, DataError):
            raise
        raise units.error(f"cannot be read as XML ({error})") from None
    yield from units.done


def _guess(unit: dict[str, str], units: _Units) -> tuple[str, str]:
    source = units.source_language.lower()
    others = [language for language in unit if not source or not _matches(language, source)]
    if len(others) != 1 or len(unit) != 2 or source in ("", "*all*"):
        raise units.error(
            f"units have {', '.join(unit) or 'no language'} and srclang is {source or 'not given'};"
            " give the two languages to read, source first, as --languages en-de"
        )
    return source, others[0]


def _pick(unit: dict[str, str], language: str) -> str | None:
    if language.lower() in unit:
        return unit[language.lower()]
    return next((text for found, text in unit.items() if _matches(found, language)), None)


def _matches(found: str, asked: str) -> bool:
    """Whether a language of the file is the one asked for, or a region of it."""
    found, asked = found.lower().replace("_", "-"), asked.lower().replace("_", "-")
    return found == asked or found.startswith(asked + "-") or asked.startswith(found + "-")

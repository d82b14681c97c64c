"""Fill the untranslated entries of a .po file; every other byte stays as it was."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cutaway.corpus.po import Entry, quoted
from cutaway.corpus.po import entries as entries_of
from cutaway.decode.placeholders import Protected, translate_protected
from cutaway.decode.translation import Translation


@dataclass(frozen=True)
class Problem:
    """An entry that a person should check, by the line of its msgid."""

    line: int
    message: str


@dataclass
class Filled:
    """The file afterwards, and what was done to it."""

    text: str
    translated: int = 0  # entries filled and marked fuzzy
    kept: int = 0  # entries that had a translation
    left: int = 0  # entries still open
    problems: list[Problem] = field(default_factory=list)


def fill(
    text: str,
    translate: Callable[[list[str]], Sequence[Translation]],
    *,
    name: str = "the .po file",
) -> Filled:
    """Translate the entries without translation, mark them fuzzy, keep placeholders intact."""
    lines = text.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    entries = list(entries_of([line.removesuffix("\r") for line in lines], name))
    waiting = [entry for entry in entries if _is_open(entry)]
    messages = [
        message
        for entry in waiting
        for message in (entry.strings["msgid"], entry.strings.get("msgid_plural"))
        if message is not None
    ]
    warnings: dict[str, list[str]] = {}

    def plain(texts: list[str]) -> list[str]:
        translations = translate(texts)
        for translation in translations:
            warnings.setdefault(translation.source, []).extend(
                notice.message for notice in translation.warnings if notice.kind != "unchanged"
            )
        return [translation.text for translation in translations]

    protected = iter(translate_protected(messages, plain) if messages else [])
    filled = Filled(
        "", kept=sum(bool(entry.strings.get("msgid")) and not _is_open(entry) for entry in entries)
    )
    edits: list[tuple[int, int, list[str]]] = []  # (first line, behind the last, what instead)
    for entry in waiting:
        singular = next(protected)
        plural = next(protected) if "msgid_plural" in entry.strings else None
        wrong = sorted({*singular.wrong, *(plural.wrong if plural else ())})
        line = entry.places["msgid"][0] + 1
        if wrong:
            filled.left += 1
            filled.problems.append(
                Problem(line, f"left open: cannot keep {', '.join(wrong)} in the translation")
            )
            continue
        filled.translated += 1
        if singular.in_pieces or (plural is not None and plural.in_pieces):
            note = "translated in pieces around its placeholders; check the order of the words"
            filled.problems.append(Problem(line, note))
        for one in (singular, plural):
            if one is not None:
                source = entry.strings["msgid" if one is singular else "msgid_plural"]
                filled.problems += [Problem(line, note) for note in lost_marks(source, one.text)]
        for message in (entry.strings["msgid"], entry.strings.get("msgid_plural") or ""):
            filled.problems += [Problem(line, note) for note in warnings.get(message, [])]
        edits += _edits(entry, singular, plural, lines)
    for first, behind, instead in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        lines[first:behind] = [line + ending for line in instead]
    filled.text = "\n".join(lines)
    return filled


def lost_marks(source: str, target: str) -> list[str]:
    """What a person must put back: the accelerator of a menu (_File, &Edit), tabs, line breaks."""
    notes: list[str] = []
    for sign in "_&":
        key = re.compile(rf"(?<![\w{sign}]){sign}(?=\w)|(?<=\w){sign}(?=\w)")
        if len(key.findall(source)) == 1 and sign not in target:
            notes.append(f"the accelerator {sign} is missing; put it before a letter of the word")
    for mark, name in (("\t", "tabs"), ("\n", "line breaks")):
        wanted, found = source.strip().count(mark), target.strip().count(mark)
        if wanted != found:
            notes.append(f"{found} {name} where the source has {wanted}; check them")
    return notes


def language_of(text: str, name: str = "") -> str:
    """The language that the header of a .po file names, as fr of `Language: fr_CA`; or nothing."""
    header = next((one for one in entries_of(text.splitlines(), name)), None)
    if header is None or header.strings.get("msgid"):
        return ""
    match = re.search(r"^Language:[ \t]*([A-Za-z]+)", "".join(header.forms), flags=re.MULTILINE)
    return match[1].lower() if match else ""


def _edits(
    entry: Entry, singular: Protected, plural: Protected | None, lines: list[str]
) -> Iterator[tuple[int, int, list[str]]]:
    """The lines to change for one entry: its msgstr, and the fuzzy mark."""
    for name in entry.strings:
        if not name.startswith("msgstr"):
            continue
        from_plural = plural is not None and name != "msgstr[0]"
        source = entry.strings["msgid_plural" if from_plural else "msgid"]
        target = plural.text if plural is not None and from_plural else singular.text
        first, behind = entry.places[name]
        yield first, behind, quoted(name, _same_edges(source, target))
    if entry.flags is None:
        yield entry.start, entry.start, ["#, fuzzy"]
    else:
        old = lines[entry.flags].removesuffix("\r")
        if not re.search(r"\bfuzzy\b", old):
            yield entry.flags, entry.flags + 1, [old.replace("#,", "#, fuzzy,", 1)]


def _is_open(entry: Entry) -> bool:
    """Whether an entry has a message and no translation; the header has no message."""
    return bool(entry.strings.get("msgid")) and not any(entry.forms)


def _same_edges(source: str, target: str) -> str:
    """The translation with the white space of its source at both ends, as msgfmt demands."""
    body = source.strip()
    if not body:
        return target
    start = source.index(body)
    return source[:start] + target.strip() + source[start + len(body) :]

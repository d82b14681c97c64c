"""Cleaning: declared filters, and a count of what each removed."""

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from cutaway.errors import DataError, InputError

WHY = {  # what is wrong with a pair that a filter removes
    "empty": "a side has no visible character",
    "control": "control characters or U+FFFD: often a wrong encoding",
    "copied": "the target is the source",
    "shortest": "a side is too short",
    "longest": "a side has too many words",
    "ratio": "one side is many times longer: often files that are not aligned",
    "min_characters": "a side has too few characters",
    "max_characters": "a side has too many characters",
    "lengths": "the lengths of the sides are too far apart",
    "contains": "a side holds a text that is not wanted",
    "digits": "one side has digits and the other has none",
    "digit_share": "too many digits",
    "symbol_share": "too many signs that are no letter, digit or space",
    "same_count": "a character is not as frequent on both sides",
    "first_case": "one side begins with a capital letter, the other does not",
    "duplicate": "the same pair occurred before",
}
EXAMPLES = 5  # removed pairs kept per filter, to show

# Chinese characters, kana, Thai, Lao, Burmese and Khmer: written without spaces between words.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff\N{REPLACEMENT CHARACTER}]")
VISIBLE = re.compile(r"\w")

Form = Literal["NFC", "NFKC", "NFD", "NFKD"]
Check = Callable[[str, str], bool]  # (source, target) → whether to remove the pair
Pair = tuple[str, str]
# What the filters say of one pair without knowing the others: the pair as prepared, the filter
# that removes it, whether preparing changed it, and its hash (0: duplicates are kept).
Judged = tuple[Pair, str | None, bool, int]


@dataclass(frozen=True)
class Filters:
    """The filters in the order they are applied; None or False switches one off."""

    normalise: Form | None = "NFC"  # Unicode form both sides are brought to
    strip: bool = True  # white space around a side goes
    empty: bool = True  # a side without a visible character
    control: bool = True  # a control character other than tab, or U+FFFD
    copied: bool = True  # target equals source
    shortest: int | None = None  # fewer words on a side
    longest: int | None = 250  # more words on a side
    ratio: float | None = 9.0  # one side more than so many times longer than the other
    min_characters: int | None = None  # fewer characters on a side
    max_characters: int | None = None  # more characters on a side
    lengths: tuple[float, float] | None = None  # characters of source / target outside these bounds
    contains: tuple[str, ...] | None = None  # either side holds one of these texts
    digits: bool = False  # one side has a digit and the other has none
    digit_share: float | None = None  # more than this share of a side's characters are digits
    symbol_share: float | None = None  # more than this share are no letter, digit or space
    same_count: str | None = None  # one of these characters is not as frequent on both sides
    first_case: bool = False  # one side begins with a capital letter, the other with a small one
    duplicate: bool = True  # the same pair occurred before


@dataclass(frozen=True)
class Cleaning:
    """What cleaning did: `given = kept + Σ removed`; and how many pairs normalisation changed."""

    given: int
    kept: int
    removed: dict[str, int]
    normalised: int
    examples: dict[str, tuple[int, ...]]  # filter → numbers (from 0) of the first pairs removed
    numbers: Sequence[int] = field(repr=False)  # places of kept pairs in the input, if asked for

    def __str__(self) -> str:
        removed = ", ".join(f"{name} {count:,}" for name, count in self.removed.items() if count)
        kept = f"{self.given:,} pairs read, {self.kept:,} kept"
        return f"{kept} (removed: {removed})" if removed else kept

    def require_some(self) -> None:
        """Refuse to go on with nothing: say which filter removed how many pairs, and why."""
        if self.given and not self.kept:
            reasons = ", ".join(
                f"{count:,} by {name!r} ({WHY.get(name, 'a filter of the corpus')})"
                for name, count in self.removed.items()
                if count
            )
            raise DataError(
                f"cleaning removed all {self.given:,} pairs: {reasons}; correct the files, or "
                f"keep such pairs with --set data.clean=false (data build: --no-clean)"
            )


class Cleaner:
    """Applies the filters to pairs as they pass; a removed pair counts for the first filter.

    `numbered` keeps the place of each kept pair, 8 bytes per pair; what else is kept is `Seen`.
    Cleaning is two steps, which may happen in different processes: `judged` looks at each pair
    alone, `counted` finds duplicates, the last of the filters, and counts.
    """

    def __init__(self, filters: Filters | None = None, *, numbered: bool = False) -> None:
        self._filters = filters or Filters()
        checks = _checks(self._filters)
        self._checks = [(name, check) for name, check in checks if not isinstance(check, Seen)]
        self._seen = next((check for _, check in checks if isinstance(check, Seen)), None)
        self._removed = {name: 0 for name, _ in checks}
        self._examples: dict[str, list[int]] = {name: [] for name in self._removed}
        self._numbers = array("q") if numbered else None
        self._given = self._kept = self._normalised = 0

    @property
    def alone(self) -> tuple[str, ...]:
        """The filters that look at each pair alone, in their order."""
        return tuple(name for name, _ in self._checks)

    def passing(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The pairs that are kept, one at a time."""
        return self.counted(self.judged(pairs))

    def judged(self, pairs: Iterable[Pair]) -> Iterator[Judged]:
        """What the filters that look at each pair alone say of it; nothing is counted."""
        for pair in pairs:
            prepared = (_prepare(pair[0], self._filters), _prepare(pair[1], self._filters))
            culprit = next((name for name, bad in self._checks if bad(*prepared)), None)
            digest = digest_of(*prepared) if culprit is None and self._seen is not None else 0
            yield prepared, culprit, prepared != pair, digest

    def counted(self, judged: Iterable[Judged]) -> Iterator[Pair]:
        """The pairs that are kept, without duplicates, one at a time; all are counted."""
        for number, (pair, culprit, changed, digest) in enumerate(judged):
            self._given += 1
            self._normalised += changed
            if digest and self._seen is not None and self._seen.again(digest):
                culprit = "duplicate"
            if culprit is None:
                self._kept += 1
                if self._numbers is not None:
                    self._numbers.append(number)
                yield pair
                continue
            self._removed[culprit] += 1
            if len(self._examples[culprit]) < EXAMPLES:
                self._examples[culprit].append(number)

    def some(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The pairs that are kept; a DataError at the end if there was none among those given."""
        yield from self.passing(pairs)
        self.report().require_some()

    def report(self) -> Cleaning:
        """What has been done so far."""
        return Cleaning(
            given=self._given,
            kept=self._kept,
            removed=dict(self._removed),
            normalised=self._normalised,
            examples={name: tuple(found) for name, found in self._examples.items()},
            numbers=self._numbers if self._numbers is not None else (),
        )


def clean(
    pairs: Iterable[tuple[str, str]], filters: Filters | None = None
) -> tuple[list[tuple[str, str]], Cleaning]:
    """Apply the filters in order: the pairs that are kept, and counts of the removed ones."""
    cleaner = Cleaner(filters, numbered=True)
    kept = list(cleaner.passing(pairs))
    return kept, cleaner.report()


def split_words(text: str) -> list[str]:
    """Words by white space; of scripts written without spaces, each character is one.

    So "我喜欢 AI" has four: limits, ratios and coverage then mean about the same everywhere.
    """
    return UNSPACED.sub(r" \g<0> ", text).split()


def words(text: str) -> int:
    """The number of `split_words`."""
    spaced, unspaced = UNSPACED.subn(" ", text)
    return unspaced + len(spaced.split())


def _prepare(text: str, filters: Filters) -> str:
    if filters.normalise:
        text = unicodedata.normalize(filters.normalise, text)
    return text.strip() if filters.strip else text


def _ratio(limit: float) -> Check:
    if limit < 1:
        raise InputError(f"ratio is {limit}; expected at least 1: the longer side has more words")

    def bad(source: str, target: str) -> bool:
        first, second = words(source), words(target)
        return max(first, second) > limit * max(1, min(first, second))

    return bad


class Seen:
    """Whether the same pair came before; keeps a 64-bit hash per pair instead of its text.

    The hashes stand in one open-addressed table that is at most two thirds full: 12 to 24 bytes per
    pair, 134 MB for 10 million pairs (twice half of that more while it grows). Two of n different
    pairs have the same hash, and one is removed though it is new, with probability n² / 2⁶⁵: 3e-6
    for 10 million pairs, 3e-4 for 100 million.
    """

    def __init__(self) -> None:
        self._slots = _slots(1 << 10)
        self._count = 0

    def __call__(self, source: str, target: str) -> bool:
        return self.again(digest_of(source, target))

    def again(self, digest: int) -> bool:
        """Whether this hash came before."""
        slots = self._slots
        last = len(slots) - 1
        place = digest & last
        while found := slots[place]:
            if found == digest:
                return True
            place = (place + 1) & last
        slots[place] = digest
        self._count += 1
        if 3 * self._count > 2 * len(slots):
            self._grow()
        return False

    @property
    def bytes(self) -> int:
        """Memory of the table."""
        return len(self._slots) * self._slots.itemsize

    def _grow(self) -> None:
        old, self._slots = self._slots, _slots(2 * len(self._slots))
        slots = self._slots
        last = len(slots) - 1
        for digest in old:
            if digest:
                place = digest & last
                while slots[place]:
                    place = (place + 1) & last
                slots[place] = digest


def digest_of(source: str, target: str) -> int:
    """A pair's 64-bit hash, never 0."""
    text = f"{len(source)}:{source}{target}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) or 1  # 0: an empty slot


def _slots(count: int) -> "array[int]":
    return array("Q", [0]) * count


def _share(text: str, counts: Callable[[str], bool]) -> float:
    """The share of a text's characters that count."""
    return sum(map(counts, text)) / max(1, len(text))


def _symbol(character: str) -> bool:
    return not (character.isalnum() or character.isspace())


def _too_much(counts: Callable[[str], bool]) -> Callable[[float], Check]:
    """A check that refuses a side of which more than a share of the characters count."""
    return lambda most: (
        lambda source, target: any(_share(side, counts) > most for side in (source, target))
    )


def _lengths(bounds: Sequence[float]) -> Check:
    if len(bounds) != 2 or not 0 < bounds[0] <= bounds[1]:
        raise InputError(f"lengths is {list(bounds)}; expected two numbers, as [0.5, 2.0]")
    low, high = bounds
    return lambda source, target: not low <= len(source) / max(1, len(target)) <= high


def _first_case(source: str, target: str) -> bool:
    first, second = source[:1], target[:1]
    cased = first.lower() != first.upper() and second.lower() != second.upper()
    return cased and first.isupper() != second.isupper()


def _blank(text: str) -> bool:
    """No visible character: only white space, control and format characters."""
    if VISIBLE.search(text):
        return False
    return all(unicodedata.category(character)[0] in "ZC" for character in text)


# Name of a filter → its setting → whether to remove a pair. `Filters` gives the order.
CHECKS: dict[str, Callable[[Any], Check]] = {
    "empty": lambda on: lambda source, target: _blank(source) or _blank(target),
    "control": lambda on: lambda source, target: bool(CONTROL.search(source + target)),
    "copied": lambda on: lambda source, target: source == target,
    "shortest": lambda least: lambda source, target: min(words(source), words(target)) < least,
    "longest": lambda most: lambda source, target: max(words(source), words(target)) > most,
    "ratio": _ratio,
    "min_characters": lambda least: lambda source, target: min(len(source), len(target)) < least,
    "max_characters": lambda most: lambda source, target: max(len(source), len(target)) > most,
    "lengths": _lengths,
    "contains": lambda texts: (
        lambda source, target: any(text in side for text in texts for side in (source, target))
    ),
    "digits": lambda on: (
        lambda source, target: any(map(str.isdecimal, source)) != any(map(str.isdecimal, target))
    ),
    "digit_share": _too_much(str.isdecimal),
    "symbol_share": _too_much(_symbol),
    "same_count": lambda characters: (
        lambda source, target: any(source.count(one) != target.count(one) for one in characters)
    ),
    "first_case": lambda on: _first_case,
    "duplicate": lambda on: Seen(),
}


def _checks(filters: Filters) -> list[tuple[str, Check]]:
    """Name and test of each filter that is on, in the order of `Filters`."""
    settings = {field.name: getattr(filters, field.name) for field in fields(filters)}
    return [
        (name, CHECKS[name](setting))
        for name, setting in settings.items()
        if name in CHECKS and setting is not None and setting is not False
    ]

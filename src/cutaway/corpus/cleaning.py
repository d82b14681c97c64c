"""Cleaning: declared filters, and a count of what each removed."""

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from cutaway.errors import InputError

EXAMPLES = 5  # removed pairs kept per filter, to show

# Chinese characters, kana, Thai, Lao, Burmese and Khmer: written without spaces between words.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff\N{REPLACEMENT CHARACTER}]")
VISIBLE = re.compile(r"\w")

Form = Literal["NFC", "NFKC", "NFD", "NFKD"]


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
    duplicate: bool = True  # the same pair once more


@dataclass(frozen=True)
class Cleaning:
    """What cleaning did: `given = kept + Σ removed`; and how many pairs normalisation changed."""

    given: int
    kept: int
    removed: dict[str, int]
    normalised: int
    examples: dict[str, tuple[int, ...]]  # filter → numbers (from 0) of the first pairs removed
    numbers: tuple[int, ...] = field(repr=False)  # place of each kept pair in the input, from 0


class Cleaner:
    """Applies the filters to pairs as they pass; a removed pair counts for the first filter."""

    def __init__(self, filters: Filters | None = None) -> None:
        self._filters = filters or Filters()
        self._checks = _checks(self._filters)
        self._removed = {name: 0 for name, _ in self._checks}
        self._examples: dict[str, list[int]] = {name: [] for name in self._removed}
        self._numbers = array("q")
        self._given = self._normalised = 0

    def passing(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """The pairs that are kept, one at a time."""
        for number, pair in enumerate(pairs):
            self._given += 1
            prepared = (_prepare(pair[0], self._filters), _prepare(pair[1], self._filters))
            self._normalised += prepared != pair
            culprit = next((name for name, bad in self._checks if bad(*prepared)), None)
            if culprit is None:
                self._numbers.append(number)
                yield prepared
                continue
            self._removed[culprit] += 1
            if len(self._examples[culprit]) < EXAMPLES:
                self._examples[culprit].append(number)

    def report(self) -> Cleaning:
        """What has been done so far."""
        return Cleaning(
            given=self._given,
            kept=len(self._numbers),
            removed=dict(self._removed),
            normalised=self._normalised,
            examples={name: tuple(found) for name, found in self._examples.items()},
            numbers=tuple(self._numbers),
        )


def clean(
    pairs: Iterable[tuple[str, str]], filters: Filters | None = None
) -> tuple[list[tuple[str, str]], Cleaning]:
    """Apply the filters in order: the pairs that are kept, and an account of all others."""
    cleaner = Cleaner(filters)
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


def _checks(filters: Filters) -> list[tuple[str, Callable[[str, str], bool]]]:
    """Name and test of each filter that is on."""
    checks: list[tuple[str, Callable[[str, str], bool]]] = []
    if filters.empty:
        checks.append(("empty", lambda source, target: _blank(source) or _blank(target)))
    if filters.control:
        checks.append(("control", lambda source, target: bool(CONTROL.search(source + target))))
    if filters.copied:
        checks.append(("copied", lambda source, target: source == target))
    if filters.shortest is not None:
        least = filters.shortest
        checks.append(
            ("shortest", lambda source, target: min(words(source), words(target)) < least)
        )
    if filters.longest is not None:
        most = filters.longest
        checks.append(("longest", lambda source, target: max(words(source), words(target)) > most))
    if filters.ratio is not None:
        if filters.ratio < 1:
            raise InputError(f"ratio {filters.ratio}: expected at least 1")
        checks.append(("ratio", _ratio(filters.ratio)))
    if filters.duplicate:
        checks.append(("duplicate", _Seen()))
    return checks


def _ratio(limit: float) -> Callable[[str, str], bool]:
    def bad(source: str, target: str) -> bool:
        first, second = words(source), words(target)
        return max(first, second) > limit * max(1, min(first, second))

    return bad


class _Seen:
    """Whether the same pair came before; 16 bytes a pair instead of its text."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def __call__(self, source: str, target: str) -> bool:
        text = f"{len(source)}:{source}{target}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=16).digest()
        if digest in self._digests:
            return True
        self._digests.add(digest)
        return False


def _blank(text: str) -> bool:
    """No visible character: only white space, control and format characters."""
    if VISIBLE.search(text):
        return False
    return all(unicodedata.category(character)[0] in "ZC" for character in text)

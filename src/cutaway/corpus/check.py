"""The pre-flight check: what is in a corpus, what is wrong with it, what training will cost."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cutaway.corpus.batches import BatchPlan
from cutaway.corpus.cleaning import Cleaning, Filters, clean, split_words
from cutaway.corpus.encoded import EncodedPairs, Long, LongReport, encode_pairs
from cutaway.corpus.suspicious import SuspiciousPairs, find_suspicious
from cutaway.errors import DataError
from cutaway.text import Tokenizer

Rows = Sequence[tuple[str, str]]

BINS = 12  # bars of a histogram
EXAMPLES = 5
SIDES = ("source", "target")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Side:
    """One side of a split, in numbers. Ids are those of the tokenizer, special ones left out."""

    name: str
    words: int
    ids: int
    mean: float  # ids per sentence
    longest: int  # ids of the longest sentence
    histogram: tuple[tuple[int, int, int], ...]  # from, to (ids, both included), sentences
    byte_share: float  # share of ids that spell a byte of a character not in the vocabulary
    unseen_words: float  # share of running words that do not occur in training (0 in training)


@dataclass(frozen=True)
class Split:
    """Train, validation or test: what was read, what cleaning would remove, what is left."""

    name: str
    notes: tuple[str, ...]
    cleaning: Cleaning
    sides: tuple[Side, Side]
    several: int  # further translations of a source that already has one


@dataclass(frozen=True)
class Leak:
    """Sentences of a split that another split holds too."""

    split: str
    other: str
    pairs: int
    sources: int
    targets: int
    of: int
    examples: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Batching:
    """How well the pairs of an epoch fill their batches."""

    tokens: int
    batches: int
    padding: float
    unsorted: float  # padding if batches were cut from the file in its own order


@dataclass(frozen=True)
class Forecast:
    """Estimates from a short real training on this machine."""

    model: str
    parameters: int
    device: str
    tokens_per_second: float  # target tokens
    epochs: int
    updates: int
    seconds: float  # to the end of training
    state_bytes: int  # weights, gradients, optimizer and moving average
    peak_bytes: int  # the most memory that the probe took on top of what was in use before
    probed_updates: int


Probe = Callable[[EncodedPairs, Tokenizer, Tokenizer | None], Forecast]


@dataclass(frozen=True)
class Report:
    """The results of the check; `advice` lists problems, the most serious first."""

    splits: tuple[Split, ...]
    leaks: tuple[Leak, ...]
    suspicious: tuple[SuspiciousPairs, ...]
    suspects: dict[int, tuple[str, str, int]]  # number in the clean pairs → source, target, line
    vocabulary: tuple[int, int]  # reached: source, target
    requested: int
    kind: str
    joint: bool
    long: LongReport
    batching: Batching
    forecast: Forecast | None
    advice: tuple[str, ...]


def check(
    train: Rows,
    *,
    validation: Rows = (),
    test: Rows = (),
    notes: Sequence[Sequence[str]] = ((), (), ()),
    tokenizers: tuple[Tokenizer, Tokenizer | None],
    filters: Filters | None = None,
    tokens: int = 4096,
    max_length: int | None = 256,
    long: Long = "skip",
    seed: int = 1,
    probe: Probe | None = None,
) -> Report:
    """Examine the splits as training would see them; `probe` trains on them for a few seconds."""
    source, target = tokenizers
    splits: list[Split] = []
    cleaned: list[list[tuple[str, str]]] = []
    seen: tuple[set[str], set[str]] = (set(), set())
    named = [("train", train), ("validation", validation), ("test", test)]
    encoded: EncodedPairs | None = None
    for (name, rows), said in zip(named, notes, strict=True):
        if name != "train" and not rows:
            continue
        kept, cleaning = clean(rows, filters)
        if not kept:
            raise DataError(f"{name}: cleaning leaves nothing of {cleaning.given} pairs")
        whole, _ = encode_pairs(kept, source, target)
        if name == "train":
            encoded = whole
            for side in (0, 1):
                seen[side].update(word for pair in kept for word in _words(pair[side]))
        sides = tuple(
            _side(side, kept, whole, (source, target or source)[side], seen[side])
            for side in (0, 1)
        )
        distinct = set(kept)
        several = len(distinct) - len({source_text for source_text, _ in distinct})
        splits.append(Split(name, tuple(said), cleaning, (sides[0], sides[1]), several))
        cleaned.append(kept)
    assert encoded is not None
    used, too_long = (
        encode_pairs(cleaned[0], source, target, max_length=max_length, long=long)
        if max_length is not None
        else (encoded, LongReport(None, long, ()))
    )
    plan = BatchPlan(used.lengths, tokens, seed=seed)
    suspicious = find_suspicious(cleaned[0], encoded.lengths)
    numbers = splits[0].cleaning.numbers
    report = Report(
        splits=tuple(splits),
        leaks=tuple(_leaks([split.name for split in splits], cleaned)),
        suspicious=suspicious,
        suspects={
            number: (*cleaned[0][number], numbers[number] + 1)
            for suspicion in suspicious
            for number in suspicion.numbers
        },
        vocabulary=(source.vocabulary, (target or source).vocabulary),
        requested=source.requested,
        kind=source.kind,
        joint=target is None,
        long=too_long,
        batching=Batching(tokens, len(plan), plan.padding, _unsorted(used.lengths, len(plan))),
        forecast=probe(used, source, target) if probe else None,
        advice=(),
    )
    return _advised(report)


def _side(
    side: int,
    pairs: list[tuple[str, str]],
    encoded: EncodedPairs,
    tokenizer: Tokenizer,
    seen: set[str],
) -> Side:
    specials = side + 1  # source: <end>; target: <start> and <end>
    lengths = encoded.lengths[:, side] - specials
    flat = (encoded.source_tokens, encoded.target_tokens)[side]
    first = tokenizer.encode("\0")[-1]
    spelt = int(np.count_nonzero((flat >= first) & (flat < first + 256)))
    unseen = running = 0
    for pair in pairs:
        here = _words(pair[side])
        running += len(here)
        unseen += sum(word not in seen for word in here)
    return Side(
        name=SIDES[side],
        words=running,
        ids=int(lengths.sum()),
        mean=float(lengths.mean()),
        longest=int(lengths.max()),
        histogram=_histogram(lengths),
        byte_share=spelt / max(1, int(lengths.sum())),
        unseen_words=unseen / max(1, running),
    )


def _words(text: str) -> list[str]:
    """Words in lower case and without punctuation, as coverage counts them."""
    return [word for part in split_words(text.lower()) for word in _WORD.findall(part)]


def _histogram(lengths: NDArray[np.int32]) -> tuple[tuple[int, int, int], ...]:
    """Sentences by length, in bars of equal width; the last bar takes the longest 1 %."""
    top = max(1, int(np.quantile(lengths, 0.99)))
    width = -(-(top + 1) // BINS)
    place = np.minimum(lengths // width, BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    last = int(np.flatnonzero(counts)[-1])
    return tuple(
        (
            at * width,
            at * width + width - 1 if at < BINS - 1 else max(int(lengths.max()), at * width),
            int(counts[at]),
        )
        for at in range(last + 1)
    )


def _leaks(names: list[str], cleaned: list[list[tuple[str, str]]]) -> list[Leak]:
    """What each later split shares with each earlier one."""
    leaks = []
    for at in range(1, len(names)):
        for before in range(at):
            pairs = set(cleaned[before])
            sources = {source for source, _ in cleaned[before]}
            targets = {target for _, target in cleaned[before]}
            shared = [pair for pair in cleaned[at] if pair in pairs]
            leaks.append(
                Leak(
                    split=names[at],
                    other=names[before],
                    pairs=len(shared),
                    sources=sum(source in sources for source, _ in cleaned[at]),
                    targets=sum(target in targets for _, target in cleaned[at]),
                    of=len(cleaned[at]),
                    examples=tuple(shared[:EXAMPLES]),
                )
            )
    return leaks


def _unsorted(lengths: NDArray[np.int32], batches: int) -> float:
    """Padding of as many batches cut from the pairs in their given order."""
    parts = np.array_split(lengths.astype(np.int64), batches)
    cells = sum(len(part) * int(part.max(axis=0).sum()) for part in parts if len(part))
    return 1 - int(lengths.sum(dtype=np.int64)) / cells


def _advised(report: Report) -> Report:
    """The report with advice drawn from its numbers."""
    advice: list[str] = []
    for leak in report.leaks:
        if leak.pairs:
            advice.append(
                f"{leak.pairs:,} of {leak.of:,} {leak.split} pairs are also in {leak.other}: "
                "scores on them measure memorisation"
            )
    train = report.splits[0]
    if train.cleaning.kept < 1000:
        advice.append(f"{train.cleaning.kept:,} training pairs are few: a model may memorise them")
    for split in report.splits:
        gone = split.cleaning.given - split.cleaning.kept
        if gone > 0.05 * split.cleaning.given:
            most = max(split.cleaning.removed, key=lambda name: split.cleaning.removed[name])
            advice.append(f"cleaning removes {gone:,} {split.name} pairs, most of them as {most}")
        for side in split.sides:
            if side.byte_share > 0.02:
                advice.append(
                    f"{side.byte_share:.1%} of the {split.name} {side.name} is spelt in bytes: "
                    "a larger vocabulary, or text in another script"
                )
    if report.requested > max(report.vocabulary):
        advice.append(
            f"the text fills {max(report.vocabulary):,} of the {report.requested:,} vocabulary "
            "entries asked for"
        )
    if report.batching.padding > 0.1:
        advice.append(
            f"{report.batching.padding:.0%} of the batches is padding: lengths are very uneven"
        )
    suspects = sum(suspicion.count for suspicion in report.suspicious)
    if suspects > 0.02 * train.cleaning.kept:
        advice.append(
            f"{suspects:,} suspicious cases in {train.cleaning.kept:,} pairs: look at some"
        )
    values = {name: getattr(report, name) for name in report.__dataclass_fields__}
    return Report(**{**values, "advice": tuple(advice)})

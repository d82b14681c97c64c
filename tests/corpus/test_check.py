"""The pre-flight check finds what was planted in a corpus, and shows it safely."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cutaway.corpus import BatchPlan, EncodedPairs, encode_pairs
from cutaway.corpus.check import Forecast, Report, check
from cutaway.corpus.check_report import page, write_report
from cutaway.corpus.suspicious import find_suspicious
from cutaway.errors import DataError
from cutaway.numbers import duration, size
from cutaway.text import Tokenizer

NOUNS = ["cat", "dog", "horse", "tower", "forest", "mole", "street", "creature"]
NOMS = ["chat", "chien", "cheval", "donjon", "bois", "mulot", "chemin", "monstre"]
PLAIN = [
    (f"The {a} sees the {b} near house {n}.", f"Le {c} voit le {d} devant la maison {n}.")
    for n in range(7)
    for a, c in zip(NOUNS, NOMS, strict=True)
    for b, d in zip(NOUNS, NOMS, strict=True)
]
PLANTED = [
    ("length", ("The cat.", "Le chat et puis encore un autre animal et puis un chien")),
    ("numbers", ("There are 17 towers.", "Il y a 71 tours.")),
    ("script", ("The dog is here.", "Собака здесь сейчас.")),
    ("similar", ("The dog sees the house today", "the dog sees the house today!")),
    ("repetition", ("No, no, no, no!", "Mais non.")),
    ("question", ("Is the cat here?", "Le chat est ici.")),
    ("markup", ("See https://example.org now", "Voyez maintenant ceci")),
]


@pytest.fixture(scope="module")
def tokenizers() -> tuple[Tokenizer, None]:
    return Tokenizer.train((t for pair in PLAIN for t in pair), vocabulary=499), None


@pytest.fixture(scope="module")
def report(tokenizers: tuple[Tokenizer, None]) -> Report:
    train = [*PLAIN, *(pair for _, pair in PLANTED), PLAIN[0], ("", "Rien"), ("<b>&", "<script>x")]
    return check(
        train,
        validation=[PLAIN[3], PLAIN[4], ("The zebra sees the dog.", "Le zèbre voit le chien.")],
        test=[(PLAIN[5][0], "Une autre phrase.")],
        notes=(["a note of the reader"], [], []),
        tokenizers=tokenizers,
        tokens=509,
        max_length=31,
    )


def test_every_planted_suspicion_is_found(report: Report) -> None:
    found = {suspicion.kind: suspicion for suspicion in report.suspicious}
    for kind, pair in PLANTED:
        shown = [report.suspects[number][:2] for number in found[kind].numbers]
        assert pair in shown, kind
    # Nearly nothing else is suspected: the plain pairs are above suspicion.
    assert sum(suspicion.count for suspicion in report.suspicious) <= len(PLANTED) + 4


def test_suspects_carry_their_line(report: Report) -> None:
    line = {(s, t): line for s, t, line in report.suspects.values()}
    assert line[PLANTED[1][1]] == len(PLAIN) + 2


def test_counts_are_those_of_the_corpus(report: Report) -> None:
    train, validation, test = report.splits
    assert [split.name for split in report.splits] == ["train", "validation", "test"]
    assert train.cleaning.given == len(PLAIN) + len(PLANTED) + 3
    assert train.cleaning.removed["duplicate"] == 1
    assert train.cleaning.removed["empty"] == 1
    for split in report.splits:
        for side in split.sides:
            assert sum(count for _, _, count in side.histogram) == split.cleaning.kept
            assert side.mean == pytest.approx(side.ids / split.cleaning.kept)
    assert train.sides[0].unseen_words == 0
    assert validation.sides[0].unseen_words == pytest.approx(1 / 21)  # zebra
    assert test.sides[1].byte_share < 1


def test_leaks_are_counted_by_pair_source_and_target(report: Report) -> None:
    leaks = {(leak.split, leak.other): leak for leak in report.leaks}
    assert set(leaks) == {("validation", "train"), ("test", "train"), ("test", "validation")}
    inside = leaks["validation", "train"]
    assert (inside.pairs, inside.sources, inside.targets, inside.of) == (2, 2, 2, 3)
    assert inside.examples == (PLAIN[3], PLAIN[4])
    assert (leaks["test", "train"].pairs, leaks["test", "train"].sources) == (0, 1)
    assert any("2 of 3 validation pairs are also in train" in line for line in report.advice)


def test_batches_and_long_pairs(report: Report, tokenizers: tuple[Tokenizer, None]) -> None:
    assert report.long.numbers == (len(PLAIN), len(PLAIN) + 2)  # planted: long, and all in bytes
    assert 0 < report.batching.padding < report.batching.unsorted < 1
    pairs = [pair for pair in PLAIN if pair]
    encoded, _ = encode_pairs(pairs, tokenizers[0])
    assert report.batching.batches == pytest.approx(len(BatchPlan(encoded.lengths, 509)), rel=0.1)


def test_byte_share_tells_foreign_text(tokenizers: tuple[Tokenizer, None]) -> None:
    pairs = [(f"The {noun} sees", f"{noun}猫在垫子上") for noun in NOUNS]
    report = check(pairs, tokenizers=tokenizers)
    assert report.splits[0].sides[0].byte_share < 0.02
    assert report.splits[0].sides[1].byte_share > 0.5
    assert any("spelt in bytes" in line for line in report.advice)
    assert report.splits[0].sides[1].words >= 8 * 6  # characters count as words there


def test_the_probe_sees_the_pairs_that_training_would(tokenizers: tuple[Tokenizer, None]) -> None:
    forecast = Forecast("tiny", 5, "cpu", 7.0, 3, 11, 4000.0, 100, 2**31, 3)
    seen: list[EncodedPairs] = []

    def probe(train: EncodedPairs, source: Tokenizer, target: Tokenizer | None) -> Forecast:
        assert target is None
        seen.append(train)
        return forecast

    report = check(PLAIN, tokenizers=tokenizers, max_length=29, long="skip", probe=probe)
    assert report.forecast is forecast
    assert seen[0].lengths.max() <= 29
    assert "1 h 07 min" in page(report)


def test_the_page_holds_the_report_and_runs_nothing(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "check.html"
    write_report(report, path, "Corpus <check>")
    text = path.read_text(encoding="utf-8")
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
    assert "<script" not in text
    assert "https://example.org" in text  # as text, not as a link
    assert not re.search(r"(src|href)\s*=", text)
    for wanted in ("Corpus &lt;check&gt;", "a note of the reader", "same source", "padding", "71"):
        assert wanted in text
    assert text.count("<svg") == 6
    with pytest.raises(DataError, match="cannot be written"):
        write_report(report, tmp_path / "no" / "where.html")


def test_separate_vocabularies_and_nothing_left(tokenizers: tuple[Tokenizer, None]) -> None:
    french = Tokenizer.train([target for _, target in PLAIN], vocabulary=401)
    report = check(PLAIN, tokenizers=(tokenizers[0], french), max_length=None)
    assert not report.joint
    assert report.vocabulary == (tokenizers[0].vocabulary, french.vocabulary)
    assert "source," in page(report)
    with pytest.raises(DataError, match="cleaning leaves nothing of 1 pairs"):
        check([("", "")], tokenizers=tokenizers)


def test_a_good_corpus_gets_no_advice(tokenizers: tuple[Tokenizer, None]) -> None:
    ends = [("cat", "chat"), ("dog", "chien"), ("mole", "mulot")]
    many = [(f"{s} The {a}.", f"{t} Le {b}.") for a, b in ends for s, t in PLAIN]
    report = check(many, tokenizers=tokenizers)
    assert report.advice == ()
    assert "Nothing to worry about" in page(replace(report, suspicious=()))


def test_what_only_looks_different_is_not_suspected() -> None:
    pairs = [("About 4,000 of 12,000,000 people.", "约4000人 12000000"), ("Tom eats.", "Tom吃饭。")]
    assert find_suspicious(pairs * 3, np.full((6, 2), 5, np.int32)) == ()


def test_few_pairs_have_no_outliers() -> None:
    assert find_suspicious([("a", "b")] * 3, np.array([[2, 3], [2, 300], [2, 3]], np.int32)) == ()


def test_sizes_and_times_have_units() -> None:
    assert size(999) == "999 bytes"
    assert size(1536) == "1.5 KB"
    assert size(600 * 2**20) == "600 MB"
    assert size(3 * 2**50) == "3072.0 TB"
    assert [duration(s) for s in (7.4, 67, 3600 * 5 + 61)] == [
        "7 s",
        "1 min 07 s",
        "5 h 01 min",
    ]

"""The phrasebook: everyday phrases and filled templates, none of them a sentence of the test."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tools.measures import everyday
from tools.phrasebook import pairs, write
from tools.phrasebook.tables import rows

from cutaway.corpus.reading import read_pairs
from cutaway.data import PAIRS

ROOT = Path(__file__).parents[2]
ELIDED = re.compile(  # words that lose their e before a vowel, but not after a verb: puis-je entrer
    r"(?<!-)\b([djlmnst]|c|qu)e (?!oui|onze)[aeiouéèêâîô]", re.IGNORECASE
)


@cache
def book(pair: str) -> dict[str, str]:
    return dict(pairs(pair))


def letters(text: str) -> str:
    """A sentence without case, punctuation and spaces."""
    return re.sub(r"[\W_]", "", text).casefold()


def spoken(text: str) -> str:
    """A sentence with what people contract: "I am" as "I'm"."""
    for long, short in (
        (r"\b(I) am\b", r"\1'm"), (r"\b(\w+) is\b", r"\1's"), (r"\b(\w+) are\b", r"\1're"),
        (r"\b(\w+) would\b", r"\1'd"), (r"\bcannot\b", "can't"), (r"\b(\w+) not\b", r"\1n't"),
    ):  # fmt: skip
        text = re.sub(long, short, text)
    return text


def english_of(file: str) -> list[str]:
    return [row["en"] for row in rows(file)]


@pytest.mark.parametrize("pair", PAIRS)
def test_no_sentence_of_the_everyday_test_is_in_it(pair: str) -> None:
    sentences = [source for either in PAIRS for source, _ in everyday(either)]
    tested = {letters(source) for source in (*sentences, *map(spoken, sentences))}
    assert {"imtired", "whatsyourname", "idlikeacoffee"} <= tested
    found = [source for source in book(pair) if {letters(source), letters(spoken(source))} & tested]
    assert found == []


@pytest.mark.parametrize("pair", PAIRS)
def test_their_neighbours_are(pair: str) -> None:
    neighbours = (
        "Today is Tuesday.", "Tomorrow is Monday.", "What time is it now?", "See you later.",
        "Do you know what time it is?", "See you on Monday.", "See you tomorrow morning.",
    )  # fmt: skip
    assert set(neighbours) <= set(book(pair))
    assert sum(source.startswith("My name is ") for source in book(pair)) >= 20
    assert sum(source.startswith("Good night, ") for source in book(pair)) >= 20


def test_the_files_hold_what_they_promise() -> None:
    kinds = [row["kind"] for row in rows("places.tsv")]
    assert len(set(english_of("names.tsv"))) == len(english_of("names.tsv")) >= 250
    assert {row["kind"] for row in rows("names.tsv")} == {"woman", "man"}
    assert kinds.count("city") >= 150
    assert kinds.count("country") >= 60
    assert len(set(english_of("phrases.tsv"))) == len(english_of("phrases.tsv")) >= 500
    assert len(set(english_of("templates.tsv"))) == len(english_of("templates.tsv")) >= 120


@pytest.mark.parametrize("pair", PAIRS)
def test_a_sentence_has_one_translation(pair: str) -> None:
    found = pairs(pair)
    assert 4000 <= len(found) <= 8000
    assert len({source for source, _ in found}) == len(found)
    ends: dict[str, set[str]] = {}  # Hello / Hello. / Hello! differ in their marks alone
    for source, target in found:
        ends.setdefault(source.rstrip(".!"), set()).add(letters(target))
    assert {source: said for source, said in ends.items() if len(said) > 1} == {}


def test_both_languages_translate_the_same_sentences() -> None:
    assert list(book("en-fr")) == list(book("en-zh"))


@pytest.mark.parametrize("pair", PAIRS)
def test_no_notation_of_the_files_is_left(pair: str) -> None:
    for sentence in (*book(pair), *book(pair).values()):
        assert not re.search(r"[{}\[\]|_\t%]|  |^ | $", sentence), sentence


@pytest.mark.parametrize("pair", PAIRS)
def test_a_question_stays_one(pair: str) -> None:
    for source, target in book(pair).items():
        marks = {".": ".。", "?": "?？", "!": "!！"}.get(source[-1])
        if marks:
            assert target[-1] in marks, (source, target)
        else:
            assert target[-1] not in ".。?？!！", (source, target)


def test_french_is_spelt_as_french() -> None:
    for source, target in book("en-fr").items():
        where = (source, target)
        assert not re.search(r"[^ ][?!;]", target), where  # a space before these
        assert not re.search(r" [.,']|' |[’\u00a0\u202f«»\"]", target), where
        assert not ELIDED.search(target), where
        assert not re.search(r"\b(de|à) les? [A-ZÉ]|\b[dD]e [AEIOUÉÎ]", target), where
        assert not re.search(r"\bsi ils?\b|\bma [aeiouéèêh]", target), where
        assert target[0] == target[0].upper(), where


def test_chinese_is_spelt_as_chinese() -> None:
    for source, target in book("en-zh").items():
        where = (source, target)
        assert not re.search(r"[A-Za-z ,.?!;:'\"]", target), where
        assert re.fullmatch(r"[\u4e00-\u9fff0-9，。？！]+", target), where
        assert not re.search("(?<!十)二(个|本|只|张|岁|点|欧元|杯)", target), where
        assert not set(target) & set("們這個來時說話學國見點歲兩沒嗎麼裡為車東買認識"), where


def test_agreement_and_contraction_in_french() -> None:
    said = set(book("en-fr").values())
    assert not {text for text in said if re.search(r"\bElle est (né|fatigué|heureux|prêt)\b", text)}
    for kind, ami in (("woman", "mon amie"), ("man", "mon ami")):
        names = {row["en"] for row in rows("names.tsv") if row["kind"] == kind}
        found = [text for text in said if re.fullmatch(rf"Voici {ami} \w+\.", text)]
        assert found
        assert all(text.split()[-1].rstrip(".") in names for text in found)
    text = "\n".join(said)
    for right in ("au Caire", "du Japon", "aux États-Unis", "en Italie", "à Cuba"):
        assert right in text
    elided = {row["en"] for row in rows("names.tsv") if "de:d'" in row["fr"]}
    assert any(f"d'{name}" in text for name in elided)
    assert not any(f"de {name}" in text for name in elided)
    for wrong in ("à Le ", "de Le ", "à Japon", "en Japon", "en le ", "à Chine"):
        assert wrong not in text


@pytest.mark.parametrize(("pair", "column"), [("en-fr", "fr"), ("en-zh", "zh")])
def test_every_name_and_place_is_there_three_times(pair: str, column: str) -> None:
    marks = str.maketrans(dict.fromkeys(".,?!'", " "))
    words = [(f" {text.translate(marks)} ", target) for text, target in book(pair).items()]
    for row in (*rows("names.tsv"), *rows("places.tsv")):
        whole = f" {row['en'].translate(marks)} "
        named = row[column].split(" | ")[0].removeprefix("l'").split()[-1]
        assert sum(whole in text and named in target for text, target in words) >= 3, row["en"]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_file_is_a_source_and_always_the_same(pair: str, tmp_path: Path) -> None:
    """Under a hash seed of its own, for nothing may follow the order of a set."""
    here, there = tmp_path / "made" / "here.tsv", tmp_path / "there.tsv"
    write(here, pair)
    assert list(read_pairs(here)) == pairs(pair)
    program = (
        "import sys; from pathlib import Path; from tools.phrasebook import write;"
        "write(Path(sys.argv[1]), sys.argv[2])"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(there), pair],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        check=True,
    )
    assert there.read_bytes() == here.read_bytes()

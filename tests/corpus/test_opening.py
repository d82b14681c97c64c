"""One way to open a corpus: the direction that is asked for is the one that is read and noted."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cutaway.artifact.folder import read_model_folder
from cutaway.cli.main import app
from cutaway.config import DataConfig, RunConfig
from cutaway.corpus import open_store
from cutaway.corpus.opening import languages_of, of_split, open_pairs
from cutaway.errors import CutawayError
from cutaway.training.prepare import prepare

ENGLISH = ["one cat", "two cats", "three cats"] * 7
GERMAN = ["eine Katze", "zwei Katzen", "drei Katzen"] * 7
FRENCH = ["un chat", "deux chats", "trois chats"] * 7


def tmx(path: Path, **sides: list[str]) -> str:
    units = "".join(
        "<tu>"
        + "".join(
            f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>'
            for language, text in zip(sides, texts, strict=True)
        )
        + "</tu>"
        for texts in zip(*sides.values(), strict=True)
    )
    first = next(iter(sides))
    path.write_text(
        f'<tmx version="1.4"><header srclang="{first}"/><body>{units}</body></tmx>', "utf-8"
    )
    return str(path)


def lines(path: Path, rows: list[str]) -> str:
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return str(path)


def read(notes: list[str] | None = None, **settings: Any) -> list[tuple[str, str]]:
    return list(open_pairs(DataConfig(**settings), "train", notes))


def test_the_languages_decide_the_direction_of_a_tmx(tmp_path: Path) -> None:
    file = tmx(tmp_path / "t.tmx", en=ENGLISH, de=GERMAN)
    notes: list[str] = []
    pairs = read(notes, data=file, source_language="de", target_language="en")
    assert pairs == list(zip(GERMAN, ENGLISH, strict=True))
    assert notes == [
        "t.tmx: source de, target en",
        "the first pair: “eine Katze” → “one cat”",
    ]


def test_two_languages_of_three_can_be_named(tmp_path: Path) -> None:
    file = tmx(tmp_path / "t.tmx", en=ENGLISH, de=GERMAN, fr=FRENCH)
    pairs = read(data=file, source_language="fr", target_language="de")
    assert pairs == list(zip(FRENCH, GERMAN, strict=True))
    with pytest.raises(CutawayError, match="give the two languages to read, source first"):
        read(data=file)


def test_languages_that_are_not_in_the_file_are_refused(tmp_path: Path) -> None:
    file = tmx(tmp_path / "t.tmx", en=ENGLISH, de=GERMAN)
    with pytest.raises(CutawayError, match="no unit has both en and es; its languages are de, en"):
        read(data=file, source_language="en", target_language="es")


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en")])
def test_jsonl_with_translations_by_language(languages: tuple[str, str], tmp_path: Path) -> None:
    rows = [{"translation": {"en": e, "de": d}} for e, d in zip(ENGLISH, GERMAN, strict=True)]
    file = lines(tmp_path / "t.jsonl", [json.dumps(row) for row in rows])
    sides = {"en": ENGLISH, "de": GERMAN}
    pairs = read(data=file, source_language=languages[0], target_language=languages[1])
    assert pairs == list(zip(sides[languages[0]], sides[languages[1]], strict=True))
    with pytest.raises(CutawayError, match="line 1: translations in en, de; give two of them"):
        read(data=file)


def test_languages_do_not_hide_the_usual_keys(tmp_path: Path) -> None:
    rows = [{"source": e, "target": d} for e, d in zip(ENGLISH, GERMAN, strict=True)]
    file = lines(tmp_path / "t.jsonl", [json.dumps(row) for row in rows])
    pairs = read(data=file, source_language="en", target_language="de")
    assert pairs == list(zip(ENGLISH, GERMAN, strict=True))


def test_the_columns_of_a_table_are_said_and_noted(tmp_path: Path) -> None:
    rows = [f"{n}\tx\t{d}\t{e}" for n, (e, d) in enumerate(zip(ENGLISH, GERMAN, strict=True))]
    file = lines(tmp_path / "t.tsv", rows)
    notes: list[str] = []
    assert read(notes, data=file, columns="4,3") == list(zip(ENGLISH, GERMAN, strict=True))
    assert notes == [
        "t.tsv: source column 4, target column 3",
        "the first pair: “one cat” → “eine Katze”",
    ]


def test_messages_left_out_of_a_po_are_counted_in_a_training(tmp_path: Path) -> None:
    message = 'msgid "one cat {n}"\nmsgstr "eine Katze {n}"\n\n'
    entries = [message.replace("{n}", str(n)) for n in range(23)]
    entries += ['msgid "open"\nmsgstr ""\n\n', '#, fuzzy\nmsgid "shut"\nmsgstr "zu"\n\n']
    entries += ['#~ msgid "gone"\n#~ msgstr "weg"\n\n']
    file = tmp_path / "t.po"
    file.write_text("".join(entries), "utf-8")
    notes = prepare(RunConfig.from_tables({"data": {"data": str(file)}})).notes
    for what in ("untranslated", "fuzzy", "obsolete"):
        assert f"{file}: 1 {what} messages left out" in notes
    assert any("first pair: “one cat 0” → “eine Katze 0”" in note for note in notes)


def test_validation_is_read_as_training_is(tmp_path: Path) -> None:
    file = tmx(tmp_path / "t.tmx", en=ENGLISH, de=GERMAN)
    settings = DataConfig(val_data=file, source_language="de", target_language="en")
    assert list(open_pairs(of_split(settings, "validation"))) == list(
        zip(GERMAN, ENGLISH, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("en-de", ("en", "de")), ("en,de", ("en", "de")), ("en-GB, zh_CN", ("en-GB", "zh_CN"))],
)
def test_languages_are_spelt_one_way_everywhere(text: str, expected: tuple[str, str]) -> None:
    assert languages_of(text) == expected


@pytest.mark.parametrize("text", ["en", "en-de-fr", "en,", "-de", "en,de,fr", "e n-de"])
def test_languages_that_cannot_be_two_are_one_line(text: str) -> None:
    with pytest.raises(CutawayError, match="expected source and target, as en-de") as error:
        languages_of(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"source": "a", "target": "b", "data": "c"},
        {"data": "c", "embedded": "en-fr"},
        {"source": "a", "target": "b", "embedded": "en-fr"},
    ],
)
def test_one_corpus_at_a_time(settings: dict[str, Any]) -> None:
    with pytest.raises(CutawayError, match="one corpus at a time"):
        read(**settings)


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_train_check_and_build_read_the_same_pairs(tmp_path: Path) -> None:
    file = tmx(tmp_path / "t.tmx", en=ENGLISH, de=GERMAN, fr=FRENCH)
    chosen = ("--data", file, "--languages", "fr-de")
    noted = "t.tmx: source fr, target de the first pair: “un chat” → “eine Katze”"
    trained = run(
        "train", *chosen, "--out", tmp_path / "model", "--updates", 1, "--preset", "tiny",
        "--set", "data.clean=false",
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    assert noted in " ".join(trained.output.split())
    assert read_model_folder(tmp_path / "model").languages == ("fr", "de")
    checked = run("data", "check", *chosen, "--probe", 0)
    assert checked.exit_code == 0, checked.output
    assert noted in " ".join(checked.output.split())
    built = run("data", "build", *chosen, "--out", tmp_path / "store", "--no-clean")
    assert built.exit_code == 0, built.output
    assert noted in " ".join(built.output.split())
    assert len(open_store(tmp_path / "store")) == len(FRENCH)

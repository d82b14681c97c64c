"""`cutaway translate` as a person uses it: text, streams, files, catalogues, mistakes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cutaway.cli import translate_file
from cutaway.cli.main import app, main
from cutaway.decode import Translator
from cutaway.errors import CutawayError
from tests.decode.helpers import number_pairs

LINES = [source for source, _ in number_pairs(23, seed=3)]


def run(*arguments: str | Path, given: bytes | None = None) -> str:
    """Standard output of a call that must succeed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def expected(translator: Translator, lines: list[str] = LINES) -> str:
    return "".join(f"{t.text}\n" for t in translator.translate(lines))


def test_a_text(model_path: Path, translator: Translator) -> None:
    assert run("translate", model_path, LINES[0]) == expected(translator, LINES[:1])


def test_nothing_and_symbols_alone_come_back_even_where_they_name_a_folder(
    model_path: Path,
) -> None:
    for text in ("", ".", "..."):
        assert run("translate", model_path, text) == text + "\n"


def test_a_text_longer_than_any_file_name_is_a_text(
    model_path: Path, translator: Translator
) -> None:
    text = " ".join(LINES * 40)[:300]
    assert len(text) == 300
    (whole,) = translator.translate([text])
    assert run("translate", model_path, text) == whole.text + "\n"


def test_two_sentences_of_one_line_are_both_there() -> None:
    text = "The cat is on the mat. I love AI."
    assert run("translate", "demo-en-fr", text) == "Le chat est sur le tapis. J'aime l'IA.\n"
    tokens = json.loads(run("translate", "demo-en-fr", text, "--json", "--no-split"))["tokens"]
    assert [token["piece"] for token in tokens].count("<end>") == 1


def test_standard_input_in_order(model_path: Path, translator: Translator) -> None:
    given = "\n".join([*LINES, "", "..."]).encode()
    assert run("translate", model_path, given=given) == expected(translator) + "\n...\n"


def test_lines_are_answered_as_they_come(model_path: Path, translator: Translator) -> None:
    code = "from cutaway.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "translate", str(model_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in LINES[:3]:  # the next line is written only when the answer is there
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == expected(translator, [line])
        process.stdin.close()
        assert process.wait(30) == 0


def test_json(model_path: Path) -> None:
    out = run("translate", model_path, LINES[0], "--json", "--beam", "3", "--tree")
    values = json.loads(out)
    assert values["source"] == LINES[0]
    assert len(values["alternatives"]) == 2
    assert len(values["tokens"][0]["rivals"]) == 3
    assert len(values["alignment"]) == len(values["tokens"])
    assert values["trees"][0]["nodes"]
    total = sum(token["log_probability"] for token in values["tokens"])
    assert values["log_probability"] == pytest.approx(total)


def test_a_file(model_path: Path, translator: Translator, tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    assert run("translate", model_path, source) == expected(translator)
    assert run("translate", model_path, source, "-o", output) == ""
    assert output.read_text(encoding="utf-8") == expected(translator)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_a_broken_run_is_resumed(
    model_path: Path, translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    monkeypatch.setattr(translate_file, "CHUNK", 5)
    translated: list[str] = []
    room = 10  # lines until the plug is pulled
    honest = Translator.translate

    def counting(self: Translator, texts: list[str], **options: Any) -> object:
        if len(translated) >= room:
            raise KeyboardInterrupt
        translated.extend(texts)
        return honest(self, texts, **options)

    monkeypatch.setattr(Translator, "translate", counting)
    broken = CliRunner().invoke(app, ["translate", str(model_path), str(source), "-o", str(output)])
    assert broken.exit_code != 0
    partial = tmp_path / "out.txt.partial"
    assert partial.read_text(encoding="utf-8").count("\n") == 10
    assert not output.exists()
    with partial.open("a", encoding="utf-8") as stream:
        stream.write("half a li")  # as a power cut leaves it
    translated.clear()
    room = 100
    with pytest.raises(CutawayError, match="belongs to another call"):
        run("translate", model_path, source, "-o", output, "--beam", "1")
    run("translate", model_path, source, "-o", output)
    assert translated == LINES[10:]
    monkeypatch.undo()
    assert output.read_text(encoding="utf-8") == expected(translator)
    assert not partial.exists()


def test_a_catalogue(model_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "app.po"
    before = 'msgid "one two !"\nmsgstr ""\n\nmsgid "%s one !"\nmsgstr ""\n'
    path.write_text(before, encoding="utf-8")
    run("translate", model_path, path)
    text = path.read_text(encoding="utf-8")
    assert '#, fuzzy\nmsgid "one two !"\nmsgstr "un deux !"\n' in text
    assert text.count("%s") == 2
    assert (tmp_path / "app.po~").read_text(encoding="utf-8") == before
    run("translate", model_path, path, "-o", tmp_path / "again.po")
    assert (tmp_path / "again.po").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (["{model}"], b"fine\n\xff\xfe\n", "line 2: byte 0xff at column 1 is not UTF-8"),
        (["{model}", "{model}/missing.po"], None, "is no file"),
        (["{model}/nothing", "text"], None, "is no model folder"),
        (["{model}", "text", "--to", "xx"], None, "'xx'"),
        (["{model}", "text", "--beam", "0"], None, "beam is 0"),
        (["{model}", "text", "--engine", "steam"], None, "engine is 'steam'"),
        (["{model}", "{model}/model.safetensors", "-o", "{tmp}/x"], None, "is not UTF-8"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], given: bytes | None, message: str, model_path: Path, tmp_path: Path
) -> None:
    filled = [a.format(model=model_path, tmp=tmp_path) for a in arguments]
    with pytest.raises(CutawayError, match=message) as caught:
        run("translate", *filled, given=given)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_altered_folder_is_refused(
    model_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in model_path.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-3] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(weights))
    monkeypatch.setattr(sys, "argv", ["cutaway", "translate", str(folder), "one !"])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("cutaway: ")
    assert "model.safetensors" in error
    assert error.count("\n") == 1


def test_a_catalogue_of_another_language_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pl.po"
    text = 'msgid ""\nmsgstr ""\n"Language: pl\\n"\n\nmsgid "Open"\nmsgstr ""\n'
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CutawayError, match="into pl by its header"):
        run("translate", "demo-en-fr", path)
    assert path.read_text(encoding="utf-8") == text
    assert [one.name for one in tmp_path.iterdir()] == ["pl.po"]

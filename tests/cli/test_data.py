"""`cutaway data` from the outside: files in, files and words out, one line when it cannot."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cutaway.cli.main import app
from cutaway.corpus import embedded, open_store, read_pairs, store_tokenizers
from cutaway.errors import CutawayError
from tests.corpus.test_check import PLAIN
from tests.corpus.test_reading import mo


def run(*arguments: object, text: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, arguments)], input=text)


def said(result: Result) -> str:
    """The output as one line, however wide the terminal was."""
    assert result.exit_code == 0, result.output + repr(result.exception)
    return " ".join(result.output.split())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in [*PLAIN, PLAIN[0]]), encoding="utf-8")
    return path


def test_check_reports_with_a_real_probe_and_a_page(corpus: Path, tmp_path: Path) -> None:
    page = tmp_path / "check.html"
    output = said(
        run("check", "-d", corpus, "--val-data", corpus, "--html", page, "--tokens", 307,
            "--vocabulary", 401, "--probe", 0.05, "--epochs", 3, "--threads", 1)
    )  # fmt: skip
    assert "449 pairs read, 448 kept (removed: duplicate 1)" in output
    assert "validation in train 448 448 448 448" in output
    assert "scores on them measure memorisation" in output
    for said_twice in ("Measured by", "target tokens per second", "(3 epochs)", "unseen"):
        assert said_twice in output
        assert said_twice in page.read_text(encoding="utf-8")


def test_check_reads_standard_input_without_a_probe(corpus: Path) -> None:
    packed = gzip.compress(corpus.read_bytes())
    output = said(run("check", "-d", "-", "--format", "tsv", "--probe", 0, text=packed))
    assert "449 pairs read" in output
    assert "Training here" not in output


def test_two_files_are_source_and_target(tmp_path: Path) -> None:
    for side, name in enumerate(("a.en", "a.fr")):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in PLAIN))
    output = said(run("check", tmp_path / "a.en", tmp_path / "a.fr", "--probe", 0))
    assert "448 pairs read, 448 kept" in output


def test_build_makes_a_store_that_training_can_open(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "store"
    output = said(run("build", corpus, "--out", out, "--vocabulary", 401, "--separate"))
    assert "449 pairs read, 448 kept (removed: duplicate 1)" in output
    assert "448 pairs" in output
    source, target = store_tokenizers(out)
    assert target is not None
    store = open_store(out, source, target)
    assert source.decode(store[0][0].tolist()) == PLAIN[0][0]
    assert target.decode(store[0][1].tolist()) == PLAIN[0][1]
    # The same again from standard input, with the tokenizer that was learnt.
    joint = tmp_path / "joint"
    source.save(tmp_path / "given.model")
    said(run("build", "-d", "-", "--format", "tsv", "--out", joint, "--tokenizer",
             tmp_path / "given.model", "--no-clean", text=corpus.read_bytes()))  # fmt: skip
    assert len(open_store(joint)) == 449
    assert store_tokenizers(joint)[1] is None
    header = json.loads((joint / "header.json").read_text())
    header["tokenizers"][0] = "other"
    (joint / "header.json").write_text(json.dumps(header))
    with pytest.raises(CutawayError, match="altered"):
        store_tokenizers(joint)


def test_embedded_writes_the_corpus_inside(tmp_path: Path) -> None:
    assert "pairs" in said(run("embedded", "en-fr", "--out", tmp_path / "own"))
    for split in ("train", "validation", "test"):
        files = (tmp_path / "own" / f"{split}.en", tmp_path / "own" / f"{split}.fr")
        assert read_pairs(files) == list(embedded("en-fr", split=split))


def test_harvest_writes_a_tsv_with_origins(tmp_path: Path) -> None:
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "tool.mo").write_bytes(mo({"": "charset=UTF-8", "Open": "Ouvrir\tça"}))
    out = tmp_path / "fr.tsv"
    output = said(run("harvest", "fr", "--root", tmp_path, "--out", out))
    assert "1 pairs" in output
    assert out.read_text(encoding="utf-8") == "Open\tOuvrir ça\tfr/tool\n"
    assert (
        "Open\tOuvrir ça\tfr/tool" in run("harvest", "fr", "--root", tmp_path, "--out", "-").output
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "no corpus"),
        (["check", "--source", "a"], "give both files or neither"),
        (["check", "--source", "a", "--target", "b", "-d", "c.tsv"], "one corpus at a time"),
        (["check", "a.tsv", "-d", "c.tsv"], "give the corpus once"),
        (["check", "a", "b", "c"], "give the corpus once"),
        (["check", "-d", "absent.tsv"], "no such file"),
        (["check", "-d", "c.tsv", "--columns", "1"], "columns '1': expected two"),
        (["check", "-d", "c.tsv", "--columns", "a,b"], "two numbers"),
        (["check", "-d", "c.tsv", "--tokens", "0"], "train.tokens is 0; expected at least 1"),
        (["check", "--embedded", "en-xx"], "en-xx"),
        (["check", "-d", "CORPUS", "--kind", "letters"], "kind in [tokenizer] is 'letters'"),
        (["check", "-d", "CORPUS", "--long", "cut", "--probe", "0"], "long in [data] is 'cut'"),
        (["check", "-d", "CORPUS", "--vocabulary", "5", "--probe", "0"], "too small"),
        (["build", "-d", "-", "--format", "tsv", "--out", "x"], "can be read once only"),
        (["harvest", "xx", "--root", "."], "no translation into 'xx'"),
        (["embedded", "en-xx"], "en-xx"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(str(corpus) if word == "CORPUS" else word for word in arguments))
    assert isinstance(result.exception, CutawayError), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_check_learns_its_tokenizer_from_the_rows_that_train_learns_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cleaned rows without those held out for validation, with the same seed."""
    from cutaway.config import RunConfig
    from cutaway.corpus import check as module
    from cutaway.training.prepare import prepare

    path = tmp_path / "corpus.tsv"
    noise = [("zzzz " * 300, "qqqq"), ("same xyxy", "same xyxy")]  # cleaning removes these
    path.write_text("".join(f"{s}\t{t}\n" for s, t in [*PLAIN, *noise]), encoding="utf-8")
    seen: list[Any] = []
    true_check = module.check

    def watched(*rows: object, **settings: object) -> object:
        seen.append(settings["tokenizers"])
        return true_check(*rows, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "check", watched)
    said(run("check", "-d", path, "--vocabulary", 401, "--probe", 0))
    tables = {"data": {"data": str(path)}, "tokenizer": {"vocabulary": 401}}
    trained = prepare(RunConfig.from_tables(tables)).tokenizer
    assert seen[0][0].fingerprint == trained.fingerprint


@pytest.mark.parametrize("command", ["train", "data build", "data check"])
def test_every_command_says_when_cleaning_removes_everything(command: str, tmp_path: Path) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text("1 2 3\n4 5\n")
    out = [] if command == "data check" else ["--out", str(tmp_path / "out")]
    files = ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    result = CliRunner().invoke(app, [*command.split(), *files, *out])
    assert "cleaning removed all 2 pairs: 2 by 'copied'" in str(result.exception)
    assert not (tmp_path / "out").exists()

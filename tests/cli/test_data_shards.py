"""`data clean` and `data build` in shards: what one process writes, whoever answers the shards."""

import json
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from cutaway.cli import data_shards
from cutaway.cli.main import app
from cutaway.cli.on_ray import Numbered, Work, Worker, run_on_ray
from cutaway.corpus.packed import pack, unpack
from cutaway.errors import CutawayError, DataError, InputError

PAIRS = [(f"The {n} cats sleep in room {n % 7}.", f"Les {n} chats dorment.") for n in range(211)]
ODD = [("", "x"), ("same", "same"), ("cafe\u0301 noir", "  Kaffee "), ("a\x07b", "c"), PAIRS[3]]


class Here:
    """Answers shards in this process, out of order, each twice; `most`: dies before the next."""

    def __init__(self, most: int = 10**9) -> None:
        self.most = most
        self.done: list[str] = []

    def __call__(self, work: Work, shards: Sequence[Any]) -> int:
        work = pickle.loads(pickle.dumps(work))  # noqa: S301 - as it travels
        shuffled = list(shards)
        Random(5).shuffle(shuffled)
        for shard in shuffled:
            if len(self.done) == self.most:
                raise KeyboardInterrupt
            for _ in range(2):
                work(shard)
            self.done.append(f"{type(work).__name__} {shard.number}")
        return 0


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    executor = Here()
    monkeypatch.setattr(data_shards, "LINES", 23)
    monkeypatch.setattr(data_shards, "on_ray", lambda address: executor)
    monkeypatch.chdir(tmp_path)
    return executor


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Pairs, pairs that filters remove, duplicates far apart, blank lines, a row of headings."""
    rows = [*PAIRS[:101], *ODD, *PAIRS[50:], *ODD]
    lines = ["\ufeffen\tfr", *("\t".join(row) for row in rows)]
    lines[7:7] = ["", "  "]
    lines[140:140] = ["\t"]
    path = tmp_path / "corpus.tsv"
    path.write_text("\r\n".join(lines), encoding="utf-8")
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def contents(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name if path.is_dir() else "": file.read_bytes() for file in files}


def same(command: str, suffix: str, *arguments: object) -> None:
    """Plain and in shards: the same files, and the same words but for the name of the output."""
    plain, sharded = Path(f"plain{suffix}"), Path(f"sharded{suffix}")
    told = run(command, *arguments, "--out", plain)
    again = run(command, *arguments, "--out", sharded, "--ray", "local")
    assert again.replace("sharded", "plain") == told
    assert contents(sharded) == contents(plain)
    assert not Path(f"sharded{suffix}.shards").exists()


def test_clean_writes_what_one_process_writes(here: Here, corpus: Path, tmp_path: Path) -> None:
    same("clean", ".tsv", corpus)
    assert len(here.done) == 12
    told = run("clean", corpus, "--out", "again.tsv", "--ray", "local")
    assert "272 pairs read, 212 kept (removed: empty 2, control 2, copied 2, duplicate 54)" in (
        told.replace("\n", " ")
    ), told
    assert "3 blank line(s) left out" in told
    assert "names columns: left out" in told
    read = Path("again.tsv").read_text(encoding="utf-8").splitlines()
    assert read[101] == "café noir\tKaffee"


def test_two_files_json_lines_and_the_other_direction(
    here: Here, corpus: Path, tmp_path: Path
) -> None:
    rows = [*PAIRS, *ODD[1:]]
    for side, name in enumerate(("a.en", "a.fr")):
        (tmp_path / name).write_text("".join(row[side] + "\n" for row in rows), encoding="utf-8")
    same("clean", ".jsonl", "a.en", "a.fr", "--reverse")
    objects = [{"translation": {"en": s, "fr": t}} for s, t in rows]
    text = "".join(json.dumps(one) + "\n" for one in objects)
    (tmp_path / "b.jsonl").write_text(text, encoding="utf-8")
    same("clean", "2.tsv", "b.jsonl", "--languages", "en-fr", "--no-clean")


SOURCES = """
[[data.sources]]
path = "corpus.tsv"
languages = "en-fr"
top = 71
limit = 97
transforms = ["unescape"]
augment = { typos = 0.3, lowercase = 0.5 }
tag = "bt"

[[data.sources]]
path = "other.tsv"
languages = "en-fr"
weight = 2
filters = { ratio = 3, copied = false, duplicate = false }
"""


def test_several_sources_with_limits_copies_and_filters(
    here: Here, corpus: Path, tmp_path: Path
) -> None:
    other = [("same", "same"), ("same", "same"), ("a b c d e f g", "x"), *PAIRS[:29]]
    (tmp_path / "other.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in other))
    (tmp_path / "run.toml").write_text(SOURCES)
    same("clean", ".tsv", "--config", "run.toml")
    same("build", ".store", "--config", "run.toml", "--both-ways", "--vocabulary", 401)


@pytest.mark.parametrize("long", ["skip", "truncate"])
def test_build_makes_the_store_of_one_process(
    here: Here, corpus: Path, tmp_path: Path, long: str
) -> None:
    same("build", ".store", corpus, "--vocabulary", 401, "--separate", "--max-length", 19,
         "--long", long)  # fmt: skip
    assert {name.split()[0] for name in here.done} == {"Judge", "Encoder"}
    given = Path("plain.store")
    same("build", "2.store", corpus, "--tokenizer", given, "--max-length", 19, "--long", long)


@pytest.mark.parametrize("command", ["clean", "build"])
@pytest.mark.parametrize("most", [0, 5, 12, 17])
def test_what_broke_off_goes_on_with_the_shards_that_are_missing(
    here: Here, corpus: Path, command: str, most: int
) -> None:
    suffix = ".tsv" if command == "clean" else ".store"
    options = ["--vocabulary", "401"] if command == "build" else []
    told = run(command, corpus, *options, "--out", f"plain{suffix}")
    out = Path(f"sharded{suffix}")
    here.most = most
    total = 12 if command == "clean" else 12 + 10
    if most < total:
        with pytest.raises((KeyboardInterrupt, AssertionError)):
            run(command, corpus, *options, "--out", out, "--ray", "local")
        assert not out.exists()
        if most:
            half = Path(f"{out}.shards", "judged" if most < 12 else "ids", ".half")
            if half.parent.is_dir():
                half.write_bytes(b"{")  # what a process that was killed leaves
    here.most = 10**9
    again = run(command, corpus, *options, "--out", out, "--ray", "local")
    assert again.replace("sharded", "plain") == told
    assert contents(out) == contents(Path(f"plain{suffix}"))
    assert len(here.done) == len(set(here.done)) == total  # none was answered a second time
    assert not Path(f"{out}.shards").exists()


def test_a_shard_that_was_lost_is_made_again(here: Here, corpus: Path) -> None:
    here.most = 11
    with pytest.raises((KeyboardInterrupt, AssertionError)):
        run("clean", corpus, "--out", "a.tsv", "--ray", "local")
    judged = Path("a.tsv.shards", "judged")
    (lost := min(judged.iterdir())).unlink()
    here.most = 10**9
    run("clean", corpus, "--out", "a.tsv", "--ray", "local")
    assert here.done.count(f"Judge {int(lost.name)}") == 2
    run("clean", corpus, "--out", "b.tsv")
    assert Path("a.tsv").read_bytes() == Path("b.tsv").read_bytes()


def change_text(corpus: Path) -> list[str]:
    corpus.write_bytes(corpus.read_bytes().replace(b"The 5 cats", b"The 6 cats"))
    return []


@pytest.mark.parametrize(
    "change",
    [change_text, lambda corpus: ["--no-clean"], lambda corpus: ["--reverse"]],
    ids=["text", "filters", "direction"],
)
def test_shards_of_other_files_or_settings_are_not_used(
    here: Here, corpus: Path, change: Callable[[Path], list[str]]
) -> None:
    here.most = 3
    with pytest.raises((KeyboardInterrupt, AssertionError)):
        run("clean", corpus, "--out", "a.tsv", "--ray", "local")
    here.most = 10**9
    options = change(corpus)
    with pytest.raises(InputError, match="belongs to another call"):
        run("clean", corpus, *options, "--out", "a.tsv", "--ray", "local")
    shutil.rmtree("a.tsv.shards")
    same("clean", ".tsv", corpus, *options)


def test_other_tokenizer_settings_are_another_call(here: Here, corpus: Path) -> None:
    here.most = 15
    with pytest.raises((KeyboardInterrupt, AssertionError)):
        run("build", corpus, "--vocabulary", 401, "--out", "a.store", "--ray", "local")
    with pytest.raises(InputError, match="belongs to another call"):
        run("build", corpus, "--vocabulary", 409, "--out", "a.store", "--ray", "local")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (b"a\tb\n" * 47 + b"caf\xe9\tb\n", ["c.tsv"]),
        (b"a\tb\n" * 71 + b"alone\n" + b"a\tb\n" * 5, ["c.tsv"]),
        (b"\n" * 53, ["c.tsv"]),
        (b"", ["c.tsv"]),
        (b"a\ta\n" * 31, ["c.tsv"]),
        (b"a\tb\n" * 31, ["c.tsv", "short.txt"]),
        (b"a\tb\n" * 31, ["short.txt", "c.tsv"]),
        (b"1\ta\tb\n" * 31, ["c.tsv"]),
    ],
    ids=["utf-8", "columns", "blank", "empty", "all removed", "short", "long", "numbers"],
)
def test_what_is_wrong_is_said_in_the_same_words(
    here: Here, tmp_path: Path, text: bytes, arguments: list[str]
) -> None:
    (tmp_path / "c.tsv").write_bytes(text)
    (tmp_path / "short.txt").write_bytes(b"x\n" * 29)
    said = []
    for more in ([], ["--ray", "local"]):
        with pytest.raises(CutawayError) as refused:
            run("clean", *arguments, "--out", "o.jsonl", *more)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert not Path("o.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.tsv.gz"], "unpack it: gunzip p.tsv.gz"),
        (["p.tmx", "--languages", "en-fr"], "data clean --no-clean p.tmx --out PAIRS.jsonl"),
        (["-d", "-", "--format", "tsv"], "standard input"),
        (["--embedded", "en-fr"], "give files, or leave --ray out"),
        (["p.tsv", "--encoding", "utf-16"], "convert it to UTF-8"),
        (["absent.tsv"], "no such file"),
    ],
)
def test_what_cannot_be_cut_says_what_to_do(
    here: Here, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "p.tsv.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "p.tsv").write_bytes(b"a\tb\n")
    (tmp_path / "p.tmx").write_bytes(b"<tmx/>")
    with pytest.raises(CutawayError, match=message) as refused:
        run("clean", *arguments, "--out", "o.jsonl", "--ray", "local")
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.glob("o.*"))


def test_without_ray_it_says_what_to_install(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'cutaway\[ray\]'"):
        run("clean", corpus, "--out", tmp_path / "o.tsv", "--ray", "local")
    with pytest.raises(InputError, match="not installed"):
        run_on_ray(lambda shard: 0, [], address="local")
    assert not (tmp_path / "o.tsv.shards").exists()


def test_a_worker_tells_an_error_of_the_input_and_goes_on() -> None:
    from cutaway.corpus.spilling import RowShard

    def work(shard: Numbered) -> int:
        if shard.number == 3:
            raise DataError("line 7 is wrong")
        return 11

    said = Worker(work, RowShard)({"number": [2, 3], "part": [0, 0], "first": [0, 5]})
    assert said == {"number": [2, 3], "count": [11, 0], "error": ["", "line 7 is wrong"]}


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    path = tmp_path / "00000002"
    pack(path, {"a": 1}, {}, PAIRS[:3])
    assert list(unpack(path).pairs()) == PAIRS[:3]
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole + b"x", whole[:7], b"", whole.replace(b"<u4", b"|O8")):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="00000002: damaged .* give the same command again"):
            unpack(path)


def test_clean_refuses_names_it_cannot_write(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"as \.tsv or \.jsonl"):
        run("clean", corpus, "--out", tmp_path / "o.tmx")
    with pytest.raises(InputError, match="already exists"):
        run("clean", corpus, "--out", corpus)
    (tmp_path / "t.jsonl").write_text('{"source": "a\\tb", "target": "c d"}\n')
    with pytest.raises(DataError, match=r"TSV cannot hold it, \.jsonl can"):
        run("clean", tmp_path / "t.jsonl", "--out", tmp_path / "o.tsv")

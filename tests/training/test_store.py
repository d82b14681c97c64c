"""A run from a token store of several sources and directions is the run from their files."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.config import DataConfig, RunConfig
from cutaway.config.dump import dumped
from cutaway.corpus import Part, Stream, build_store, encoded, store, store_parts
from cutaway.corpus.opening import open_parts
from cutaway.corpus.parts import both_ways
from cutaway.errors import ConfigError, CutawayError, DataError, TrainingError
from cutaway.text import Tokenizer
from cutaway.training.prepare import prepare
from tests.training.helpers import corpus, results, run_here, tables

LANGUAGES = {"source_language": "en", "target_language": "de"}


def data(*arguments: object) -> str:
    """The output of `cutaway data build`."""
    result = CliRunner().invoke(app, ["data", "build", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.output


def of_files(folder: Path, **train: Any) -> dict[str, Any]:
    """Settings of two sources, weighted, tagged, filtered and augmented, both ways."""
    values = tables(folder, validate_every=6, **train)
    pairs = corpus()
    asked = pairs[250][1]  # a target of the validation file: trained on in neither direction
    for name, rows in (("a", [*pairs[:90], ("odd one", asked)]), ("b", pairs[90:240])):
        text = "".join(f"{source}\t{target}\n" for source, target in rows)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    values["data"] = {
        **LANGUAGES,
        "both_ways": True,
        "val_data": values["data"]["val_data"],
        "sources": [
            {"path": str(folder / "a.tsv"), "weight": 1.5, "augment": {"lowercase": 0.5}},
            {"path": str(folder / "b.tsv"), "tag": "bt", "filters": {"contains": ["king"]}},
        ],
    }
    return values


def of_store(values: dict[str, Any], **data: Any) -> dict[str, Any]:
    """The same run, from the store."""
    return {
        **values,
        "data": {"val_data": values["data"]["val_data"], **data},
        "tokenizer": {"sample": values["tokenizer"]["sample"]},
    }


def built(values: dict[str, Any], folder: Path) -> str:
    """Write the settings as run.toml and build the store of them; its place."""
    (folder / "run.toml").write_text(dumped(RunConfig.from_tables(values)), encoding="utf-8")
    data("--config", folder / "run.toml", "--out", folder / "store")
    return str(folder / "store")


def test_two_weighted_tagged_sources_both_ways_train_as_their_files_to_the_last_bit(
    tmp_path: Path,
) -> None:
    values = of_files(tmp_path, updates=6)
    place = built(values, tmp_path)
    stored = of_store(values, store=place)
    files, found = (prepare(RunConfig.from_tables(each)) for each in (values, stored))
    for name in ("weights", "directions", "languages", "validation_rows", "validation_parts"):
        assert getattr(found, name) == getattr(files, name), name
    assert found.weights[0][1] == 1.5
    assert found.directions == (("en", "de"), ("de", "en"))
    assert found.tokenizer.fingerprint == files.tokenizer.fingerprint
    assert found.train.fingerprint == files.train.fingerprint
    assert found.tokenizer.marks == ("bt",)
    assert not any("odd one" in row for row in files.rows)
    run_here(values, tmp_path / "from-files")
    run_here(stored, tmp_path / "from-store")
    assert results(tmp_path / "from-store") == results(tmp_path / "from-files")
    # A run from the store notices that the same pairs are to be seen more often.
    before = json.loads((tmp_path / "store" / "header.json").read_text())
    values["data"]["sources"][0]["weight"] = 2.5
    built(values, tmp_path)
    after = json.loads((tmp_path / "store" / "header.json").read_text())
    assert after["arrays"] == before["arrays"]
    assert after["fingerprint"] != before["fingerprint"]
    stored["train"]["updates"] = 9
    with pytest.raises(TrainingError, match="weights"):
        run_here(stored, tmp_path / "from-store")


def test_weights_and_tags_of_the_command_line_stand_in_the_header(tmp_path: Path) -> None:
    of_files(tmp_path)
    told = data(
        "-d", f"{tmp_path}/a.tsv:2", "-d", f"{tmp_path}/b.tsv:1:bt", "--languages", "en-de",
        "--out", tmp_path / "store", "--vocabulary", 330,
    )  # fmt: skip
    assert "91 pairs: en → de, weight 2\n150 pairs: en → de, tag <#bt>\n" in told
    assert json.loads((tmp_path / "store" / "header.json").read_text())["parts"] == [
        {"pairs": 91, "weight": 2.0, "tag": "", "languages": ["en", "de"]},
        {"pairs": 150, "weight": 1.0, "tag": "bt", "languages": ["en", "de"]},
    ]


def test_one_plain_source_has_one_part_and_no_weights(tmp_path: Path) -> None:
    values = tables(tmp_path)
    data(values["data"]["data"], "--out", tmp_path / "store", "--vocabulary", 330)
    assert store_parts(tmp_path / "store") == [(240, Part([]))]
    found = prepare(RunConfig.from_tables(of_store(values, store=str(tmp_path / "store"))))
    assert (found.weights, found.directions, found.languages) == ((), (), None)
    assert len(found.validation_rows) == 40
    named = of_store(values, store=str(tmp_path / "store"), **LANGUAGES)
    assert prepare(RunConfig.from_tables(named)).languages == ("en", "de")


def test_a_reversed_store_reverses_the_validation_files_too(tmp_path: Path) -> None:
    values = tables(tmp_path)
    values["data"] |= {**LANGUAGES, "reverse": True}
    files = prepare(RunConfig.from_tables(values))
    stored = of_store(values, store=built(values, tmp_path))
    found = prepare(RunConfig.from_tables(stored))
    assert found.validation_rows == files.validation_rows
    assert found.train.fingerprint == files.train.fingerprint
    assert found.languages == ("de", "en")


def test_of_several_directions_languages_chooses_the_one_validated(tmp_path: Path) -> None:
    pairs = corpus()[:40]
    tokenizer = Tokenizer.train([s for s, _ in pairs], vocabulary=330, languages=("de", "fr"))
    parts = [Part(pairs, ("en", "de")), Part(pairs, ("en", "fr"), weight=0.5)]
    build_store(tmp_path / "store", parts, tokenizer)
    values = of_store(tables(tmp_path), store=str(tmp_path / "store"))
    found = prepare(RunConfig.from_tables(values))
    assert found.directions == (("en", "de"), ("en", "fr"))
    assert found.validation_parts == ((40, ("en", "de")),)
    values["data"] |= {"source_language": "en", "target_language": "fr"}
    found = prepare(RunConfig.from_tables(values))
    assert found.validation_parts == ((40, ("en", "fr")),)
    assert found.validation is not None
    assert int(found.validation[0][0][0]) == tokenizer.tag("fr")
    values["data"]["target_language"] = "it"
    with pytest.raises(ConfigError, match="translates en → de, en → fr, not en → it"):
        prepare(RunConfig.from_tables(values))


def test_memory_does_not_grow_with_the_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the hashes that find duplicates; texts kept would take over 200 bytes a pair."""
    monkeypatch.setattr(encoded, "BLOCK", 256)
    monkeypatch.setattr(store, "ROWS", 256)
    tokenizer = Tokenizer.train(["a few words"], vocabulary=300, languages=("de", "en"))
    path = tmp_path / "long.tsv"
    settings = DataConfig(
        sources=({"path": str(path), "weight": 2},), source_language="en", target_language="de"
    )

    def most(pairs: int) -> int:
        path.write_text("".join(f"Source {n}\tTarget {n}\n" for n in range(pairs)))
        parts = both_ways(open_parts(settings, []))
        tracemalloc.start()
        try:
            build_store(tmp_path / "store", parts, tokenizer)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most(4_000) - most(1_000) < 3_000 * 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--both-ways"], "needs the two languages"),
        (["--both-ways", "--languages", "en-de", "--separate"], "tokenizer.joint is false"),
        (["--both-ways", "--languages", "en-de", "--tokenizer", "T"], "de, en need tags; the"),
        (["-d", "b.tsv:1:bt", "--tokenizer", "T"], "tag 'bt' is not in this tokenizer"),
        (["-d", "-", "--tokenizer", "T", "--both-ways", "--languages", "en-de"], "read once only"),
        (["--config", "task.toml"], "a store is built of pairs from files"),
        (["--config", "store.toml"], "data.data and data.store are given"),
        (["--config", "typo.toml"], "did you mean 'weight'?"),
        (["--config", "absent.toml"], "cannot read absent.toml"),
    ],
)
def test_what_cannot_be_built_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    of_files(tmp_path)
    Tokenizer.train(["a few words"], vocabulary=300).save(tmp_path / "T")
    (tmp_path / "task.toml").write_text('[train]\ntask = "generate"\n')
    (tmp_path / "store.toml").write_text('[data]\nstore = "x"\n')
    (tmp_path / "typo.toml").write_text('[[data.sources]]\npath = "a.tsv"\nwieght = 2\n')
    files = [] if "-d" in arguments or "typo.toml" in arguments else ["-d", "a.tsv"]
    with pytest.raises(CutawayError) as error:
        data(*files, *arguments, "--out", "out")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"data": {"both_ways": True}}, "data.both_ways is for pairs from files; give it to"),
        ({"data": {"sources": [{"path": "a"}]}}, "data.sources and data.store"),
        ({"train": {"grow": 500, "start_from": "m"}}, "train.grow needs texts"),
    ],
)
def test_what_a_store_cannot_do_is_one_line(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RunConfig.from_tables({**tables, "data": {"store": "x", **tables.get("data", {})}})


@pytest.mark.parametrize(
    "broken",
    [
        None, [], [7], [{}], {"pairs": 6}, {"pairs": 0}, {"pairs": True}, {"weight": 0},
        {"weight": "2"}, {"weight": float("nan")}, {"tag": 5}, {"tag": "\x1b[1m"},
        {"languages": ["en"]}, {"languages": ["en", "../x"]}, {"languages": 3},
    ],
)  # fmt: skip
def test_damaged_parts_are_one_line(tmp_path: Path, broken: Any) -> None:
    tokenizer = Tokenizer.train(["a few words"], vocabulary=300)
    build_store(tmp_path / "store", [Stream(iter(corpus()[:7]), ("en", "de"))], tokenizer)
    path = tmp_path / "store" / "header.json"
    header = json.loads(path.read_text())
    header["parts"] = [header["parts"][0] | broken] if isinstance(broken, dict) else broken
    path.write_text(json.dumps(header))
    with pytest.raises(DataError, match="is damaged") as error:
        store_parts(tmp_path / "store")
    assert "\n" not in str(error.value)
    with pytest.raises(DataError, match="inconsistent"):
        store.open_store(tmp_path / "store")

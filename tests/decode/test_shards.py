"""Shards of a file: every line once, whole files only, and a translator that can be pickled."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutaway
from cutaway.cli.on_ray import Worker
from cutaway.cli.translate_shards import Shard, ShardTranslator, plan
from cutaway.data import demo_model
from cutaway.decode.batch_translator import BatchTranslator
from cutaway.errors import InputError
from cutaway.system.shards import claim, join

LINES = ["The cat sleeps.", "", "I love AI.", "The dog sees a bird."]


@given(st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=7)))
def test_shards_are_the_file_cut_at_line_ends(lines: list[str]) -> None:
    import tempfile

    data = "\n".join(lines).encode()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.txt"
        source.write_bytes(data)
        shards = list(plan(source, 3))
    assert b"".join(data[shard.start : shard.end] for shard in shards) == data
    assert [shard.number for shard in shards] == list(range(len(shards)))
    for shard in shards[:-1]:
        assert data[shard.start : shard.end].count(b"\n") == 3
        assert data[shard.end - 1 : shard.end] == b"\n"


def columns(shards: list[Shard]) -> dict[str, list[int]]:
    return {name: [getattr(shard, name) for shard in shards] for name in ("number", "start", "end")}


def test_a_shard_is_written_once_and_the_output_is_the_shards_in_order(tmp_path: Path) -> None:
    source, place, output = tmp_path / "in.txt", tmp_path / "out.shards", tmp_path / "out.txt"
    source.write_text("\n".join(LINES), encoding="utf-8")
    shards = list(plan(source, 2))
    claim(place, {"source": "1"})
    translator = BatchTranslator(demo_model("en-fr"), beam=1)
    work = ShardTranslator(translator, str(source), str(place))
    worker = Worker(pickle.loads(pickle.dumps(work)), Shard)  # noqa: S301
    assert worker(columns(shards[1:])) == {"number": [1], "count": [0], "error": [""]}
    assert not (place / "00000000").exists()  # what a resumed run has to do
    written = (place / "00000001").stat().st_mtime_ns
    worker(columns(shards))  # tried again, as after the death of a worker
    assert (place / "00000001").stat().st_mtime_ns == written
    claim(place, {"source": "1"})
    with pytest.raises(InputError, match="belongs to another call"):
        claim(place, {"source": "2"})
    join(place, range(len(shards)), output)
    assert output.read_text(encoding="utf-8").split("\n")[:-1] == translator.texts(LINES)


def test_a_batch_translator_travels_without_its_model() -> None:
    one = BatchTranslator("demo-en-fr", beam=1)
    assert one({"text": LINES})["translation"][0] == one.texts(LINES[:1])[0]
    sent = pickle.dumps(one)
    assert len(sent) < 500
    other = pickle.loads(sent)  # noqa: S301
    expected = [each.text for each in cutaway.load("demo-en-fr").translate(LINES, beam=1)]
    assert other({"text": LINES}) == {"text": LINES, "translation": expected}

"""A corpus translated on a local Ray cluster of several processes, one of which is killed."""

from pathlib import Path

import pytest

import cutaway
from cutaway.corpus.embedded import embedded
from cutaway.data import demo_model
from tests.interop.conftest import Ask

pytestmark = pytest.mark.interop


def test_a_killed_worker_loses_nothing_and_no_line_comes_twice(tmp_path: Path, ask: Ask) -> None:
    sources = [source for source, _ in embedded("en-fr", "test")][:211]
    source, place = tmp_path / "in.txt", tmp_path / "out"
    place.mkdir()
    source.write_text("".join(f"{text}\n" for text in sources), encoding="utf-8")
    answer = ask(
        "ray",
        "run_ray.py",
        {
            "folder": str(demo_model("en-fr")),
            "source": str(source),
            "output": str(place / "out.txt"),
            "lines": 23,
            "deadly": 4,
            "mark": str(tmp_path / "died"),
        },
    )
    assert answer["died"]
    expected = cutaway.load("demo-en-fr").translate(sources, beam=1, costs=False)
    assert answer["text"].splitlines() == [translation.text for translation in expected]
    assert answer["left"] == ["out.txt"]  # no shards, no partial file

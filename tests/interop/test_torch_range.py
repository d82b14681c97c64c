"""The oldest and the newest torch that pyproject.toml allows, installed and used for everything."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.interop.conftest import Ask

pytestmark = pytest.mark.interop

ROOT = Path(__file__).parent.parent.parent


def allowed() -> tuple[int, int]:
    """The first minor version of torch 2 that is allowed, and the first that is not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (torch,) = (line for line in project["dependencies"] if line.startswith("torch"))
    found = re.fullmatch(r"torch>=2\.(\d+),<2\.(\d+)", torch)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("end", ["oldest", "newest"])
def test_both_ends_of_the_range_translate_prove_train_and_resume(end: str, ask: Ask) -> None:
    answer = ask(f"torch_{end}", "run_torch_range.py", {})
    first, beyond = allowed()
    assert int(answer["torch"].split(".")[1]) == (first if end == "oldest" else beyond - 1)
    assert answer["text"] == "Le chat est sur le tapis."
    assert answer["explained"].startswith("20.16 = (−1.453)·(−1.882)")
    proven, cells, opaque = answer["proven"]
    assert proven == cells > 500_000
    assert opaque == 0
    proven, cells, stopped, shape = answer["dropped"]
    assert proven == cells > 100_000
    assert not stopped
    assert shape[:2] == [1, 1]
    assert list(map(int, answer["losses"])) == list(range(1, 11))
    assert answer["losses"]["10"] < answer["losses"]["1"]
    assert answer["translated"] == 1

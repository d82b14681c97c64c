"""The public Python face: docs/python.md runs as it is written, and importing it costs nothing."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cutaway
from cutaway.errors import ConfigError
from tests.training.helpers import write_corpus

ROOT = Path(__file__).parent.parent


def test_the_page_runs_as_it_is_written(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    assert all(f"cutaway.{name}" in program for name in ("train", "load", "evaluate", "glass"))
    training, _ = write_corpus(tmp_path)
    training.rename(tmp_path / "pairs.tsv")
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "sleeps" in result.stdout or "BLEU" in result.stdout
    assert (tmp_path / "my-model" / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["train", "load", "evaluate"])
def test_every_parameter_is_explained(name: str) -> None:
    function = getattr(cutaway, name)
    described = inspect.getdoc(function)
    assert described is not None
    for parameter in inspect.signature(function).parameters:
        if parameter not in ("out", "folder"):  # named in the first line
            assert f"`{parameter}`" in described, parameter


def test_the_functions_stay_functions_after_their_packages_are_imported() -> None:
    """A package of the same name would replace the function in the module's namespace."""
    import cutaway.evaluation.evaluate
    import cutaway.training.run

    assert callable(cutaway.train)
    assert callable(cutaway.evaluate)
    assert callable(cutaway.load)


def test_an_unknown_engine_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="engine is 'onnx'; expected one of"):
        cutaway.load(tmp_path, engine="onnx")
    with pytest.raises(AttributeError, match="has no attribute 'translate'"):
        cutaway.translate  # type: ignore[attr-defined]  # noqa: B018

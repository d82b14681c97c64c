"""Nothing in the folder one works in is ever run: a corpus may come with a module of any name."""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from cutaway.serve.run_page import page_of

PLANTED = ("fastapi", "socket", "torch", "numpy", "rich", "typer", "tomllib")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules in it that leave a mark when they run."""
    for name in PLANTED:
        mark = tmp_path / f"{name}.ran"
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(corpus: Path) -> list[str]:
    return sorted(path.name for path in corpus.glob("*.ran"))


def test_the_page_of_a_run_imports_nothing_from_the_current_folder(corpus: Path) -> None:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with page_of(corpus / "model", 0) as page:
        for _ in range(600):
            assert page.broken() == ""
            try:
                with browser.open(page.url, timeout=60) as answer:
                    assert answer.status == 200
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("the page did not open")
    assert ran(corpus) == []


def test_python_m_cutaway_imports_nothing_from_the_current_folder(corpus: Path) -> None:
    """As torchrun starts it: `python -m cutaway`, which puts the current folder first."""
    (corpus / "train.tsv").write_text("a\tb\n" * 40)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    result = subprocess.run(
        [sys.executable, "-m", "cutaway", "data", "check", "--data", "train.tsv", "--probe", "0"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert ran(corpus) == []

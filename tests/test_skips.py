"""A skip that nobody wrote down fails the run, in one process and with workers."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.skips import LIST

ROOT = Path(__file__).parent.parent
CONFTEST = """
from tests.skips import Skips
def pytest_configure(config):
    config.pluginmanager.register(Skips(), "skips")
"""
FILE = """
import pytest
def test_runs():
    pass
@pytest.mark.xfail
def test_fails_as_expected():
    assert False
"""
WORKERS = [[], ["-p", "xdist", "-n", "2"]]
BROWSER = "no chromium on this machine: install the package chromium"


def run(folder: Path, *reasons: str, ci: str = "", options: list[str]) -> tuple[int, str]:
    """Exit code and last line of a run with tests that skip for these reasons."""
    (folder / "conftest.py").write_text(CONFTEST)
    tests = [
        f"def test_{number}():\n    pytest.skip({reason!r})\n"
        for number, reason in enumerate(reasons)
    ]
    (folder / "test_some.py").write_text(FILE + "".join(tests))
    environment = {
        **os.environ,
        "CI": ci,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # seconds of start-up
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return result.returncode, result.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("options", WORKERS, ids=["one process", "workers"])
def test_a_skip_that_is_not_on_the_list_fails_the_run(tmp_path: Path, options: list[str]) -> None:
    code, last = run(tmp_path, "not today", "not today", BROWSER, options=options)
    assert code == 1
    assert last == "FAILED: skipped tests, not in tests/skips.toml: 2 × not today"


@pytest.mark.parametrize("options", WORKERS, ids=["one process", "workers"])
def test_a_check_that_could_not_be_installed_fails_under_ci_alone(
    tmp_path: Path, options: list[str]
) -> None:
    missing = f"1 × {BROWSER}"
    assert run(tmp_path, BROWSER, options=options) == (
        0,
        f"NOT TESTED on this machine: {missing}",
    )
    assert run(tmp_path, BROWSER, ci="true", options=options) == (
        1,
        f"FAILED: skipped tests, not allowed under CI=true: {missing}",
    )


def test_a_skip_that_is_allowed_everywhere_passes_under_ci(tmp_path: Path) -> None:
    code, last = run(tmp_path, "needs the corpora in /some/place", ci="true", options=[])
    assert code == 0
    assert last == "NOT TESTED on this machine: 1 × needs the corpora in /some/place"


def test_a_run_without_skips_says_nothing(tmp_path: Path) -> None:
    code, last = run(tmp_path, ci="true", options=[])
    assert code == 0
    assert last.startswith("1 passed, 1 xfailed")


def test_a_file_that_skips_as_it_is_imported_counts(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import pytest\npytest.skip('no reason', allow_module_level=True)\n"
    )
    code, last = run(tmp_path, options=[])
    assert code == 1
    assert last == "FAILED: skipped tests, not in tests/skips.toml: 1 × no reason"


def test_the_list_is_short_and_every_entry_says_why() -> None:
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["skip"]
    assert len(entries) <= 8
    for entry in entries:
        assert entry.keys() == {"reason", "ci", "why"}
        assert len(entry["why"].split()) >= 5


TOOLS = [
    "bash",
    "cat",
    "cmp",
    "cp",
    "cut",
    "dirname",
    "grep",
    "ls",
    "mkdir",
    "rm",
    "sed",
    "sha256sum",
    "tail",
    "tee",
    "timeout",
    "touch",
    "tr",
]


@pytest.fixture
def poor(tmp_path: Path) -> Path:
    """A machine without browser, npm and office, where nothing can be installed."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    for file, says in (
        (tools / "id", "echo 1000"),
        (python, 'case "$*" in *pytest*) echo "tests run" ;; *-c*) echo "$0" ;; *) exit 1 ;; esac'),
    ):
        file.write_text(f"#!/bin/bash\n{says}\n")
        file.chmod(0o755)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "constraints.txt", tmp_path)
    return tmp_path


def script(poor: Path, name: str, ci: str) -> tuple[int, str, str]:
    result = subprocess.run(
        ["bash", str(poor / "scripts" / name)],
        env={"PATH": str(poor / "bin"), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout, result.stderr


def test_a_missing_browser_or_program_is_a_failure_under_ci(poor: Path) -> None:
    code, said, _ = script(poor, "programs.sh", "")
    assert code == 0
    packages = "chromium fonts-noto-cjk firefox-esr g++ nodejs npm gettext "
    assert said.startswith(f"missing, so that their tests will skip: {packages}(install them with")
    code, _, error = script(poor, "programs.sh", "true")
    assert code == 1
    assert error == "CI=true: these tests must run\n"


def test_a_package_that_cannot_be_installed_is_a_failure_under_ci(poor: Path) -> None:
    code, said, _ = script(poor, "interop.sh", "")
    assert code == 0
    assert said.endswith("tests run\n")
    assert "cannot install torch==" in said
    code, said, error = script(poor, "interop.sh", "true")
    assert code == 1
    assert "tests run" not in said
    assert error == (
        "CI=true: these must be installed, and cannot be: argos huggingface libretranslate "
        "notebook page ray torch_newest torch_oldest libreoffice (logs in .venv-interop)\n"
    )

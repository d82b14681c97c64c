"""The command line as a whole: quick to start, clear when something is wrong, documented."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cutaway", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_version_names_the_program() -> None:
    result = run("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("cutaway ")


def test_help_does_not_import_torch() -> None:
    program = (
        "import sys; sys.argv = ['cutaway', '--help']\n"
        "from cutaway.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'sentencepiece', 'numpy', 'fastapi', 'sacrebleu'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr


def test_unknown_command_is_one_clear_complaint() -> None:
    result = run("frobnicate")
    assert result.returncode != 0
    assert "frobnicate" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("place", "reason"),
    [("/nowhere/x.ipynb", "there is no folder"), ("/dev/full", "No space left")],
)
def test_a_place_that_cannot_be_written_is_one_line(place: str, reason: str) -> None:
    result = run("lesson", "by-hand", "--notebook", place)
    assert result.returncode == 2
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_every_command_has_help_and_docs_cli_is_what_the_commands_say() -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr

"""The page's scripts are formatted by prettier, and hold their own types before the compiler."""

import subprocess
from pathlib import Path

import pytest

from tests.interop.conftest import installed

pytestmark = pytest.mark.interop
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ("prettier", "--check", "src/cutaway/web/*.js", "src/cutaway/web/styles/*.css"),
        ("tsc", "-p", "jsconfig.json"),
    ],
    ids=["form", "types"],
)
def test_the_scripts_of_the_page(command: tuple[str, ...]) -> None:
    tool = installed("page", Path("node_modules", ".bin", command[0]))
    result = subprocess.run(
        [tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr

"""Other programs, found by path: `scripts/interop.sh` makes their environments."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(__file__).parent.parent.parent / ".venv-interop"
HERE = Path(__file__).parent


def installed(name: str, program: Path) -> Path:
    """A program of an environment; without one the test skips and says why."""
    path = PLACE / name / program
    failed = PLACE / f"{name}.failed"
    if failed.is_file():
        pytest.skip(f"{name} cannot be installed here: {failed.read_text().strip()}")
    if not path.is_file():
        pytest.skip(f"no {path}; run scripts/interop.sh")
    return path


def interpreter(name: str) -> Path:
    """The Python of an environment."""
    return installed(name, Path("bin", "python"))


def offline(home: Path) -> dict[str, str]:
    """An environment with a home of its own, where the network is a dead end."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "ARGOS_COMPUTE_TYPE": "float32",  # Argos by itself computes in int8, whatever the model
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "127.0.0.1",
    }


Ask = Callable[[str, str, dict[str, Any]], Any]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """ask(environment, script, request): what the script there answers, as JSON both ways."""

    def run(name: str, script: str, request: dict[str, Any]) -> Any:
        python = interpreter(name)
        answer = tmp_path / "answer.json"
        result = subprocess.run(
            [python, HERE / script, answer],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            env=offline(tmp_path),
            timeout=300,
            check=False,
        )
        assert result.returncode == 0, result.stderr[-3000:]
        return json.loads(answer.read_text(encoding="utf-8"))

    return run

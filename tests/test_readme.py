"""The READMEs are true: their commands run, their files exist, their Python works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cutaway.cli.main import main
from tests.training.helpers import start

ROOT = Path(__file__).parent.parent
READMES = ("README.md", "README.zh.md")


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def commands(name: str) -> list[str]:
    lines = "\n".join(blocks(name, "sh")).splitlines()
    return [line for line in lines if line.startswith("cutaway ")]


@pytest.fixture(scope="module")
def desk(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a reader's after `make demo`: the model and its run, which --update replays."""
    desk = tmp_path_factory.mktemp("desk")
    for suffix in ("", ".run"):
        made = demo_folder.with_name(demo_folder.name + suffix)
        (desk / f"demo-model{suffix}").symlink_to(made)
    return desk


def run(words: list[str], desk: str, output: str) -> None:
    """A command line in a process of its own; what it prints goes to a file."""
    sink = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.chdir(desk)
    os.environ["COLUMNS"] = "100"
    sys.argv = ["cutaway", *words]
    main()


def test_every_command_runs(desk: Path, tmp_path: Path) -> None:
    """Those of both READMEs, in their order; what stands in both runs once."""
    assert all(commands(name) for name in READMES)
    for command in dict.fromkeys(command for name in READMES for command in commands(name)):
        words = shlex.split(command, comments=True)[1:]
        if words[0] == "train":  # as written it takes minutes; three updates show that it works
            words += ["--updates", "3", "--set", "train.validate_every=3"]
            words += ["--set", "data.holdout=50"]  # a model that knows nothing writes to the limit
        if words[0] == "evaluate":  # likewise: fifty sentences of the two thousand
            for option in ("--source", "--target"):
                path = desk / words[words.index(option) + 1]
                short = path.with_suffix(f".short{path.suffix}")
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                short.write_text("".join(lines[:50]), encoding="utf-8")
                words[words.index(option) + 1] = str(short)
        process = start(run, words, str(desk), str(tmp_path / "output"))
        process.join(300)
        process.kill()
        assert process.exitcode == 0, f"{command}\n{(tmp_path / 'output').read_text()}"


def test_the_python_runs(desk: Path) -> None:
    """As it stands, every import included."""
    program = "\n".join(blocks("README.md", "python"))
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=desk,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Le chat est sur le tapis.")


@pytest.mark.parametrize("name", READMES)
def test_the_make_targets_exist(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", "\n".join(blocks(name, "sh")), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


@pytest.mark.parametrize("name", [*READMES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link

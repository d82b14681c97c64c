"""What is installed is pinned and known by its hash."""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pins(file: str) -> dict[str, str]:
    """name → version, of the lines `name==version` of a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def test_the_lock_has_every_pin_with_its_hashes() -> None:
    """torch alone has none: its build differs between accelerators."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    expected = pins("constraints.txt")
    del expected["torch"]
    assert pins("requirements.lock") == expected, "run scripts/lock.py"
    entries = re.split(r"^(?=[\w.-]+==)", lock, flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)


def test_every_dependency_for_development_is_pinned() -> None:
    """Names compare without case and with - for _."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
        *project["build-system"]["requires"],
    ]
    pinned = {name.lower().replace("_", "-") for name in pins("constraints.txt")}
    names = {re.match(r"[\w.-]+", one).group().lower() for one in wanted}  # type: ignore[union-attr]
    assert names <= pinned


def test_the_programs_from_npm_are_known_by_hash_and_name_no_host() -> None:
    """Every package but the root itself has its integrity."""
    text = (ROOT / "scripts" / "page" / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    assert len(packages) > 2
    assert all("integrity" in package for path, package in packages.items() if path)
    assert "resolved" not in text

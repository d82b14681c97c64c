"""Fixtures that several folders need: the shared corpora, and one trained demo model for all."""

import fcntl
import gc
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from cutaway.data import demo_model
from tests.browser.firefox import firefox_path, launch_firefox
from tests.skips import Skips

ROOT = Path(__file__).parent.parent

# Small models run many times slower when two threads share two busy cores. Where a test has more,
# they sleep while they wait, as in the program: both are read when torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# No test is judged by its time: the machine may be busy.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """A skip that is not written down fails the run.

    The half million objects that imports leave behind hold no tensor of a test: frozen, neither
    the garbage collector nor a recording, which looks for living tensors, goes through them.
    Where workers run the tests, the process that waits for them needs none of this.
    """
    config.pluginmanager.register(Skips(), "skips")
    if hasattr(config, "workerinput") or config.getoption("dist", "no") == "no":
        import torch._dynamo  # noqa: F401 (the largest import)

        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the demo's model comes first: one worker trains it while the other goes on."""
    items.sort(key=lambda item: "demo_folder" not in getattr(item, "fixturenames", ()))


CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    """What drives browsers; there can be one per process."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    with api.sync_playwright() as running:
        yield running


def launch_chromium(playwright: Any) -> Any:
    """Chromium as the system has it, without its window where there is such a program."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium on this machine: install the package chromium")
    return playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)


@pytest.fixture(scope="session")
def chromium(playwright: Any) -> Iterator[Any]:
    """One Chromium per worker."""
    running = launch_chromium(playwright)
    yield running
    running.close()


@pytest.fixture(scope="session")
def firefox(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Firefox as the system has it, one per worker."""
    if firefox_path() is None:
        pytest.skip("no firefox on this machine: install the package firefox-esr")
    running = launch_firefox(playwright, tmp_path_factory.mktemp("firefox"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Any:
    """The browser of the browser tests: Chromium, or what CUTAWAY_BROWSER names."""
    return request.getfixturevalue(os.environ.get("CUTAWAY_BROWSER", "chromium"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The corpora beside the checkout; tests that need them skip where they are absent."""
    data = ROOT.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip(f"needs the corpora in {data}")
    return data


@pytest.fixture(scope="session")
def bundled_folder() -> Path:
    """The English→French model of the package: weights that are the same on every machine."""
    return demo_model("en-fr")


@pytest.fixture(scope="session")
def carried_folder_zh() -> Path:
    """The English→Chinese model of the package."""
    return demo_model("en-zh")


def _sources() -> str:
    """A short hash of all that decides how the demo model comes out."""
    digest = hashlib.sha256((ROOT / "src" / "cutaway" / "data" / "corpus.tsv.xz").read_bytes())
    for stage in ("config", "text", "corpus", "model", "artifact", "training", "cli/demo.py"):
        path = ROOT / "src" / "cutaway" / stage
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="session")
def demo_output(demo_folder: Path) -> str:
    """What the demo printed while it trained that folder."""
    return demo_folder.with_name(f"{demo_folder.name}.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model folder that `cutaway demo --no-serve` trains, its run folder next to it.

    Trained by one worker for all: once per state of the sources, or, with CI=true, once per run,
    so that nothing an earlier run left behind is tested.
    """
    shared = tempfile.gettempdir()
    if os.environ.get("CI") == "true" and "PYTEST_XDIST_WORKER" in os.environ:
        shared = str(tmp_path_factory.getbasetemp().parent)  # of all workers of this run
    cache = Path(os.environ.get("CUTAWAY_TEST_CACHE", shared)) / "cutaway-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"demo-{_sources()}"
    run = folder.with_name(f"{folder.name}.run")
    output = folder.with_name(f"{folder.name}.txt")
    with (cache / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other workers wait here and then find the folder
        environment = {**os.environ, "COLUMNS": "100"}
        if not (output.exists() and folder.exists() and run.exists()):
            output.unlink(missing_ok=True)  # the training's own lines come once
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(run, ignore_errors=True)
        result = subprocess.run(
            [sys.executable, "-m", "cutaway", "demo", "--no-serve", "--out", str(folder)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=900,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        if not output.exists():
            output.write_text(result.stdout, encoding="utf-8")
    return folder

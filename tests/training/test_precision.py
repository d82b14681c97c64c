"""Reduced precision is tried in a child process first: children that die, that err, that work."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cutaway.config import RunConfig, TrainConfig
from cutaway.decode import DecodeOptions
from cutaway.decode.ctranslate2_engine import CTranslate2Engine
from cutaway.decode.search import search
from cutaway.errors import ConfigError
from cutaway.system import trial as outcomes
from cutaway.training import precision
from cutaway.training.events import Event, Note
from cutaway.training.processes import Processes
from cutaway.training.run import train
from tests.decode.helpers import SPECIAL, random_model, random_tasks
from tests.export.helpers import random_folder
from tests.training.helpers import tables

CPU = torch.device("cpu")
DIES = "import os, signal; os.kill(os.getpid(), signal.{})"
ERRS = "import sys; sys.stderr.write('a warning\\nwrong result: off by 0.7'); sys.exit(3)"
COUNTS = "import pathlib; p = pathlib.Path(__file__ + '.count'); p.touch(); p.open('a').write('x')"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing remembered, neither on disk nor in this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcomes._outcome.cache_clear()
    yield
    outcomes._outcome.cache_clear()


def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> Path:
    """A child of other code in the place of the real one."""
    path = tmp_path / "trial.py"
    path.write_text(code, encoding="utf-8")
    monkeypatch.setattr(precision, "TRIAL", path)
    return path


def remembered(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "cache" / "cutaway" / "precision.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def test_the_real_trial_gives_an_outcome_and_it_is_remembered(tmp_path: Path) -> None:
    """Passed, or dead where the hypervisor forbids what the processor lists; never an accident."""
    reason = precision.failure("bfloat16")
    assert reason == "" or "SIG" in reason or "wrong result" in reason
    ((key, outcome),) = remembered(tmp_path).items()
    assert key.startswith("bfloat16-")
    assert (outcome == "passed") is (reason == "")


def test_a_kernel_that_computes_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child's own judgement, on one wrong cell of 131,584 (in float64, which kills none)."""
    from cutaway.training import precision_trial as child

    right = torch.nn.functional.linear

    def wrong(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        y = right(x, weight, bias)
        if x.dtype == torch.float64 and len(x) == 257:
            fault = torch.zeros_like(y)
            fault[211, 307] = y.detach().abs().max()
            y = y + fault
        return y

    large, small = (257, 256, 512), (64, 128, 256)
    assert child.compare(child.product, large, torch.float64, "cpu") == ""
    monkeypatch.setattr(torch.nn.functional, "linear", wrong)
    assert child.compare(child.product, small, torch.float64, "cpu") == ""
    message = child.compare(child.product, large, torch.float64, "cpu")
    assert message == f"product {large}, tensor 0: off by 1 of the largest"


def test_training_asked_for_bfloat16_is_refused_where_the_child_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial(tmp_path, monkeypatch, DIES.format("SIGILL"))
    values = tables(tmp_path, precision="bfloat16", updates=2)
    with pytest.raises(ConfigError) as error:
        train(RunConfig.from_tables(values), tmp_path / "model")
    assert str(error.value) == (
        "train.precision is bfloat16, but bfloat16 fails on this machine (its trial was killed by "
        "SIGILL); set train.precision to float32"
    )


def test_a_precision_that_was_chosen_falls_back_to_float32_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial(tmp_path, monkeypatch, DIES.format("SIGILL"))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a device")
    events: list[Event] = []
    cuda = torch.device("cuda")
    chosen = precision.choose_precision(TrainConfig(), cuda, events.append, Processes())
    assert chosen == torch.float32
    (note,) = events
    assert isinstance(note, Note)
    assert note.warning
    assert note.text == (
        "bfloat16 fails on this machine (its trial was killed by SIGILL): training in float32"
    )


def test_auto_takes_no_emulated_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch says yes of a T4 or V100, unless asked without emulation."""
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation
    )
    chosen = precision.choose_precision(
        TrainConfig(), torch.device("cuda"), lambda event: None, Processes()
    )
    assert chosen == torch.float32


def test_float32_starts_no_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trial(tmp_path, monkeypatch, COUNTS)
    for settings in (TrainConfig(), TrainConfig(precision="float32")):
        chosen = precision.choose_precision(settings, CPU, lambda event: None, Processes())
        assert chosen == torch.float32
    search(random_model(), random_tasks(1), DecodeOptions(), SPECIAL)
    assert not Path(f"{path}.count").exists()


def test_one_trial_per_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome on disk serves the next process; another setting of kernels is tried anew."""
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    path = trial(tmp_path, monkeypatch, COUNTS)
    count = Path(f"{path}.count")
    for _ in range(3):
        assert precision.failure("bfloat16") == ""
        outcomes._outcome.cache_clear()
    assert count.read_text() == "x"
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "SSE41")
    assert precision.failure("bfloat16") == ""
    assert count.read_text() == "xx"
    assert len(remembered(tmp_path)) == 2


@pytest.mark.parametrize(
    ("code", "message", "lasting"),
    [
        (DIES.format("SIGILL"), "its trial was killed by SIGILL", True),
        (DIES.format("SIGSEGV"), "its trial was killed by SIGSEGV", True),
        (ERRS, "wrong result: off by 0.7", True),
        (DIES.format("SIGKILL"), "its trial was killed by SIGKILL", False),  # memory ran out
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'", False),
    ],
    ids=["illegal instruction", "segmentation fault", "wrong", "killed", "broken"],
)
def test_what_a_failed_trial_is_called_and_whether_it_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str, lasting: bool
) -> None:
    trial(tmp_path, monkeypatch, code)
    assert precision.failure("bfloat16") == f"bfloat16 fails on this machine ({message})"
    assert list(remembered(tmp_path).values()) == ([message] if lasting else [])


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1]", b'{"x": 3}', b"[" * 100_000])
def test_a_damaged_memory_is_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    trial(tmp_path, monkeypatch, "")
    file = tmp_path / "cache" / "cutaway" / "precision.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert precision.failure("bfloat16") == ""
    assert list(remembered(tmp_path).values()) == ["passed"]


def test_a_cache_that_cannot_be_written_costs_a_trial_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trial(tmp_path, monkeypatch, COUNTS)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for _ in range(2):
        assert precision.failure("bfloat16") == ""
        outcomes._outcome.cache_clear()
    assert Path(f"{path}.count").read_text() == "xx"


def test_a_module_in_the_current_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "signal.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path / "corpus")
    trial(tmp_path, monkeypatch, "import signal; signal.SIGINT")
    assert precision.failure("bfloat16") == ""


def test_translating_with_a_reduced_model_is_refused_where_the_child_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial(tmp_path, monkeypatch, DIES.format("SIGILL"))
    for dtype, name in ((torch.bfloat16, "bfloat16"), (torch.float16, "float16")):
        model = random_model(dtype=dtype)
        with pytest.raises(ConfigError, match=f"the model is in {name}, but .*SIGILL"):
            search(model, random_tasks(1), DecodeOptions(), SPECIAL)


def test_int8_of_ctranslate2_is_refused_where_the_child_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = random_folder()
    path = tmp_path / "dies.py"
    path.write_text(DIES.format("SIGILL"))
    monkeypatch.setattr("cutaway.decode.ctranslate2_engine.TRIAL", path)
    with pytest.raises(ConfigError, match=r"int8 fails on this machine \(its trial was killed by"):
        CTranslate2Engine(folder, quantization="int8")
    CTranslate2Engine(folder)  # float32 needs no trial

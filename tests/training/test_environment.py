"""Which device a process takes; a machine with several GPUs is imitated, there is none here."""

import pytest
import torch

from cutaway.config import TrainConfig
from cutaway.errors import ConfigError
from cutaway.training.environment import claim_device


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Three CUDA devices, as far as choosing goes; those made current are noted."""
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


@pytest.mark.parametrize("rank", [0, 2])
def test_each_process_of_a_machine_makes_its_own_gpu_current(
    gpus: list[torch.device], monkeypatch: pytest.MonkeyPatch, rank: int
) -> None:
    monkeypatch.setenv("LOCAL_RANK", str(rank))
    assert claim_device(TrainConfig()) == torch.device("cuda", rank)
    assert gpus == [torch.device("cuda", rank)]


def test_more_processes_than_gpus_are_refused(
    gpus: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    with pytest.raises(ConfigError, match=r"process 3 .* cuda:3.* 3 CUDA device"):
        claim_device(TrainConfig())
    assert not gpus


def test_the_processor_needs_no_claim(gpus: list[torch.device]) -> None:
    assert claim_device(TrainConfig(device="cpu")) == torch.device("cpu")
    assert not gpus

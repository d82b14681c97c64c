"""Many processes are one: the same bits as accumulated batches, checkpoints that move."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from cutaway.config import RunConfig
from cutaway.train.checkpoint import saved
from cutaway.train.run import run_folder, train
from tests.train.helpers import results, run_here, start, tables


def rank_run(values: dict[str, Any], out: str, rank: int, world: int, port: int) -> None:
    """One of several processes that train together, as torchrun would start it."""
    os.environ.update(
        RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank),
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
    )  # fmt: skip
    torch.set_num_threads(1)
    train(RunConfig.from_tables(values), Path(out), allow_changes=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_together(values: dict[str, Any], out: Path, world: int) -> None:
    port = free_port()
    ranks = [start(rank_run, values, str(out), rank, world, port) for rank in range(world)]
    for process in ranks:
        process.join(300)
    assert [process.exitcode for process in ranks] == [0] * world


def changed(values: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {**values, "train": {**values["train"], **settings}}


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_processes_are_two_accumulated_batches_bit_for_bit(
    tmp_path: Path, parallel: str
) -> None:
    values = tables(tmp_path, updates=12, tokens=100, clip=0.5)
    run_here(changed(values, accumulate=2), tmp_path / "one")
    run_together(changed(values, parallel=parallel), tmp_path / "two", 2)
    assert results(tmp_path / "two") == results(tmp_path / "one")


def test_first_gradients_of_four_processes_are_those_of_one(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=1, tokens=60, clip=0.0, validate_every=1, warmup=0)
    run_here(changed(values, accumulate=4), tmp_path / "one")
    run_together(values, tmp_path / "four", 4)
    first, other = (
        load_file(saved(run_folder(tmp_path / name) / "checkpoints")[-1] / "optimizer.safetensors")
        for name in ("one", "four")
    )
    share = 1 - values["train"].get("beta1", 0.9)  # after one update, exp_avg = (1 − β₁) gradient
    for name in first:
        if name.startswith("exp_avg."):
            apart = ((first[name] - other[name]) / share).abs().max()
            assert float(apart) < 1e-7, (name, float(apart))


def test_checkpoints_move_between_one_two_and_four_processes(tmp_path: Path) -> None:
    values = tables(tmp_path, tokens=60, schedule="constant")
    out = tmp_path / "model"
    run_here(changed(values, updates=4), out, allow_changes=True)
    run_together(changed(values, updates=8), out, 2)
    run_together(changed(values, updates=12, parallel="fsdp"), out, 4)
    run_here(changed(values, updates=16), out, allow_changes=True)
    last = saved(run_folder(out) / "checkpoints")[-1]
    assert last.name == "update-00000016"


def test_a_killed_rank_recovers_under_torchrun(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=12, tokens=100)
    run_together(values, tmp_path / "undisturbed", 2)
    config = tmp_path / "run.toml"
    config.write_text(
        "".join(
            f"[{table}]\n" + "".join(f"{name} = {text(value)}\n" for name, value in entries.items())
            for table, entries in values.items()
        )
    )
    out = tmp_path / "model"
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
        "--max-restarts", "2", "--master-port", str(free_port()), "-m", "cutaway", "train",
        "--config", str(config), "--out", str(out),
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (tmp_path / "output").open("wb") as output:
        agent = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    checkpoints = run_folder(out) / "checkpoints"
    patience = time.monotonic() + 240
    while not saved(checkpoints) and agent.poll() is None and time.monotonic() < patience:
        time.sleep(0.05)
    children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    if len(children) >= 2:  # else it was faster than the blow
        os.kill(int(children[1]), signal.SIGKILL)
    assert agent.wait(240) == 0, (tmp_path / "output").read_text()
    ours, theirs = results(out), results(tmp_path / "undisturbed")
    assert ours["weights.safetensors"] == theirs["weights.safetensors"]
    assert ours["optimizer.safetensors"] == theirs["optimizer.safetensors"]


def text(value: object) -> str:
    """A value as TOML writes it."""
    return f'"{value}"' if isinstance(value, str) else str(value)

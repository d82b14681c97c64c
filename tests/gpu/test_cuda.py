"""What runs on a GPU: `make test-gpu`. Without a CUDA device every test here is skipped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from cutaway.config import RunConfig
from cutaway.corpus import Batch, collate
from cutaway.decode import DecodeOptions
from cutaway.decode.search import search
from cutaway.evaluation.validation import validator
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.loss import projected_loss
from cutaway.training.prepare import prepare
from cutaway.training.processes import Processes
from cutaway.training.run import run_folder
from tests.decode.helpers import SPECIAL, random_model, random_tasks
from tests.training.helpers import run_here, tables


@pytest.fixture(autouse=True)
def cuda() -> torch.device:
    """The first CUDA device."""
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch.device("cuda", 0)


def first_losses(folder: Path) -> list[float]:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [value["loss"] for line in lines if "loss" in (value := json.loads(line))]


@pytest.mark.parametrize("precision", ["float32", "auto"])
def test_a_run_is_that_of_the_processor(tmp_path: Path, precision: str) -> None:
    """Training, validation by decoding, checkpoints and resuming, all on the GPU."""
    values = tables(tmp_path, updates=9, validate_every=4, log_every=1, precision=precision)
    values["model"]["dropout"] = 0.0  # a GPU draws other numbers
    decode = validator(1)
    run_here(values, tmp_path / "here", validate=decode)
    values["train"]["device"] = "cuda"
    run_here(values, tmp_path / "there", validate=decode)
    here, there = (first_losses(run_folder(tmp_path / name)) for name in ("here", "there"))
    near = 1e-3 if precision == "float32" else 5e-2
    assert there == pytest.approx(here, rel=near)
    run_here(values, tmp_path / "there", validate=decode)  # finished: changes nothing
    assert first_losses(run_folder(tmp_path / "there")) == there


def trainer_and_batch(folder: Path, device: torch.device) -> tuple[Trainer, Batch]:
    config = RunConfig.from_tables(tables(folder, precision="float32"))
    prepared = prepare(config)
    trainer = Trainer(
        prepared,
        config,
        processes=Processes(),
        device=device,
        watch=lambda event: None,
        interrupts=Interrupts(),
    )
    return trainer, collate(prepared.train, trainer.order.plan(0)[0])


def test_a_batch_never_waits_for_the_gpu(tmp_path: Path, cuda: torch.device) -> None:
    """Forward and backward of a batch read nothing back; the sums of an update are read once."""
    trainer, batch = trainer_and_batch(tmp_path, cuda)
    (question,) = trainer.questions([batch])
    trainer.objective(question).backward()  # first calls may synchronise
    torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.objective(question).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_the_loss_in_chunks_is_that_of_the_processor(cuda: torch.device, kind: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    sizes = ((67, 16), (131, 16), (131,))
    states, table, bias = (torch.randn(size, generator=generator) for size in sizes)
    gold = torch.randint(131, (67,), generator=generator)
    results = []
    for device in (torch.device("cpu"), cuda):
        here, weights, offset = (t.to(device).requires_grad_() for t in (states, table, bias))
        lower = kind != torch.float32 and device.type == "cuda"
        with torch.autocast(device.type, kind, enabled=lower):
            loss = projected_loss(here, weights, offset, gold.to(device), 0.1)
        gradients = torch.autograd.grad(loss, [here, weights, offset])
        results.append([loss.detach().cpu(), *(g.cpu() for g in gradients)])
    near = 1e-4 if kind == torch.float32 else 3e-2
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(other, one, rtol=near, atol=near * float(one.abs().max()))


@pytest.mark.parametrize(
    "options", [DecodeOptions(), DecodeOptions(beam=5), DecodeOptions(sample=True)]
)
def test_decoding_gives_the_tokens_of_the_processor(
    cuda: torch.device, options: DecodeOptions
) -> None:
    model, tasks = random_model(), random_tasks(23)
    here = [result.hypotheses[0].ids for result in search(model, tasks, options, SPECIAL)]
    there = [result.hypotheses[0].ids for result in search(model.to(cuda), tasks, options, SPECIAL)]
    assert there == here


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_gpus_of_a_machine_share_a_run(tmp_path: Path, parallel: str) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    values = tables(tmp_path, updates=6, device="cuda", precision="float32", parallel=parallel)
    values["model"]["dropout"] = 0.0
    lines = []
    for table, entries in values.items():
        lines += [
            f"[{table}]",
            *(f"{name} = {json.dumps(value)}" for name, value in entries.items()),
        ]
    (tmp_path / "run.toml").write_text("\n".join(lines), encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = ["-m", "cutaway", "train", "--config", str(tmp_path / "run.toml")]
    shared = [*torchrun, "--nproc-per-node", "2", *command, "--out", str(tmp_path / "shared")]
    subprocess.run(shared, check=True, timeout=600)
    values["train"]["accumulate"] = 2
    run_here(values, tmp_path / "alone")
    alone, both = (first_losses(run_folder(tmp_path / name)) for name in ("alone", "shared"))
    assert both == pytest.approx(alone, rel=1e-3)

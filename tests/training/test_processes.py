"""Many processes are one: the same bits as accumulated batches, checkpoints that move."""

import faulthandler
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch._C._distributed_c10d import HashStore

from cutaway.config import RunConfig
from cutaway.errors import CutawayError, TrainingError
from cutaway.evaluation.validation import validator
from cutaway.training.checkpoint import saved
from cutaway.training.events import Event, Note, Updated
from cutaway.training.interrupts import Interrupted
from cutaway.training.loop import Trainer
from cutaway.training.rendezvous import agree_on_prefix
from cutaway.training.run import run_folder, train
from cutaway.training.schedule import learning_rate
from tests.training.helpers import results, run_here, start, tables
from tests.training.test_survival import beginning, overflow, write_toml

LONGEST = 120  # seconds for what takes a few on a quiet machine


def rank_run(
    values: dict[str, Any], out: str, rank: int, world: int, port: int, messages: str, stop: int
) -> None:
    """One of several processes that train together, as torchrun would start it.

    It writes down which sentences each update takes, its messages and, shortly before the test
    gives up on it, where it is; the first process gets a SIGTERM after update `stop`.
    """
    stacks = Path(f"{messages}.stacks-{rank}").open("w")  # noqa: SIM115 - open while it runs
    faulthandler.dump_traceback_later(0.9 * LONGEST, file=stacks)
    if world > 1:
        os.environ.update(
            RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
        )  # fmt: skip
    torch.set_num_threads(1)
    update = Trainer.update

    def noting(self: Trainer, batches: Any, cursor: int, *rest: Any, **options: Any) -> Any:
        place = [self.progress.update + 1, self.progress.epoch]
        taken = [int(index) for batch in batches for index in batch.indices]
        with Path(f"{messages}.taken-{rank}").open("a") as file:
            file.write(json.dumps([*place, taken]) + "\n")
        return update(self, batches, cursor, *rest, **options)

    Trainer.update = noting  # type: ignore[method-assign]

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            with Path(messages).open("a") as file:
                file.write(event.text + "\n")
        if isinstance(event, Updated) and event.update == stop:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        train(RunConfig.from_tables(values), Path(out), watch=watch)
    except Interrupted as stopped:
        os._exit(stopped.status)
    except CutawayError as error:
        with Path(messages).open("a") as file:
            file.write(f"{rank}: {error}\n")
        os._exit(2)


def free_port() -> int:
    """A port below those that the system gives away by itself, so that it stays free."""
    chance = random.Random(os.urandom(8))
    while True:
        port = chance.randrange(15_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def together(
    values: dict[str, Any], out: Path, world: int, *, stop: int = 0, status: int = 0
) -> str:
    """Train in so many processes, which must all end with the status; returns their messages."""
    port, messages = free_port(), out.with_name(out.name + ".messages")
    ranks = [
        start(rank_run, values, str(out), rank, world, port, str(messages), stop)
        for rank in range(world)
    ]
    try:
        end = time.monotonic() + LONGEST
        for process in ranks:
            process.join(max(0.0, end - time.monotonic()))
        stacks = "".join(
            path.read_text() for path in sorted(out.parent.glob(f"{messages.name}.stacks-*"))
        )
        assert [process.exitcode for process in ranks] == [status] * world, stacks
    finally:
        for process in ranks:
            process.kill()
    return messages.read_text() if messages.is_file() else ""


def changed(values: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {**values, "train": {**values["train"], **settings}}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, str]]:
    """Settings of a run whose every update has two batches, and what one process makes of them.

    Epochs have an odd number of batches, so that in the end one of two processes has none.
    """
    folder = tmp_path_factory.mktemp("one")
    values = tables(
        folder, updates=18, tokens=280, accumulate=2, clip=0.5, log_every=1, average=2, keep=3
    )
    run_here(values, folder / "model")
    return values, results(folder / "model")


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_processes_are_two_accumulated_batches_bit_for_bit(
    tmp_path: Path, one: tuple[dict[str, Any], dict[str, str]], parallel: str
) -> None:
    values, expected = one
    together(changed(values, accumulate=1, parallel=parallel), tmp_path / "model", 2)
    assert results(tmp_path / "model") == expected
    taken = [
        json.loads(line)
        for rank in range(2)
        for line in (tmp_path / f"model.messages.taken-{rank}").read_text().splitlines()
    ]
    assert any(not indices for _, _, indices in taken)  # an empty step was among them


def test_muon_sees_whole_matrices_of_which_each_process_holds_a_shard(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=5, tokens=280, accumulate=2, optimizer="muon", log_every=1)
    run_here(values, tmp_path / "alone")
    together(changed(values, accumulate=1, parallel="fsdp"), tmp_path / "model", 2)
    assert results(tmp_path / "model") == results(tmp_path / "alone")


@pytest.mark.parametrize("second_pass", [{"r_drop": 2.0}, {"sim_cut": 2.0}], ids=str)
def test_two_passes_with_an_empty_batch_in_one_of_two_processes(
    tmp_path: Path, second_pass: dict[str, float]
) -> None:
    values = tables(
        tmp_path, updates=9, tokens=280, accumulate=2, log_every=1, validate_every=9, **second_pass
    )
    run_here(values, tmp_path / "alone")
    together(changed(values, accumulate=1), tmp_path / "model", 2)
    taken = [
        json.loads(line)[2]
        for rank in range(2)
        for line in (tmp_path / f"model.messages.taken-{rank}").read_text().splitlines()
    ]
    assert [] in taken  # an odd number of batches
    alone, both = (
        load_file(saved(run_folder(tmp_path / name) / "checkpoints")[-1] / "weights.safetensors")
        for name in ("alone", "model")
    )
    for name, tensor in alone.items():
        torch.testing.assert_close(both[name], tensor, rtol=0, atol=1e-6)


def test_another_number_of_processes_leaves_the_length_and_the_rate_as_they_were(
    tmp_path: Path,
) -> None:
    values = tables(tmp_path, updates=0, epochs=4, tokens=90, log_every=1, validate_every=100)
    out = tmp_path / "model"
    together(values, out, 1, stop=9, status=143)
    messages = together(values, out, 2)
    assert "the run keeps its" in messages
    log = map(json.loads, (run_folder(out) / "log.jsonl").read_text().splitlines())
    rates = {line["update"]: line["rate"] for line in log if "rate" in line}
    length = max(rates)
    settings = RunConfig.from_tables(values).train
    peak = max(rates.values())
    for update, rate in rates.items():
        expected = learning_rate(settings, update, peak=peak, updates=length)
        assert rate == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert rates[length] == pytest.approx(0.0, abs=1e-9)


def test_a_run_moves_between_one_and_two_processes_and_every_sentence_is_seen_once(
    tmp_path: Path, one: tuple[dict[str, Any], dict[str, str]]
) -> None:
    """One, two with copies, one, two with shards: stopped by a signal and resumed each time."""
    values, expected = one
    out, alone = tmp_path / "model", changed(values, accumulate=1)
    together(values, out, 1, stop=3, status=143)
    messages = together(alone, out, 2, stop=7, status=143)
    assert "processes: 1 → 2" in messages
    assert "settings.train.accumulate: 2 → 1" in messages
    together(values, out, 1, stop=11, status=143)
    together(changed(alone, parallel="fsdp"), out, 2)
    assert results(out) == expected
    seen: dict[int, Counter[int]] = {}
    updates: set[int] = set()
    for rank in range(2):
        for line in (tmp_path / f"model.messages.taken-{rank}").read_text().splitlines():
            update, epoch, indices = json.loads(line)
            updates.add(update)
            seen.setdefault(epoch, Counter()).update(indices)
    assert updates == set(range(1, 19))
    whole = [epoch for epoch in seen if epoch < max(seen)]
    assert len(whole) >= 2
    for epoch in whole:
        assert seen[epoch] == Counter(dict.fromkeys(range(240), 1))


def test_a_checkpoint_of_four_processes_goes_on_in_one_two_and_four(tmp_path: Path) -> None:
    """The next gradients are the same within 1e-7: after them come the bits of another order."""
    base = tables(tmp_path, updates=2, tokens=90, clip=0.0, warmup=0, log_every=1)
    first = tmp_path / "first"
    together(changed(base, parallel="fsdp"), first, 4, stop=1, status=143)
    means: dict[int, dict[str, torch.Tensor]] = {}
    for world in (1, 2, 4):
        out = tmp_path / f"in {world}"
        shutil.copytree(run_folder(first), run_folder(out))
        for path in saved(run_folder(out) / "checkpoints")[1:]:
            shutil.rmtree(path)
        together(changed(base, accumulate=4 // world), out, world)
        last = saved(run_folder(out) / "checkpoints")[-1]
        assert last.name == "update-00000002"
        means[world] = load_file(last / "optimizer.safetensors")
    for world in (2, 4):
        for name, mean in means[1].items():
            if name.startswith("exp_avg."):  # β₁ · mean + (1 − β₁) · gradient, of the same mean
                apart = ((means[world][name] - mean) / (1 - 0.9)).abs().max()
                assert float(apart) < 1e-7, (world, name, float(apart))


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_first_gradients_of_four_processes_are_those_of_one(tmp_path: Path, parallel: str) -> None:
    values = tables(tmp_path, updates=1, tokens=60, clip=0.0, validate_every=1, warmup=0)
    run_here(changed(values, accumulate=4), tmp_path / "one")
    together(changed(values, parallel=parallel), tmp_path / "four", 4)
    first, other = (
        load_file(saved(run_folder(tmp_path / name) / "checkpoints")[-1] / "optimizer.safetensors")
        for name in ("one", "four")
    )
    for name in first:
        if name.startswith("exp_avg."):  # after one update, exp_avg = (1 − β₁) · gradient
            apart = ((first[name] - other[name]) / (1 - 0.9)).abs().max()
            assert float(apart) < 1e-7, (name, float(apart))


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_a_bad_sentence_of_another_process_is_named_by_all(tmp_path: Path, parallel: str) -> None:
    values, pairs = beginning(tmp_path, overflow)
    values = changed(values, accumulate=1, parallel=parallel)
    messages = together(values, tmp_path / "model", 2, status=2)
    for rank in range(2):
        (line,) = [line for line in messages.splitlines() if line.startswith(f"{rank}: ")]
        assert "the loss is nan" in line
        if parallel == "ddp":
            assert line.count("line ") == 1
            assert f"line 100: '{pairs[99][0]}" in line
    assert saved(run_folder(tmp_path / "model") / "checkpoints")


def test_processes_agree_on_a_prefix_among_keys_of_killed_ones() -> None:
    """Generations of processes at one store, as torchrun keeps it: late, early, and killed ones."""
    store = HashStore()
    prefixes = []
    for generation in range(4):
        store.set("id/2", "one that was killed before it was invited")
        with ThreadPoolExecutor(3) as pool:
            found = []
            for place in range(3):
                rank = (place + generation) % 3  # another one is the first to come
                found.append(pool.submit(agree_on_prefix, store, rank, 3, 60.0))
                time.sleep(0.05)
        (prefix,) = {one.result() for one in found}
        prefixes.append(prefix)
    assert len(set(prefixes)) == 4
    with pytest.raises(TrainingError, match="process 1 of 3 did not find the others"):
        agree_on_prefix(store, 1, 3, 0.1)


def test_processes_that_see_other_data_or_checkpoints_refuse(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=2)
    other = tmp_path / "other.tsv"
    lines = Path(values["data"]["data"]).read_text().splitlines(keepends=True)
    other.write_text("".join(lines[::-1]))
    port, messages = free_port(), tmp_path / "messages"
    elsewhere = {**values, "data": {**values["data"], "data": str(other)}}
    ranks = [
        start(rank_run, given, str(tmp_path / "model"), rank, 2, port, str(messages), 0)
        for rank, given in enumerate((values, elsewhere))
    ]
    for process in ranks:
        process.join(LONGEST)
    assert [process.exitcode for process in ranks] == [2, 2]
    assert messages.read_text().count("the processes differ in data") == 2
    run_here(values, tmp_path / "here")
    port = free_port()
    ranks = [
        start(rank_run, values, str(tmp_path / place), rank, 2, port, str(messages), 0)
        for rank, place in enumerate(("here", "there"))
    ]
    for process in ranks:
        process.join(LONGEST)
    assert [process.exitcode for process in ranks] == [2, 2]
    assert messages.read_text().count("do not find the same checkpoint") == 2


def test_under_torchrun_a_killed_rank_recovers_and_a_signal_to_all_saves(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=60, tokens=100, validate_every=30, save_minutes=1e-9)
    run_here(changed(values, accumulate=2), tmp_path / "one", validate=validator(1))
    out, output = tmp_path / "model", tmp_path / "output"
    checkpoints = run_folder(out) / "checkpoints"
    config = write_toml(values, tmp_path / "run.toml")

    def torchrun() -> "subprocess.Popen[bytes]":
        command = [
            sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
            "--max-restarts", "2", "--standalone", "--local-addr", "127.0.0.1",
            "-m", "cutaway", "train", "--config", str(config), "--out", str(out),
        ]  # fmt: skip
        with output.open("wb") as file:
            return subprocess.Popen(command, stdout=file, stderr=file)

    def wait_for_news(agent: "subprocess.Popen[bytes]") -> list[int]:
        """Two checkpoints later: the process numbers of the ranks."""
        for _ in range(2):
            last, patience = saved(checkpoints)[-1:], time.monotonic() + LONGEST
            while saved(checkpoints)[-1:] == last and time.monotonic() < patience:
                assert agent.poll() is None, output.read_text()
                time.sleep(0.005)
        children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
        assert len(children) == 2
        return [int(child) for child in children]

    agent = torchrun()
    try:
        os.kill(wait_for_news(agent)[1], signal.SIGKILL)  # torchrun starts both again
        while "resumed after update" not in output.read_text():
            assert agent.poll() is None, output.read_text()
            time.sleep(0.02)
        for number in (*wait_for_news(agent), agent.pid):  # as a cluster does at its time limit
            os.kill(number, signal.SIGTERM)
        assert agent.wait(LONGEST) != 0
        assert "SIGTERM: saved in" in output.read_text()
        agent = torchrun()
        assert agent.wait(LONGEST) == 0, output.read_text()
    finally:
        for child in Path(f"/proc/{agent.pid}/task/{agent.pid}").glob("children"):
            for left in child.read_text().split():
                os.kill(int(left), signal.SIGKILL)
        agent.kill()
    assert results(out) == results(tmp_path / "one")
    assert output.read_text().count("is ready") == 1

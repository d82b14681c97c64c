"""An update of a run made again: its own bits, every cell proven, and honest refusals."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.errors import CutawayError, InputError, ModelFolderError, TrainingError
from cutaway.training import replay as replay_module
from cutaway.training.checkpoint import saved, update_of
from cutaway.training.precision import failure
from cutaway.training.replay import Replay, Replayed
from cutaway.training.run import run_folder
from tests.training.helpers import child_run, run_here, start, tables
from tests.training.test_processes import together

UPDATES, STOP = 24, 19
# Every part of an update at once: two batches, dropout and BPE-dropout, smoothing, a clip that
# bites, a rise of the rate, weight decay, a moving average.
SETTINGS: dict[str, Any] = {
    "accumulate": 2,
    "tokens": 89,
    "clip": 0.31,
    "warmup": 3,
    "weight_decay": 0.07,
    "ema": 0.97,
    "validate_every": 11,
    "log_every": 3,
}


def weights_at(folder: Path, update: int, **settings: Any) -> dict[str, torch.Tensor]:
    """The weights of the same run, stopped right after an update by saving at each."""
    run_here(
        tables(folder, updates=UPDATES, **{**SETTINGS, **settings, "validate_every": update}),
        folder / "stopped",
    )
    states = folder / "stopped.run" / "checkpoints" / f"update-{update:08d}"
    return load_file(states / "weights.safetensors")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed on its way and resumed; it kept one state between."""
    folder = tmp_path_factory.mktemp("killed")
    values = tables(folder, updates=UPDATES, keep_states=3, save_minutes=1e-9, **SETTINGS)
    process = start(child_run, values, str(folder / "model"), 0.1)
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    run_here(values, folder / "model")
    return folder / "model"


def assert_is_the_runs(found: Replayed) -> None:
    assert found.agreement.exact is True
    assert found.agreement.lines
    proof = found.trace.prove()
    assert proof.complete, proof.failures
    assert not proof.opaque
    # Another dropout mask or batch would move weights by about the rate; rounding does not.
    assert found.drift.largest <= 0.05 * found.facts["rate"] + 1e-7


@pytest.mark.parametrize("update", [1, 2, 9, 17, UPDATES])
def test_a_replayed_update_is_the_runs_and_every_cell_is_proven(killed: Path, update: int) -> None:
    replay = Replay(killed)
    plan = replay.plan(update)
    kept = [0, *(update_of(path) for path in replay.run.kept())]
    assert plan.start == max(number for number in kept if number < update)
    found = replay.record(update)
    replay.close()
    assert_is_the_runs(found)
    assert found.facts["update"] == update
    assert len(found.facts["batches"]) == 2


def test_from_a_checkpoint_and_from_the_beginning_it_is_the_same(
    killed: Path, tmp_path: Path
) -> None:
    near = Replay(killed).record(STOP)
    assert near.plan.source in ("state", "checkpoint")
    for name in ("model", "model.run"):
        shutil.copytree(killed.with_name(name), tmp_path / name)
    shutil.rmtree(tmp_path / "model.run" / "checkpoints")
    shutil.rmtree(tmp_path / "model.run" / "states")
    replay = Replay(tmp_path / "model.run")
    reported: list[tuple[int, int]] = []
    far = replay.record(STOP, progress=lambda done, of: reported.append((done, of)))
    assert (far.plan.source, far.plan.distance) == ("beginning", STOP - 1)
    assert reported[0] == (0, STOP - 1)
    assert reported[-1] == (STOP - 1, STOP - 1)
    assert_is_the_runs(far)
    made = {name: p.detach() for name, p in replay.trainer.named.items()}  # type: ignore[union-attr]
    assert replay.trainer is not None
    assert replay.trainer.progress.update == STOP
    expected = weights_at(tmp_path, STOP)
    assert made.keys() == expected.keys()
    assert all(torch.equal(made[name], expected[name]) for name in expected)
    recorded = far.trace["embedding.weight.after"].tensor
    torch.testing.assert_close(recorded, expected["embedding.weight"], rtol=0, atol=1e-5)
    assert torch.equal(recorded, near.trace["embedding.weight.after"].tensor)


def test_the_numbers_of_the_update_are_in_the_trace(killed: Path) -> None:
    replay = Replay(killed)
    found = replay.record(9)
    trace, facts = found.trace, found.facts
    assert float(trace["norm"].tensor) == facts["norm"] > facts["clip"]
    scale = trace["scale"].tensor
    assert float(scale) == pytest.approx(facts["clip"] / facts["norm"] / facts["tokens"], rel=1e-6)
    log = map(json.loads, (run_folder(killed) / "log.jsonl").read_text().splitlines())
    logged = next(line for line in log if line["update"] == 9 and "loss" in line)
    assert facts["rate"] == logged["rate"]
    # Recorded, attention runs by its explicit body: the last bits of the gradient are its own.
    assert facts["norm"] == pytest.approx(logged["norm"], rel=1e-6)
    name = "encoder.layers.0.self_attention.W_Q.weight"
    average, before = trace[f"average.{name}:lerp"].tensor, trace[f"average.{name}"].tensor
    after = trace[f"{name}.after"].tensor
    share = 1 - min(SETTINGS["ema"], (1 + 9) / (10 + 9))
    torch.testing.assert_close(average, before + share * (after - before))
    drawn = [value for value in trace.values if trace.rule(value)[0].source == "random"]
    assert drawn  # dropout
    assert trace["source"].tensor.shape[0] == len(facts["batches"][0])
    assert trace["source_2"].tensor.shape[0] == len(facts["batches"][1])
    explanation = trace.explain("rate")
    assert explanation.difference == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"r_drop": 1.3, "tokens": 71},
        {"optimizer": "muon"},
        {"optimizer": "muon", "precision": "bfloat16"},
        {"sim_cut": 1.7, "cut_share": 0.2, "tokens": 71},
        {"word_dropout": 0.2},
        {"schedule": "noam", "optimizer": "adam", "ema": 0.0},
    ],
    ids=str,
)
def test_other_recipes_are_replayed_as_well(tmp_path: Path, settings: dict[str, Any]) -> None:
    if "precision" in settings and failure("bfloat16"):
        settings = {**settings, "precision": "float32"}  # refused, as other tests show
    values = tables(tmp_path, **{**SETTINGS, "updates": 7, "validate_every": 7, **settings})
    run_here(values, tmp_path / "model")
    assert_is_the_runs(Replay(tmp_path / "model").record(3))


@pytest.mark.parametrize("task", ["generate", "fill", "classify"])
def test_other_tasks_are_replayed_as_well(tmp_path: Path, task: str) -> None:
    values = tables(tmp_path, task=task, updates=5, log_every=1, stop_on="loss")
    lines = [f"{n % 2}\tthe {n} cat sleeps on mat {n}" for n in range(60)]
    if task != "classify":
        lines = [line.partition("\t")[2] for line in lines]
    path = tmp_path / ("texts.tsv" if task == "classify" else "texts.txt")
    path.write_text("\n".join(lines) + "\n")
    values["data"] = {"data": str(path)}
    values["tokenizer"] = {"vocabulary": 307}
    run_here(values, tmp_path / "model")
    assert_is_the_runs(Replay(tmp_path / "model").record(4))


def test_a_run_of_two_processes_is_replayed_in_one(tmp_path: Path) -> None:
    values = tables(tmp_path, **{**SETTINGS, "accumulate": 1, "updates": 6, "validate_every": 6})
    together(values, tmp_path / "model", 2)
    found = Replay(tmp_path / "model").record(5)
    assert len(found.facts["batches"]) == 2
    assert_is_the_runs(found)


def test_a_damaged_state_is_left_out(killed: Path, tmp_path: Path) -> None:
    for name in ("model", "model.run"):
        shutil.copytree(killed.with_name(name), tmp_path / name)
    replay = Replay(tmp_path / "model")
    path = replay.plan(UPDATES).path
    assert path is not None
    (path / "weights.safetensors").write_bytes(b"")
    found = replay.record(UPDATES)
    assert found.plan.start < update_of(path)
    assert_is_the_runs(found)


def test_another_machine_is_told(killed: Path, tmp_path: Path) -> None:
    for name in ("model", "model.run"):
        shutil.copytree(killed.with_name(name), tmp_path / name)
    record = tmp_path / "model.run" / "run.json"
    values = json.loads(record.read_text())
    for leg in values["legs"]:
        leg["environment"]["torch"] = "1.0"
    record.write_text(json.dumps(values))
    found = Replay(tmp_path / "model").record(2)
    assert any(line.startswith("torch: '1.0' →") for line in found.environment)


@pytest.mark.parametrize("update", [0, -3, UPDATES + 1])
def test_an_update_the_run_has_not_made_is_refused(killed: Path, update: int) -> None:
    with pytest.raises(InputError, match=rf"it has made updates: 1 to {UPDATES}"):
        Replay(killed).record(update)


def test_a_folder_without_its_run_is_refused(killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed, tmp_path / "model")
    with pytest.raises(ModelFolderError, match=r"has no run: model\.run is not next to it"):
        Replay(tmp_path / "model")


def test_other_data_than_the_run_learnt_from_are_refused(tmp_path: Path) -> None:
    values = tables(tmp_path, updates=3)
    run_here(values, tmp_path / "model")
    data = Path(values["data"]["data"])
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[1:]))
    with pytest.raises(TrainingError, match=r"training data has changed \(data\.training"):
        Replay(tmp_path / "model").record(2)


def test_settings_changed_on_the_way_are_refused_unless_a_state_lies_after(
    tmp_path: Path,
) -> None:
    values = tables(tmp_path, updates=12, validate_every=6, log_every=1)
    run_here({**values, "train": {**values["train"], "updates": 6}}, tmp_path / "model")
    changed = {**values, "train": {**values["train"], "smoothing": 0.3}}
    run_here(changed, tmp_path / "model", allow_changes=True)
    assert_is_the_runs(Replay(tmp_path / "model").record(8))
    for path in saved(tmp_path / "model.run" / "checkpoints")[:1]:
        shutil.rmtree(path)
    with pytest.raises(TrainingError, match="changed after update 6 .*smoothing"):
        Replay(tmp_path / "model").record(8)


def test_what_does_not_fit_into_memory_is_refused_or_kept_in_part(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_module, "free_bytes", lambda: 100_000)
    replay = Replay(killed)
    with pytest.raises(InputError, match=r"update 2 would hold [\d.]+ [KM]B .* 97\.7 KB are free"):
        replay.record(2)
    found = replay.record(2, select="decoder.layers.0.cross_attention.*")
    proof = found.trace.prove("decoder.layers.0.cross_attention.scores")
    assert proof.complete
    assert proof.cells
    assert found.trace.value("encoder.memory") is not None
    with pytest.raises(CutawayError, match="not kept"):
        _ = found.trace["embedding.weight.after"]


def test_the_command_shows_the_update_and_proves_it(killed: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["explain", str(killed), "--update", "4", "norm"])
    assert shown.exit_code == 0, shown.output
    assert "norm" in shown.output
    assert "bit for bit" in shown.stderr
    assert "update 4" in shown.stderr.splitlines()[0]
    proven = CliRunner().invoke(app, ["prove", str(killed), "--update", "4"])
    assert proven.exit_code == 0, proven.output
    refused = CliRunner().invoke(app, ["explain", str(tmp_path), "--update", "4"])
    assert isinstance(refused.exception, ModelFolderError)

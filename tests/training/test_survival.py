"""`cutaway train` under real blows: killed, signalled, poisoned, and begun again otherwise."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.artifact.files import damage, sha256, write_manifest
from cutaway.artifact.folder import ModelFolder, read_model_folder, write_model_folder
from cutaway.config import ModelConfig
from cutaway.errors import CheckpointError, TrainingError
from cutaway.evaluation.validation import validator
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from cutaway.training.checkpoint import load_checkpoint, saved
from cutaway.training.events import Event, Note, Saved
from cutaway.training.interrupts import Interrupted, Interrupts
from cutaway.training.run import run_folder
from tests.training.helpers import corpus, results, run_here, start, tables

ALL_CHANCE: dict[str, Any] = {
    "updates": 40, "tokens": 100, "accumulate": 2, "average": 2, "keep": 5,
    "save_minutes": 1e-9,  # after every update
}  # fmt: skip


def settings(folder: Path, **changes: Any) -> dict[str, Any]:
    """Dropout, BPE-dropout, moving average, accumulation, averaging and snapshots all on."""
    return tables(folder, **{**ALL_CHANCE, **changes})


def write_toml(values: dict[str, Any], path: Path) -> Path:
    lines = []
    for table, entries in values.items():
        lines.append(f"[{table}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in entries.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def command(values: dict[str, Any], out: Path, *more: str) -> list[str]:
    """The arguments of `cutaway` for these settings."""
    config = write_toml(values, out.parent / "run.toml")
    return ["train", "--config", str(config), "--out", str(out), *more]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the command leaves when nothing happens, snapshots among it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_here(settings(folder), folder / "model", validate=validator(1))
    return all_results(folder / "model")


def all_results(out: Path) -> dict[str, str]:
    assert damage(out) is None
    snapshots = sorted((run_folder(out) / "snapshots").glob("update-*"))
    assert len(snapshots) == ALL_CHANCE["keep"]
    return {**results(out), **{f"snapshot {path.name}": sha256(path) for path in snapshots}}


# ── killed at any moment: the same bits ──────────────────────────────────────────────────────


def test_a_command_killed_again_and_again_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    """SIGKILL while it loads, right after its first save, and at moments in between."""
    out, messages = tmp_path / "model", tmp_path / "messages"
    checkpoints = run_folder(out) / "checkpoints"
    arguments = command(settings(tmp_path), out)
    chance = random.Random(os.urandom(8))
    loading = subprocess.Popen(
        [sys.executable, "-m", "cutaway", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(chance.uniform(0, 2.0))
    loading.kill()
    struck = int(loading.wait(120) == -signal.SIGKILL)
    for _ in range(3):
        process = start(strike_at, arguments, 0, (), str(messages))
        for _ in range(chance.randint(1, 8)):  # so that every life gets on
            last = saved(checkpoints)[-1:]
            while process.is_alive() and saved(checkpoints)[-1:] == last:
                time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.join(120)
        struck += process.exitcode == -signal.SIGKILL
    assert struck >= 2
    last_life = start(strike_at, arguments, 0, (), str(messages))
    last_life.join(120)
    assert last_life.exitcode == 0, messages.read_text()
    assert all_results(out) == undisturbed
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


# ── a signal saves and stops ─────────────────────────────────────────────────────────────────


def strike_at(
    arguments: list[str], update: int, numbers: tuple[int, ...], output: str, kind: str = "Saved"
) -> None:
    """Run the command line; after an update's event this process gets real signals."""
    from cutaway.cli import main, progress

    sink = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    torch.set_num_threads(1)
    plain = progress.plain

    def watch(event: Event) -> None:
        plain(event)
        if type(event).__name__ == kind and getattr(event, "update", 0) == update:
            for number in numbers:
                os.kill(os.getpid(), number)

    progress.plain = watch
    sys.argv = ["cutaway", *arguments]
    main.main()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["term", "int"]
)
def test_a_signal_saves_exits_with_its_status_and_loses_nothing(
    tmp_path: Path, undisturbed: dict[str, str], number: int, status: int
) -> None:
    values, out = settings(tmp_path, save_minutes=0.0), tmp_path / "model"
    arguments = command(values, out)
    process = start(strike_at, arguments, 15, (number,), str(tmp_path / "messages"), "Updated")
    process.join(120)
    messages = (tmp_path / "messages").read_text()
    assert process.exitcode == status, messages
    assert f"{signal.Signals(number).name}: saved in {run_folder(out)}" in messages
    last = saved(run_folder(out) / "checkpoints")[-1]
    assert last.name == "update-00000016"  # the update under way was finished, and nothing lost
    run_here(values, out, validate=validator(1))
    assert all_results(out) == undisturbed


def test_a_second_signal_exits_at_once_and_the_last_checkpoint_serves(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    values, out = settings(tmp_path), tmp_path / "model"
    both = (signal.SIGTERM, signal.SIGINT)
    process = start(strike_at, command(values, out), 7, both, str(tmp_path / "messages"))
    process.join(120)
    messages = (tmp_path / "messages").read_text()
    assert process.exitcode == 130, messages  # the second one's
    assert "saved in" not in messages
    assert saved(run_folder(out) / "checkpoints")[-1].name == "update-00000007"
    run_here(values, out, validate=validator(1))
    assert all_results(out) == undisturbed


def test_under_torchrun_the_echo_of_a_signal_is_no_second_one() -> None:
    with Interrupts(echo=3600.0) as interrupts:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        assert interrupts.asked == signal.SIGTERM


@pytest.mark.parametrize(("sentences", "update"), [(40, 8), (3, 1)], ids=["all", "samples"])
def test_a_signal_during_validation_breaks_it_off_and_it_is_made_up_for(
    tmp_path: Path, undisturbed: dict[str, str], sentences: int, update: int
) -> None:
    """A few samples are not worth breaking off: the update after them is still made."""
    values, out = settings(tmp_path, save_minutes=0.0), tmp_path / "model"
    decode = validator(1)

    def interrupted(*given: Any) -> Any:
        scores = decode(*given)
        if len(given[1]) == sentences:
            os.kill(os.getpid(), signal.SIGTERM)
        return scores

    with pytest.raises(Interrupted):
        run_here(values, out, validate=interrupted)
    checkpoint, _ = load_checkpoint(run_folder(out) / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.state["progress"]["update"] == update
    assert checkpoint.state["progress"]["validated"] == -1
    run_here(values, out, validate=decode)
    assert all_results(out) == undisturbed


# ── numbers that are not finite are named ────────────────────────────────────────────────────


def beginning(folder: Path, poison: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Settings that begin with a model altered by `poison`; line 100 alone has the word `owl`."""
    pairs = corpus()
    pairs[99] = ("the old owl waits", "waits owl old the")
    tokenizer = Tokenizer.train([s for s, _ in pairs], kind="word", vocabulary=400)
    config = ModelConfig.preset(
        "tiny", vocabulary=tokenizer.vocabulary, tied="none", encoder_layers=1, decoder_layers=1,
        d_model=16, heads=2, d_ff=24,
    )  # fmt: skip
    torch.manual_seed(3)
    model = Transformer(config)
    with torch.no_grad():
        poison(model, tokenizer)
    write_model_folder(folder / "poisoned", ModelFolder(model, tokenizer))
    values = tables(
        folder, start_from=str(folder / "poisoned"), tokens=64, accumulate=2, save_minutes=1e-9
    )
    Path(values["data"]["data"]).write_text("".join(f"{s}\t{t}\n" for s, t in pairs[:240]))
    values["tokenizer"], values["model"] = {}, {}
    return values, pairs


def overflow(model: Transformer, tokenizer: Tokenizer) -> None:
    """The owl's vector is finite, but its square is not: attention to it is no number."""
    model.embedding.weight[tokenizer.encode("owl")] = torch.finfo(torch.float32).max


def steep(model: Transformer, tokenizer: Tokenizer) -> None:
    """Memory near the largest number and projections near the smallest: only gradients overflow."""
    assert model.encoder is not None
    assert model.decoder is not None
    norm = model.encoder.norm
    assert norm is not None
    norm.weight.fill_(8e37)
    for name, parameter in model.decoder.named_parameters():
        if name.endswith(("cross_attention.W_K.weight", "cross_attention.W_V.weight")):
            parameter.mul_(1e-37)
    assert model.output.weight is not None
    model.output.weight.mul_(1e5)


def test_a_sentence_that_breaks_the_loss_is_named_and_the_weights_stay(tmp_path: Path) -> None:
    values, pairs = beginning(tmp_path, overflow)
    out = tmp_path / "model"
    seen: dict[int, str] = {}
    work = run_folder(out) / "checkpoints"

    def watch(event: Event) -> None:
        if isinstance(event, Saved) and event.kind == "checkpoint":
            seen.setdefault(event.update, sha256(Path(event.path) / "weights.safetensors"))

    from cutaway.config import RunConfig
    from cutaway.training.run import train

    for _ in range(2):  # the same command again meets the same wall
        with pytest.raises(TrainingError) as stopped:
            train(RunConfig.from_tables(values), out, watch=watch)
        update = max(seen) + 1
        assert update > 1
        message = str(stopped.value)
        assert f"update {update}: the loss is nan" in message
        assert message.count("line ") == 1
        assert f"line 100: '{pairs[99][0]} → {pairs[99][1]}'" in message
        last = saved(work)[-1]
        assert damage(last) is None
        assert sha256(last / "weights.safetensors") == seen[update - 1]


def test_batches_that_break_the_loss_can_be_skipped(tmp_path: Path) -> None:
    values, _ = beginning(tmp_path, overflow)
    out = tmp_path / "model"
    values["train"]["skip_nonfinite"] = 1
    with pytest.raises(TrainingError, match=r"It is number 2, and 1 may be skipped.*line 100"):
        run_here(values, out)
    values["train"]["skip_nonfinite"] = 7  # may grow: the same run goes on
    events = run_here(values, out)
    assert "skip_nonfinite: 1 → 7" in warnings(events)
    lines = [json.loads(line) for line in (run_folder(out) / "log.jsonl").read_text().splitlines()]
    skipped = [line for line in lines if "skipped" in line]
    assert len(skipped) > 1
    assert all(line["skipped"] == "loss" and line["lines"] == [100] for line in skipped)
    assert lines[-1]["update"] == values["train"]["updates"]  # of them none is lost
    weights = read_model_folder(out).model
    owl = read_model_folder(out).tokenizer.encode("owl")
    others = [p for name, p in weights.named_parameters() if name != "embedding.weight"]
    assert all(bool(torch.isfinite(parameter).all()) for parameter in others)
    begun = read_model_folder(tmp_path / "poisoned").model
    assert torch.equal(weights.embedding.weight[owl], begun.embedding.weight[owl])
    # In one go the result is the same: what was skipped leaves nothing behind.
    run_here(values, tmp_path / "straight")
    assert results(tmp_path / "straight") == results(out)


def test_a_gradient_alone_that_overflows_stops_the_run(tmp_path: Path) -> None:
    values, _ = beginning(tmp_path, steep)
    out = tmp_path / "model"
    with pytest.raises(TrainingError, match=r"update 1: the gradient is (inf|nan).*line \d+: 'the"):
        run_here(values, out)
    checkpoint, _ = load_checkpoint(run_folder(out) / "checkpoints")
    assert checkpoint is not None
    begun = read_model_folder(tmp_path / "poisoned").model.state_dict()
    for name, tensor in checkpoint.groups["weights"].items():
        assert torch.equal(tensor, begun[name]), name


# ── a resumed run refuses or reports every change ────────────────────────────────────────────


def warnings(events: list[Event]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Note) and event.warning)


def alter(values: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    table, _, name = place.partition(".")
    return {**values, table: {**values[table], name: value}}


def test_every_change_is_refused_or_reported(tmp_path: Path) -> None:
    values, out = tables(tmp_path, updates=4), tmp_path / "model"
    run_here(values, out)
    assert not warnings(run_here(values, out))
    serious: list[tuple[str, Any, str]] = [
        ("train.learning_rate", 0.01, r"settings\.train\.learning_rate: 0\.0 → 0\.01"),
        ("train.accumulate", 2, r"settings\.train\.accumulate: 0 → 2"),
        ("train.updates", 5, r"settings\.train\.updates: 4 → 5"),
        ("model.dropout", 0.1, r"shape\.dropout: 0\.2 → 0\.1"),
        ("tokenizer.vocabulary", 340, r"settings\.tokenizer\.vocabulary: 330 → 340"),
        ("tokenizer.sample", 0.3, r"settings\.tokenizer\.sample: 0\.2 → 0\.3"),
        ("data.max_length", 7, r"data\.training: "),
    ]
    for place, value, named in serious:
        with pytest.raises(TrainingError, match=f"started with other settings: .*{named}"):
            run_here(alter(values, place, value), out)
    harmless = [("train.log_every", 2), ("train.save_minutes", 3.0), ("data.holdout", 7)]
    for place, value in harmless:
        assert f"settings.{place}: " in warnings(run_here(alter(values, place, value), out))
    events = run_here(alter(values, "train.smoothing", 0.3), out, allow_changes=True)
    assert "settings.train.smoothing: 0.1 → 0.3" in warnings(events)
    with pytest.raises(CheckpointError, match=r"belongs to another model: choose another --out"):
        run_here(alter(values, "model.d_ff", 29), out, allow_changes=True)


def test_reworded_validation_is_noticed_though_its_ids_are_the_same(tmp_path: Path) -> None:
    values, out = tables(tmp_path, updates=2), tmp_path / "model"
    values["tokenizer"]["lowercase"] = True
    run_here(values, out)
    validation = Path(values["data"]["val_data"])
    validation.write_text(validation.read_text().upper())
    with pytest.raises(TrainingError, match=r"started with other settings: data\.validation_texts"):
        run_here(values, out)


def test_another_machine_is_reported_value_by_value(tmp_path: Path) -> None:
    """As if the checkpoint came from elsewhere: its record of the environment is rewritten."""
    values, out = tables(tmp_path, updates=2), tmp_path / "model"
    run_here(values, out)
    for path in saved(run_folder(out) / "checkpoints"):
        state = json.loads((path / "state.json").read_text())
        assert state["environment"]["torch"] == torch.__version__
        state["environment"].update(torch="2.11.0", threads=8, cpu="Other 9000")
        (path / "state.json").write_text(json.dumps(state))
        write_manifest(path)
    messages = warnings(run_here(values, out))
    assert f"torch: '2.11.0' → '{torch.__version__}'" in messages
    assert "threads: 8 → 1" in messages
    assert "cpu: 'Other 9000' → " in messages


def test_no_tokenizer_of_a_run_without_a_checkpoint_is_taken_for_granted(tmp_path: Path) -> None:
    """Killed before its first checkpoint was whole, begun again with another vocabulary."""
    values, out = tables(tmp_path, updates=2), tmp_path / "model"
    run_here(values, out)
    for path in saved(run_folder(out) / "checkpoints"):
        shutil.rmtree(path)
    run_here(alter(values, "tokenizer.vocabulary", 350), out)
    assert read_model_folder(out).tokenizer.vocabulary == 350

"""Replay an update of a run with the trainer's own code, and record it.

A run's state after update N − 1 (weights, optimizer, moving average, place in the data) decides
update N. It is reached from the nearest state that was kept: a checkpoint, one of `states/`, or the
beginning. Update N is then made twice: as the run made it, which gives the run's own bits on the
same machine, and once more under `glass.record`, where attention runs by its explicit body; what
that changes in the weights is measured and reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cutaway.corpus import Batch
from cutaway.errors import InputError, TrainingError
from cutaway.glass import Trace, record
from cutaway.numbers import size
from cutaway.training.checkpoint import read_checkpoint, update_of
from cutaway.training.environment import choose_device, describe, differences
from cutaway.training.history import Leg, start_hash
from cutaway.training.identity import identity, kept_tokenizers
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.memory import Counting, free_bytes, recording_bytes
from cutaway.training.nonfinite import sentence
from cutaway.training.objective import TaskBatch
from cutaway.training.prepare import prepare
from cutaway.training.processes import Processes
from cutaway.training.recording import input_names, label_batch
from cutaway.training.run_record import Plan, RunRecord, replayable

CHECKED = 20  # updates after N that are replayed to compare with what the run saved

Progress = Callable[[int, int], None]  # updates done, of so many


@dataclass(frozen=True)
class Agreement:
    """How the replayed updates compare with those of the run."""

    lines: int = 0  # of log.jsonl that fall into them
    same: int = 0  # of these, lines whose loss, norm and rate have the same bits
    worst: float = 0.0  # largest relative difference of a loss, norm or rate
    state: int | None = None  # the update of a kept state that was compared
    identical: bool = False  # its weights, optimizer and average have the same bits
    largest: float = 0.0  # largest difference of a weight there

    @property
    def exact(self) -> bool | None:
        """Whether all that was compared has the same bits; None: there was nothing to compare."""
        if not self.lines and self.state is None:
            return None
        return self.lines == self.same and (self.state is None or self.identical)


@dataclass(frozen=True)
class Drift:
    """How far the weights of the recorded update (explicit attention) are from those made (fused).

    Key biases are reported separately: a key's bias adds the same to all scores of a row, which
    leaves softmax unchanged, so its gradient is rounding error, which Adam scales to full steps.
    """

    largest: float  # difference of any other weight
    where: str  # the parameter it belongs to
    key_biases: float


@dataclass(frozen=True)
class Replayed:
    """One update of a run, recorded."""

    trace: Trace
    plan: Plan
    facts: dict[str, Any]
    agreement: Agreement
    drift: Drift
    environment: list[str]  # differences from the machine and versions of the run
    bytes: int  # estimated size of the recording


@dataclass
class State:
    """A trainer's state, copied."""

    progress: dict[str, Any]
    groups: dict[str, dict[str, Tensor]]


class Replay:
    """The updates of one run; keeps the last state reached, so that the next update is near."""

    def __init__(self, folder: Path) -> None:
        self.run = RunRecord.open(folder)
        self.trainer: Trainer | None = None
        self._leg: Leg | None = None
        self._work: Any = None
        self._lines: list[dict[str, Any]] = []  # of the log, as replayed
        self.environment: list[str] = []

    @property
    def last(self) -> int:
        """The last update the run has made."""
        return self.run.last

    def plan(self, update: int) -> Plan:
        """The state to start from, and the number of updates from there."""
        here = self.trainer.progress.update if self.trainer is not None else None
        return self.run.plan(update, here)

    def record(
        self,
        update: int,
        *,
        select: str | Sequence[str] | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Replayed:
        """Replay an update and record it.

        `select` names the values to keep if not all of them fit into memory.
        """
        while not self.run.sound(plan := self.plan(update)):
            pass  # from the state before it
        before = torch.get_num_threads()
        try:
            with torch.random.fork_rng(devices=[]):
                return self._record(plan, select, progress)
        finally:
            torch.set_num_threads(before)

    def close(self) -> None:
        """End the thread that makes batches."""
        if self._work is not None:
            self._work.close()
            self._work = None

    # ── reaching the update ──────────────────────────────────────────────────────────────────

    def _record(
        self, plan: Plan, select: str | Sequence[str] | None, progress: Progress
    ) -> Replayed:
        trainer = self._reached(plan, progress)
        while trainer.progress.update < plan.update:  # more than once: batches may be skipped
            batches, cursor, _ = next(self._work)
            questions = trainer.questions(batches)
            before = copied(trainer)
            with Counting() as counted:
                trainer.update(batches, cursor, questions)
        made = copied(trainer)
        agreement = self._compared(plan.update)
        needed = recording_bytes(counted.bytes, questions, trainer.prepared.model)
        wanted = _selection(plan.update, needed, select, questions)
        trainer.restore(before.progress, before.groups)
        try:
            trace = recorded(trainer, batches, cursor, questions, wanted)
            drift = _drift(trainer, made)
        finally:
            trainer.restore(made.progress, made.groups)
            self._restart()
        facts = _facts(trainer, trace, plan.update, batches)
        trace.meta["update"] = facts
        return Replayed(trace, plan, facts, agreement, drift, self.environment, needed)

    def _reached(self, plan: Plan, progress: Progress) -> Trainer:
        """A trainer whose next update is the one wanted."""
        leg = self.run.leg(plan)
        torch.set_num_threads(int(leg.environment.get("threads", torch.get_num_threads())))
        if self.trainer is None or self._leg is not leg:
            self._open(leg)
        assert self.trainer is not None
        trainer = self.trainer
        if plan.source != "memory":
            self._lines = []
            if plan.path is None:
                self._open(leg)
                trainer = self.trainer
            else:
                checkpoint = read_checkpoint(plan.path)
                trainer.restore(checkpoint.state["progress"], checkpoint.groups)
            self._restart()
        trainer.set_length(leg.updates)
        while (done := trainer.progress.update) < plan.update - 1:
            progress(done - plan.start, plan.distance)
            self._step(trainer)
        progress(plan.distance, plan.distance)
        return trainer

    def _step(self, trainer: Trainer) -> None:
        batches, cursor, _ = next(self._work)
        trainer.update(batches, cursor)
        self._lines += trainer.taken_lines()

    def _restart(self) -> None:
        """Batches from where the trainer is."""
        self.close()
        assert self.trainer is not None
        self._work = self.trainer.work()

    def _open(self, leg: Leg) -> None:
        """Prepare the data as the run did, refuse changed data, and make a trainer."""
        config = replayable(leg, Path(self.run.history.directory))
        prepared = prepare(config, kept_tokenizers(self.run.work))
        now = identity(config, prepared, 1)
        for name in ("data", "tokenizer", "target_tokenizer", "shape"):
            old, new = leg.identity[name], now[name]
            if name == "data":
                old, new = {"training": old["training"]}, {"training": new["training"]}
            if changed := differences({name: old}, {name: new}):
                raise TrainingError(
                    f"cannot replay: the training data has changed ({changed[0]}); restore the "
                    f"files it was trained on"
                )
        if leg.start != start_hash(config.train.start_from):
            raise TrainingError(
                f"cannot replay: {config.train.start_from}, the model the run started from, has "
                f"changed; restore it"
            )
        device = choose_device(config.train)
        self.trainer = Trainer(
            prepared,
            config,
            processes=Processes(),
            device=device,
            watch=lambda event: None,
            interrupts=Interrupts(),
        )
        self._leg = leg
        now_here = describe(device, 1, "none") | {
            name: leg.environment[name] for name in ("processes", "parallel", "threads")
        }
        self.environment = differences(leg.environment, now_here)
        self._restart()

    # ── comparing ────────────────────────────────────────────────────────────────────────────

    def _compared(self, update: int) -> Agreement:
        """Continue to the next line of the log or the next saved state, and compare with it."""
        trainer, run = self.trainer, self.run
        assert trainer is not None
        self._lines += trainer.taken_lines()
        most = update + max(CHECKED, trainer.settings.log_every)
        ends = [number for number in run.losses if update <= number <= most]
        states = [path for path in run.kept() if update <= update_of(path) <= most]
        end = update_of(states[0]) if states else ends[0] if ends else update
        self._restart()
        while trainer.progress.update < end:
            self._step(trainer)
        pairs = [
            (line, run.losses[line["update"]])
            for line in self._lines
            if line["update"] in run.losses
        ]
        same = sum(all(new[name] == old[name] for name in LOGGED) for new, old in pairs)
        worst = max((_relative(new[n], old[n]) for new, old in pairs for n in LOGGED), default=0.0)
        if not states:
            return Agreement(len(pairs), same, worst)
        kept, here = read_checkpoint(states[0]).groups, copied(trainer).groups
        apart = {
            f"{group}.{name}": float((tensor.double() - kept[group][name].double()).abs().max())
            for group, tensors in here.items()
            for name, tensor in tensors.items()
        }
        largest = max(value for name, value in apart.items() if name.startswith("weights."))
        return Agreement(len(pairs), same, worst, end, not any(apart.values()), largest)


FACTS = ("total", "answers", "norm", "shortened", "scale", "rate")  # kept in any case
LOGGED = ("loss", "rate", "norm", "tokens")


def _relative(new: float, old: float) -> float:
    return abs(new - old) / max(abs(new), abs(old), 1e-300)


def copied(trainer: Trainer) -> State:
    """All that decides the next update, as copies."""
    progress, groups = trainer.state()
    return State(
        progress,
        {
            group: {name: tensor.detach().clone() for name, tensor in tensors.items()}
            for group, tensors in groups.items()
        },
    )


def recorded(
    trainer: Trainer,
    batches: list[Batch],
    cursor: int,
    questions: list[TaskBatch],
    select: str | Sequence[str] | None = None,
) -> Trace:
    """The trainer's own update under the recorder; the trainer is then one update further."""
    average = trainer.average.tensors() if trainer.average is not None else {}
    with record(
        trainer.model,
        select=select,
        inputs=input_names(questions),
        buffers={f"average.{name}": tensor for name, tensor in average.items()},
    ) as trace:
        trainer.update(batches, cursor, questions)
    prepared = trainer.prepared
    texts = [
        [" → ".join(filter(None, sentence(prepared, int(i)))) for i in batch.indices]
        for batch in batches
    ]
    label_batch(trace, prepared.target_tokenizer or prepared.tokenizer, texts)
    return trace


def _selection(
    update: int, needed: int, select: str | Sequence[str] | None, questions: list[TaskBatch]
) -> str | Sequence[str] | None:
    """What to record: everything if it fits into memory, else what was asked for."""
    free = free_bytes()
    if needed <= free:
        return None
    if select:
        return [*([select] if isinstance(select, str) else select), *FACTS]
    cells = sum(question.source.numel() + question.gold.numel() for question in questions)
    raise InputError(
        f"update {update} would hold {size(needed)} of numbers ({cells:,} tokens with padding); "
        f"{size(free)} are free: name what to record, as 'decoder.layers.0.*'",
        zh=f"第 {update} 次更新约有 {size(needed)} 的数（含填充共 {cells:,} 个词元），"
        f"此机器只能容纳 {size(free)}：请指明要看的部分，如 'decoder.layers.0.*'",
    )


def _drift(trainer: Trainer, made: State) -> Drift:
    """The recorded weights against those of the update as the run makes it."""
    apart = {
        name: float((parameter.detach() - made.groups["weights"][name]).abs().max())
        for name, parameter in trainer.named.items()
    }
    keys = {name for name in apart if name.endswith("W_K.bias")}
    where = max(apart.keys() - keys, key=lambda name: apart[name])
    return Drift(apart[where], where, max((apart[name] for name in keys), default=0.0))


def _facts(trainer: Trainer, trace: Trace, update: int, batches: list[Batch]) -> dict[str, Any]:
    """A summary of an update; most are values of the trace, by name."""
    prepared = trainer.prepared

    def number(name: str) -> float:
        return float(trace[name].tensor)

    answers, settings = number("answers"), trainer.settings
    return {
        "update": update,
        "updates": trainer.updates,
        "epoch": trainer.progress.epoch,
        "loss": number("total") / answers,
        "tokens": int(answers),
        "norm": number("norm"),
        "clip": settings.clip,
        "shortened": number("shortened") if settings.clip else 1.0,
        "rate": number("rate"),
        "optimizer": settings.optimizer,
        "schedule": settings.schedule,
        "smoothing": settings.smoothing,
        "dropout": prepared.model.dropout,
        "r_drop": settings.r_drop,
        "sim_cut": settings.sim_cut,
        "word_dropout": settings.word_dropout,
        "ema": settings.ema,
        "batches": [
            [sentence(prepared, int(index)) for index in batch.indices] for batch in batches
        ],
    }

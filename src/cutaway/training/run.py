"""A whole run: prepare or resume, train, validate, keep the best, and end in a model folder.

`OUT` is the model folder; the folder `OUT.run` next to it holds the working files:

    checkpoints/     to resume after a crash
    states/          whole states through training, with train.keep_states
    snapshots/       weights through training, with --keep
    run.json         the settings the run started with, and what changed when it was resumed
    log.jsonl        losses and scores, the same bits in every run of the same command
    timing.jsonl     speeds and resumptions, which differ
    tokenizer.model  (and target.model) of this run
    lock             which process trains here; empty when none does
"""

import json
import math
from contextlib import nullcontext
from pathlib import Path

import torch

from cutaway.artifact.files import MANIFEST, sweep
from cutaway.artifact.folder import ModelFolder
from cutaway.artifact.lock import held, in_words
from cutaway.artifact.places import ended, finished, refuse_foreign, run_folder
from cutaway.artifact.snapshots import forget_after, snapshot_updates
from cutaway.config import RunConfig
from cutaway.errors import CheckpointError, TrainingError
from cutaway.numbers import short
from cutaway.system.allocator import keep_freed_memory
from cutaway.training.checkpoint import Checkpoint, forget_states, load_checkpoint, set_aside
from cutaway.training.environment import claim_device, describe, differences
from cutaway.training.events import Note, Started, Validate, Watch
from cutaway.training.history import Leg, begin_history, continue_history, start_hash
from cutaway.training.identity import changes, identity, kept_tokenizers
from cutaway.training.interrupts import Interrupted, Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.outputs import RunOutputs
from cutaway.training.prepare import prepare
from cutaway.training.processes import Processes
from cutaway.training.recipe import described
from cutaway.training.tensorboard import tensorboard_watcher

__all__ = ["Run", "ended", "finished", "run_folder", "train"]

ECHO = 5.0  # seconds in which torchrun passes on a signal that this process has had already


def train(
    config: RunConfig,
    out: Path,
    *,
    validate: Validate | None = None,
    watch: Watch = lambda event: None,
    allow_changes: bool = False,
    at_once: bool = False,
) -> ModelFolder:
    """Train until done, resuming where a run of the same `out` stopped; returns the model.

    `at_once` writes a model folder before the first update, for a page that shows it learning.
    Raises Interrupted after a signal, with everything saved.
    """
    if config.train.threads:
        torch.set_num_threads(config.train.threads)
    device = claim_device(config.train)
    if device.type == "cpu":
        keep_freed_memory()
    processes = Processes.join(config.train.parallel, device.type)
    try:
        echo = ECHO if processes.world > 1 else 0.0
        with Interrupts(echo) as interrupts, torch.random.fork_rng(devices=[]):
            run = Run(config, Path(out), processes, device, interrupts, validate, watch)
            refuse_foreign(run.out, run.work)
            with held(run.work) if processes.first else nullcontext() as stale:
                if stale is not None:
                    run.watch(
                        Note(f"the last run here was cut off: {in_words(stale)} did not end it")
                    )
                try:
                    return run.to_the_end(allow_changes, at_once)
                finally:
                    run.let_go()
    finally:
        processes.leave()


class Run:
    """One run between its folder on disk and the trainer in memory."""

    def __init__(
        self,
        config: RunConfig,
        out: Path,
        processes: Processes,
        device: torch.device,
        interrupts: Interrupts,
        validate: Validate | None,
        watch: Watch,
    ) -> None:
        self.config = config
        self.out = out
        self.work = run_folder(out)
        self.processes = processes
        self.device = device
        self.interrupts = interrupts
        self.decode = validate
        self.watch: Watch = watch if processes.first else lambda event: None
        if config.train.tensorboard and processes.first:
            given, charts = self.watch, tensorboard_watcher(self.work / "tensorboard")
            self.watch = lambda event: (given(event), charts(event))[0]

    # ── from start to end ────────────────────────────────────────────────────────────────────

    def to_the_end(self, allow_changes: bool, at_once: bool = False) -> ModelFolder:
        """Prepare or resume, train, finish."""
        checkpoint = self._find_checkpoint()
        self.prepared = prepare(self.config, kept_tokenizers(self.work) if checkpoint else None)
        self._agree()
        for note in self.prepared.notes:
            self.watch(Note(note))
        self.trainer = Trainer(
            self.prepared,
            self.config,
            processes=self.processes,
            device=self.device,
            watch=self.watch,
            interrupts=self.interrupts,
        )
        self.environment = describe(self.device, self.processes.world, self.config.train.parallel)
        self.outputs = RunOutputs(
            self.config,
            self.trainer,
            self.out,
            self.work,
            environment=self.environment,
            interrupts=self.interrupts,
            decode=self.decode,
            watch=self.watch,
        )
        resumed = checkpoint is not None
        if checkpoint is not None:
            self._resume(checkpoint, allow_changes)
            del checkpoint  # its tensors were copied: free them
        elif self.processes.first:
            self._begin()
        self.processes.wait()
        self._announce(resumed)
        if at_once:
            weights = self.outputs.best or self.trainer.evaluated_weights()  # of every process
            if self.processes.first:
                self.outputs.write_model(weights)
        try:
            self._train()
        except (Interrupted, TrainingError):  # asked to stop, or a value that is not finite
            self.outputs.save()
            raise
        self.outputs.saved()
        return self.outputs.finish()

    def let_go(self) -> None:
        """Drop the module that spans the processes, which must be gone before they part."""
        if trainer := getattr(self, "trainer", None):
            trainer.wrapped = trainer.objective

    def _train(self) -> None:
        trainer, progress, outputs = self.trainer, self.trainer.progress, self.outputs
        settings = self.config.train
        every = settings.validate_every or math.ceil(trainer.updates / 20)
        moments = set(snapshot_updates(trainer.updates, settings.keep))
        states = {
            round(trainer.updates * place / settings.keep_states)
            for place in range(1, settings.keep_states)
        }
        work = trainer.work()
        trainer.clock()
        try:
            while True:
                last = progress.update >= trainer.updates
                due = progress.update > 0 and (progress.update % every == 0 or last)
                if due and progress.validated != progress.update:
                    outputs.validate()
                    outputs.save(wait=False)
                if last or progress.stopped:
                    return
                if progress.update in moments and progress.kept != progress.update:
                    outputs.snapshot(sampled=True)
                if progress.update in states:
                    outputs.keep_state()
                batches, cursor, share = next(work)
                stop, save, norm = trainer.update(batches, cursor)
                if math.isfinite(norm) and progress.update % settings.log_every == 0:
                    outputs.write_log()
                    trainer.report_progress(share, norm)
                if stop:
                    raise Interrupted(self.interrupts.asked or 15)
                outputs.saved(wait=False)
                if save:
                    outputs.save(wait=False)
        finally:
            work.close()

    # ── beginning and resuming ───────────────────────────────────────────────────────────────

    def _find_checkpoint(self) -> Checkpoint | None:
        checkpoint, problems = load_checkpoint(self.work / "checkpoints")
        for problem in problems:
            self.watch(Note(f"damaged checkpoint {problem}", warning=True))
        manifest = (checkpoint.path / MANIFEST).read_text() if checkpoint else ""
        if self.processes.disagree({"checkpoint": manifest}, self.device):
            raise CheckpointError(
                f"the processes do not find the same checkpoint in {self.work / 'checkpoints'}; "
                f"give an --out on a disk that all machines share"
            )
        if problems and checkpoint is not None and self.processes.first:
            set_aside(self.work / "checkpoints", int(checkpoint.state["progress"]["update"]))
        if self.processes.first:
            sweep(self.out)
        self.processes.wait()
        return checkpoint

    def _agree(self) -> None:
        """Refuse to start unless all processes have read the same data."""
        mine = identity(self.config, self.prepared, self.processes.world)
        mine["settings"] = {name: mine["settings"][name] for name in ("tokenizer", "train")}
        parts = {name: json.dumps(value, sort_keys=True) for name, value in mine.items()}
        if apart := self.processes.disagree(parts, self.device):
            raise TrainingError(
                f"the processes differ in {', '.join(apart)}; give the same command and the same "
                f"files on every machine"
            )

    def _begin(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        self.prepared.tokenizer.save(self.work / "tokenizer.model")
        if self.prepared.target_tokenizer is not None:
            self.prepared.target_tokenizer.save(self.work / "target.model")
        forget_after(self.work / "snapshots", -1)
        forget_states(self.work / "states", -1)
        begin_history(self.work, self._leg())
        (self.work / "timing.jsonl").write_bytes(b"")
        self.outputs.journal.begin()

    def _leg(self) -> Leg:
        return Leg(
            update=self.trainer.progress.update,
            updates=self.trainer.updates,
            identity=identity(self.config, self.prepared, self.processes.world),
            environment=self.environment,
            start=start_hash(self.config.train.start_from),
        )

    def _resume(self, checkpoint: Checkpoint, allow_changes: bool) -> None:
        """Restore the checkpoint's state, and report what has changed since."""
        state, groups, outputs = checkpoint.state, checkpoint.groups, self.outputs
        now = identity(self.config, self.prepared, self.processes.world)
        changed, harmless = changes(state["identity"], now)
        if changed and not allow_changes:
            raise TrainingError(
                f"this run was started with other settings: {'; '.join(changed)}. Run the old "
                f"command to resume, add --allow-changes to continue with the new settings, or "
                f"choose another --out"
            )
        for line in changed:
            self.watch(Note(f"changed since the run began: {line}", warning=True))
        for line in harmless:
            self.watch(Note(f"changed since the run began, and the run goes on: {line}", True))
        for line in differences(state["environment"], self.environment):
            self.watch(
                Note(f"other environment, results may differ in the last bits: {line}", True)
            )
        self.trainer.restore(state["progress"], groups)
        self._keep_length(state["updates"], changed)
        outputs.best = groups.get("best", {})
        outputs.tail = [
            groups[f"average-{place}"] for place in range(len(state["progress"]["averaged"]))
        ]
        outputs.signatures = dict(state.get("signatures", {}))
        outputs.judge_patience()  # by the present patience: it may have been raised
        if self.processes.first:
            update = self.trainer.progress.update
            if not outputs.journal.resume(state["log"], update):
                self.watch(Note("log.jsonl was altered; its readable lines were kept", True))
            forget_after(self.work / "snapshots", update)
            forget_states(self.work / "states", update)
            continue_history(self.work, self._leg())

    def _keep_length(self, updates: int, changed: list[str]) -> None:
        """Keep the number of updates, whatever the number of processes: the rate must not jump."""
        asked = ("settings.train.updates:", "settings.train.epochs:")
        if updates == self.trainer.updates or any(line.startswith(asked) for line in changed):
            return
        epochs = updates / self.trainer.updates_per_epoch
        self.watch(
            Note(f"the run keeps its {updates:,} updates, now {short(epochs, 3)} epochs", True)
        )
        self.trainer.set_length(updates)

    def _announce(self, resumed: bool) -> None:
        trainer = self.trainer
        settings = self.config.train
        if resumed:
            self.watch(Note(f"resumed after update {trainer.progress.update}"))
        elif not (settings.updates or settings.epochs):
            epochs = trainer.updates // trainer.updates_per_epoch
            batches = trainer.settings.accumulate * trainer.processes.world
            tokens = trainer.settings.tokens * batches
            self.watch(Note(described(epochs, trainer.updates, tokens)))
        if not resumed and settings.optimizer == "auto" and trainer.settings.optimizer == "muon":
            self.watch(Note("a small translator: optimizer muon, schedule inverse-sqrt chosen"))
        self.watch(
            Started(
                update=trainer.progress.update,
                updates=trainer.updates,
                epochs=trainer.updates / trainer.updates_per_epoch,
                parameters=trainer.model.parameter_counts(),
                settings=self.config.to_tables(),
            )
        )
        event = "resumed" if resumed else "started"
        self.outputs.timing(
            event=event, update=trainer.progress.update, environment=self.environment
        )

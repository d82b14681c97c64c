"""A whole run: prepare or resume, train, validate, keep the best, and end in a model folder.

`OUT` is the model folder; `OUT.run` beside it holds what the work needs:

    checkpoints/     to go on after a crash
    snapshots/       weights through training, with --keep
    log.jsonl        losses and scores, the same bits in every run of the same command
    timing.jsonl     speeds and resumptions, which differ
    tokenizer.model  (and target.model) of this run
"""

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cutaway.config import RunConfig
from cutaway.errors import CheckpointError, TrainingError
from cutaway.text import Tokenizer
from cutaway.train.board import board
from cutaway.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, set_aside
from cutaway.train.environment import choose_device, describe, differences
from cutaway.train.events import Note, Sampled, Saved, Started, Validate, Validated, Watch
from cutaway.train.files import MANIFEST, sweep
from cutaway.train.folder import ModelFolder, write_model_folder
from cutaway.train.identity import changes, identity
from cutaway.train.interrupts import Interrupted, Interrupts
from cutaway.train.loop import Trainer, loaded
from cutaway.train.places import ended, finished, refuse_foreign, run_folder
from cutaway.train.prepare import prepare
from cutaway.train.processes import Processes
from cutaway.train.report import write_report
from cutaway.train.snapshots import forget_after, read_index, snapshot_updates, write_snapshot
from cutaway.train.validating import scored

__all__ = ["Run", "ended", "finished", "run_folder", "train"]

SAMPLES = 3  # validation sentences shown while they get better
ECHO = 5.0  # seconds in which torchrun passes on a signal that this process has had already
STOPPED = "stopped by signal"  # in the place of a score: validation was broken off


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
    device = choose_device(config.train)
    processes = Processes.join(config.train.parallel, device.type)
    device = choose_device(config.train, processes.local_rank)
    try:
        echo = ECHO if processes.world > 1 else 0.0
        with Interrupts(echo) as interrupts, torch.random.fork_rng(devices=[]):
            run = Run(config, Path(out), processes, device, interrupts, validate, watch)
            return run.all(allow_changes, at_once)
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
            told, drawn = self.watch, board(self.work / "tensorboard")
            self.watch = lambda event: (told(event), drawn(event))[0]
        self.best: dict[str, Tensor] = {}
        self.tail: list[dict[str, Tensor]] = []  # last validated weights, to be averaged
        self.signatures: dict[str, str] = {}
        self.outputs: Sequence[str] = ()

    # ── from start to end ────────────────────────────────────────────────────────────────────

    def all(self, allow_changes: bool, at_once: bool = False) -> ModelFolder:
        """Prepare or resume, train, finish."""
        refuse_foreign(self.out, self.work)
        checkpoint = self._find_checkpoint()
        self.prepared = prepare(self.config, self._kept_tokenizers() if checkpoint else None)
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
        if checkpoint is not None:
            self._resume(checkpoint, allow_changes)
        elif self.processes.first:
            self._begin()
        self.processes.wait()
        self._announce(checkpoint)
        if at_once:
            weights = self.best or self.trainer.evaluated_weights()  # gathered from every process
            if self.processes.first:
                self._write_model(weights)
        try:
            self._train()
        except (Interrupted, TrainingError):  # asked to stop, or a value that is no number
            self._save()
            raise
        return self._finish()

    def _train(self) -> None:
        trainer, progress = self.trainer, self.trainer.progress
        every = self.config.train.validate_every or math.ceil(trainer.updates / 20)
        moments = set(snapshot_updates(trainer.updates, self.config.train.keep))
        work = trainer.work()
        trainer.clock()
        try:
            while True:
                last = progress.update >= trainer.updates
                due = progress.update > 0 and (progress.update % every == 0 or last)
                if due and progress.validated != progress.update:
                    self._validate()
                    self._save()
                if last or progress.stopped:
                    return
                if progress.update in moments and progress.kept != progress.update:
                    self._snapshot(sampled=True)
                batches, cursor, share = next(work)
                stop, save, norm = trainer.update(batches, cursor)
                if progress.update % self.config.train.log_every == 0:
                    self._write_log()
                    trainer.speak(share, norm)
                if stop:
                    raise Interrupted(self.interrupts.asked or 15)
                if save:
                    self._save()
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
        """All processes must have read the same: each takes its part of one order."""
        mine = identity(self.config, self.prepared, self.processes.world)
        mine["settings"] = {name: mine["settings"][name] for name in ("tokenizer", "train")}
        parts = {name: json.dumps(value, sort_keys=True) for name, value in mine.items()}
        if apart := self.processes.disagree(parts, self.device):
            raise TrainingError(
                f"the processes differ in {', '.join(apart)}; give the same command and the same "
                f"files on every machine"
            )

    def _kept_tokenizers(self) -> tuple[Tokenizer, Tokenizer | None] | None:
        """The tokenizers of a run that has begun: learning them again would only cost time."""
        source, target = self.work / "tokenizer.model", self.work / "target.model"
        if not source.is_file():
            return None
        return Tokenizer.load(source), Tokenizer.load(target) if target.is_file() else None

    def _begin(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        self.prepared.tokenizer.save(self.work / "tokenizer.model")
        if self.prepared.target_tokenizer is not None:
            self.prepared.target_tokenizer.save(self.work / "target.model")
        forget_after(self.work / "snapshots", -1)
        (self.work / "timing.jsonl").write_bytes(b"")
        self._write_log()

    def _resume(self, checkpoint: Checkpoint, allow_changes: bool) -> None:
        """Restore everything, and report what is not as it was."""
        state, groups = checkpoint.state, checkpoint.groups
        now = identity(self.config, self.prepared, self.processes.world)
        changed, harmless = changes(state["identity"], now)
        if changed and not allow_changes:
            raise TrainingError(
                f"this run was begun otherwise: {'; '.join(changed)}. Run the old command to "
                f"resume, add --allow-changes to go on all the same, or choose another --out"
            )
        for line in changed:
            self.watch(Note(f"changed since the run began: {line}", warning=True))
        for line in harmless:
            self.watch(Note(f"changed since the run began, and the run goes on: {line}", True))
        for line in differences(state["environment"], self.environment):
            self.watch(
                Note(f"other environment, results may differ in the last bits: {line}", True)
            )
        self.trainer.restore(state["progress"], groups, checkpoint.log)
        self.best = groups.get("best", {})
        self.tail = [
            groups[f"average-{place}"] for place in range(len(state["progress"]["averaged"]))
        ]
        self.signatures = dict(state.get("signatures", {}))
        if self.processes.first:
            live = self.work / "log.jsonl"
            found = live.read_bytes() if live.is_file() else b""  # a kill may have cut it short
            if not (found.startswith(checkpoint.log) or checkpoint.log.startswith(found)):
                self.watch(Note("log.jsonl was altered; restored from the checkpoint", True))
            self._write_log()
            forget_after(self.work / "snapshots", self.trainer.progress.update)

    def _announce(self, checkpoint: Checkpoint | None) -> None:
        trainer = self.trainer
        if checkpoint is not None:
            self.watch(Note(f"resumed after update {trainer.progress.update}"))
        self.watch(
            Started(
                update=trainer.progress.update,
                updates=trainer.updates,
                epochs=trainer.updates / trainer.updates_per_epoch,
                parameters=trainer.model.parameter_counts(),
                settings=self.config.to_tables(),
            )
        )
        self._timing(event="resumed" if checkpoint else "started", environment=self.environment)

    # ── validating and keeping ───────────────────────────────────────────────────────────────

    def _validate(self) -> None:
        """Try the weights on unseen sentences; the best so far become the model folder."""
        progress = self.trainer.progress
        weights = self.trainer.evaluated_weights()
        metrics: dict[str, float] = {}
        if self.processes.first:
            try:
                with self.interrupts.breakable():
                    metrics, outputs = self._scores(weights)
            except Interrupted as stopped:  # the others wait for the scores: they must hear of it
                metrics = {STOPPED: float(stopped.number)}
        metrics = self.processes.shared(metrics, self.device)
        if STOPPED in metrics:
            raise Interrupted(int(metrics[STOPPED]))
        progress.validated = progress.update
        score = self._score(metrics)
        better = progress.best is None or score > progress.best
        if better:
            progress.best, progress.best_update, progress.metrics = score, progress.update, metrics
            progress.stale = 0
            self.best = weights
        else:
            progress.stale += 1
        if self.config.train.average > 1:
            self.tail = [*self.tail, weights][-self.config.train.average :]
            progress.averaged = [*progress.averaged, progress.update][-self.config.train.average :]
        patience = self.config.train.patience
        progress.stopped = bool(patience) and progress.stale >= patience
        if self.processes.first:
            samples = self._shown(outputs)
            scores = {f"valid_{name}": value for name, value in metrics.items()}
            self.trainer.record(**scores, **({"samples": samples} if samples else {}))
            self._write_log()
            if better:
                self.outputs = outputs
                self._write_model()
            self.watch(Validated(progress.update, metrics, better, samples))

    def _scores(self, weights: dict[str, Tensor]) -> tuple[dict[str, float], Sequence[str]]:
        model = loaded(self.trainer.objective.model, weights)
        scores = scored(self._folder(model), self.prepared, self.config.train, self.decode)
        self.signatures = scores.signatures or self.signatures
        return scores.metrics, scores.outputs

    def _score(self, metrics: dict[str, float]) -> float:
        """One number to be maximised; without validation the newest weights are the best."""
        wanted = self.config.train.stop_on
        if wanted in metrics and wanted != "loss":
            return metrics[wanted]
        return -metrics["loss"] if "loss" in metrics else float(self.trainer.progress.update)

    def _save(self) -> None:
        state, groups = self.trainer.state()
        if self.processes.first:
            if self.best:
                groups["best"] = self.best
            for place, weights in enumerate(self.tail):
                groups[f"average-{place}"] = weights
            values = {
                "progress": state,
                "identity": identity(self.config, self.prepared, self.processes.world),
                "environment": self.environment,
                "signatures": self.signatures,
            }
            update = self.trainer.progress.update
            path = save_checkpoint(
                self.work / "checkpoints", update, values, groups, bytes(self.trainer.log)
            )
            self.watch(Saved(update, "checkpoint", str(path)))
        self.processes.wait()
        self.trainer.saved()

    def _snapshot(self, *, sampled: bool) -> None:
        """Keep the weights of this moment, and what they make of a few sentences."""
        progress = self.trainer.progress
        weights = self.trainer.evaluated_weights()
        if self.processes.first:
            path = write_snapshot(
                self.work / "snapshots", progress.update, weights, {"epoch": progress.epoch}
            )
            self.watch(Saved(progress.update, "snapshot", str(path)))
            if sampled:
                self._sample(weights)
        progress.kept = progress.update

    def _sample(self, weights: dict[str, Tensor]) -> None:
        """Translate a few unseen sentences, so that they are seen getting better from the start."""
        rows = self.prepared.validation_rows[:SAMPLES]
        if not rows or self.decode is None or self.prepared.task != "translate":
            return
        folder = self._folder(loaded(self.trainer.objective.model, weights))
        decoded = self.decode(folder, [source for source, _ in rows], [right for _, right in rows])
        samples = self._shown(decoded.outputs)
        self.trainer.record(samples=samples)
        self._write_log()
        self.watch(Sampled(self.trainer.progress.update, samples))

    def _shown(self, outputs: Sequence[str]) -> list[tuple[str, str, str]]:
        """The first validation sentences with what the model makes of them."""
        rows = self.prepared.validation_rows[:SAMPLES]
        return [(*row, output) for row, output in zip(rows, outputs, strict=False)]

    def _write_log(self) -> None:
        if self.processes.first:
            try:
                (self.work / "log.jsonl").write_bytes(self.trainer.log)
            except OSError as error:
                raise CheckpointError(
                    f"cannot write {self.work / 'log.jsonl'}: {error.strerror}; the checkpoints "
                    f"are untouched: make room, then run the same command again"
                ) from None

    def _timing(self, **facts: Any) -> None:
        if self.processes.first:
            line = {"time": round(time.time(), 3), **facts}
            with (self.work / "timing.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    # ── the model folder ─────────────────────────────────────────────────────────────────────

    def _folder(self, model: Any, metrics: dict[str, Any] | None = None) -> ModelFolder:
        prepared = self.prepared
        return ModelFolder(
            model=model,
            tokenizer=prepared.tokenizer,
            target_tokenizer=prepared.target_tokenizer,
            task=prepared.task,
            languages=prepared.languages,
            labels=prepared.labels,
            generation={"beam": 5, "length_penalty": 1.0} if prepared.task == "translate" else {},
            metrics=metrics or {},
        )

    def _write_model(self, weights: dict[str, Tensor] | None = None) -> ModelFolder:
        progress = self.trainer.progress
        model = loaded(self.trainer.objective.model, weights or self.best)
        metrics = {
            "update": progress.best_update,
            **{f"valid_{name}": value for name, value in progress.metrics.items()},
            "signatures": self.signatures,
        }
        folder = self._folder(model, metrics)
        extras = {"log.jsonl": self.work / "log.jsonl"}
        for entry in read_index(self.work / "snapshots"):
            name = str(entry["file"])
            extras[f"snapshots/{name}"] = self.work / "snapshots" / name
            extras["snapshots/index.json"] = self.work / "snapshots" / "index.json"
        if (self.work / "report.html").is_file():
            extras["report.html"] = self.work / "report.html"
        write_model_folder(self.out, folder, extras)
        self.watch(Saved(progress.best_update, "model", str(self.out)))
        return folder

    def _finish(self) -> ModelFolder:
        """Try the average, keep the better, write the report and the model folder."""
        progress = self.trainer.progress
        if not self.best:  # nothing to validate on: the last weights are all there is
            self.best = self.trainer.evaluated_weights()
            progress.best_update = progress.update
        if self.config.train.keep:
            self._snapshot(sampled=False)  # the last validation has told
        if not self.processes.first:
            return self._folder(loaded(self.trainer.objective.model, self.best))
        if len(self.tail) > 1:
            mean = {
                name: torch.stack([weights[name] for weights in self.tail]).mean(0)
                for name in self.best
            }
            metrics, outputs = self._scores(mean)
            better = progress.best is None or self._score(metrics) > progress.best
            self.watch(
                Note(
                    f"average of the last {len(self.tail)}: "
                    + ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
                    + (", kept" if better else ", the best single one is better")
                )
            )
            if better:
                self.best, self.outputs = mean, outputs
                progress.metrics, progress.best_update = metrics, progress.update
        if not self.outputs and self.prepared.validation is not None:
            _, self.outputs = self._scores(self.best)
        write_report(
            self.work / "report.html",
            log=bytes(self.trainer.log),
            config=self.config,
            prepared=self.prepared,
            environment=self.environment,
            metrics=progress.metrics,
            outputs=self.outputs,
        )
        folder = self._write_model()
        self._timing(event="finished", update=progress.update)
        return folder

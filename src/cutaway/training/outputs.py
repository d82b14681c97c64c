"""Validation during a run, and what it writes: model folder, checkpoints, states, snapshots."""

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cutaway.artifact.folder import ModelFolder, write_model_folder
from cutaway.artifact.snapshots import read_index, write_snapshot
from cutaway.config import RunConfig
from cutaway.numbers import figures
from cutaway.training.checkpoint import save_checkpoint
from cutaway.training.events import Note, Sampled, Saved, Validate, Validated, Watch
from cutaway.training.identity import identity
from cutaway.training.initial import model_with_weights
from cutaway.training.interrupts import Interrupted, Interrupts
from cutaway.training.journal import Journal
from cutaway.training.loop import Trainer
from cutaway.training.prefetch import Later
from cutaway.training.report import write_report
from cutaway.training.validation import validation_scores

SAMPLES = 3  # validation sentences shown while they get better
RECIPE = (  # settings that decide one update; kept in the model folder
    "task", "optimizer", "learning_rate", "schedule", "warmup", "beta1", "beta2", "epsilon",
    "weight_decay", "clip", "smoothing", "r_drop", "sim_cut", "cut_share", "word_dropout", "ema",
    "mask_share",
)  # fmt: skip
STOPPED = "stopped by signal"  # instead of a score: validation was interrupted


class RunOutputs:
    """Validates the trainer's weights and writes the files of the run."""

    def __init__(
        self,
        config: RunConfig,
        trainer: Trainer,
        out: Path,
        work: Path,
        *,
        environment: dict[str, Any],
        interrupts: Interrupts,
        decode: Validate | None,
        watch: Watch,
    ) -> None:
        self.config = config
        self.trainer = trainer
        self.prepared = trainer.prepared
        self.processes = trainer.processes
        self.device = trainer.device
        self.out = out
        self.work = work
        self.environment = environment
        self.interrupts = interrupts
        self.decode = decode
        self.watch = watch
        self.journal = Journal(work / "log.jsonl")
        self.best: dict[str, Tensor] = {}
        self.tail: list[dict[str, Tensor]] = []  # last validated weights, to be averaged
        self.signatures: dict[str, str] = {}
        self.outputs: Sequence[str] = ()
        self._writing: tuple[int, Later[Path]] | None = None  # a checkpoint on its way to the disk

    # ── validating ───────────────────────────────────────────────────────────────────────────

    def validate(self) -> None:
        """Score the weights on the validation data; the best so far become the model folder."""
        progress = self.trainer.progress
        weights = self.trainer.evaluated_weights()
        metrics: dict[str, float] = {}
        if self.processes.first:
            try:
                with self.interrupts.breakable():
                    metrics, outputs = self._scores(weights)
            except Interrupted as stopped:  # the other processes wait for the scores
                metrics = {STOPPED: float(stopped.number)}
        metrics = self.processes.shared(metrics, self.device)
        if STOPPED in metrics:
            raise Interrupted(int(metrics[STOPPED]))
        progress.validated = progress.update
        scores = self._ranked(metrics)
        better = progress.best is None or scores > progress.best
        if better:
            progress.best, progress.best_update, progress.metrics = scores, progress.update, metrics
            progress.stale = 0
            self.best = weights
        else:
            progress.stale += 1
        if self.config.train.average > 1:
            self.tail = [*self.tail, weights][-self.config.train.average :]
            progress.averaged = [*progress.averaged, progress.update][-self.config.train.average :]
        self.judge_patience()
        if self.processes.first:
            samples = self._shown(outputs)
            named = {f"valid_{name}": value for name, value in metrics.items()}
            self.trainer.record(**named, **({"samples": samples} if samples else {}))
            self.write_log()
            if better:
                self.outputs = outputs
                self.write_model()
            self.watch(Validated(progress.update, metrics, better, samples))

    def judge_patience(self) -> None:
        """Stop early after `patience` validations without a better one; 0: never."""
        patience, progress = self.config.train.patience, self.trainer.progress
        progress.stopped = bool(patience) and progress.stale >= patience

    def _scores(self, weights: dict[str, Tensor]) -> tuple[dict[str, float], Sequence[str]]:
        scores = validation_scores(
            self._trial(weights), self.prepared, self.config.train, self.decode
        )
        self.signatures = scores.signatures or self.signatures
        return scores.metrics, scores.outputs

    def _trial(self, weights: dict[str, Tensor]) -> ModelFolder:
        """A model with these weights, on the run's device."""
        return self.folder(
            model_with_weights(self.trainer.objective.model, weights).to(self.device)
        )

    def _ranked(self, metrics: dict[str, float]) -> list[float]:
        """Numbers to be maximised, the first decides and the next break ties.

        Without validation the newest weights are the best.
        """
        wanted = self.config.train.stop_on
        names = [wanted, *(name for name in ("bleu", "chrf") if name != wanted)]
        ranked = [] if wanted == "loss" else [metrics[name] for name in names if name in metrics]
        if "loss" in metrics:
            ranked.append(-metrics["loss"])
        return ranked or [float(self.trainer.progress.update)]

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def save(self, *, wait: bool = True) -> None:
        """Write a checkpoint; without `wait` a copy of the state, while training goes on."""
        self.saved()
        self.write_log()
        state, groups = self.trainer.state()
        if self.processes.first:
            if not wait:
                groups = {group: copied(tensors) for group, tensors in groups.items()}
            if self.best:
                groups["best"] = self.best
            for place, weights in enumerate(self.tail):
                groups[f"average-{place}"] = weights
            update = self.trainer.progress.update
            folder, values = self.work / "checkpoints", self._values(state)
            self._writing = update, Later(partial(save_checkpoint, folder, update, values, groups))
        if wait:
            self.saved()
            self.processes.wait()
        self.trainer.saved()

    def saved(self, *, wait: bool = True) -> None:
        """Report the checkpoint that was being written, once it is; raise what went wrong."""
        if self._writing is None or not (wait or self._writing[1].done):
            return
        (update, writing), self._writing = self._writing, None
        path = writing.result()
        self.timing(event="saved", update=update)
        self.watch(Saved(update, "checkpoint", str(path)))

    def keep_state(self) -> None:
        """Save the state from which the next update can be replayed."""
        self.write_log()
        state, groups = self.trainer.state()
        update = self.trainer.progress.update
        if self.processes.first and not (self.work / "states" / f"update-{update:08d}").is_dir():
            folder, values = self.work / "states", self._values(state)
            path = save_checkpoint(folder, update, values, groups, last=None)
            self.watch(Saved(update, "state", str(path)))

    def _values(self, progress: dict[str, Any]) -> dict[str, Any]:
        return {
            "progress": progress,
            "updates": self.trainer.updates,
            "identity": identity(self.config, self.prepared, self.processes.world),
            "environment": self.environment,
            "signatures": self.signatures,
            "log": self.journal.state(),
        }

    def snapshot(self, *, sampled: bool) -> None:
        """Save the present weights, and their translations of a few sentences."""
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
        """Translate the first validation sentences, so that progress shows from the start."""
        rows = self.prepared.validation_rows[:SAMPLES]
        if not rows or self.decode is None or self.prepared.task != "translate":
            return
        sources, targets = [source for source, _ in rows], [right for _, right in rows]
        decoded = self.decode(self._trial(weights), sources, targets)
        samples = self._shown(decoded.outputs)
        self.trainer.record(samples=samples)
        self.write_log()
        self.watch(Sampled(self.trainer.progress.update, samples))

    def _shown(self, outputs: Sequence[str]) -> list[tuple[str, str, str]]:
        """The first validation sentences as (source, reference, output)."""
        rows = self.prepared.validation_rows[:SAMPLES]
        return [(*row, output) for row, output in zip(rows, outputs, strict=False)]

    def write_log(self) -> None:
        """Append the new lines to log.jsonl."""
        lines = self.trainer.taken_lines()
        if self.processes.first:
            self.journal.append(lines)

    def timing(self, **facts: Any) -> None:
        """Append a line to timing.jsonl: when something happened."""
        if self.processes.first:
            line = {"time": round(time.time(), 3), **facts}
            with (self.work / "timing.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    # ── the model folder ─────────────────────────────────────────────────────────────────────

    def folder(self, model: Any, metrics: dict[str, Any] | None = None) -> ModelFolder:
        """A model of this run with all that is needed to use it."""
        prepared = self.prepared
        return ModelFolder(
            model=model,
            tokenizer=prepared.tokenizer,
            target_tokenizer=prepared.target_tokenizer,
            task=prepared.task,
            languages=prepared.languages,
            directions=prepared.directions,
            labels=prepared.labels,
            generation={"beam": 5, "length_penalty": 1.0} if prepared.task == "translate" else {},
            metrics=metrics or {},
            recipe={name: getattr(self.trainer.settings, name) for name in RECIPE},
        )

    def write_model(self, weights: dict[str, Tensor] | None = None) -> ModelFolder:
        """Write the model folder: the best weights so far, or those given."""
        progress = self.trainer.progress
        model = model_with_weights(self.trainer.objective.model, weights or self.best)
        metrics = {
            "update": progress.best_update,
            **{f"valid_{name}": value for name, value in progress.metrics.items()},
            "signatures": self.signatures,
        }
        folder = self.folder(model, metrics)
        extras = {"log.jsonl": self._shareable_log()}
        for entry in read_index(self.work / "snapshots"):
            name = str(entry["file"])
            extras[f"snapshots/{name}"] = self.work / "snapshots" / name
            extras["snapshots/index.json"] = self.work / "snapshots" / "index.json"
        if (self.work / "report.html").is_file():
            extras["report.html"] = self.work / "report.html"
        write_model_folder(self.out, folder, extras)
        self.watch(Saved(progress.best_update, "model", str(self.out)))
        return folder

    def _shareable_log(self) -> Path:
        """The log for the model folder: with `private`, without sentences."""
        log = self.work / "log.jsonl"
        if not self.config.train.private:
            return log
        lines = [json.loads(line) for line in log.read_bytes().splitlines()]
        kept = [{name: line[name] for name in line if name != "samples"} for line in lines]
        path = self.work / "log-private.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in kept), encoding="utf-8")
        return path

    def finish(self) -> ModelFolder:
        """Keep the average of the last weights if better; write report and model folder."""
        progress = self.trainer.progress
        if not self.best:  # nothing to validate on: keep the last weights
            self.best = self.trainer.evaluated_weights()
            progress.best_update = progress.update
        if self.config.train.keep:
            self.snapshot(sampled=False)  # the last validation has shown samples
        if not self.processes.first:
            return self.folder(model_with_weights(self.trainer.objective.model, self.best))
        if len(self.tail) > 1:
            self._try_average()
        if not self.outputs and self.prepared.validation is not None:
            _, self.outputs = self._scores(self.best)
        write_report(
            self.work / "report.html",
            log=self.journal.read(),
            config=self.config,
            prepared=self.prepared,
            environment=self.environment,
            metrics=progress.metrics,
            outputs=() if self.config.train.private else self.outputs,
        )
        folder = self.write_model()
        self.timing(event="finished", update=progress.update)
        return folder

    def _try_average(self) -> None:
        """The mean of the last validated weights takes the best one's place if it is better."""
        progress = self.trainer.progress
        mean = {
            name: torch.stack([weights[name] for weights in self.tail]).mean(0)
            for name in self.best
        }
        metrics, outputs = self._scores(mean)
        better = progress.best is None or self._ranked(metrics) > progress.best
        self.watch(
            Note(
                f"average of the last {len(self.tail)}: "
                + figures(metrics, ", ")
                + (", kept" if better else ", the best single one is better")
            )
        )
        if better:
            self.best, self.outputs = mean, outputs
            progress.metrics, progress.best_update = metrics, progress.update


def copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies in the processor's memory, which the next update leaves as they are."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}

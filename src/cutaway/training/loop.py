"""The training loop, one update at a time, and the state that a checkpoint holds."""

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from torch import Tensor

from cutaway.config import RunConfig
from cutaway.corpus import Batch
from cutaway.errors import CheckpointError
from cutaway.model.dropout import drawing
from cutaway.training.events import Updated, Watch
from cutaway.training.initial import DROPOUT, freeze_unused, initial_model, mix
from cutaway.training.interrupts import Interrupts
from cutaway.training.nonfinite import is_skipped
from cutaway.training.objective import Objective, TaskBatch, ask
from cutaway.training.optimizer import (
    MovingAverage,
    gradient_scale,
    make_optimizer,
    optimizer_tensors,
    restore_optimizer,
    set_rate,
)
from cutaway.training.order import Order, Progress
from cutaway.training.precision import choose_precision
from cutaway.training.prepare import Prepared
from cutaway.training.processes import Processes, wide
from cutaway.training.products import quick_layers
from cutaway.training.recipe import resolved
from cutaway.training.schedule import peak_rate, scheduled_rate
from cutaway.training.shards import local, shaped_like
from cutaway.training.side_by_side import SideBySide, is_watched, threads_of_operations


class Trainer:
    """Model, optimizer, order of the data and the loss log of one run, one update at a time."""

    def __init__(
        self,
        prepared: Prepared,
        config: RunConfig,
        *,
        processes: Processes,
        device: torch.device,
        watch: Watch,
        interrupts: Interrupts,
    ) -> None:
        self.prepared = prepared
        self.settings = resolved(config.train, prepared.model, processes.world, len(prepared.train))
        self.processes = processes
        self.device = device
        self.watch = watch
        self.interrupts = interrupts
        self.progress = Progress()
        self.lines: list[dict[str, Any]] = []  # of the log, not yet written
        self.reported: dict[str, Any] = {}  # the last line with a loss
        self.model = initial_model(prepared, self.settings.seed).to(device)
        freeze_unused(self.model)
        if self.settings.compile:
            for side in (self.model.encoder, self.model.decoder):
                if side is not None:
                    side.compile(dynamic=True)
        self.precision = choose_precision(self.settings, device, watch, processes)
        # On a processor only the operands of products are rounded, unless torch compiles them.
        by_autocast = device.type != "cpu" or self.settings.compile
        self.autocast = by_autocast and self.precision != torch.float32
        self.products = None if by_autocast or self.precision == torch.float32 else self.precision
        tags = prepared.tokenizer.tags
        self.objective = Objective(self.model, self.settings, tags, self.products)
        self.wrapped = processes.wrap(self.objective, device)
        self.named = {
            name: parameter
            for name, parameter in self.model.named_parameters()
            if parameter.requires_grad
        }
        self.optimizer = make_optimizer(self.named.items(), self.settings, self.products)
        self.average = MovingAverage(self.named, self.settings.ema) if self.settings.ema else None
        self.order = Order(prepared, config, processes)
        self._beside = SideBySide(self.order.mine) if self._may_be_side_by_side() else None
        self.set_length(self.order.updates)
        self._begun = time.perf_counter()
        self._reported = (self._begun, 0.0)  # time and tokens at the last event
        self._tokens = 0.0

    @property
    def updates_per_epoch(self) -> int:
        """Updates of one pass over the data."""
        return self.order.updates_per_epoch

    def work(self) -> Generator[tuple[list[Batch], int, float]]:
        """This process's batches of each update from here on; see `Order.work`."""
        return self.order.work(self.progress)

    # ── one update ───────────────────────────────────────────────────────────────────────────

    def questions(self, batches: list[Batch]) -> list[TaskBatch]:
        """The task's inputs and gold answers for the batches of an update, on the device."""
        return [
            ask(
                self.prepared.task,
                batch,
                device=self.device,
                draw=self._draw(batch),
                vocabulary=self.prepared.model.vocabulary,
                share=self.settings.mask_share,
            )
            for batch in batches
        ]

    def update(
        self, batches: list[Batch], cursor: int, questions: list[TaskBatch] | None = None
    ) -> tuple[bool, bool, float]:
        """One step of the optimizer; returns whether to stop and to save, and the gradient norm.

        Batches whose loss or gradient is not finite may be skipped: then the weights and the
        number of updates stay as they were, and the norm is NaN.

        All values that decide the step are named tensors, so that a recorded update shows it.
        """
        questions = self.questions(batches) if questions is None else questions
        self.wrapped.train()
        losses = self._backward(batches, questions)
        total = torch.stack(losses).to(wide(self.device)).sum()
        asked = float(sum(question.asked for question in questions))
        stop = float(self.interrupts.asked > 0)
        save = float(self.processes.first and self._save_due())
        loss_sum, asked, stop, save = self.processes.totals(
            (float(total), asked, stop, save), self.device
        )
        suspects = (batches, questions, losses)
        if is_skipped(self, "loss", loss_sum, *suspects):
            self.progress.cursor = cursor
            return stop > 0, save > 0, math.nan
        gradients = [local(p.grad) for p in self.named.values() if p.grad is not None]
        scale, norm = gradient_scale(gradients, asked, self.settings.clip, self.processes)
        if is_skipped(self, "gradient", norm, *suspects):
            self.progress.cursor = cursor
            return stop > 0, save > 0, math.nan
        torch._foreach_mul_(gradients, scale)
        progress = self.progress
        progress.update += 1
        progress.cursor = cursor
        rate = scheduled_rate(self.settings, progress.update, peak=self.peak, updates=self.updates)
        set_rate(self.optimizer, float(rate))
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.average is not None:
            self.average.update(self.named, progress.update)
        progress.loss_sum += loss_sum
        progress.asked_sum += asked
        self._tokens += asked
        if progress.update % self.settings.log_every == 0 or progress.update == self.updates:
            mean = progress.loss_sum / progress.asked_sum
            self.record(loss=mean, rate=float(rate), norm=norm, tokens=int(progress.asked_sum))
            progress.loss_sum = progress.asked_sum = 0.0
        return stop > 0, save > 0, norm

    def _may_be_side_by_side(self) -> bool:
        """Whether batches may be computed in threads: torch's own draws would mix there."""
        draws = self.prepared.model.attention_dropout > 0 or self.settings.compile
        return self.device.type == "cpu" and self.processes.world == 1 and not draws

    def _backward(self, batches: list[Batch], questions: list[TaskBatch]) -> list[Tensor]:
        """The loss of each batch; the sum of their gradients is then in `grad`.

        Side by side, or, where somebody watches this thread, in turn, with the same bits.
        """
        work = [
            partial(self._loss, batch, question)
            for batch, question in zip(batches, questions, strict=True)
        ]
        with nullcontext() if self.settings.compile else quick_layers(self.model, self.products):
            return self._computed(batches, work)

    def _computed(self, batches: list[Batch], work: Sequence[Callable[[], Tensor]]) -> list[Tensor]:
        beside = self._beside
        if beside and beside.workers > 1 and not is_watched():
            return beside.gradients(work, list(self.named.values()))
        losses: list[Tensor] = []
        with threads_of_operations(beside.each) if beside else nullcontext():
            for place, (batch, compute) in enumerate(zip(batches, work, strict=True)):
                with self.processes.accumulating(self.wrapped, more=place + 1 < len(batches)):
                    torch.manual_seed(self._draw(batch))
                    loss = compute()
                    loss.backward()  # type: ignore[no-untyped-call]
                losses.append(loss.detach())
        return losses

    def _loss(self, batch: Batch, question: TaskBatch) -> Tensor:
        """The summed loss of one batch, with the dropout of its place in the run."""
        with (
            drawing(self._draw(batch)),
            torch.autocast(self.device.type, self.precision, enabled=self.autocast),
        ):
            loss: Tensor = self.wrapped(question)
        return loss

    def _draw(self, batch: Batch) -> int:
        """Dropout and hidden words follow from the batch's place, whatever process takes it."""
        return mix(self.settings.seed, DROPOUT, self.progress.epoch, batch.number)

    # ── events and state ─────────────────────────────────────────────────────────────────────

    def record(self, **facts: Any) -> None:
        """Add a line to the loss log: values that the same run repeated gives bit by bit."""
        line = {"update": self.progress.update, "epoch": self.progress.epoch, **facts}
        self.lines.append(line)
        if "loss" in facts:
            self.reported = line

    def taken_lines(self) -> list[dict[str, Any]]:
        """The lines since the last call."""
        lines, self.lines = self.lines, []
        return lines

    def report_progress(self, share: float, norm: float) -> None:
        """Report progress to the listener."""
        now = time.perf_counter()
        since, tokens = self._reported
        speed = (self._tokens - tokens) / max(1e-9, now - since)
        self._reported = (now, self._tokens)
        last = self.reported
        done = max(1, self.progress.update - self._first_update)
        left = (now - self._begun) / done * (self.updates - self.progress.update)
        self.watch(
            Updated(
                update=self.progress.update,
                epoch=self.progress.epoch,
                share=share,
                loss=float(last.get("loss", math.nan)),
                rate=float(last.get("rate", 0.0)),
                norm=norm,
                tokens_per_second=speed,
                seconds_left=left,
            )
        )

    _first_update = 0
    _last_save = 0.0

    def _save_due(self) -> bool:
        minutes = self.settings.save_minutes
        return bool(minutes) and time.perf_counter() - self._last_save > 60 * minutes

    def clock(self) -> None:
        """Start the clock for the speed, the time left and the next save."""
        self._begun = self._last_save = time.perf_counter()
        self._reported = (self._begun, self._tokens)
        self._first_update = self.progress.update

    def saved(self) -> None:
        """Record that a checkpoint was just written."""
        self._last_save = time.perf_counter()

    def evaluated_weights(self) -> dict[str, Tensor]:
        """The weights that are validated and kept, in full: the moving average, or the last."""
        tensors: Mapping[str, Tensor] = (
            self.average.tensors() if self.average is not None else self.named
        )
        whole = self.processes.whole({**dict(self.model.named_parameters()), **tensors})
        return {name: tensor.detach().to("cpu", copy=True) for name, tensor in whole.items()}

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """All that a checkpoint must hold for an exact resume."""
        whole = self.processes.whole
        groups = {
            "weights": whole(dict(self.model.named_parameters())),
            "optimizer": whole(optimizer_tensors(self.optimizer, self.named)),
        }
        if self.average is not None:
            groups["ema"] = whole(self.average.tensors())
        return asdict(self.progress), groups

    def set_length(self, updates: int) -> None:
        """The number of updates of the whole run, which decides schedule and peak rate."""
        self.updates = updates
        self.peak = peak_rate(self.settings, self.prepared.model, updates)

    def restore(self, progress: dict[str, Any], groups: dict[str, dict[str, Tensor]]) -> None:
        """Restore the state of a checkpoint."""
        self.progress = Progress(**progress)
        self.lines, self.reported = [], {}
        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, parameter in parameters.items():
                kept = groups["weights"].get(name)
                if kept is None or kept.shape != parameter.shape:
                    raise CheckpointError(
                        f"the checkpoint has no {name} of shape {tuple(parameter.shape)}; it "
                        f"belongs to another model: choose another --out"
                    )
                parameter.copy_(shaped_like(groups["weights"][name], parameter))
        restore_optimizer(self.optimizer, self.named, groups["optimizer"], self.progress.update)
        if self.average is not None:  # switched on since: it starts from the present weights
            self.average.restore(groups.get("ema") or groups["weights"])

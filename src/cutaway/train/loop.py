"""The loop: batches in, better weights out, and all that is needed to go on after a crash."""

import itertools
import json
import math
import time
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cutaway.config import RunConfig
from cutaway.corpus import Batch, BatchPlan, Pairs, SampledPairs
from cutaway.errors import CheckpointError, TrainingError
from cutaway.model import Transformer
from cutaway.train.ahead import ahead
from cutaway.train.environment import choose_precision
from cutaway.train.events import Updated, Watch
from cutaway.train.interrupts import Interrupts
from cutaway.train.nonfinite import bad_rows
from cutaway.train.objective import Objective, Question, ask
from cutaway.train.optimizer import (
    MovingAverage,
    local,
    make_optimizer,
    optimizer_tensors,
    restore_optimizer,
    set_rate,
    shaped_like,
)
from cutaway.train.prepare import Prepared, chosen_epochs
from cutaway.train.processes import Processes
from cutaway.train.schedule import learning_rate, peak_rate

INITIAL, DROPOUT = 0, 1  # purposes of a draw: first numbers after the seed


def mix(*numbers: int) -> int:
    """A seed for a random stream, a pure function of the numbers that name it."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass
class Progress:
    """Where a run is; plain values, kept in every checkpoint."""

    update: int = 0
    epoch: int = 0
    cursor: int = 0  # batches of the epoch that are done, over all processes
    validated: int = -1  # the last update that was validated
    kept: int = -1  # the last update that was kept as a snapshot
    best: float | None = None  # the best score so far, higher is better
    best_update: int = 0
    metrics: dict[str, float] = field(default_factory=dict)  # of the best
    stale: int = 0  # validations since the best
    stopped: bool = False  # early, by patience
    loss_sum: float = 0.0  # since the last line of the log
    asked_sum: float = 0.0
    averaged: list[int] = field(default_factory=list)  # updates whose weights may be averaged


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
        self.settings = config.train
        self.sample = config.tokenizer.sample
        self.processes = processes
        self.device = device
        self.watch = watch
        self.interrupts = interrupts
        self.progress = Progress()
        self.log = bytearray()
        self.model = initial_model(prepared, self.settings.seed).to(device)
        freeze_unused(self.model)
        if self.settings.compile:
            for side in (self.model.encoder, self.model.decoder):
                if side is not None:
                    side.compile(dynamic=True)
        self.precision = choose_precision(self.settings, device)
        self.objective = Objective(self.model, self.settings)
        self.wrapped = processes.wrap(self.objective, device)
        self.named = {
            name: parameter
            for name, parameter in self.model.named_parameters()
            if parameter.requires_grad
        }
        self.optimizer = make_optimizer(self.named.items(), self.settings)
        self.average = MovingAverage(self.named, self.settings.ema) if self.settings.ema else None
        together = self.settings.accumulate * processes.world
        self._drawn: tuple[int, Pairs] | None = None  # an epoch and its pairs
        self.updates_per_epoch = math.ceil(len(self._plan(0)) / together)
        self.updates = self._run_length()
        self.peak = peak_rate(self.settings, prepared.model, self.updates)
        self._begun = time.perf_counter()
        self._spoken = (self._begun, 0.0)  # time and tokens at the last event
        self._tokens = 0.0

    # ── the length and order of the run ──────────────────────────────────────────────────────

    def _run_length(self) -> int:
        settings = self.settings
        if settings.updates:
            return settings.updates
        epochs = settings.epochs or chosen_epochs(len(self.prepared.train))
        return epochs * self.updates_per_epoch

    def _plan(self, epoch: int) -> BatchPlan:
        return BatchPlan(
            self._pairs(epoch).lengths,
            self.settings.tokens,
            seed=self.settings.seed,
            epoch=epoch,
            rank=self.processes.rank,
            world=self.processes.world,
        )

    def _pairs(self, epoch: int) -> Pairs:
        """The pairs as this epoch cuts them: a function of seed and epoch, drawn once an epoch."""
        if not self.sample or self.prepared.task != "translate":
            return self.prepared.train
        if self._drawn is None or self._drawn[0] != epoch:
            sampled = SampledPairs(
                self.prepared.train,
                self.prepared.tokenizer,
                self.prepared.target_tokenizer,
                sample=self.sample,
                seed=self.settings.seed,
                epoch=epoch,
            )
            self._drawn = epoch, sampled
        return self._drawn[1]

    def work(self) -> Generator[tuple[list[Batch], int, float]]:
        """This process's batches of each update, the cursor after it, and the epoch's share done.

        Begins where the run is. An update never spans two epochs; whoever takes it moves the
        cursor.
        """
        together = self.settings.accumulate * self.processes.world
        progress = self.progress
        while True:
            plan = self._plan(progress.epoch)
            batches = ahead(plan.batches(self._pairs(progress.epoch), progress.cursor))
            with batches:
                while progress.cursor < len(plan):
                    mine = list(itertools.islice(batches, self.settings.accumulate))
                    after = min(len(plan), progress.cursor + together)
                    yield mine, after, after / len(plan)
            progress.epoch += 1
            progress.cursor = 0

    # ── one update ───────────────────────────────────────────────────────────────────────────

    def update(self, batches: list[Batch], cursor: int) -> tuple[bool, bool, float]:
        """One step of the optimizer; returns whether to stop and to save, and the gradient norm."""
        questions = [self._question(batch) for batch in batches]
        self.wrapped.train()
        losses: list[float] = []
        for place, (batch, question) in enumerate(zip(batches, questions, strict=True)):
            more = place + 1 < len(batches)
            with self.processes.accumulating(self.wrapped, more):
                torch.manual_seed(self._draw(batch))
                with torch.autocast(
                    self.device.type, self.precision, enabled=self.precision != torch.float32
                ):
                    loss = self.wrapped(question)
                loss.backward()
            losses.append(float(loss.detach()))
        asked = float(sum(question.asked for question in questions))
        stop = float(self.interrupts.asked > 0)
        save = float(self.processes.first and self._save_due())
        loss_sum, asked, stop, save = self.processes.totals(
            (sum(losses), asked, stop, save), self.device
        )
        self._refuse_nonfinite("loss", loss_sum, batches, questions, losses)
        gradients = [p.grad for p in self.named.values() if p.grad is not None]
        scale = self.processes.gradient_scale / asked
        norm = float(np.float32(self._norm(gradients) * scale))  # bits no order of adding decides
        self._refuse_nonfinite("gradient", norm, batches, questions, losses)
        if self.settings.clip and norm > self.settings.clip:
            scale *= self.settings.clip / norm
        torch._foreach_mul_([local(gradient) for gradient in gradients], scale)
        progress = self.progress
        progress.update += 1
        progress.cursor = cursor
        rate = learning_rate(self.settings, progress.update, peak=self.peak, updates=self.updates)
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.average is not None:
            self.average.update(self.named, progress.update)
        progress.loss_sum += loss_sum
        progress.asked_sum += asked
        self._tokens += asked
        if progress.update % self.settings.log_every == 0 or progress.update == self.updates:
            mean = progress.loss_sum / progress.asked_sum
            self.record(loss=mean, rate=rate, norm=norm, tokens=int(progress.asked_sum))
            progress.loss_sum = progress.asked_sum = 0.0
        return stop > 0, save > 0, norm

    def _question(self, batch: Batch) -> Question:
        return ask(
            self.prepared.task,
            batch,
            device=self.device,
            draw=self._draw(batch),
            vocabulary=self.prepared.model.vocabulary,
            share=self.settings.mask_share,
        )

    def _draw(self, batch: Batch) -> int:
        """Dropout and hidden words follow from the batch's place, whatever process takes it."""
        return mix(self.settings.seed, DROPOUT, self.progress.epoch, batch.number)

    def _norm(self, gradients: list[Tensor]) -> float:
        """The length of all gradients together, in twelve digits of float64.

        So no order of adding shows, not even that of shards.
        """
        kind = torch.float32 if self.device.type == "mps" else torch.float64
        norms = torch._foreach_norm([local(gradient) for gradient in gradients], 2, dtype=kind)
        squares = float(torch.stack([norm.square() for norm in norms]).sum())
        if self.processes.sharded:
            (squares,) = self.processes.totals((squares,), self.device)
        return float(f"{math.sqrt(squares):.12g}")

    def _refuse_nonfinite(
        self,
        what: str,
        value: float,
        batches: list[Batch],
        questions: list[Question],
        losses: list[float],
    ) -> None:
        """Stop before the weights change, naming the update and the sentences."""
        if math.isfinite(value):
            return
        self.optimizer.zero_grad()
        suspects: list[int] = []
        for batch, question, loss in zip(batches, questions, losses, strict=True):
            if not self.processes.sharded:
                rows = bad_rows(self.objective, question)
            else:  # a single process cannot compute alone: the batch is as near as it gets
                rows = [] if math.isfinite(loss) else list(range(len(batch.indices)))
            suspects += [int(batch.indices[row]) for row in rows]
        every = [int(index) for batch in batches for index in batch.indices]
        named = self.processes.gathered(suspects, self.device)
        named = named or self.processes.gathered(every, self.device)
        numbers = self.prepared.train.numbers
        shown = "; ".join(
            f"line {int(numbers[index]) + 1}: {self._text(index)}" for index in named[:3]
        )
        further = f" and {len(named) - 3} more" if len(named) > 3 else ""
        raise TrainingError(
            f"update {self.progress.update + 1}: the {what} is {value}; the weights are as they "
            f"were before it. Sentences: {shown}{further}. Look at them, or lower learning_rate "
            f"or clip and begin again"
        )

    def _text(self, index: int) -> str:
        prepared = self.prepared
        if prepared.rows:
            source, target = prepared.rows[int(prepared.train.numbers[index])]
        else:
            ids = prepared.train[index]
            source = prepared.tokenizer.decode(ids[0].tolist())
            target = (prepared.target_tokenizer or prepared.tokenizer).decode(ids[1].tolist())
        text = f"{source} → {target}" if source else target
        return repr(text if len(text) <= 80 else text[:79] + "…")

    # ── what is told and kept ────────────────────────────────────────────────────────────────

    def record(self, **facts: Any) -> None:
        """Add a line to the loss log: facts that a second run would repeat bit by bit."""
        line = {"update": self.progress.update, "epoch": self.progress.epoch, **facts}
        self.log += (json.dumps(line, ensure_ascii=False) + "\n").encode()

    def speak(self, share: float, norm: float) -> None:
        """Tell the watcher how it goes."""
        now = time.perf_counter()
        since, tokens = self._spoken
        speed = (self._tokens - tokens) / max(1e-9, now - since)
        self._spoken = (now, self._tokens)
        last = json.loads(self.log.splitlines()[-1]) if self.log else {}
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
        """Begin to count time: for speed, for what is left, and for the next save."""
        self._begun = self._last_save = time.perf_counter()
        self._spoken = (self._begun, self._tokens)
        self._first_update = self.progress.update

    def saved(self) -> None:
        """Note that a checkpoint was just written."""
        self._last_save = time.perf_counter()

    def evaluated_weights(self) -> dict[str, Tensor]:
        """The weights that are validated and kept, in full: the moving average, or the last."""
        tensors: Mapping[str, Tensor] = (
            self.average.tensors() if self.average is not None else self.named
        )
        whole = self.processes.whole({**dict(self.model.named_parameters()), **tensors})
        return {name: tensor.detach().to("cpu", copy=True) for name, tensor in whole.items()}

    def state(self) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
        """All that a checkpoint must hold to go on as if nothing had happened."""
        whole = self.processes.whole
        groups = {
            "weights": whole(dict(self.model.named_parameters())),
            "optimizer": whole(optimizer_tensors(self.optimizer, self.named)),
        }
        if self.average is not None:
            groups["ema"] = whole(self.average.tensors())
        return asdict(self.progress), groups

    def restore(
        self, progress: dict[str, Any], groups: dict[str, dict[str, Tensor]], log: bytes
    ) -> None:
        """Go on from a checkpoint."""
        self.progress = Progress(**progress)
        self.log = bytearray(log)
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
        if self.average is not None and "ema" in groups:
            self.average.restore(groups["ema"])


def initial_model(prepared: Prepared, seed: int) -> Transformer:
    """A new model whose first weights follow from the seed, or those of the model begun with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mix(seed, INITIAL))
        model = Transformer(prepared.model)
    if prepared.start is not None:
        old = prepared.start.model.state_dict()
        state = model.state_dict()
        for name, tensor in old.items():
            new = state.get(name)
            if new is None or new.shape[1:] != tensor.shape[1:]:
                continue  # a head of another task
            if "classifier" in name and new.shape != tensor.shape:
                continue  # other classes
            rows = min(len(new), len(tensor)) if new.dim() else 0
            if new.dim():
                new[:rows] = tensor[:rows]  # a grown vocabulary keeps its old rows
            else:
                new.copy_(tensor)
        model.load_state_dict(state)
    return model


def freeze_unused(model: Transformer) -> None:
    """Parameters that the task's loss never reaches are left out of optimizer and reduction."""
    if model.classifier is not None:
        for parameter in model.output.parameters():
            parameter.requires_grad_(False)


def loaded(template: Transformer, weights: Mapping[str, Tensor]) -> Transformer:
    """A model of the same shape, ready to use, with these weights."""
    with torch.random.fork_rng(devices=[]):
        model = Transformer(template.config)
    model.load_state_dict(dict(weights))
    return model.eval()

"""A few seconds of real training, from which `cutaway data check` forecasts time and memory."""

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from cutaway.system.processes import resident_bytes

if TYPE_CHECKING:
    from cutaway.config import RunConfig
    from cutaway.corpus import EncodedPairs
    from cutaway.corpus.check import Forecast, Probe
    from cutaway.text import Tokenizer
    from cutaway.training.prepare import Prepared

WARM = 2  # updates before the clock starts: first calls are slow
LEAST = 3  # updates measured, however long they take
COPIES = 5  # of each parameter: weight, gradient, two moments, moving average
POLL = 0.02  # seconds between two readings of the memory in use


def make_probe(config: "RunConfig", seconds: float) -> "Probe":
    """A probe that trains the model of these settings for about so many seconds."""

    def probe(train: "EncodedPairs", source: "Tokenizer", target: "Tokenizer | None") -> "Forecast":
        from cutaway.corpus.check import Forecast
        from cutaway.training.environment import choose_device
        from cutaway.training.interrupts import Interrupts
        from cutaway.training.loop import Trainer
        from cutaway.training.processes import Processes

        prepared, size = _prepared(config, train, source, target)
        device = choose_device(config.train)
        with _Memory(device.type) as memory:
            trainer = Trainer(
                prepared,
                replace(config, train=replace(config.train, log_every=1_000_000)),
                processes=Processes(),
                device=device,
                watch=lambda event: None,
                interrupts=Interrupts(),
            )
            work = trainer.work()
            tokens = updates = 0
            begun = time.perf_counter()
            try:
                for number, (batches, cursor, _) in enumerate(work):
                    if number == WARM:
                        begun = time.perf_counter()
                    trainer.update(batches, cursor)
                    if number >= WARM:
                        updates += 1
                        tokens += sum(batch.tokens for batch in batches)
                    spent = time.perf_counter() - begun
                    done = trainer.progress.update >= trainer.updates
                    if (updates >= LEAST and spent >= seconds) or done:
                        break
            finally:
                work.close()
        parameters = sum(p.numel() for p in trainer.model.parameters())
        speed = max(tokens, 1) / max(spent, 1e-9)
        a_pass = int(train.lengths[:, 1].sum(dtype="int64")) - len(train)  # <start> is given
        return Forecast(
            model=size,
            parameters=parameters,
            device=_device(device.type),
            tokens_per_second=speed,
            epochs=round(trainer.updates / trainer.updates_per_epoch),
            updates=trainer.updates,
            seconds=trainer.updates / trainer.updates_per_epoch * a_pass / speed,
            state_bytes=4 * COPIES * parameters,
            peak_bytes=memory.peak,
            probed_updates=updates,
        )

    return probe


def _prepared(
    config: "RunConfig", train: "EncodedPairs", source: "Tokenizer", target: "Tokenizer | None"
) -> "tuple[Prepared, str]":
    from cutaway.training.prepare import Prepared, chosen_preset, model_settings

    size = str(config.model.get("preset") or chosen_preset(len(train)))
    model = model_settings(config, len(train), source, target, (), None, [])
    prepared = Prepared(
        task="translate",
        train=train,
        rows=[],
        validation=None,
        validation_rows=[],
        tokenizer=source,
        target_tokenizer=target,
        labels=(),
        languages=None,
        model=model,
        start=None,
    )
    return prepared, size


def _device(kind: str) -> str:
    import torch

    return f"cpu, {torch.get_num_threads()} threads" if kind == "cpu" else kind


class _Memory:
    """The most memory taken while entered, beyond what was in use at the start."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Memory":
        self._before = resident_bytes()
        if self.device == "cuda":
            import torch

            torch.cuda.reset_peak_memory_stats()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        if self.device == "cuda":
            import torch

            self.peak = torch.cuda.max_memory_allocated()

    def _watch(self) -> None:
        while not self._done.wait(POLL):
            self.peak = max(self.peak, resident_bytes() - self._before)

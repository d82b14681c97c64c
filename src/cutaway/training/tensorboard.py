"""TensorBoard event files with the curves of log.jsonl; needs the extra `tensorboard`."""

from pathlib import Path
from typing import Any

from cutaway.errors import ConfigError
from cutaway.training.events import Event, Updated, Validated, Watch


def tensorboard_watcher(folder: Path) -> Watch:
    """A watcher that writes TensorBoard's event files into a folder."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError(
            "train.tensorboard is true but tensorboard is not installed; "
            "run pip install 'cutaway[tensorboard]', or leave it out"
        ) from None
    writer: Any = SummaryWriter(str(folder))

    def watch(event: Event) -> None:
        values: dict[str, float] = {}
        if isinstance(event, Updated):
            values = {
                "loss": event.loss,
                "rate": event.rate,
                "norm": event.norm,
                "tokens_per_second": event.tokens_per_second,
            }
        elif isinstance(event, Validated):
            values = {f"validation/{name}": value for name, value in event.metrics.items()}
        for name, value in values.items():
            writer.add_scalar(name, value, getattr(event, "update", 0))
        if values:
            writer.flush()

    return watch

"""How much memory recording an update takes, and how much is free."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from cutaway.config import ModelConfig
from cutaway.system.processes import available_bytes
from cutaway.training.objective import TaskBatch

UNKNOWN = 4 << 30  # assumed to be free where the system does not say
SHARE = 0.7  # of the free memory that a recording may take


class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of every result within the block; the computation itself is unchanged."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled within the block: torch need not import Dynamo to guard it."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        read = {tensor.untyped_storage()._cdata for tensor in _tensors(args)}
        if func._schema.is_mutable:  # a recorder copies what is overwritten
            results = list(_tensors(args[:1]))
        else:
            results = [t for t in _tensors(result) if t.untyped_storage()._cdata not in read]
        self.bytes += sum(tensor.numel() * tensor.element_size() for tensor in results)
        return result


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part)]
    return []


def recording_bytes(counted: int, questions: list[TaskBatch], config: ModelConfig) -> int:
    """About what a recording of an update holds, from what the update itself computed.

    The explicit body of attention adds about twelve float32 matrices per head; operations on lists
    of tensors are taken apart, which adds a tenth of everything.
    """
    cells = 0
    for question in questions:
        batch, source = question.source.shape
        target = question.target.shape[1] if question.target is not None else 0
        if config.family == "encoder-decoder":
            layers = config.encoder_layers * source**2
            layers += config.decoder_layers * (target**2 + target * source)
        else:
            layers = max(config.encoder_layers, config.decoder_layers) * source**2
        cells += batch * config.heads * layers
    return int(1.1 * counted) + 12 * 4 * cells


def free_bytes() -> int:
    """How much a recording may take on this machine."""
    return int(SHARE * (available_bytes() or UNKNOWN))

"""Tensors of which a process may hold only a part (FSDP); most often it holds all."""

from torch import Tensor


def local(tensor: Tensor) -> Tensor:
    """The part of a tensor that this process holds: all of it, unless sharded."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, gathered from the processes that hold its parts."""
    gather = getattr(tensor, "full_tensor", None)
    return tensor if gather is None else gather()


def shaped_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A full tensor on the parameter's device, cut into the parameter's shards if it has any."""
    tensor = tensor.to(parameter.device, parameter.dtype)
    if not is_sharded(parameter):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(
        tensor,
        parameter.device_mesh,  # type: ignore[attr-defined]
        parameter.placements,  # type: ignore[attr-defined]
        src_data_rank=None,
    )


def is_sharded(tensor: Tensor) -> bool:
    """Whether a tensor is a DTensor; asked by its methods, for their module takes long to load."""
    return hasattr(tensor, "full_tensor")

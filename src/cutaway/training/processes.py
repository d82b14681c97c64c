"""One process or many: the same loop, with sums over all processes where it needs them.

`torchrun` sets RANK, WORLD_SIZE and LOCAL_RANK; without it there is one process. DDP keeps a copy
of the model in each process, FSDP2 a shard. Two processes give, bit for bit, what one gives that
accumulates two batches: dropout depends on the batch alone, and a sum of two has no order.
"""

import gc
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, nn

from cutaway.training.objective import Objective
from cutaway.training.rendezvous import agree_on_prefix

PATIENCE = timedelta(hours=2)  # how long the others wait while the first one validates


def wide(device: torch.device) -> torch.dtype:
    """The widest float of a device: MPS has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


@dataclass
class Processes:
    """This process's rank among the processes of a run, and what they compute together."""

    rank: int = 0
    world: int = 1
    parallel: str = "ddp"

    @classmethod
    def join(cls, parallel: str, device_type: str) -> "Processes":
        """Join the process group that torchrun started; a single process without it."""
        world = int(os.environ.get("WORLD_SIZE", "1"))
        if world == 1:
            return cls(parallel=parallel)
        import torch.distributed as dist

        if not dist.is_initialized():
            from torch._C._distributed_c10d import PrefixStore
            from torch.distributed.rendezvous import rendezvous

            backend = "nccl" if device_type == "cuda" else "gloo"
            store, rank, world = next(rendezvous("env://", timeout=PATIENCE))
            prefix = agree_on_prefix(store, rank, world, PATIENCE.total_seconds() / 4)
            dist.init_process_group(
                backend,
                store=PrefixStore(prefix, store),
                rank=rank,
                world_size=world,
                timeout=PATIENCE,
            )
        return cls(
            rank=dist.get_rank(),
            world=world,
            parallel=parallel,
        )

    def leave(self) -> None:
        """Leave the process group.

        Whoever holds it last waits for its threads, and these for the interpreter: a wrapped model
        that was freed later has been seen to wait for ever, once in many runs.
        """
        import torch.distributed as dist

        if self.world > 1 and dist.is_initialized():
            gc.collect()
            dist.destroy_process_group()

    @property
    def first(self) -> bool:
        """Whether this process writes, validates and reports."""
        return self.rank == 0

    @property
    def sharded(self) -> bool:
        """Whether each process holds only a part of the weights."""
        return self.world > 1 and self.parallel == "fsdp"

    @property
    def gradient_scale(self) -> float:
        """Factor from a reduced gradient to the sum over processes: DDP and FSDP average."""
        return float(self.world)

    def wrap(self, objective: Objective, device: torch.device) -> nn.Module:
        """The module whose backward also sums gradients over processes."""
        if self.world == 1:
            return objective
        if self.parallel == "ddp":
            from torch.nn.parallel import DistributedDataParallel

            return DistributedDataParallel(
                objective, device_ids=[device.index] if device.type == "cuda" else None
            )
        from torch.distributed.fsdp import fully_shard

        for side in (objective.model.encoder, objective.model.decoder):
            for layer in side.layers if side is not None else ():
                fully_shard(layer)
        fully_shard(objective)
        return objective

    def accumulating(self, wrapped: nn.Module, more: bool) -> AbstractContextManager[object]:
        """While more batches of the update follow, gradients stay in this process."""
        if self.world == 1:
            return nullcontext()
        if self.parallel == "ddp":
            return wrapped.no_sync() if more else nullcontext()  # type: ignore[operator]
        wrapped.set_requires_gradient_sync(not more)  # type: ignore[operator]
        return nullcontext()

    def totals(self, values: Iterable[float], device: torch.device) -> list[float]:
        """Each value summed over all processes, in float64."""
        if self.world == 1:
            return list(values)
        import torch.distributed as dist

        tensor = torch.tensor(list(values), dtype=wide(device), device=device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def summed(self, tensor: Tensor) -> Tensor:
        """A tensor that each process has a part of, summed where the weights are sharded."""
        if not self.sharded:
            return tensor
        import torch.distributed as dist

        dist.all_reduce(tensor)
        return tensor

    def gathered(self, numbers: Sequence[int], device: torch.device) -> list[int]:
        """The numbers from 0 up of every process, in the order of processes."""
        if self.world == 1:
            return list(numbers)
        import torch.distributed as dist

        longest = torch.tensor([len(numbers)], device=device)
        dist.all_reduce(longest, op=dist.ReduceOp.MAX)
        mine = torch.full((int(longest),), -1, dtype=torch.int64, device=device)
        mine[: len(numbers)] = torch.tensor(numbers, dtype=torch.int64, device=device)
        rows = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(rows, mine)
        return [number for row in rows for number in row.tolist() if number >= 0]

    def disagree(self, values: Mapping[str, str], device: torch.device) -> list[str]:
        """Names whose value is not the same in every process; the same answer in all of them."""
        if self.world == 1:
            return []
        import torch.distributed as dist

        digests = [
            int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) for text in values.values()
        ]
        least = torch.tensor(digests, device=device)
        most = least.clone()
        dist.all_reduce(least, op=dist.ReduceOp.MIN)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        same = (least == most).tolist()
        return [name for name, equal in zip(values, same, strict=True) if not equal]

    def shared(self, values: dict[str, float], device: torch.device) -> dict[str, float]:
        """The first process's values in every process; as JSON text, never pickled."""
        if self.world == 1:
            return values
        import torch.distributed as dist

        text = json.dumps(values).encode() if self.first else b""
        length = torch.tensor([len(text)], device=device)
        dist.broadcast(length, src=0)
        letters = torch.zeros(int(length), dtype=torch.uint8, device=device)
        if self.first:
            letters.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
        dist.broadcast(letters, src=0)
        return dict(json.loads(bytes(letters.cpu().tolist())))

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Every tensor in full; all processes must call this together."""
        if self.world == 1 or self.parallel == "ddp":
            return dict(tensors)
        from torch.distributed.tensor import DTensor

        return {
            name: tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            for name, tensor in tensors.items()
        }

    def wait(self) -> None:
        """Wait until every process has called this."""
        if self.world > 1:
            import torch.distributed as dist

            dist.barrier()

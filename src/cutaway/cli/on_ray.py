"""Work in shards on a Ray cluster: Ray Data places it and starts it again where a worker dies."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Protocol

from cutaway.errors import CutawayError, DataError, InputError

LOCAL = "local"


class Numbered(Protocol):
    """A shard: a dataclass of whole numbers, one of which is its own."""

    @property
    def number(self) -> int:
        """Its place in the order."""
        ...


Work = Callable[[Any], int]  # writes the answer of a shard, and counts what it wants to count
Run = Callable[[Work, Sequence[Numbered]], int]  # has all shards answered; the sum of the counts


class Worker:
    """Rows of a table → shards → what the work says of each; made once in each process."""

    def __init__(self, work: Work, kind: type[Any]) -> None:
        self.work = work
        self.kind = kind

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Columns of the shards' fields in; columns number, count and error out."""
        columns = [batch[field.name] for field in fields(self.kind)]
        said: dict[str, list[Any]] = {"number": [], "count": [], "error": []}
        for row in zip(*columns, strict=True):
            shard = self.kind(*map(int, row))
            count, error = 0, ""
            try:
                count = self.work(shard)
            except CutawayError as refused:  # not to be tried again: the input is at fault
                error = str(refused)
            for name, value in (("number", shard.number), ("count", count), ("error", error)):
                said[name].append(value)
        return said


def require_ray() -> Any:
    """The package, or how to get it."""
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InputError("ray is not installed; run: pip install 'cutaway[ray]'") from None
    return ray


def run_on_ray(
    work: Work,
    shards: Sequence[Any],
    *,
    address: str,  # of a cluster; "local": processes of this machine
    workers: int | None = None,  # None: one per processor of the cluster
) -> int:
    """Have every shard answered on a cluster; the first that is refused ends it."""
    ray = require_ray()
    if not shards:
        return 0
    try:
        ray.init(
            address=None if address == LOCAL else address,
            log_to_driver=False,
            configure_logging=False,
            include_dashboard=False if address == LOCAL else None,
        )
    except Exception as error:  # Ray raises whatever it likes, Exception itself among it
        reason = str(error).strip().partition("\n")[0]
        way = (
            "try again, or leave --ray out"
            if address == LOCAL
            else ("start one with `ray start --head`, or give --ray local")
        )
        raise InputError(f"--ray {address}: no cluster answers ({reason}); {way}") from None
    logging.getLogger("ray.data").setLevel(logging.WARNING)  # or it tells of every step
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        count = workers or int(ray.cluster_resources().get("CPU", 1))
        rows = ray.data.from_items(
            [asdict(shard) for shard in shards], override_num_blocks=len(shards)
        ).map_batches(
            Worker,
            fn_constructor_args=(work, type(shards[0])),
            batch_size=1,
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=count),
        )
        total = 0
        for row in rows.iter_rows():
            if row["error"]:
                raise DataError(row["error"])
            total += row["count"]
        return total
    finally:
        ray.shutdown()

"""Search for any number of sources: batches by token budget, near ties decoded alone.

Sums of floating-point numbers depend on their order, and their order on the shape of the batch.
So a choice closer than the arithmetic is exact is not made in a batch: that sentence is decoded
again alone, always in the same shape. The tokens are then the same whatever the batch was.
"""

from collections.abc import Iterable, Iterator, Sequence

from cutaway.config import DecodeOptions
from cutaway.decode.beam import beam_search
from cutaway.decode.engine import TOKENS
from cutaway.decode.greedy import greedy_search
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.decode.stepper import MakeSteps
from cutaway.decode.tasks import Special, Task
from cutaway.errors import InputError
from cutaway.model import Transformer
from cutaway.training.side_by_side import each_in_a_thread


def search(
    model: Transformer,
    tasks: Sequence[Task],
    options: DecodeOptions,
    special: Special,
    *,
    tokens: int = TOKENS,
    tree: bool = False,
    steps: MakeSteps | None = None,  # None: the model's own
) -> list[SearchResult]:
    """The hypotheses of each task, best first, in the order of the tasks."""
    wanted = [
        Task(task.source, _until(task.prefix, special.end), sample, task.longest)
        for task in tasks
        for sample in range(options.n_best if options.sample else 1)
    ]
    found: dict[Task, SearchResult] = {}
    # Coverage hangs hooks on the model, which threads would share.
    together = next(model.parameters()).device.type == "cpu" and options.coverage_penalty == 0
    batches = list(by_budget(dict.fromkeys(wanted), tokens // options.beam))
    batches.reverse()  # the longest first: the last ones end at about the same time

    def work(batch: list[Task]) -> list[SearchResult]:
        results = _search_batch(model, batch, options, special, tree, steps)
        for place, task in enumerate(batch):
            if results[place].near_tie and len(batch) > 1:
                (results[place],) = _search_batch(model, [task], options, special, tree, steps)
            if not results[place].hypotheses:
                raise InputError(
                    "the model gives no probabilities (NaN) for this text; its weights are damaged "
                    "or too large: get the folder again from a good source"
                )
        return results

    answers = each_in_a_thread(work, batches) if together else map(work, batches)
    for batch, results in zip(batches, answers, strict=True):
        found.update(zip(batch, results, strict=True))
    if not options.sample:
        return [found[task] for task in wanted]
    draws = iter(wanted)
    return [_joined([found[next(draws)] for _ in range(options.n_best)]) for _ in range(len(tasks))]


def by_budget(tasks: Iterable[Task], tokens: int) -> Iterator[list[Task]]:
    """Tasks of like length together; rows × longest source within the budget, or one row."""
    batch: list[Task] = []
    for task in sorted(tasks, key=_length):
        if batch and (len(batch) + 1) * _length(task) > tokens:
            yield batch
            batch = []
        batch.append(task)
    if batch:
        yield batch


def _until(prefix: tuple[int, ...], end: int) -> tuple[int, ...]:
    """The forced prefix up to <end>."""
    return prefix[: prefix.index(end) + 1] if end in prefix else prefix


def _length(task: Task) -> int:
    return max(len(task.source or ()), len(task.prefix) + 1)


def _search_batch(
    model: Transformer,
    batch: list[Task],
    options: DecodeOptions,
    special: Special,
    tree: bool,
    steps: MakeSteps | None,
) -> list[SearchResult]:
    if options.beam == 1 and not tree:
        return greedy_search(model, batch, options, special, steps=steps)
    return beam_search(model, batch, options, special, tree=tree, steps=steps)


def _joined(results: Sequence[SearchResult]) -> SearchResult:
    """Several samples for one source, the best first."""
    drawn: list[Hypothesis] = [result.hypotheses[0] for result in results]
    return SearchResult(sorted(drawn, key=lambda hypothesis: -hypothesis.score))

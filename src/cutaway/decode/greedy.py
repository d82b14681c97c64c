"""Greedy decoding and sampling: the most probable token at each step, or a random one.

y_t = argmax P(y | y_<t, source), until <end>
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from cutaway.config import DecodeOptions
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.decode.next_token import allowed, draw, tolerance, uniform
from cutaway.decode.stepper import MakeSteps, Stepper
from cutaway.decode.tasks import Ids, Special, Task
from cutaway.model import Transformer

KEEP = 0.75  # finished rows leave the batch when at most this share is unfinished


class _Path:
    """One row's output while it grows."""

    def __init__(self, prefix: Ids, limit: int) -> None:
        self.prefix = prefix
        self.limit = limit
        self.ids: list[int] = []
        self.costs: list[float] = []
        self.excess = 0.0  # attention above 1 per source token
        self.near_tie = False
        self.growing = True

    def add(self, token: int, cost: float, end: int) -> None:
        self.ids.append(token)
        self.costs.append(cost)
        self.growing = token != end and len(self.ids) < self.limit

    def result(self, end: int, options: DecodeOptions) -> SearchResult:
        penalised = sum(self.costs) - options.coverage_penalty * self.excess
        hypothesis = Hypothesis(
            ids=tuple(self.ids),
            log_probabilities=tuple(self.costs),
            score=penalised / len(self.ids) ** options.length_penalty,
            finished=self.ids[-1] == end,
        )
        return SearchResult([hypothesis], self.near_tie)


@torch.inference_mode()
def greedy_search(
    model: Transformer,
    tasks: Sequence[Task],
    options: DecodeOptions,
    special: Special,
    *,
    steps: MakeSteps | None = None,  # None: the model's own
) -> list[SearchResult]:
    """One hypothesis per task; it does not depend on the other tasks of the batch."""
    end = special.end
    coverage = options.coverage_penalty > 0
    stepper = steps(tasks, coverage) if steps else Stepper(model, tasks, coverage=coverage)
    margin = tolerance(stepper.dtype)
    paths = [_Path(task.prefix, task.limit(options, model.config.max_length)) for task in tasks]
    active = list(range(len(tasks)))  # which task each row of the batch is

    # What every row is forced to begin with goes in at once; the rest is forced step by step.
    common = min(len(path.prefix) for path in paths)
    common = min(common, min(path.limit for path in paths) - 1)
    first = [[special.start, *path.prefix[:common]] for path in paths]
    log_p = stepper.step(torch.tensor(first, device=stepper.device))  # (R, common + 1, V)
    for place in range(common):
        for row, path in enumerate(paths):
            token = path.prefix[place]
            path.add(token, float(log_p[row, place, token]), end)
    log_p = log_p[:, -1]  # (R, V)
    step = common

    while True:
        forced = {
            place: (token, float(log_p[place, token]))
            for place, row in enumerate(active)
            if step < len(paths[row].prefix)
            for token in [paths[row].prefix[step]]
        }
        open_ = allowed(log_p, [paths[row].ids for row in active], step, options, special)
        if options.sample:
            chosen, costs, close = _drawn(open_, active, tasks, step, options, margin)
        else:
            chosen, costs, close = _best(open_, margin)
        for place, (token, cost) in forced.items():
            chosen[place], costs[place], close[place] = token, cost, False
        excess = stepper.excess().tolist() if options.coverage_penalty > 0 else None
        for place, row in enumerate(active):
            path = paths[row]
            if path.growing:
                path.add(chosen[place], costs[place], end)
                path.near_tie = path.near_tie or close[place]
                path.excess = excess[place] if excess else 0.0
        growing = [place for place, row in enumerate(active) if paths[row].growing]
        if not growing:
            return [path.result(end, options) for path in paths]
        if len(growing) <= KEEP * len(active):
            active = [active[place] for place in growing]
            chosen = [chosen[place] for place in growing]
            stepper.select(torch.tensor(growing, device=stepper.device))
        fed = torch.tensor(chosen, device=stepper.device)
        log_p = stepper.step(fed[:, None])[:, 0]
        step += 1


def _best(open_: Tensor, margin: float) -> tuple[list[int], list[float], list[bool]]:
    """Of each row the most probable token, its log-probability, and whether another is close."""
    top, best = open_.max(1)
    second = open_.scatter_(1, best[:, None], -math.inf).amax(1)
    close: list[bool] = (top - second < margin).tolist()
    return best.tolist(), top.tolist(), close


def _drawn(
    open_: Tensor,
    active: Sequence[int],
    tasks: Sequence[Task],
    step: int,
    options: DecodeOptions,
    margin: float,
) -> tuple[list[int], list[float], list[bool]]:
    """A sampled token for each row; the random number depends on the sentence alone."""
    chances = [uniform(options.seed, tasks[row].key, tasks[row].sample, step) for row in active]
    draws = [draw(open_[place], options, chance, margin) for place, chance in enumerate(chances)]
    return (
        [token for token, _ in draws],
        [float(open_[place, token]) for place, (token, _) in enumerate(draws)],
        [near for _, near in draws],
    )

"""Beam search: the k best hypotheses at each step, and the tree of all that were considered.

keep the k highest Σ log P(y_t | y_<t, source) − coverage; rank finished ones by score
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import torch
from torch import Tensor

from cutaway.config import DecodeOptions
from cutaway.decode.hypothesis import BeamTree, Fate, Hypothesis, SearchResult, TreeNode
from cutaway.decode.next_token import allowed, best_of, sum_tolerance, tolerance
from cutaway.decode.stepper import MakeSteps, Stepper
from cutaway.decode.tasks import Special, Task
from cutaway.model import Transformer


@dataclass(eq=False, slots=True)
class _Node:
    """A hypothesis as its last token and its parent."""

    parent: "_Node | None"
    token: int
    cost: float  # log-probability of the token
    total: float  # of all tokens so far
    penalty: float  # coverage penalty so far
    length: int
    fate: Fate = "pruned"

    @property
    def value(self) -> float:
        """What hypotheses of the same length are ranked by."""
        return self.total - self.penalty

    def chain(self) -> "list[_Node]":
        """From the first token to this one, the root left out."""
        chain: list[_Node] = []
        node: _Node | None = self
        while node is not None and node.length > 0:
            chain.append(node)
            node = node.parent
        return chain[::-1]


# What a hypothesis may go on with: value to rank by, row and node of the parent, token, its
# log-probability, coverage penalty. Only the best become nodes.
_Candidate = tuple[float, int, _Node, int, float, float]
_value = itemgetter(0)


class _Sentence:
    """The beam of one task: open and finished hypotheses, and when to stop."""

    def __init__(
        self, task: Task, limit: int, options: DecodeOptions, special: Special, keep_all: bool
    ) -> None:
        self.task = task
        self.limit = limit
        self.options = options
        self.special = special
        root = _Node(None, special.start, 0.0, 0.0, 0.0, 0, "kept")
        self.growing = [root]
        self.ended: list[_Node] = []
        self.seen: list[_Node] | None = [root] if keep_all else None
        self.near_tie = False

    @property
    def done(self) -> bool:
        return not self.growing

    def score(self, node: _Node) -> float:
        length: float = max(node.length, 1) ** self.options.length_penalty
        return node.value / length

    def advance(self, found: list[_Candidate], margin: float) -> list[int]:
        """Take the best candidates; returns the rows of the parents of what grows on."""
        beam, end = self.options.beam, self.special.end
        found.sort(key=_value, reverse=True)
        candidates = [
            (row, _Node(parent, token, cost, parent.total + cost, penalty, parent.length + 1))
            for _, row, parent, token, cost, penalty in found[: 2 * beam + 1]
        ]
        nodes = [node for _, node in candidates]
        # <end> among the first k has ended; then come the k best that go on.
        for node in nodes[:beam]:
            if node.token == end:
                node.fate = "finished"
                self.ended.append(node)
        open_ended = [(place, node) for place, node in candidates if node.token != end]
        kept = open_ended[:beam]
        for _, node in kept:
            node.fate = "kept"
        if nodes:
            margin = sum_tolerance(margin, nodes[0].value)
        self._note_ties(nodes, [node for _, node in open_ended], margin)
        if self.seen is not None:
            self.seen.extend(nodes)
        self.growing = [node for _, node in kept]
        self._stop(margin)
        return [place for place, _ in kept] if self.growing else []

    def _note_ties(self, nodes: list[_Node], open_ended: list[_Node], margin: float) -> None:
        """Whether two candidates are so close that rounding could swap them."""
        beam, end = self.options.beam, self.special.end
        if len(open_ended) > beam:
            gap = open_ended[beam - 1].value - open_ended[beam].value
            self.near_tie = self.near_tie or gap < margin
        if len(nodes) > beam:
            for rank, node in enumerate(nodes):
                if node.token == end:
                    border = nodes[beam if rank < beam else beam - 1].value
                    self.near_tie = self.near_tie or abs(node.value - border) < margin

    def _stop(self, margin: float) -> None:
        """Stop growing at the limit, at k ended ones, or when nothing can still win."""
        if not self.growing:
            return
        if self.growing[0].length >= self.limit:
            for node in self.growing:
                node.fate = "truncated"
            self.ended.extend(self.growing)
            self.growing = []
            return
        if len(self.ended) >= self.options.beam:
            self.growing = []
            return
        if len(self.ended) >= self.options.n_best:
            scores = sorted((self.score(node) for node in self.ended), reverse=True)
            # No token can raise the sum, and no length can divide it by more than the limit's.
            hope = self.growing[0].value / self.limit**self.options.length_penalty
            ahead = scores[self.options.n_best - 1] - hope
            self.near_tie = self.near_tie or abs(ahead) < margin
            if ahead > 0:
                self.growing = []

    def result(self, margin: float) -> SearchResult:
        """The best finished hypotheses, complete ones before those cut off."""
        ranked = sorted(self.ended, key=lambda node: (node.fate != "finished", -self.score(node)))
        wanted = self.options.n_best
        for first, second in pairwise(ranked[: wanted + 1]):
            least = sum_tolerance(margin, self.score(first))
            if first.fate == second.fate and self.score(first) - self.score(second) < least:
                self.near_tie = True
        hypotheses = [
            Hypothesis(
                ids=tuple(step.token for step in node.chain()),
                log_probabilities=tuple(step.cost for step in node.chain()),
                score=self.score(node),
                finished=node.fate == "finished",
            )
            for node in ranked[:wanted]
        ]
        tree = None if self.seen is None else self._tree(self.seen, ranked[0])
        return SearchResult(hypotheses, self.near_tie, tree)

    def _tree(self, seen: list[_Node], best: _Node) -> BeamTree:
        number = {id(node): place for place, node in enumerate(seen)}
        return BeamTree(
            beam=self.options.beam,
            nodes=tuple(
                TreeNode(
                    number=place,
                    parent=None if node.parent is None else number[id(node.parent)],
                    step=node.length,
                    token=node.token,
                    log_probability=node.cost,
                    total=node.total,
                    score=self.score(node),
                    fate=node.fate,
                )
                for place, node in enumerate(seen)
            ),
            best=number[id(best)],
        )


@torch.inference_mode()
def beam_search(
    model: Transformer,
    tasks: Sequence[Task],
    options: DecodeOptions,
    special: Special,
    *,
    tree: bool = False,
    steps: MakeSteps | None = None,  # None: the model's own
) -> list[SearchResult]:
    """The best hypotheses of each task; they do not depend on the other tasks of the batch."""
    coverage = options.coverage_penalty > 0
    stepper = steps(tasks, coverage) if steps else Stepper(model, tasks, coverage=coverage)
    margin = tolerance(stepper.dtype)
    sentences = [
        _Sentence(task, task.limit(options, model.config.max_length), options, special, tree)
        for task in tasks
    ]
    active = sentences
    fed = [[special.start]] * len(tasks)
    step = 0
    while active:
        log_p = stepper.step(torch.tensor(fed, device=stepper.device))[:, 0]  # (R, V)
        outputs = [
            [node.token for node in beginning.chain()] if options.no_repeat else []
            for sentence in active
            for beginning in sentence.growing
        ]
        forced = _forced(log_p, active, step)
        open_ = allowed(log_p, outputs, step, options, special)
        values, tokens = best_of(open_, min(2 * options.beam + 1, open_.shape[1]))
        costs, choices = values.tolist(), tokens.tolist()
        penalties = (
            (stepper.excess() * options.coverage_penalty).tolist()
            if options.coverage_penalty > 0
            else [0.0] * len(costs)
        )
        before = [len(sentence.growing) for sentence in active]
        rows: list[int] = []
        row = 0  # the first of the sentence's rows
        for sentence in active:
            candidates: list[_Candidate] = []
            for place, parent in enumerate(sentence.growing, start=row):
                pairs = forced.get(place) or zip(choices[place], costs[place], strict=True)
                penalty = penalties[place]
                candidates += [
                    (parent.total + cost - penalty, place, parent, token, cost, penalty)
                    for token, cost in pairs
                    if cost > -math.inf
                ]
            row += len(sentence.growing)
            rows += sentence.advance(candidates, margin)
        sizes = [len(sentence.growing) for sentence in active]
        active = [sentence for sentence in active if not sentence.done]
        fed = [[node.token] for sentence in active for node in sentence.growing]
        if active and rows != list(range(len(costs))):
            stepper.select(torch.tensor(rows, device=stepper.device), same_sources=sizes == before)
        step += 1
    return [sentence.result(margin) for sentence in sentences]


def _forced(
    log_p: Tensor, active: Sequence[_Sentence], step: int
) -> dict[int, list[tuple[int, float]]]:
    """Of each row that must go on as its task says: the token and its log-probability."""
    found: dict[int, list[tuple[int, float]]] = {}
    row = 0
    for sentence in active:
        for place in range(row, row + len(sentence.growing)):
            if step < len(sentence.task.prefix):
                token = sentence.task.prefix[step]
                found[place] = [(token, float(log_p[place, token]))]
        row += len(sentence.growing)
    return found

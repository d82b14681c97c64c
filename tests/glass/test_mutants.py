"""Every rule with one place changed: the proof must fail."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from cutaway.glass.evaluator import evaluate
from cutaway.glass.prove import judge
from cutaway.glass.rules import Rule
from cutaway.glass.values import Value
from tests.glass.cases import CASES, Source
from tests.glass.mutants import mutants
from tests.glass.test_rules import run

Array = NDArray[Any]

SIZES = [(3, 5, 7), (5, 2, 3), (7, 3, 2), (2, 7, 5)]

# Changes that leave every result as it is; a mutant is named "operation output path: change".
EQUIVALENT: list[tuple[str, str]] = [
    (r"(softmax|logsumexp) 0 let 2 max", "the shift of a softmax cancels"),
    (r"logsumexp 0 let 3 let 2 where 2", "the shift of a softmax cancels"),
    (r"abs 1 sub: operands exchanged", "|a − b| = |b − a|"),
    (r"sum 2 mul [12] sub", "Σ(x − m) = 0: the other factor may be shifted"),
    (r"mod 1 sub: operands exchanged", "a − b and b − a have the same divisors"),
    (r"at 3: constant|argmax 2 where 3: constant", "read only where nothing matches"),
    (r"roll 0 .*(constant|to sub)", "whole turns"),
    (r"huber_loss_backward 0 .* where 3 mul: to div", "a sign is its own inverse"),
]

# What no recorded operation contradicts though another one would: (pattern, reason).
ALIVE: list[tuple[str, str]] = [
    (r"^convolution 0 sum 2 where 1 and [12] eq 1 mod 1 sub 1 add", "padding a multiple of stride"),
    (r"^(copy|index_put) 0 .*at 2 2: another cell", "only constant cells are met on a third axis"),
    (r"^ne 0 ne 2 at", "a comparison with equal cells"),
    (r"^masked_scatter 0 .* mod 2: constant", "no place beyond the first axis is met"),
    (r"^slice_backward 0 .* sub: to add", "slices that begin at 1 with a step of 3"),
    (r"^isin 0 ", "float32 does not draw a number that is found"),
]


def name_of(value: Value, path: tuple[object, ...], change: str) -> str:
    operation = value.op.split(".")[1].rstrip("_")
    return f"{operation} {value.output} {' '.join(map(str, path))}: {change}"


def survivors(dtype: torch.dtype, cases: list[str]) -> tuple[int, list[str]]:
    """How many changes were tried, and those that no recorded operation contradicts."""
    dead: set[str] = set()
    alive: set[str] = set()
    done: set[tuple[object, ...]] = set()  # of which every change is dead
    for seed, sizes in enumerate(SIZES):
        for case in cases:
            for value, rule, operands, held in computed(case, seed, sizes, dtype):
                shapes = tuple(each.shape for each in operands)
                met = (value.op, value.output, rule.arithmetic, shapes)
                if met in done:
                    continue
                changes = list(mutants(rule.arithmetic, shapes))
                names = [name_of(value, path, change) for path, change, _ in changes]
                for name, (_, _, made) in zip(names, changes, strict=True):
                    if name in dead:
                        continue
                    expr = made()
                    try:
                        found = evaluate(expr, operands, value.shape).astype(np.float64)
                        changed = replace(rule, expr=expr)
                        wrong, _ = judge(changed, value.op, operands, held, found, value.dtype)
                    except (ValueError, IndexError, TypeError, ZeroDivisionError):
                        killed = True  # no such cell
                    else:
                        killed = bool(wrong.any())
                    (dead if killed else alive).add(name)
                if dead.issuperset(names):
                    done.add(met)
    return len(dead | alive), sorted(alive - dead)


def computed(
    case: str, seed: int, sizes: tuple[int, ...], dtype: torch.dtype
) -> Iterator[tuple[Value, Rule, list[Array], Array]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = run(case, Source(seed, ("plain",), sizes, dtype=dtype))
    for value in trace:
        rule, args = trace.rule(value)
        if rule.expr is not None and value.origin == "call" and value.cells:
            operands = [trace.values[place].array() for place in args]
            yield value, rule, operands, value.array().astype(np.float64)


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, pytest.param(torch.float32, marks=pytest.mark.interop)],
    ids=["float64", "float32"],
)
def test_a_rule_changed_in_one_place_is_caught(dtype: torch.dtype) -> None:
    tried, left = survivors(dtype, list(CASES))
    known = EQUIVALENT + ALIVE
    unexpected = [name for name in left if not any(re.search(p, name) for p, _ in known)]
    assert not unexpected
    same = [name for name in left if any(re.search(p, name) for p, _ in EQUIVALENT)]
    killed = tried - len(left)
    print(f"{tried} changes: {killed} caught, {len(same)} change no result, "
          f"{len(left) - len(same)} not met by any case")  # fmt: skip
    assert killed >= 0.99 * (tried - len(same))
    assert tried > 3000

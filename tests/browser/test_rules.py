"""The page's rule language is Python's: every operation on the same numbers."""

import json
import math
import random
from importlib import resources
from typing import Any

import numpy as np
import pytest

from cutaway.glass.evaluator import evaluate
from cutaway.glass.wire import from_json
from tests.browser.conftest import Watched

pytestmark = pytest.mark.browser

# fmt: off
UNARY = [
    "neg", "abs", "sign", "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "recip", "sin",
    "cos", "tan", "tanh", "sigmoid", "erf", "floor", "ceil", "trunc", "round", "isnan", "not",
]
BINARY = [
    "add", "mul", "sub", "div", "pow", "maximum", "minimum", "atan2", "idiv", "mod", "fmod",
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor",
]
# fmt: on
NUMBERS = [-2.5, -1.0, -0.3, 0.0, 0.5, 1.0, 1.5, 2.5, 3.7, 40.0]
WHOLE = [-7, -1, 0, 1, 2, 5, 12]
EDGES: list[Any] = [["inf"], ["-inf"], ["nan"]]


def expressions() -> list[Any]:
    """Every operation on many numbers; reductions, lookups, choices and names on operands."""
    x, y = ["at", 0, ["i0", "i1"]], ["at", 1, ["i1"]]
    row = ["at", 0, ["i0", "k"]]
    found: list[Any] = [[op, a] for op in UNARY for a in NUMBERS]
    found += [["erf", n / 7] for n in range(-40, 41)]
    found += [[op, a, b] for op in BINARY for a in NUMBERS for b in (-2.0, 0.5, 3.0)]
    found += [[op, a, b] for op in ("bitand", "bitor", "bitxor") for a in WHOLE for b in (0, 3, 6)]
    found += [
        [op, e, 1.5] for op in ("add", "mul", "maximum", "minimum", "eq", "lt") for e in EDGES
    ]
    found += [["cast", kind, a] for kind in ("int64", "bool", "float32") for a in NUMBERS]
    found += [["add", 1, 2, x], ["mul", 2, x, y], ["where", ["gt", x, 0], x, ["neg", y]]]
    found += [[op, [["k", 4]], row] for op in ("sum", "prod", "max", "min")]
    found += [["sum", [["a", 3], ["b", 4]], ["mul", ["at", 0, ["a", "b"]], ["at", 1, ["b"]]]]]
    found += [["sum", [["k", 4]], ["where", ["gt", row, 0], row, 0]]]
    found += [[op, [["k", 4]], row, ["mul", "k", 10]] for op in ("argmax", "argmin")]
    for order in ("largest", "smallest"):
        found += [["kth", [["k", 4]], row, n, order] for n in range(4)]
        found += [["argkth", [["k", 4]], row, n, order, "k"] for n in range(4)]
    found += [["let", "m", ["max", [["k", 4]], row], ["exp", ["sub", x, "m"]]]]
    found += [["at", 0, [["at", 2, ["i0"]], "i1"]]]
    found += [["at", 0, [["sub", "i0", 1], "i1"], -9.0]]
    return found


def number(text: Any) -> float:
    return float(text) if text is not None else math.nan


def test_every_operation_gives_what_python_gives(watched: Watched) -> None:
    generator = random.Random(11)
    operands = [
        np.array([[generator.uniform(-2, 2) for _ in range(4)] for _ in range(3)]),
        np.array([generator.uniform(-2, 2) for _ in range(4)]),
        np.array([2, 0, 1]),
    ]
    found = expressions()
    watched.page.route(
        "http://page.test/**",
        lambda route: route.fulfill(
            content_type="text/javascript" if route.request.url.endswith(".js") else "text/html",
            body=resources.files("cutaway")
            .joinpath("web", route.request.url.rsplit("/", 1)[-1])
            .read_text("utf-8")
            if route.request.url.endswith(".js")
            else "<!doctype html>",
        ),
    )
    watched.page.goto("http://page.test/")
    theirs = json.loads(
        watched.page.evaluate(
            """async ([expressions, operands]) => {
              const { evaluate } = await import('http://page.test/rules.js');
              const { rowMajor } = await import('http://page.test/layout.js');
              const args = operands.map(({ shape, cells }) => ({
                shape, offset: 0, strides: rowMajor(shape), cell: (n) => cells[n] }));
              const out = [];
              for (const expr of expressions) for (const index of [[0, 0], [1, 2], [2, 3]])
                out.push(String(evaluate(expr, index, args)));
              return JSON.stringify(out);
            }""",
            [found, [{"shape": list(a.shape), "cells": a.flatten().tolist()} for a in operands]],
        )
    )
    place = 0
    for expr in found:
        for index in ((0, 0), (1, 2), (2, 3)):
            ours = python(expr, index, operands)
            page = number(theirs[place].replace("Infinity", "inf"))
            place += 1
            agree = (math.isnan(ours) and math.isnan(page)) or ours == page
            if not agree:
                assert abs(ours - page) <= 1e-12 * max(1.0, abs(ours)), (expr, index, ours, page)


def python(expr: Any, index: tuple[int, ...], operands: list[Any]) -> float:
    """The same expression by the evaluator that `explain` and `prove` use."""
    return float(evaluate(from_json(expr), operands, (3, 4))[index])

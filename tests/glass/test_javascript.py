"""Rules are data: the page's evaluator, run by Node, gives what Python gives for every rule."""

import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutaway.glass.bound import UNIT, bound
from cutaway.glass.evaluator import evaluate
from cutaway.glass.html import loaded, web
from cutaway.glass.wire import to_json
from tests.glass.cases import CASES, LAYOUTS, Source
from tests.glass.test_rules import run

SCRIPT = """
import { readFileSync } from "node:fs";
import { bound } from "./bound.js";
import { evaluate } from "./rules.js";
const special = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const number = (x) => (typeof x === "string" ? special[x] : x);
const text = (x) => (Number.isFinite(x) ? x : Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf");
const { operands, cells } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const held = operands.map(({ shape, numbers }) => {
  const strides = new Array(shape.length).fill(1);
  for (let d = shape.length - 2; d >= 0; d--) strides[d] = strides[d + 1] * shape[d + 1];
  const flat = numbers.map(number);
  return { shape, offset: 0, strides, cell: (position) => flat[position] };
});
const one = ({ expr, index, args, dtype, rule, op }) => {
  const operands = args.map((k) => held[k]);
  return [text(evaluate(expr, index, operands)), bound(expr, index, operands, { dtype, rule, op })];
};
const found = cells.map(one);
process.stdout.write(JSON.stringify(found));
"""


def plain(value: float) -> float | str:
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def test_javascript_gives_what_python_gives_for_every_rule(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node on the path")
    draw = random.Random(5)
    operands: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    expected: list[float] = []
    limits: list[float] = []
    names: list[str] = []
    for case in CASES:
        trace = run(case, Source(2, LAYOUTS, (3, 5, 7)))
        numbers: dict[int, int] = {}
        for value in trace:
            rule, args = trace.rule(value)
            if rule.expr is None or not value.cells:
                continue
            inputs = [trace.values[arg] for arg in args]
            for each in inputs:
                if each.id not in numbers:
                    numbers[each.id] = len(operands)
                    flat = each.array().astype(np.float64).flatten().tolist()
                    operands.append({"shape": each.shape, "numbers": [plain(x) for x in flat]})
            index = [draw.randrange(size) for size in value.shape]
            spans = [(place, place + 1) for place in index]
            arrays = [each.array() for each in inputs]
            expected.append(float(evaluate(rule.expr, arrays, value.shape, spans).reshape(())))
            names.append(f"{case}: {value.op} {value.address}{index}")
            places = [numbers[each.id] for each in inputs]
            cells.append(
                {"expr": to_json(rule.expr), "index": index, "args": places, "dtype": value.dtype,
                 "rule": rule.name, "op": value.op}
            )  # fmt: skip
            limit = np.zeros(value.shape)
            if value.dtype in UNIT:
                kind = {"rule": rule.name, "op": value.op}
                limit = bound(rule.expr, arrays, value.shape, value.dtype, **kind)
            limits.append(float(limit[tuple(index)]))
    assert len(cells) > 800
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    for name in loaded("bound"):
        (tmp_path / f"{name}.js").write_text(web(f"{name}.js"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "cells.json").write_text(
        json.dumps({"operands": operands, "cells": cells}, allow_nan=False), encoding="utf-8"
    )
    answer = subprocess.run(
        [node, "run.mjs", "cells.json"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-2000:]
    answers = json.loads(answer.stdout)
    alike = 0
    for name, wanted, most, (found, near) in zip(names, expected, limits, answers, strict=True):
        assert float(found) == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True), name
        if math.isfinite(wanted):
            assert near <= most * (1 + 1e-6), name
            alike += near == pytest.approx(most, rel=1e-6)
    assert alike > 0.9 * len(cells)  # the page knows that small whole numbers add up exactly

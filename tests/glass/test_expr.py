"""The expression language: one walk, one map, one JSON form; formulas that become expressions."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.glass.expr import (
    ARGUMENTS,
    INF,
    NEG_INF,
    Arg,
    At,
    Cast,
    Expr,
    Fold,
    Kth,
    Let,
    Op,
    add,
    at,
    mentions,
    mul,
    op,
    operands,
    renumber,
    rewrite,
    substitute,
    walk,
)
from cutaway.glass.rules.call import Call, Operand, Output
from cutaway.glass.rules.formula import Formula, Row, Scope
from cutaway.glass.wire import from_json, to_json
from cutaway.glass.words import sentences

names = st.sampled_from(["i0", "i1", "k", "m"])
leaves: st.SearchStrategy[Any] = st.one_of(
    st.integers(-9, 9), st.floats(-2, 2), names, st.sampled_from([INF, NEG_INF])
)
ranges = st.lists(st.tuples(names, st.integers(1, 7)), min_size=1, max_size=2).map(tuple)


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    operators = st.sampled_from([head for head, count in ARGUMENTS.items() if count]).flatmap(
        lambda head: st.tuples(*[inner] * ARGUMENTS[head]).map(lambda args: Op(head, args))  # type: ignore[arg-type]
    )
    return st.one_of(
        operators,
        st.builds(Op, st.sampled_from(["add", "mul"]), several),
        st.builds(At, st.integers(0, 3), several, st.none() | inner),
        st.builds(Let, names, inner, inner),
        st.builds(Cast, st.sampled_from(["bool", "int64"]), inner),
        st.builds(Fold, ranges, inner, st.sampled_from(["sum", "max"])),
        st.builds(Arg, ranges, inner, st.sampled_from(["argmax", "argmin"]), inner),
        st.builds(Kth, ranges, inner, inner, st.sampled_from(["largest"]), st.none() | inner),
    )


expressions: st.SearchStrategy[Any] = st.recursive(leaves, grown, max_leaves=12)


@given(expressions)
def test_an_expression_survives_its_json(expr: Expr) -> None:
    read = from_json(json.loads(json.dumps(to_json(expr), allow_nan=False)))
    assert read == expr
    assert hash(read) == hash(expr)
    assert rewrite(expr, lambda node: node) == expr


@given(expressions)
def test_a_walk_meets_every_variable_and_operand_of_the_json(expr: Expr) -> None:
    text = json.dumps(to_json(expr))
    met = {part.operand for part in walk(expr) if isinstance(part, At)}
    assert met == {int(found) for found in re.findall(r'"at", (\d)', text)} == set(operands(expr))
    shifted = renumber(expr, {number: number + 5 for number in range(4)})
    assert set(operands(shifted)) == {number + 5 for number in met}


@given(expressions)
def test_a_substituted_variable_is_gone_and_a_bound_one_stays(expr: Expr) -> None:
    free = substitute(expr, dict.fromkeys(("i0", "i1", "k", "m"), 3))
    if not any(isinstance(part, (Let, Fold, Arg, Kth)) for part in walk(expr)):
        assert not mentions(free, ["i0", "i1", "k", "m"])
    bound = Fold((("k", 4),), add("k", expr), "sum")
    changed = substitute(bound, {"k": 7})
    assert changed == bound


def test_which_one_is_asked_for_lies_outside_a_ranking() -> None:
    ranked = Kth((("k", 5),), at(0, "k"), "k", "largest", "k")
    assert substitute(ranked, {"k": 2}) == Kth((("k", 5),), at(0, "k"), 2, "largest", "k")
    named = Let("m", "m", mul("m", "i0"))
    assert substitute(named, {"m": 5}) == Let("m", 5, mul("m", "i0"))


@pytest.mark.parametrize(
    "damaged",
    [None, [], {}, ["no such"], ["exp"], ["exp", 1, 2], ["add", 1], ["at", "0", []],
     ["let", 1, 2, 3], ["sum", 3, 1], ["kth", [["k", 2]], "k", 0, "middling"],
     ["where", 1, 2], [["exp", 1]]],
)  # fmt: skip
def test_what_is_no_expression_is_refused(damaged: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_json(damaged)


def call(**arguments: Any) -> Call:
    def tensor(place: int, shape: tuple[int, ...]) -> Operand:
        return Operand(place, shape, "float64", lambda: None)

    shaped = [name for name, each in arguments.items() if isinstance(each, tuple)]
    bound = {name: tensor(shaped.index(name), arguments[name]) for name in shaped}
    return Call("aten.none.default", {**arguments, **bound}, [Output((5, 7), "float64")])


def filled(text: str, **arguments: Any) -> Expr:
    made = call(**arguments)
    row = Row((("k", 7),), ("i0", "k"))
    return Formula(text).fill(Scope(made, made.out.index, {"row": row}))


X: Any = {"self": (5, 7)}
HERE = at(0, "i0", "i1")


def test_a_formula_becomes_an_expression() -> None:
    assert filled("0.5*x*(1 + erf(x/sqrt(4)))", **X) == mul(
        0.5, HERE, op("add", 1, op("erf", op("div", HERE, 2)))
    )
    assert filled("a*(b*c)", a=2, b=3, c=5) == mul(2, mul(3, 5))
    assert filled("a - b - c", a=2, b=3, c=5) == op("sub", op("sub", 2, 3), 5)
    assert filled("x if x > -inf else 2**x", **X) == op(
        "where", op("gt", HERE, NEG_INF), HERE, op("pow", 2, HERE)
    )
    there = at(0, "i0", "k")
    assert filled("m = max(x[k] for k in row); exp(x - m)", **X) == Let(
        "m", Fold((("k", 7),), there, "max"), op("exp", op("sub", HERE, "m"))
    )
    mean = op("div", Fold((("k", 7),), op("abs", there), "sum"), 7)
    assert filled("mean(abs(x[k]) for k in row)", **X) == mean


def test_an_argument_that_was_not_given_drops_out() -> None:
    text = "x*weight + bias"
    assert filled(text, **X, weight=None, bias=None) == HERE
    assert filled(text, **X, weight=(7,), bias=None) == mul(HERE, at(1, "i1"))
    assert filled("minimum(maximum(x, min), max)", **X, max=3) == op("minimum", HERE, 3)
    with pytest.raises(ValueError, match="weight was not given"):
        filled("x - weight", **X)


@pytest.mark.parametrize(
    "wrong",
    ["x.data", "f(x)", "exp(x, x)", "x @ x", "x[0]", "import os", "[x]", "x = 1"],
)
def test_what_is_no_formula_is_refused(wrong: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        filled(wrong, **X)


def test_every_language_has_the_same_sentences_with_the_same_places() -> None:
    known = sentences()
    assert {"en", "zh"} <= set(known)
    for language, texts in known.items():
        assert texts.keys() == known["en"].keys(), language
        for rule, text in texts.items():
            places = set(re.findall(r"\{\w+\}", text))
            assert places <= {"{out}", "{n}", "{rule}", "{0}", "{1}", "{2}"}, (language, rule)
            assert ("{n}" in places) == ("{n}" in known["en"][rule]), (language, rule)

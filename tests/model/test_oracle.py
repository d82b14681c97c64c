"""The model against the paper in NumPy, intermediate by intermediate."""

import ast
import inspect
import sys
from typing import Any

import numpy as np
import pytest
import torch

from cutaway.config import ModelConfig
from cutaway.model import explicit
from cutaway.training.loss import smoothed_cross_entropy
from tests.model.probe import watching
from tests.model.samples import FAMILIES, PATTERNS, batch, build, inputs, small
from tests.oracle import Oracle, smoothed_loss

# Names that are another value's second name: what a function was given, and running states.
GIVEN = {"states", "tokens", "memory", "positions", "target", "source", "tied"}


def compare(config: ModelConfig) -> None:
    model = build(config)
    given = inputs(config)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    oracle = Oracle(weights, config)
    expected = oracle.run(*(ids.numpy() for ids in given))
    with torch.no_grad(), explicit(), watching(model) as seen:
        logits = model(*given)
    np.testing.assert_allclose(logits.numpy(), expected, rtol=0, atol=1e-12)
    for address, value in oracle.seen.items():
        np.testing.assert_allclose(seen[address], value, rtol=0, atol=1e-12, err_msg=address)
    unproven = {
        address
        for address in seen.keys() - oracle.seen.keys()
        if address.partition("@")[0].rpartition(".")[2] not in GIVEN | {"output"}
    }
    assert not unproven


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_intermediate_equals_the_papers(family: str, norm: str) -> None:
    compare(small(family=family, norm=norm))


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "gelu"},
        {"tied": "none"},
        {"tied": "output", "target_vocabulary": 29},
        {"head_width": None, "heads": 2},
        {"attention": "local"},
        {"attention": "strided", "family": "decoder"},
        {"attention": "strided", "family": "encoder"},
    ],
    ids=str,
)
def test_the_papers_intermediates_under_other_settings(changes: dict[str, Any]) -> None:
    compare(small(**changes))


def test_the_probe_and_the_oracle_name_the_attention_alike() -> None:
    """The addresses a trace will use, each with the value it has in a hand-checkable case."""
    model = build(small())
    with torch.no_grad(), explicit(), watching(model) as seen:
        model(*inputs(model.config))
    for place in (
        "encoder.layers.1.self_attention",
        "decoder.layers.2.self_attention",
        "decoder.layers.2.cross_attention",
    ):
        scaled = seen[f"{place}.scores"] / np.sqrt(5)
        np.testing.assert_allclose(seen[f"{place}.scaled"], scaled, atol=1e-13)
        for name in ("masked", "softmax", "weights", "context", "concatenated", "output"):
            assert f"{place}.{name}" in seen
    assert seen["embedding.scaled"].shape == (3, 7, 22)
    assert seen["embedding.scaled@2"].shape == (3, 11, 22)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.37])
@pytest.mark.parametrize("attention", PATTERNS)
def test_the_label_smoothed_loss_equals_the_papers(smoothing: float, attention: str) -> None:
    """Mean over real labels of the cross-entropy with the smoothed distribution."""
    config = small(attention=attention)
    model = build(config)
    source, target = inputs(config)
    labels = batch((6, 3, 11), seed=7)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    expected = smoothed_loss(
        Oracle(weights, config).run(source.numpy(), target.numpy()), labels.numpy(), 0, smoothing
    )
    real = labels != 0
    with torch.no_grad():
        states = model.states(source, target)[real]
        loss = smoothed_cross_entropy(model.project(states), labels[real], smoothing).mean()
    assert abs(loss.item() - expected) <= 1e-12


def test_the_oracle_is_independent_of_torch() -> None:
    """Its own imports are the standard library, NumPy and the settings."""
    tree = ast.parse(inspect.getsource(sys.modules[Oracle.__module__]))
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add(node.module or "")
    assert roots == {
        "math",
        "collections.abc",
        "functools",
        "numpy",
        "numpy.typing",
        "cutaway.config",
    }

"""Words along the axes, carried by the rules to everything computed from the labelled inputs."""

from typing import Any

import pytest
import torch

from cutaway import glass
from cutaway.errors import TraceError
from tests.glass.samples import SOURCE, TARGET, forward, model, training_step

WORDS: dict[str, Any] = {
    "source": ["The", "cat", "sat", ".", "</s>"],
    "target": ["<s>", "Le", "chat", "."],
}


def test_words_reach_every_attention() -> None:
    trace = forward(model())
    trace.label(**WORDS)
    axes = {
        "encoder.layers.0.self_attention.weights": ["batch", "head", "source", "source"],
        "decoder.layers.0.self_attention.weights": ["batch", "head", "target", "target"],
        "decoder.layers.1.cross_attention.weights": ["batch", "head", "target", "source"],
        "decoder.layers.1.cross_attention.key": ["batch", "head", "source", None],
        "decoder.layers.1.feed_forward.hidden": ["batch", "target", None],
        "output.logits": ["batch", "target", None],
    }
    for address, expected in axes.items():
        assert trace.value(address).axes == expected, address
    part = trace["decoder.layers.1.cross_attention.weights[0,1]"]
    assert part.axes == ["target", "source"]
    assert part.words == [WORDS["target"], WORDS["source"]]
    assert "target: 4" in repr(part)
    labels = trace.explain("decoder.layers.1.cross_attention.weights[0,1,2,1]").labels
    assert labels == [None, None, "chat", "cat"]


def test_words_reach_the_gradients() -> None:
    made = model()
    trace = training_step(made, torch.optim.SGD(made.parameters(), lr=0.1))
    trace.label(**WORDS)
    assert trace.value("decoder.layers.0.cross_attention.scores.grad").axes == [
        "batch", "head", "target", "source",
    ]  # fmt: skip


def test_patterns_name_further_axes() -> None:
    trace = forward(model())
    trace.label(
        **WORDS,
        vocabulary=[str(place) for place in range(13)],
        axes={"embedding.weight": ["vocabulary", "width"]},
    )
    assert trace.value("output.logits").axes == ["batch", "target", "vocabulary"]
    assert trace.labels["vocabulary"][3] == "3"


class Folded(torch.nn.Module):
    """Rows in pairs: an axis that no input has."""

    recorded_axes = ((None, "pair", None), ("never", "of", "this", "rank"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.stack([x, 2 * x, 3 * x], dim=1)
        return pairs.sum(1)


def test_a_module_declares_names_of_its_axes() -> None:
    x = torch.rand(5, 7)
    with glass.record(Folded()) as trace:
        made = Folded()(x)
    trace.label(x=list("abcdefg"))
    assert trace.value("Folded.pairs").axes == ["batch", "pair", "x"]
    assert made.shape == (5, 7)


def test_a_wrong_number_of_words_is_refused() -> None:
    with pytest.raises(TraceError, match="3 labels for source"):
        forward(model()).label(source=["a", "b", "c"])


def test_labels_may_be_given_while_recording() -> None:
    made = model()
    with torch.no_grad(), glass.record(made, labels=WORDS) as trace:
        made(SOURCE, TARGET)
    assert trace.value("decoder.layers.0.cross_attention.scores").axes is not None


def test_the_tree_shows_modules_values_and_lines() -> None:
    trace = forward(model())
    trace.label(**WORDS)
    lines = trace.tree().splitlines()
    assert "encoder (Encoder)" in lines
    assert any("self_attention (MultiHeadAttention)" in line for line in lines)
    assert any(
        line.strip().startswith("scores  (batch 2, head 2, source 5, source 5)") for line in lines
    )
    assert not any(":" in line for line in lines)
    assert len(trace.tree(intermediates=True).splitlines()) > len(lines)
    assert "feed_forward" not in trace.tree(pattern="*attention*")

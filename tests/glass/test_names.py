"""Names come from the author's own code, and stay where readers learned to find them."""

import torch
from torch import Tensor, nn

from cutaway import glass
from tests.glass.samples import forward, model, training_step

ATTENTION = [
    "query",
    "key",
    "value",
    "scores",
    "scaled",
    "masked",
    "softmax",
    "weights",
    "context",
    "concatenated",
    "output",
]


def names(trace: glass.Trace, path: str) -> list[str]:
    """Variables of a module's first call, in the order they were computed."""
    return [
        value.name
        for value in trace
        if value.path == path
        and value.name is not None
        and value.source is None
        and value.number == 1
    ]


def test_the_names_of_our_model_are_pinned() -> None:
    trace = forward(model())
    for path in (
        "encoder.layers.0.self_attention",
        "decoder.layers.0.self_attention",
        "decoder.layers.1.cross_attention",
    ):
        assert [name for name in names(trace, path) if name != "mask"] == ATTENTION
        assert f"{path}.mask" in trace  # one value for all layers: the same view of the padding
    assert names(trace, "decoder.layers.1.feed_forward") == ["hidden", "activated", "output"]
    assert names(trace, "decoder.layers.1.feed_forward_add_norm") == ["added", "normed"]
    assert names(trace, "embedding") == ["tokens", "scaled"]
    assert names(trace, "output") == ["logits"]
    for address in (
        "source",
        "target",
        "embedding.weight",
        "embedding.scaled@2",
        "encoder.positions.table",
        "encoder.layers.0.self_attention.W_Q.weight",
        "encoder.layers.0.self_attention.W_Q.output",
        "decoder.layers.0.cross_attention.output",
        "decoder.layers.0.feed_forward_add_norm.update",
        "encoder.output",
        "decoder.output",
    ):
        assert address in trace


def test_each_value_knows_the_line_that_computed_it() -> None:
    source = forward(model()).explain("encoder.layers.0.self_attention.scores[0,0,0,0]").source
    assert source is not None
    assert source.file == "cutaway/model/attention.py"
    assert source.statement == "scores = query @ key.transpose(-2, -1)"
    assert source.text.splitlines()[source.line - source.first].strip().startswith("scores = query")


def test_gradients_stand_beside_their_tensors_and_parameters_before_and_after() -> None:
    made = model()
    trace = training_step(made, torch.optim.AdamW(made.parameters(), lr=0.1))
    for address in (
        "loss.grad",
        "output.logits.grad",
        "decoder.layers.0.cross_attention.weights.grad",
        "decoder.layers.0.cross_attention.scores.grad",
        "encoder.layers.0.self_attention.W_K.weight.grad",
        "encoder.layers.0.self_attention.W_K.weight.after",
        "encoder.layers.0.self_attention.W_K.weight.exp_avg",
        "encoder.layers.0.self_attention.W_K.weight.exp_avg.after",
    ):
        assert address in trace, address
        if address.endswith(".grad"):
            assert trace[address].shape == trace[address.removesuffix(".grad")].shape
    weight = "encoder.layers.0.self_attention.W_K.weight"
    parameter = made.get_parameter(weight)
    assert parameter.grad is not None
    assert torch.equal(trace[f"{weight}.after"].tensor, parameter)
    assert not torch.equal(trace[weight].tensor, parameter)
    assert torch.equal(trace[f"{weight}.grad"].tensor, parameter.grad)
    assert trace.values[trace.value(weight).after or 0].address == f"{weight}.after"
    assert {value.phase for value in trace} == {"forward", "loss", "backward", "update"}
    assert trace.value("loss").phase == "loss"


class Odd(nn.Module):
    """Statements of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.chain = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 4))

    def helper(self, x: Tensor) -> Tensor:
        return x.exp() + 1

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        hidden = hidden.relu() + 1
        hidden += 2
        helped = self.helper(hidden)
        left, right = helped.chunk(2, dim=-1)
        up, down = left.sin(), right.cos()
        both = [part.neg() for part in (up, down)]
        chained = self.chain(helped)
        best, place = chained.max(dim=-1)
        scaled = best * 2 if len(both) else best
        output: Tensor = scaled.sum() + place.sum() + down.sum()
        return output


def test_statements_of_every_kind_give_names() -> None:
    odd = Odd()
    with glass.record(odd) as trace:
        odd(torch.ones(2, 3))
        odd(torch.ones(2, 3))
    assert names(trace, "") == [
        "x", "hidden", "hidden", "hidden", "helped", "left", "right", "up", "down", "both", "both",
        "chained", "best", "place", "scaled", "output",
    ][1:]  # fmt: skip
    for address in (
        "hidden",
        "hidden~2",
        "hidden~3",
        "hidden:relu",
        "helped:exp",
        "both~2",
        "chain.0.output",
        "chain.1.output",
        "output:sum~2",
        "hidden@2",
        "hidden@2~3",
        "output@2",
    ):
        assert address in trace, address
    assert "hidden@3" not in trace


def test_the_same_code_gives_the_same_addresses() -> None:
    first, second = forward(model()), forward(model())
    assert [value.address for value in first] == [value.address for value in second]
    addresses = [value.address for value in first] + list(first.aliases)
    assert len(addresses) == len(set(addresses))


def test_a_decoding_loop_numbers_its_steps() -> None:
    made = model()
    with torch.no_grad(), glass.record(made) as trace:
        memory = made.encode(torch.tensor([[5, 9, 2]]))
        state = made.start()
        ids = torch.tensor([[1]])
        for _ in range(3):
            logits = made.project(made.decode(ids, memory, state=state))
            ids = logits[:, -1:].argmax(-1)
    assert trace["decoder.layers.1.self_attention.scores@3"].shape == (1, 2, 1, 3)
    assert trace["decoder.layers.1.cross_attention.scores@2"].shape == (1, 2, 1, 3)
    assert trace.prove().complete

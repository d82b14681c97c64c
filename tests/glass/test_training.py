"""A whole training step, proven to the last cell."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from tests.glass.samples import forward, model, training_step
from tests.oracle import Oracle

OPTIMIZERS: dict[str, Any] = {
    "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "adam": (torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.1}),
    "adamw": (torch.optim.AdamW, {"lr": 0.1}),
}


def assert_proven(trace: glass.Trace, least: int) -> None:
    proof = trace.prove()
    assert not proof.opaque
    assert not proof.failures
    assert proof.complete
    assert proof.cells >= least
    assert 0 < proof.max_error < 1  # in units of the bound


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder", "encoder"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_step_of_each_family(family: str, norm: str) -> None:
    made = model(family=family, norm=norm, dropout=0.2, activation="gelu", attention_dropout=0.1)
    made.train()
    trace = training_step(made, torch.optim.AdamW(made.parameters(), lr=0.1))
    assert_proven(trace, 10_000)


@pytest.mark.parametrize(
    "changes",
    [
        {"attention": "local", "window": 2},
        {"attention": "strided", "window": 1, "stride": 2},
        {"positions": "learned", "tied": "none"},
        {"position_amplitude": True, "head_width": 5},
    ],
    ids=str,
)
def test_a_step_of_each_variant(changes: dict[str, Any]) -> None:
    made = model(**changes)
    assert_proven(training_step(made, torch.optim.SGD(made.parameters(), lr=0.1)), 10_000)


@pytest.mark.parametrize("mode", ["one by one", "foreach", "fused"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_two_steps_of_each_optimizer(name: str, mode: str) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 3)).double()
    kind, settings = OPTIMIZERS[name]
    flags = {"foreach": mode == "foreach", "fused": mode == "fused"}
    optimizer = kind(net.parameters(), **settings, **flags)
    x, y = torch.rand(4, 5, dtype=torch.float64), torch.tensor([0, 2, 1, 1])

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    step()
    with glass.record(net) as trace:
        step()
        step()
    assert_proven(trace, 500)
    assert torch.equal(trace["0.weight.after~2"].tensor, net.get_parameter("0.weight"))


def test_float32_is_proven_within_its_rounding() -> None:
    made = model(torch.float32)
    proof = training_step(made, torch.optim.AdamW(made.parameters(), lr=0.1)).prove()
    assert proof.complete
    assert 0 < proof.max_error < 1  # in units of the bound


def test_the_papers_transformer_of_torch() -> None:
    torch.manual_seed(0)
    net = nn.Transformer(6, 2, 1, 2, 7, dropout=0.1, batch_first=True, dtype=torch.float64)
    source, target = torch.rand(3, 5, 6).double(), torch.rand(3, 4, 6).double()
    mask = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with glass.record(net) as trace:
        output = net(source, target, tgt_mask=mask, tgt_is_causal=True)
        output.square().mean().backward()
        optimizer.step()
    assert_proven(trace, 10_000)
    assert "decoder.layers.1.multihead_attn.attn_output_weights~2" in trace


def test_fused_attention_is_written_out_and_equals_the_kernel() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.rand(2, 3, n, 5, dtype=torch.float64) for n in (4, 7, 7))
    mask = torch.rand(2, 1, 4, 7) > 0.3
    mask[0, 0, 1] = False  # a query that may attend nothing
    fused = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    with glass.record() as trace:
        steps = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(steps, fused, rtol=0, atol=1e-12)
    assert trace["weights"].tensor[0, :, 1].abs().sum() == 0
    assert_proven(trace, 300)
    with glass.record():
        causal = F.scaled_dot_product_attention(key, key, value, is_causal=True)
    expected = F.scaled_dot_product_attention(key, key, value, is_causal=True)
    torch.testing.assert_close(causal, expected, rtol=0, atol=1e-12)


class Recurrent(nn.Module):
    """An LSTM, a GRU and a plain recurrent layer in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(8, 5)
        self.rnn = nn.RNN(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        states, (hidden, cell) = self.lstm(x)
        states, _ = self.gru(states)
        states, _ = self.rnn(states)
        total: Tensor = states.sum() + hidden.mean() + cell.mean()
        return total


def test_recurrent_layers_are_unrolled_and_equal_the_kernel() -> None:
    torch.manual_seed(0)
    net = Recurrent().double()
    x = torch.rand(2, 5, 3, dtype=torch.float64)
    plain = net(x)
    optimizer = torch.optim.AdamW(net.parameters())
    with glass.record(net) as trace:
        loss = net(x)
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(loss, plain, rtol=1e-12, atol=0)
    assert_proven(trace, 10_000)


def test_a_small_convolutional_network() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(2, 6, 3, stride=2, padding=1, groups=2),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2, padding=1),
        nn.Conv2d(6, 5, 2, bias=False),
        nn.AvgPool2d(2, stride=1),
        nn.AdaptiveAvgPool2d((2, 1)),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(10, 3),
    ).double()
    images = torch.rand(3, 2, 13, 11, dtype=torch.float64)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with glass.record(net) as trace:
        F.cross_entropy(net(images), torch.tensor([0, 1, 2])).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert_proven(trace, 5_000)
    mean = net[1].running_mean
    assert mean is not None
    assert torch.equal(trace.values[trace.value("1.running_mean").id].tensor(), torch.zeros(6))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("family", ["encoder-decoder", "decoder", "encoder"])
def test_the_trace_and_the_paper_in_numpy_agree_name_by_name(family: str, norm: str) -> None:
    made = model(family=family, norm=norm)
    trace = forward(made)
    oracle = Oracle({k: v.numpy() for k, v in made.state_dict().items()}, made.config)
    from tests.glass.samples import inputs

    oracle.run(*(ids.numpy() for ids in inputs(made)))
    assert len(oracle.seen) > 20
    for address, expected in oracle.seen.items():
        torch.testing.assert_close(
            trace[address].tensor, torch.from_numpy(expected), rtol=0, atol=1e-12, equal_nan=True
        )


@pytest.mark.parametrize("way", ["Tensor.backward", "autograd.backward", "autograd.grad"])
def test_every_way_to_a_gradient_is_a_backward_pass(way: str) -> None:
    torch.manual_seed(0)
    net = nn.Linear(3, 2).double()
    x = torch.rand(4, 3, dtype=torch.float64)
    with glass.record(net) as trace:
        output = net(x)
        loss = output.square().sum()
        if way == "Tensor.backward":
            loss.backward()
        elif way == "autograd.backward":
            torch.autograd.backward(loss)
        else:
            torch.autograd.grad(loss, list(net.parameters()))
    assert_proven(trace, 20)
    backward = [value for value in trace if value.phase == "backward"]
    assert len(backward) >= 5
    assert any(value.forward is not None for value in backward)
    if way != "autograd.backward":  # its graph is not at hand before it runs
        assert "output.grad" in trace

"""What cannot be recorded is said to be so; recording never ends the program it watches."""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from cutaway.glass.store import load
from cutaway.glass.tensors import Tensors


def numbers() -> Tensor:
    return torch.linspace(-1, 2, 15).reshape(3, 5)


def complex_rotation() -> Any:
    pairs = torch.view_as_complex(numbers()[:, :4].contiguous().reshape(3, 2, 2))
    turned = pairs * torch.polar(torch.ones(3, 2), numbers()[:, :2])
    turned[0] = 0
    return torch.view_as_real(turned).sum()


def complex_gradient() -> Any:
    x = numbers().requires_grad_()
    torch.fft.rfft(x).abs().sum().backward()
    assert x.grad is not None
    return x.grad.sum()


def imaginary_part_of_a_conjugate() -> Any:
    return (torch.complex(numbers(), numbers()).conj().imag + 1).prod()


def sparse_product() -> Any:
    sparse = numbers().relu().to_sparse()
    return torch.sparse.mm(sparse, numbers().T).sum()


def sparse_gradients_and_their_optimizer() -> Any:
    table = nn.Embedding.from_pretrained(numbers(), freeze=False, sparse=True)  # type: ignore[no-untyped-call]
    table(torch.tensor([0, 2])).sum().backward()
    torch.optim.SparseAdam(list(table.parameters()), lr=0.1).step()  # type: ignore[no-untyped-call]
    return table.weight.sum()


def nested_rows() -> Any:
    rows = torch.nested.nested_tensor([numbers(), numbers()[:2]])
    return torch.nested.to_padded_tensor(rows, 0.0).sum()


def on_the_meta_device() -> Any:
    layer = nn.Linear(5, 2, device="meta")
    layer(torch.empty(3, 5, device="meta")).add_(1)
    layer.to_empty(device="cpu")
    nn.init.ones_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer(numbers()).sum()


def loaded_within() -> Any:
    file = io.BytesIO()
    torch.save({"x": numbers()}, file)
    file.seek(0)
    loaded: Tensor = torch.load(file, weights_only=True)["x"]
    return loaded.sum()


def quantized() -> Any:
    return torch.quantize_per_tensor(numbers(), 0.1, 0, torch.qint8).dequantize().sum()


def memory_put_behind_another_tensor() -> Any:
    x = torch.empty(0)
    x.set_(numbers())  # type: ignore[call-overload]
    x.resize_(2, 3)
    return x.sum()


def a_condition_on_functions() -> Any:
    taken = torch.cond(numbers().sum() > 0, torch.sin, torch.cos, (numbers(),))
    return taken.sum()


@pytest.mark.parametrize(
    "program",
    [
        complex_rotation, complex_gradient, imaginary_part_of_a_conjugate, sparse_product,
        sparse_gradients_and_their_optimizer, nested_rows, on_the_meta_device, loaded_within,
        quantized, memory_put_behind_another_tensor, a_condition_on_functions,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")  # torch's own, on these features
def test_what_is_not_seen_is_counted_and_the_program_is_as_before(
    program: Callable[[], Any],
) -> None:
    expected = program()
    with glass.record() as trace:
        found = program()
    assert torch.equal(found, expected)
    assert not trace.stopped
    proof = trace.prove()
    assert not proof.failures
    assert not proof.complete
    assert proof.opaque or proof.unexplained
    assert proof.proven < proof.cells or proof.unexplained


def derivative_by_function() -> Any:
    slope = torch.func.grad(lambda x: (x**3).sum())
    return torch.vmap(slope)(numbers()).sum()


def tangent() -> Any:
    return torch.func.jvp(torch.sin, (numbers(),), (numbers(),))[1].sum()


def jagged_rows() -> Any:
    rows = torch.nested.nested_tensor([numbers(), numbers()[:2]], layout=torch.jagged)
    return torch.nested.to_padded_tensor(rows * 2, 0.0).sum()


def scripted(x: Tensor) -> Tensor:
    return torch.relu(x @ x.t())


def compiled_to_script() -> Any:
    return torch.jit.script(scripted)(numbers()).sum()


def compiled_within() -> Any:
    return torch.compile(scripted, fullgraph=True, backend="eager")(numbers()).sum()


def attention_with_a_score_function() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    x = numbers().reshape(1, 1, 3, 5)
    scored = flex_attention(x, x, x, score_mod=lambda score, b, h, i, j: score + (i - j))
    assert isinstance(scored, Tensor)
    return scored.sum()


@pytest.mark.parametrize(
    "program",
    [
        derivative_by_function, tangent, jagged_rows, compiled_to_script, compiled_within,
        attention_with_a_score_function,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_what_runs_on_plain_tensors_in_the_end_is_proven(program: Callable[[], Any]) -> None:
    expected = program()
    with glass.record() as trace:
        found = program()
    torch.testing.assert_close(found, expected)  # compiled kernels round in their own way
    proof = trace.prove()
    assert proof.arithmetic > 0
    assert proof.proven == proof.cells
    assert not proof.failures


def test_a_compiled_module_is_recorded_under_the_names_of_its_source() -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
    compiled: Any = torch.compile(model, fullgraph=True)
    with glass.record(compiled) as trace:
        result = compiled(numbers())
    assert trace.value("0.weight").source == "parameter"
    assert torch.equal(trace["2.output"].tensor, result)
    assert trace.prove().complete
    original = torch.compile
    with glass.record(model):
        pass
    assert torch.compile is original


def test_numbers_that_are_not_kept_say_why(tmp_path: Path) -> None:
    with glass.record() as trace:
        spectrum = torch.fft.rfft(numbers())
        loud = spectrum.abs()
    assert trace.prove().unreadable == {"complex64 numbers": spectrum.numel()}
    trace.save(tmp_path / "trace")
    for one in (trace, load(tmp_path / "trace")):
        with pytest.raises(glass.TraceError, match="complex64 numbers"):
            one["spectrum"]
        assert torch.equal(one["loud"].tensor, loud)
        assert one.prove().opaque == {"aten._fft_r2c.default": 9, "aten.abs.default": 9}


@contextmanager
def broken(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[None]:
    """A recorder that fails at one of its operations."""
    whole, calls = Tensors.result, [0]

    def result(self: Tensors, *args: object) -> None:
        calls[0] += 1
        if calls[0] > after:
            raise ZeroDivisionError("a fault\nof the recorder")
        whole(self, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Tensors, "result", result)
        yield


@pytest.mark.parametrize("after", [0, 5, 23])
def test_an_error_of_the_recorder_ends_the_recording_and_not_the_program(
    after: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    with broken(monkeypatch, after), glass.record(model) as trace:
        loss = F.cross_entropy(model(numbers()), torch.tensor([0, 1, 1]))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert trace.stopped.endswith("ZeroDivisionError: a fault of the recorder")
    assert [record.getMessage() for record in caplog.records] == [trace.stopped]
    assert caplog.records[0].levelno == logging.WARNING
    assert not trace.prove().complete
    assert trace.stopped in repr(trace.prove())
    assert not nn.modules.module._global_forward_hooks
    with glass.record(model) as again:
        model(numbers())
    assert again.prove().complete


def test_a_patch_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(5, 2))
    with (
        pytest.raises(ZeroDivisionError),
        broken(monkeypatch, 0),
        glass.patch(model, {"0.output": 0.0}),
    ):
        model(numbers())


def test_a_notebook_shows_a_large_trace_as_a_list() -> None:
    model = nn.Sequential(nn.Linear(1024, 2053), nn.ReLU())
    with torch.no_grad(), glass.record(model) as trace:
        model(torch.ones(3, 1024))
    shown = trace._repr_html_()
    assert len(shown) < 10_000
    assert "8 MB" in shown
    assert "weight  (2053, 1024)  parameter" in shown
    with torch.no_grad(), glass.record(model, select="1.output") as trace:
        model(torch.ones(3, 1024))
    assert trace._repr_html_().startswith("<iframe")

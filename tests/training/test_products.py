"""Products by oneDNN: the same numbers as torch's own, and only where nobody looks."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import cutaway
from cutaway.config import ModelConfig
from cutaway.model.attention import explicit
from cutaway.model.layers import EncoderLayer
from cutaway.training import products
from cutaway.training.loss import cut_off_loss, projected_loss, two_pass_loss

SIZES = st.sampled_from([1, 2, 3, 7, 31, 131])


def assert_near(found: Tensor, expected: Tensor) -> None:
    """Equal but for rounding."""
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.fixture
def quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    """oneDNN, whatever the processor."""
    monkeypatch.setattr(products, "is_quicker", lambda: True)


@given(rows=SIZES, inputs=SIZES, outputs=SIZES, biased=st.booleans(), seed=st.integers(0, 99))
def test_a_linear_layer_and_its_gradients_are_those_of_torch(
    rows: int, inputs: int, outputs: int, biased: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    layer = nn.Linear(inputs, outputs, bias=biased)
    states = torch.randn(2, rows, inputs, requires_grad=True)
    given = torch.randn(2, rows, outputs)
    wanted = [states, *layer.parameters()]
    expected = layer(states)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "is_quicker", lambda: True)
        found = products.linear(layer, states)
    assert "_Linear" in type(found.grad_fn).__name__
    assert_near(found, expected)
    for one, other in zip(
        torch.autograd.grad(found, wanted, given),
        torch.autograd.grad(expected, wanted, given),
        strict=True,
    ):
        assert_near(one, other)
        assert one.is_contiguous()


@given(rows=SIZES, inputs=SIZES, outputs=SIZES, biased=st.booleans(), seed=st.integers(0, 99))
def test_a_rounded_layer_and_its_gradients_are_products_of_rounded_operands(
    rows: int, inputs: int, outputs: int, biased: bool, seed: int
) -> None:
    """Each is computed here from operands rounded to bfloat16, in float64."""
    torch.manual_seed(seed)
    layer = nn.Linear(inputs, outputs, bias=biased)
    states = torch.randn(2, rows, inputs, requires_grad=True)
    given = torch.randn(2, rows, outputs)
    found = products.linear(layer, states, torch.bfloat16)
    assert found.dtype == torch.float32
    wanted = [states, *layer.parameters()]
    gradients = torch.autograd.grad(found, wanted, given)
    x, w, g = (one.detach().bfloat16().double() for one in (states, layer.weight, given))
    b = layer.bias.detach().bfloat16().double() if biased else 0.0
    expected = [x @ w.T + b, g @ w, g.flatten(0, 1).T @ x.flatten(0, 1), given.sum((0, 1))]
    for one, other in zip((found.detach(), *gradients), expected, strict=False):
        scale = float(other.abs().max())
        torch.testing.assert_close(one.double(), other.double(), rtol=0.01, atol=0.01 * scale)
        assert one.dtype == torch.float32
    with explicit():
        torch.testing.assert_close(
            products.linear(layer, states, torch.bfloat16), found, rtol=0.01, atol=0.01
        )


@given(rows=SIZES, left=SIZES, right=SIZES)
def test_crossed_is_the_product_over_rows(rows: int, left: int, right: int) -> None:
    torch.manual_seed(rows)
    a, b = torch.randn(rows, left), torch.randn(rows, right)
    assert_near(products.crossed(a, b), a.T @ b)


@pytest.mark.parametrize("way", ["plain", "r-drop", "simcut"])
@pytest.mark.parametrize("biased", [True, False])
def test_losses_and_their_gradients_are_those_of_torch(
    monkeypatch: pytest.MonkeyPatch, way: str, biased: bool
) -> None:
    torch.manual_seed(3)
    first, second = (torch.randn(97, 13, requires_grad=True) for _ in range(2))
    table = torch.randn(23_003, 13).mul_(0.3).requires_grad_()  # 91 positions are one chunk
    bias = torch.randn(23_003).requires_grad_() if biased else None
    gold = torch.randint(0, 23_003, (97,))

    def computed() -> list[Tensor]:
        if way == "plain":
            loss = projected_loss(first, table, bias, gold, 0.1)
        else:
            two = two_pass_loss if way == "r-drop" else cut_off_loss
            loss = two(first, second, table, bias, gold, 0.1, 3.0)
        wanted = [one for one in (first, second, table, bias) if one is not None]
        gradients = torch.autograd.grad(loss, wanted, allow_unused=True)
        return [loss.detach(), *(one for one in gradients if one is not None)]

    monkeypatch.setattr(products, "is_quicker", lambda: False)
    expected = computed()
    monkeypatch.setattr(products, "is_quicker", lambda: True)
    for one, other in zip(computed(), expected, strict=True):
        assert_near(one, other)


@pytest.mark.parametrize("quicker", [True, False])
@pytest.mark.parametrize("way", ["plain", "r-drop", "simcut"])
def test_rounded_losses_are_near_those_of_float32(
    monkeypatch: pytest.MonkeyPatch, way: str, quicker: bool
) -> None:
    """Operands within 2⁻⁹ of their size: gradients within some hundredths of the largest."""
    monkeypatch.setattr(products, "is_quicker", lambda: quicker)
    torch.manual_seed(3)
    first, second = (torch.randn(97, 13, requires_grad=True) for _ in range(2))
    table = torch.randn(1009, 13).mul_(0.3).requires_grad_()
    bias = torch.randn(1009).requires_grad_()
    gold = torch.randint(0, 1009, (97,))

    def computed(kind: torch.dtype | None) -> list[Tensor]:
        answers = (table, bias, gold, 0.1)
        if way == "plain":
            loss = projected_loss(first, *answers, kind)
        else:
            two = two_pass_loss if way == "r-drop" else cut_off_loss
            loss = two(first, second, *answers, 3.0, kind)
        wanted = (first, second, table, bias)
        gradients = torch.autograd.grad(loss, wanted, allow_unused=True)
        return [loss.detach(), *(one for one in gradients if one is not None)]

    expected = computed(None)
    found = computed(torch.bfloat16)
    assert not torch.equal(found[1], expected[1])
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0.0, atol=0.02 * float(other.abs().max()))


@pytest.mark.usefixtures("quicker")
def test_layers_are_quick_within_the_block_only() -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    states = torch.randn(11, 5)
    with products.quick_layers(model):
        assert "_Linear" in type(model(states).grad_fn).__name__
    assert "Addmm" in type(model(states).grad_fn).__name__
    assert "forward" not in vars(model[0])


@pytest.mark.usefixtures("quicker")
def test_what_is_recorded_rounded_or_in_another_type_is_computed_by_torch() -> None:
    layer, states = nn.Linear(5, 7), torch.randn(11, 5)
    assert products.quick(states)
    assert not products.quick(states.double())
    with explicit():
        assert not products.quick(states)
    with torch.autocast("cpu", torch.bfloat16):
        assert not products.quick(states)
        assert products.linear(layer, states).dtype == torch.bfloat16
    block = EncoderLayer(ModelConfig(vocabulary=11, d_model=6, heads=2, d_ff=10))
    with products.quick_layers(block), cutaway.glass.record(block) as trace:
        block(torch.randn(3, 7, 6), None)
    assert trace.prove().complete


@pytest.mark.parametrize(
    ("capability", "processor", "quicker"),
    [
        ("AVX512", "AuthenticAMD", True),
        ("AVX512", "GenuineIntel", False),
        ("AVX2", "AuthenticAMD", False),
        ("DEFAULT", "AuthenticAMD", False),
        ("AVX512", "", False),
    ],
)
def test_which_processors(
    monkeypatch: pytest.MonkeyPatch, capability: str, processor: str, quicker: bool
) -> None:
    monkeypatch.setattr(products, "maker", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    assert products.is_quicker.__wrapped__() is quicker
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert not products.is_quicker.__wrapped__()


def test_a_product_is_that_of_torch() -> None:
    left, right, bias = torch.randn(11, 5), torch.randn(7, 5), torch.randn(7)
    assert_near(products.product(left, right, bias), F.linear(left, right, bias))

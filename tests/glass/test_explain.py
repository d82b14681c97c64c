"""One number at a time: its arithmetic as a person would write it, down to the sources."""

import math

import pytest
import torch

from cutaway import glass
from cutaway.errors import TraceError
from tests.glass.samples import forward, model, training_step


def test_a_product_reads_like_one() -> None:
    with glass.record() as trace:
        a = torch.tensor([[0.5, -0.25], [1.0, 2.0]])
        b = torch.tensor([[3.0, 1.0], [4.0, -8.0]])
        c = a @ b
        scaled = c / math.sqrt(8)
    assert c.tolist() == [[0.5, 2.5], [11.0, -15.0]]
    assert trace.explain("c[0,1]").text == "2.5 = 0.5·1 + (−0.25)·(−8)"
    assert trace.explain("scaled[1,0]").text == "3.889 = 11 / √8"
    assert scaled.shape == (2, 2)


def test_long_sums_are_folded_to_their_largest_terms() -> None:
    with glass.record() as trace:
        x = torch.tensor([1.0, 50.0, 2.0, -70.0, 3.0, 4.0, 60.0, -80.0])
        total = x.sum()
    explanation = trace.explain("total")
    assert explanation.text == "−30 = 50 − 70 + 60 − 80 + … 4 more terms"
    assert trace.explain("total", terms=2).text == "−30 = −70 − 80 + … 6 more terms"
    assert len(explanation.operands) == 8
    assert float(total) == -30


def test_softmax_shows_its_parts() -> None:
    with glass.record() as trace:
        scores = torch.tensor([1.0, 3.0])
        weights = scores.softmax(0)
    lines = trace.explain("weights[0]").text.splitlines()
    assert lines == [
        "0.1192 = exp(1 − 3) / 1.135",
        "m = max(1, 3) = 3",
        "z = exp(1 − 3) + exp(3 − 3) = 1.135",
    ]
    assert weights.shape == (2,)


def test_a_loss_shows_the_cells_it_was_made_of() -> None:
    with glass.record() as trace:
        x = torch.tensor([[-0.5, -1.0, -2.0], [-3.0, -0.25, -4.0], [-5.0, -6.0, -0.75]])
        y = torch.tensor([1, 0, 2])
        loss = torch.nn.functional.nll_loss(x, y, ignore_index=0, reduction="sum")
    explanation = trace.explain("loss")
    assert explanation.text == "1.75 = −(−1) + 0 − (−0.75)"
    cells = {(each.address.rpartition("[")[2], each.value) for each in explanation.operands}
    assert {("0,1]", -1.0), ("2,2]", -0.75)} < cells
    assert ("1,0]", -3.0) not in cells  # ignored
    assert float(loss) == 1.75


def test_a_mask_says_why() -> None:
    with glass.record() as trace:
        x = torch.tensor([1.5, 2.5])
        masked = x.masked_fill(torch.tensor([True, False]), -math.inf)
    assert trace.explain("masked[0]").text == "−∞ = −∞\ncondition: 1 (true)"
    assert trace.explain("masked[1]").text == "2.5 = 2.5\ncondition: 0 (false)"
    assert masked.shape == (2,)


def test_an_explanation_is_complete() -> None:
    trace = forward(model())
    explanation = trace.explain("decoder.layers.0.cross_attention.scores[1,0,2,3]")
    assert explanation.value == pytest.approx(
        float(trace["decoder.layers.0.cross_attention.scores"].tensor[1, 0, 2, 3])
    )
    assert explanation.difference is not None
    assert abs(explanation.difference) < 1e-12
    assert explanation.kind == "contraction"
    assert explanation.module == "decoder.layers.0.cross_attention"
    assert "query" in explanation.words["en"]
    assert "query" in explanation.words["zh"]
    assert explanation.formula.startswith("<math")
    assert "<mi>query</mi>" in explanation.formula
    addresses = [operand.address for operand in explanation.operands]
    assert addresses[:3] == [f"decoder.layers.0.cross_attention.query[1,0,2,{k}]" for k in range(3)]
    assert "decoder.layers.0.cross_attention.key[1,0,3,0]" in addresses
    data = explanation.to_dict()
    assert data["text"] == explanation.text
    assert (
        "".join(part if isinstance(part, str) else part["text"] for part in data["tokens"][0])
        == explanation.text
    )


def test_recursion_ends_at_parameters_inputs_constants_and_draws() -> None:
    made = model(dropout=0.3)
    made.train()
    trace = training_step(made, torch.optim.AdamW(made.parameters(), lr=0.1))
    pending = ["decoder.layers.1.cross_attention.W_Q.weight.after[2,3]"]
    ends: set[str | None] = set()
    seen: set[str] = set()
    while pending and len(seen) < 1500:
        address = pending.pop(0 if len(seen) % 2 else -1)  # near and far in turn
        if address in seen:
            continue
        seen.add(address)
        explanation = trace.explain(address)
        assert explanation.kind != "opaque"
        if explanation.operands:
            pending += [operand.address for operand in explanation.operands[:40]]
            assert explanation.difference is not None
            scale = max(abs(explanation.value), *(abs(o.value) for o in explanation.operands))
            if math.isfinite(scale):
                assert abs(explanation.difference) <= 1e-9 * max(scale, 1e-30)
        else:
            ends.add(explanation.rule.source)
    assert {"parameter", "input", "constant", "random"} <= ends
    assert None not in ends


def test_every_shown_operand_has_the_value_at_its_address() -> None:
    trace = forward(model())
    for name in ("scores", "softmax", "context", "output", "query"):
        value = trace.value(f"decoder.layers.1.self_attention.{name}")
        address = f"{value.address}[{','.join('0' * len(value.shape))}]"
        for operand in trace.explain(address).operands:
            cell = trace.cell(operand.address)
            assert float(cell.value.tensor()[cell.indices]) == operand.value


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("encoder.layers.0.self_attention.score[0]", "nearest: .*scores"),
        ("encoder.layers.0.self_attention.scores[0,1]", "names 2 of 4 axes"),
        ("encoder.layers.0.self_attention.scores[0,1,2,99]", "outside"),
        ("encoder.layers.0.self_attention.scores[a]", "integers or slices"),
    ],
)
def test_wrong_addresses_are_told_in_one_line(address: str, message: str) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        forward(model()).explain(address)
    assert "\n" not in str(caught.value)


def test_first_nonfinite_finds_the_birth_not_the_spread() -> None:
    with glass.record() as trace:
        x = torch.tensor([4.0, -1.0, 9.0])
        masked = x.masked_fill(x > 5, -math.inf)  # meant
        root = x.sqrt()  # born here
        later = root * 2 + masked.exp()
    found = trace.first_nonfinite()
    assert found is not None
    assert found.address == "root[1]"
    assert found.text == "NaN = √−1"
    assert later.shape == (3,)
    assert forward(model()).first_nonfinite() is None


def test_an_overflow_is_found() -> None:
    with glass.record() as trace:
        x = torch.tensor([10.0, 1000.0])
        big = x.exp()
        ratio = big / big
    found = trace.first_nonfinite()
    assert found is not None
    assert found.address == "big[1]"
    assert ratio.isnan().any()

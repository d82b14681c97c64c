"""Patches and differences: change one thing, and see where two runs part."""

import pytest
import torch

from cutaway import glass
from cutaway.errors import TraceError
from cutaway.model import explicit
from tests.glass.samples import SOURCE, TARGET, forward, model

HEAD = "encoder.layers.0.self_attention.weights"


def run(made: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad(), explicit():
        output: torch.Tensor = made(SOURCE, TARGET)
    return output


def test_a_silenced_head_changes_what_follows_and_nothing_before() -> None:
    made = model()
    before = forward(made)
    with torch.no_grad(), glass.patch(made, {f"{HEAD}[:,1]": 0.0}), glass.record(made) as after:
        patched = made(SOURCE, TARGET)
    assert after[HEAD].tensor[:, 1].abs().sum() == 0
    assert torch.equal(after[HEAD].tensor[:, 0], before[HEAD].tensor[:, 0])
    assert after.prove().complete
    found = before.diff(after)
    assert found.first is not None
    assert found.first.address.startswith(f"{HEAD}[")
    assert {part.address.partition("[")[0] for part in found.partings} >= {
        "encoder.layers.0.self_attention.context",
        "output.logits",
    }
    assert not torch.equal(patched, run(made))
    assert torch.equal(run(made), before["output.logits"].tensor)


def test_one_cell_a_function_a_mask_and_a_parameter() -> None:
    made = model()
    plain = run(made)
    cell = "decoder.layers.0.cross_attention.scores[0,1,2,3]"
    with torch.no_grad(), glass.patch(made, {cell: 9.5}), glass.record(made) as trace:
        made(SOURCE, TARGET)
    assert float(trace["decoder.layers.0.cross_attention.scores"].tensor[0, 1, 2, 3]) == 9.5
    with torch.no_grad(), glass.patch(made, {"encoder.output": lambda x: x}):
        pass_through = made(SOURCE, TARGET)
    assert torch.equal(pass_through, plain)
    with torch.no_grad(), glass.patch(made, {"decoder.layers.1.feed_forward.output": torch.neg}):
        assert not torch.equal(made(SOURCE, TARGET), plain)
    mask = torch.zeros(2, 1, 4, 4, dtype=torch.bool)
    mask[..., 0] = True
    name = "decoder.layers.0.self_attention"
    with torch.no_grad(), glass.patch(made, {f"{name}.mask": mask}), glass.record(made) as trace:
        made(SOURCE, TARGET)
    assert trace[f"{name}.weights"].tensor[..., 0].eq(1).all()
    weight = made.embedding.weight.detach().clone()
    with torch.no_grad(), glass.patch(made, {"embedding.weight[5]": 0.0}):
        assert made.embedding.weight[5].abs().sum() == 0
        assert not torch.equal(made(SOURCE, TARGET), plain)
    assert torch.equal(made.embedding.weight, weight)


def test_a_patch_is_differentiable() -> None:
    made = model()
    with glass.patch(made, {f"{HEAD}[:,1]": 0.0}):
        made(SOURCE, TARGET).sum().backward()
    gradient = made.get_parameter("encoder.layers.0.self_attention.W_V.weight").grad
    assert gradient is not None
    assert gradient[3:].abs().sum() == 0  # the silenced head's values
    assert gradient[:3].abs().sum() > 0


def test_patches_that_miss_or_do_not_fit_are_refused() -> None:
    made = model()
    with pytest.raises(TraceError, match="no line assigned encoder.nothing"):  # noqa: SIM117
        with glass.patch(made, {"encoder.nothing": 0.0}):
            made(SOURCE, TARGET)
    with (
        pytest.raises(TraceError, match="expected"),
        glass.patch(made, {HEAD: torch.zeros(3, 3)}),
    ):
        made(SOURCE, TARGET)
    assert torch.equal(run(made), run(made))


def test_two_equal_runs_do_not_part() -> None:
    found = forward(model()).diff(forward(model()))
    assert found.same
    assert found.first is None
    assert found.compared > 50
    assert found.largest == 0


def test_a_changed_weight_is_where_they_part() -> None:
    made, other = model(), model()
    with torch.no_grad():
        other.get_parameter("decoder.layers.1.feed_forward.W_1.bias")[2] += 0.01
    found = forward(made).diff(forward(other))
    assert found.first is not None
    assert found.first.address == "decoder.layers.1.feed_forward.W_1.bias[2]"
    computed = [part for part in found.partings if not part.op.startswith("source")]
    assert computed[0].address.startswith("decoder.layers.1.feed_forward.hidden[")


def test_precisions_part_by_rounding_only() -> None:
    found = forward(model(torch.float32)).diff(forward(model(torch.float64)))
    assert found.same
    assert 0 < found.largest < 1e-5
    strict = forward(model(torch.float32)).diff(forward(model(torch.float64)), tolerance=1e-9)
    assert strict.first is not None


def test_implementations_without_common_names_are_paired_by_shape() -> None:
    torch.manual_seed(0)
    weight, x = torch.rand(5, 3), torch.rand(4, 3)
    with glass.record() as ours:
        hidden = x @ weight.t()
        squashed = hidden.tanh()
    with glass.record() as theirs:
        projected = torch.nn.functional.linear(x, weight)
        activated = projected.sigmoid() * 1.001
    found = ours.diff(theirs)
    assert found.compared >= 1
    assert squashed.shape == activated.shape

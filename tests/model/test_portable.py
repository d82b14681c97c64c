"""What torch does with a model: compile it, export it, keep its weights, move it."""

import copy
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from cutaway.errors import ConfigError
from cutaway.model import Transformer
from cutaway.training import precision
from tests.model.samples import FAMILIES, batch, build, close, inputs, small

every_family = pytest.mark.parametrize("family", FAMILIES)
every_kind = pytest.mark.parametrize(
    ("family", "pattern"),
    [*((family, "full") for family in FAMILIES), ("decoder", "local"), ("encoder", "strided")],
)
thin = {"encoder_layers": 1, "decoder_layers": 1}


@every_kind
def test_compiles_as_one_graph(family: str, pattern: str) -> None:
    """Values and gradients of the compiled model are the model's own."""
    torch.compiler.reset()
    model = build(small(family=family, attention=pattern, **thin))
    ids = inputs(model.config)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    parameters = list(model.parameters())
    expected = model(*ids)
    logits = compiled(*ids)
    close(logits, expected)
    gradients = torch.autograd.grad(logits.mean(), parameters)
    for one, other in zip(gradients, torch.autograd.grad(expected.mean(), parameters), strict=True):
        close(one, other)


@torch.no_grad()
def test_compiles_for_any_length_without_compiling_again() -> None:
    """Batches of other sizes run in the graph made for dynamic sizes."""
    torch.compiler.reset()
    model = build(small(family="encoder", **thin))
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(model, fullgraph=True, backend=counter, dynamic=True)
    for rows in ((7, 5), (9, 3, 4), (11, 2, 6, 8, 10)):
        close(compiled(batch(rows)), model(batch(rows)))
    assert counter.frame_count == 1


@every_kind
def test_exports_with_dynamic_sizes(family: str, pattern: str) -> None:
    model = build(small(family=family, attention=pattern, **thin))
    rows = torch.export.Dim("rows", max=64)
    sides = [
        {0: rows, 1: torch.export.Dim("source", min=2, max=41)},
        {0: rows, 1: torch.export.Dim("target", min=2, max=41)},
    ]
    ids = inputs(model.config)
    with torch.no_grad():
        program = torch.export.export(model, ids, dynamic_shapes=tuple(sides[: len(ids)]))
        exported = program.module()
        other = (batch((13, 8)), batch((9, 4), seed=2))[: len(ids)]
        for given in (ids, other):
            close(exported(*given), model(*given))


@torch.no_grad()
@every_family
@pytest.mark.parametrize("tied", ["all", "output", "none"])
def test_weights_make_the_round_trip_through_safetensors(
    family: str, tied: str, tmp_path: Path
) -> None:
    """Every value and nothing else: no table twice, no sinusoid, no mask."""
    model = build(small(family=family, tied=tied))
    file = tmp_path / "model.safetensors"
    save_file(model.state_dict(), file)
    assert load_file(file).keys() == dict(model.named_parameters()).keys()
    other = build(model.config, seed=2)
    ids = inputs(model.config)
    assert not torch.allclose(other(*ids), model(*ids))
    other.load_state_dict(load_file(file))
    assert torch.equal(other(*ids), model(*ids))


@torch.no_grad()
@every_family
def test_a_model_made_without_memory_takes_weights_later(family: str) -> None:
    """Built on the meta device, then given room and weights: the sinusoids are there again."""
    model = build(small(family=family))
    with torch.device("meta"):
        empty = Transformer(model.config).double()
    filled = empty.to_empty(device="cpu").eval()
    filled.load_state_dict(model.state_dict())
    ids = inputs(model.config)
    assert torch.equal(filled(*ids), model(*ids))
    assert torch.equal(copy.deepcopy(model)(*ids), model(*ids))


@torch.no_grad()
def test_positions_are_computed_anew_when_the_type_changes() -> None:
    """A float32 model cast to float64 is as exact as one made in float64."""
    model = build(small(family="encoder"), dtype=torch.float32).double()
    assert model.encoder is not None
    table = model.encoder.positions.table
    assert table is not None
    assert table.dtype == torch.float64
    assert (table.float().double() - table).abs().max() > 1e-9  # more than float32 can hold
    assert "encoder.positions.table" not in model.state_dict()


@torch.no_grad()
def test_reduced_precision_stays_near() -> None:
    """Or is refused, where a child process found that it kills or computes wrongly."""
    model = build(small(), dtype=torch.float32)
    ids = inputs(model.config)
    expected = model(*ids)
    model.bfloat16()
    if precision.failure("bfloat16"):
        with pytest.raises(ConfigError, match="bfloat16 fails on this machine"):
            precision.require(model)
    else:
        precision.require(model)
        assert (model(*ids).float() - expected).abs().max() < 0.3


@torch.no_grad()
@pytest.mark.interop  # half a minute of g++
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch's own compiler needs g++")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it starts up
def test_compiles_to_machine_code() -> None:
    torch.compiler.reset()
    model = build(small(family="encoder", **thin))
    close(torch.compile(model, fullgraph=True)(batch((7, 5))), model(batch((7, 5))))

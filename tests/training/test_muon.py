"""Muon: orthogonal steps, torch's own numbers, and a run that goes on where it stopped."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.config import ModelConfig, RunConfig, TrainConfig
from cutaway.errors import CheckpointError
from cutaway.model import Transformer
from cutaway.training.muon import Muon, orthogonal
from cutaway.training.optimizer import (
    AdamW,
    make_optimizer,
    optimizer_tensors,
    restore_optimizer,
    set_rate,
)
from cutaway.training.run import train
from tests.training.helpers import results, run_here, tables


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 23), columns=st.integers(1, 23), seed=st.integers(0, 10**6))
def test_singular_values_end_near_one_and_directions_stay(
    rows: int, columns: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    given_values = torch.randn(3, rows, columns, generator=generator, dtype=torch.float64)
    found = orthogonal(given_values)
    assert found.shape == given_values.shape
    left, sizes, right = torch.linalg.svd(given_values, full_matrices=False)
    inside = left.mT @ found @ right.mT  # diagonal: only the singular values have changed
    diagonal = torch.diagonal(inside, dim1=-2, dim2=-1)
    large = sizes > 0.05 * sizes[:, :1]
    assert float((diagonal[large] - 1).abs().max()) < 0.35
    assert float((inside - torch.diag_embed(diagonal)).abs().max()) < 1e-9


def test_a_scaled_gradient_gives_the_same_step() -> None:
    values = torch.randn(2, 13, 7, dtype=torch.float64)
    torch.testing.assert_close(orthogonal(1e4 * values), orthogonal(values))
    assert not orthogonal(torch.zeros(2, 3, 5)).any()


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_steps_are_those_of_torchs_muon(weight_decay: float) -> None:
    """torch rounds to bfloat16 inside; sizes, momentum and decay must agree to that precision."""
    torch.manual_seed(3)
    shapes = [(13, 29), (29, 13), (13, 29), (17, 17)]
    ours = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    theirs = [torch.nn.Parameter(matrix.detach().clone()) for matrix in ours]
    one = Muon(ours, momentum=0.9, weight_decay=weight_decay)
    other = torch.optim.Muon(
        theirs,
        lr=0.05,
        momentum=0.9,
        weight_decay=weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    for group in one.param_groups:
        group["lr"] = 0.05
    for _ in range(5):
        for left, right in zip(ours, theirs, strict=True):
            left.grad = torch.randn_like(left)
            right.grad = left.grad.clone()
        one.step()
        other.step()  # type: ignore[no-untyped-call]
    for left, right in zip(ours, theirs, strict=True):
        assert float((left - right).detach().norm() / right.detach().norm()) < 0.01


def small_model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(
        ModelConfig.preset(
            "tiny", vocabulary=31, encoder_layers=1, decoder_layers=1, d_model=12, heads=3, d_ff=20
        )
    )


def test_matrices_of_layers_go_to_muon_all_else_to_adamw() -> None:
    model = small_model()
    muon, adamw = make_optimizer(model.named_parameters(), TrainConfig(optimizer="muon"))
    assert isinstance(muon, Muon)
    assert isinstance(adamw, AdamW)
    orthogonalised = {id(p) for group in muon.param_groups for p in group["params"]}
    rest = {id(p) for group in adamw.param_groups for p in group["params"]}
    names = {name for name, p in model.named_parameters() if id(p) in orthogonalised}
    assert "decoder.layers.0.cross_attention.W_V.weight" in names
    assert "embedding.weight" not in names
    assert all(name.endswith(".weight") and ".layers." in name for name in names)
    assert not orthogonalised & rest
    assert len(orthogonalised) + len(rest) == len(list(model.parameters()))


def test_state_goes_to_disk_and_back() -> None:
    model, other = small_model(), small_model()
    settings_ = TrainConfig(optimizer="muon", weight_decay=0.1)
    runs = [(m, make_optimizer(m.named_parameters(), settings_)) for m in (model, other)]
    gradients = [torch.randn_like(parameter) for parameter in model.parameters()]

    def step(number: int) -> None:
        one, optimizers = runs[number]
        for parameter, gradient in zip(one.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        set_rate(optimizers, 0.01)
        optimizers.step()

    step(0)
    step(0)
    kept = optimizer_tensors(runs[0][1], dict(model.named_parameters()))
    assert "exp_avg.encoder.layers.0.feed_forward.W_1.weight" in kept
    assert "exp_avg_sq.encoder.layers.0.feed_forward.W_1.weight" not in kept
    assert "exp_avg_sq.embedding.weight" in kept
    other.load_state_dict(model.state_dict())
    restore_optimizer(runs[1][1], dict(other.named_parameters()), kept, 2)
    step(0)
    step(1)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=0)
    del kept["exp_avg.encoder.layers.0.feed_forward.W_1.weight"]
    with pytest.raises(CheckpointError, match="belongs to another model"):
        restore_optimizer(runs[1][1], dict(other.named_parameters()), kept, 3)


def test_a_run_with_muon_resumes_bit_for_bit(tmp_path: Path) -> None:
    values = tables(tmp_path, optimizer="muon", updates=16, validate_every=8)
    run_here(values, tmp_path / "whole")
    begun = {**values, "train": {**values["train"], "patience": 0}}

    class Stop(Exception):
        pass

    def stop(event: object) -> None:
        if type(event).__name__ == "Validated" and getattr(event, "update", 0) == 8:
            raise Stop

    with pytest.raises(Stop):
        train(RunConfig.from_tables(begun), tmp_path / "parts", watch=stop)
    run_here(begun, tmp_path / "parts")
    assert results(tmp_path / "parts") == results(tmp_path / "whole")

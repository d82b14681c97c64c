"""The step without modules equals the modules, in every configuration; lookers get the modules."""

from typing import Any

import pytest
import torch

from cutaway.decode import DecodeOptions
from cutaway.decode.fused import FusedStep
from cutaway.decode.search import search
from cutaway.decode.stepper import Stepper
from cutaway.model import explicit
from tests.decode.helpers import SPECIAL, random_model, random_tasks

CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"activation": "gelu", "bias": False, "output_bias": False},
    {"positions": "learned", "position_amplitude": True, "tied": "none"},
    {"positions": "none", "head_width": 5, "scale_embedding": False},
    {"target_vocabulary": 29, "tied": "output"},
    {"family": "decoder", "norm": "pre", "position_amplitude": True},
    {"norm_epsilon": 0.1, "encoder_layers": 1},
]


@pytest.mark.parametrize("changes", CONFIGURATIONS, ids=str)
def test_it_equals_the_modules(changes: dict[str, Any]) -> None:
    model = random_model(**changes)
    tasks = random_tasks(3)
    if model.encoder is None:
        tasks = [type(task)(None) for task in tasks]
    plain, fast = Stepper(model, tasks), Stepper(model, tasks)
    assert fast.fused is not None
    plain.fused = None
    target = torch.randint(5, 29, (3, 7), generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        for place in range(7):
            expected = plain.step(target[:, place : place + 1])
            assert torch.allclose(fast.step(target[:, place : place + 1]), expected, atol=1e-12)
        rows = torch.tensor([2, 0, 2, 1])
        plain.select(rows)
        fast.select(rows)
        assert torch.allclose(fast.step(target[rows, :1]), plain.step(target[rows, :1]), atol=1e-12)
    assert plain.state.length == fast.state.length == 8


def test_who_looks_inside_gets_the_modules() -> None:
    model, tasks = random_model(), random_tasks(2)
    assert FusedStep.fits(model)
    with explicit():
        assert not FusedStep.fits(model)
    assert model.decoder is not None
    handle = model.decoder.layers[1].register_forward_hook(lambda module, inputs, output: None)
    assert not FusedStep.fits(model)
    handle.remove()
    assert FusedStep.fits(model)
    assert not FusedStep.fits(random_model(attention="local", window=3))
    assert not FusedStep.fits(random_model().train())
    hooked: list[int] = []
    handle = model.decoder.layers[1].register_forward_hook(
        lambda module, inputs, output: hooked.append(1)
    )
    (seen, _) = search(model, tasks, DecodeOptions(), SPECIAL)
    handle.remove()
    (unseen, _) = search(model, tasks, DecodeOptions(), SPECIAL)
    assert len(hooked) >= len(seen.hypotheses[0].ids)
    assert seen.hypotheses[0].ids == unseen.hypotheses[0].ids


def test_weights_changed_between_two_calls_count() -> None:
    model, tasks = random_model(), random_tasks(2)
    before = search(model, tasks, DecodeOptions(), SPECIAL)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    after = search(model, tasks, DecodeOptions(), SPECIAL)
    assert [r.hypotheses[0].ids for r in before] != [r.hypotheses[0].ids for r in after]

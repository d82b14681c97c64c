"""SimCut and word dropout: which tokens are cut off, what it costs, and that off is off."""

from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.config import ModelConfig, TrainConfig
from cutaway.errors import ConfigError
from cutaway.model import Transformer
from cutaway.model.dropout import cut_mask
from cutaway.text import Tokenizer
from cutaway.training.objective import Objective, TaskBatch
from tests.training.helpers import results, run_here, tables

TAG = 7


def objective(**settings: Any) -> Objective:
    torch.manual_seed(1)
    model = Transformer(
        ModelConfig.preset(
            "tiny",
            vocabulary=31,
            d_model=8,
            heads=2,
            d_ff=12,
            encoder_layers=1,
            decoder_layers=1,
            dropout=0.0,
        )
    )
    return Objective(model, TrainConfig(**settings), tags=[TAG])


def question() -> TaskBatch:
    generator = torch.Generator().manual_seed(2)
    source = torch.randint(8, 31, (3, 11), generator=generator)
    source[:, 0], source[:, -1] = TAG, Tokenizer.end
    target = torch.randint(8, 31, (3, 5), generator=generator)
    target[:, 0] = Tokenizer.start
    gold = torch.randint(8, 31, (3, 5), generator=generator)
    return TaskBatch(source, target, gold, gold.numel())


def test_the_share_that_is_cut_off_is_the_one_asked_for() -> None:
    torch.manual_seed(3)
    ids = torch.randint(9, 31, (101, 97))
    keep = cut_mask(ids, 0.2, ids < 0, torch.float32)
    assert keep.shape == (101, 97, 1)
    assert set(keep.flatten().tolist()) == {0.0, 1.0}  # what is kept is not scaled
    assert float(keep.mean()) == pytest.approx(0.8, abs=0.02)


def test_special_tokens_and_tags_are_never_cut_off() -> None:
    torch.manual_seed(3)
    ids = torch.tensor([[Tokenizer.start, TAG, 9, Tokenizer.mask, Tokenizer.end, Tokenizer.pad]])
    keep = torch.stack([objective()._keep(ids, 0.99) for _ in range(7)]).amin(0)[0, :, 0]
    assert keep.tolist() == [1, 1, 0, 1, 1, 1]


def test_a_token_that_is_cut_off_does_not_matter_while_its_place_does() -> None:
    model = objective().model.eval()
    asked = question()
    other = asked.source.clone()
    other[:, 3] = (other[:, 3] - 8 + 5) % 23 + 8
    keep = torch.ones(3, 11, 1)
    keep[:, 3] = 0
    states = model.states(asked.source, asked.target, source_keep=keep)
    torch.testing.assert_close(states, model.states(other, asked.target, source_keep=keep))
    assert not torch.allclose(states, model.states(asked.source, asked.target))
    moved = keep.roll(1, dims=1)
    assert not torch.allclose(states, model.states(asked.source, asked.target, source_keep=moved))


def test_the_loss_is_the_whole_inputs_and_the_distance_to_the_cut_one() -> None:
    """Without dropout the first pass is the plain one, so the difference is α KL, above zero."""
    asked = question()
    plain, half, twice = (
        objective(sim_cut=weight, cut_share=0.3)(asked).detach() for weight in (0.0, 0.5, 1.0)
    )
    assert half > plain
    torch.testing.assert_close(twice - plain, 2 * (half - plain), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("settings", [{"sim_cut": 3.0}, {"word_dropout": 0.4}], ids=str)
def test_validation_cuts_nothing_off(settings: dict[str, float]) -> None:
    asked = question()
    plain = objective().eval()
    assert torch.equal(objective(**settings).eval()(asked), plain(asked))


def test_switched_off_not_a_bit_of_a_run_changes(tmp_path: Path) -> None:
    for name, settings in (
        ("plain", {}),
        ("off", {"sim_cut": 0.0, "cut_share": 0.3, "word_dropout": 0.0}),
        ("on", {"sim_cut": 1.0}),
    ):
        run_here(tables(tmp_path, updates=4, validate_every=4, **settings), tmp_path / name)
    plain, off, on = (results(tmp_path / name) for name in ("plain", "off", "on"))
    assert plain == off
    assert plain["log.jsonl"] != on["log.jsonl"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sim_cut": 1.0, "r_drop": 2.0}, r"r_drop is 2.0 and train.sim_cut is 1.0; expected one"),
        ({"sim_cut": 1.0, "cut_share": 0.0}, "cut_share is 0"),
        ({"task": "classify", "sim_cut": 1.0}, "sim_cut does nothing for classify"),
        ({"word_dropout": 1.0}, "word_dropout"),
    ],
)
def test_settings_without_effect_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**settings)

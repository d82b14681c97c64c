"""Laws that hold for every input: order, causality, padding, positions."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cutaway.model import Transformer, explicit, sinusoidal
from tests.model.probe import watching
from tests.model.samples import FAMILIES, PATTERNS, batch, build, close, small

quick = settings(max_examples=25, deadline=None)
families = st.sampled_from(FAMILIES)
patterns = st.sampled_from(PATTERNS)
norms = st.sampled_from(["post", "pre"])
seeds = st.integers(0, 999)
lengths = st.lists(st.integers(1, 9), min_size=1, max_size=5).map(tuple)


def given_ids(model: Transformer, rows: tuple[int, ...], seed: int) -> tuple[Tensor, ...]:
    source = batch(rows, seed=seed)
    if model.config.family != "encoder-decoder":
        return (source,)
    return source, batch(tuple(10 - n for n in rows), seed=seed + 1)


@torch.no_grad()
@quick
@given(order=st.permutations(range(7)), seed=seeds, norm=norms)
def test_without_positions_an_encoder_does_not_know_order(
    order: list[int], seed: int, norm: str
) -> None:
    """f(PX) = P f(X): permute the words and the outputs are permuted likewise."""
    model = build(small(family="encoder", positions="none", norm=norm))
    ids = batch((7, 7), seed=seed)
    close(model(ids[:, order]), model(ids)[:, order])


@torch.no_grad()
@quick
@given(order=st.permutations(range(5)), seed=seeds)
def test_the_order_of_the_memory_does_not_matter(order: list[int], seed: int) -> None:
    """Cross-attention is a set operation too: memory and mask permuted together change nothing."""
    model = build(small())
    source = batch((5, 3), seed=seed)
    target = batch((4, 6), seed=seed + 1)
    memory, mask = model.encode(source), model.padding(source)
    close(
        model.decode(target, memory[:, order], mask[:, :, order]),
        model.decode(target, memory, mask),
    )


@torch.no_grad()
def test_with_positions_it_does() -> None:
    model = build(small(family="encoder"))
    ids = batch((7,))
    assert not torch.allclose(model(ids.flip(1)), model(ids).flip(1), atol=1e-3)


@torch.no_grad()
@quick
@given(
    family=st.sampled_from(["encoder-decoder", "decoder"]),
    pattern=patterns,
    norm=norms,
    changed=st.integers(1, 8),
    seed=seeds,
)
def test_a_changed_future_token_changes_no_earlier_logit(
    family: str, pattern: str, norm: str, changed: int, seed: int
) -> None:
    model = build(small(family=family, attention=pattern, norm=norm))
    target = batch((9, 9), seed=seed)
    other = target.clone()
    other[:, changed:] = batch((9, 9), seed=seed + 1)[:, changed:] % 30 + 1
    other[:, changed] = target[:, changed] % 30 + 1  # certainly another token
    sides: tuple[Tensor, ...] = () if family == "decoder" else (batch((5, 3), seed=seed),)
    before, after = model(*sides, target), model(*sides, other)
    close(after[:, :changed], before[:, :changed])
    assert (after[:, changed] - before[:, changed]).abs().max() > 1e-6


@torch.no_grad()
@quick
@given(family=families, pattern=patterns, rows=lengths, extra=st.integers(1, 6), seed=seeds)
def test_padding_changes_nothing(
    family: str, pattern: str, rows: tuple[int, ...], extra: int, seed: int
) -> None:
    """More padding behind a batch leaves every real position as it was."""
    model = build(small(family=family, attention=pattern))
    ids = given_ids(model, rows, seed)
    wider = tuple(torch.nn.functional.pad(side, (0, extra)) for side in ids)
    expected = model(*ids)
    close(model(*wider)[:, : expected.shape[1]][ids[-1] != 0], expected[ids[-1] != 0])


@torch.no_grad()
@quick
@given(family=families, pattern=patterns, rows=lengths, seed=seeds)
def test_batch_mates_change_nothing(
    family: str, pattern: str, rows: tuple[int, ...], seed: int
) -> None:
    """Each sentence alone, without padding, has the logits it has in the batch."""
    model = build(small(family=family, attention=pattern))
    ids = given_ids(model, rows, seed)
    together = model(*ids)
    for row in range(len(rows)):
        alone = tuple(side[row : row + 1][:, side[row] != 0] for side in ids)
        expected = model(*alone)[0]
        close(together[row, : len(expected)], expected)


@torch.no_grad()
@quick
@given(family=families, order=st.permutations(range(4)), seed=seeds)
def test_the_order_of_the_batch_changes_nothing(family: str, order: list[int], seed: int) -> None:
    model = build(small(family=family))
    ids = given_ids(model, (3, 7, 5, 1), seed)
    close(model(*(side[order] for side in ids)), model(*ids)[order])


@torch.no_grad()
@quick
@given(family=families, pattern=patterns, rows=lengths, seed=seeds)
def test_rows_of_weights_sum_to_one_and_what_is_masked_weighs_nothing(
    family: str, pattern: str, rows: tuple[int, ...], seed: int
) -> None:
    model = build(small(family=family, attention=pattern))
    with explicit(), watching(model) as seen:
        model(*given_ids(model, rows, seed))
    places = [name for name in seen if name.endswith(".weights")]
    assert len(places) == {"encoder-decoder": 8, "decoder": 3, "encoder": 2}[family]
    for place in places:
        weights = torch.from_numpy(seen[place])
        hidden = torch.from_numpy(seen[place.replace("weights", "masked")]) == -math.inf
        assert (weights >= 0).all()
        assert (weights[hidden] == 0).all()
        full = ~hidden.all(-1)
        close(weights.sum(-1), full.double())


# --- Positions (C5–C8) --------------------------------------------------------------------------

widths = st.integers(1, 40).map(lambda half: 2 * half)


def rotation(shift: int, width: int) -> Tensor:
    """M_k: a rotation by shift · ω in each sine-cosine pair, the same for every position."""
    matrix = torch.zeros(width, width, dtype=torch.float64)
    for i in range(0, width, 2):
        angle = shift / 10000 ** (i / width)
        cos, sin = math.cos(angle), math.sin(angle)
        matrix[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    return matrix


@quick
@given(width=widths, shift=st.integers(0, 300), length=st.integers(1, 200))
def test_a_later_position_is_a_fixed_linear_map_of_an_earlier(
    width: int, shift: int, length: int
) -> None:
    """PE(pos + k) = M_k PE(pos) for all pos at once."""
    table = sinusoidal(length + shift, width)
    close(table[:length] @ rotation(shift, width).T, table[shift:])


@quick
@given(width=widths)
def test_every_position_has_length_root_of_half_the_width(width: int) -> None:
    norms_ = sinusoidal(97, width).norm(dim=-1)
    close(norms_, torch.full((97,), math.sqrt(width / 2), dtype=torch.float64))


@pytest.mark.parametrize("width", [6, 64, 512])
def test_positions_are_unique_and_near_ones_alike(width: int) -> None:
    """No two of 1,024 positions share a row; distance grows over the first steps."""
    table = sinusoidal(1024, width)
    apart = torch.cdist(table, table)
    apart.fill_diagonal_(math.inf)
    assert apart.min() > 0.05
    assert (table[1:] - table[:-1]).abs().max() <= 1.0  # one step never jumps
    assert (apart[0, 1:4].diff() > 0).all()


def test_a_single_sinusoid_repeats_itself() -> None:
    """Width 2 has one frequency: 710 is nearly 113 turns, so two far positions look alike."""
    pair, many = sinusoidal(711, 2), sinusoidal(711, 64)
    assert (pair[710] - pair[0]).norm() < 1e-4
    assert (many[710] - many[0]).norm() > 1


@quick
@given(width=st.integers(2, 40).map(lambda half: 2 * half))
def test_frequency_falls_with_the_dimension(width: int) -> None:
    """Dimension 0 is the fastest: it turns most from position 0 to 1."""
    first = sinusoidal(2, width)[1]
    angles = torch.atan2(first[0::2], first[1::2])
    assert (angles.diff() < 0).all()
    assert angles[0] == pytest.approx(1.0)


@torch.no_grad()
def test_the_amplitude_is_a_learned_factor_on_the_positions() -> None:
    """At 0 a model with positions is one without; it starts at 1, where it changes nothing."""
    ids = batch((7, 5))
    with_amplitude = build(small(family="encoder", position_amplitude=True))
    weights = with_amplitude.state_dict()
    amplitude = weights.pop("encoder.positions.amplitude")
    plain, none = build(small(family="encoder")), build(small(family="encoder", positions="none"))
    plain.load_state_dict(weights)
    none.load_state_dict(weights)
    assert Transformer(with_amplitude.config).state_dict()["encoder.positions.amplitude"] == 1
    amplitude.fill_(1.0)
    close(with_amplitude(ids), plain(ids))
    amplitude.fill_(0.0)
    close(with_amplitude(ids), none(ids))
    assert with_amplitude.encoder is not None
    assert isinstance(with_amplitude.encoder.positions.amplitude, torch.nn.Parameter)


@torch.no_grad()
def test_embeddings_are_scaled_by_the_root_of_the_width() -> None:
    model, ids = build(small(family="encoder")), batch((5,))
    close(model.embedding(ids), model.embedding.weight[ids] * math.sqrt(22))
    unscaled = build(small(family="encoder", scale_embedding=False))
    close(unscaled.embedding(ids), unscaled.embedding.weight[ids])

"""Every tensor of a run by its name and symbolic shape."""

import pytest
import torch

from cutaway.config import ModelConfig
from cutaway.model import Transformer, explicit
from tests.model.probe import watching
from tests.model.samples import batch, small

# One size a letter, all different: B sentences, S source and T target positions, D width, H heads,
# W width of a head, F inner width of the feed-forward, V vocabulary. HW is H · W.
SIZES = {"B": 3, "S": 7, "T": 11, "D": 26, "H": 5, "W": 2, "F": 17, "V": 31, "HW": 10}


def attention(queries: str, keys: str) -> dict[str, str]:
    return {
        "query": f"B H {queries} W",
        "key": f"B H {keys} W",
        "value": f"B H {keys} W",
        "scores": f"B H {queries} {keys}",
        "scaled": f"B H {queries} {keys}",
        "masked": f"B H {queries} {keys}",
        "softmax": f"B H {queries} {keys}",
        "weights": f"B H {queries} {keys}",
        "context": f"B H {queries} W",
        "concatenated": f"B {queries} HW",
        "output": f"B {queries} D",
    }


def add_norm(length: str) -> dict[str, str]:
    return dict.fromkeys(("update", "added", "normed"), f"B {length} D")


def feed_forward(length: str) -> dict[str, str]:
    return {"hidden": f"B {length} F", "activated": f"B {length} F", "output": f"B {length} D"}


def layer(length: str, memory: str = "") -> dict[str, dict[str, str]]:
    cross = {
        "cross_attention": attention(length, memory),
        "cross_attention_add_norm": add_norm(length),
    }
    return {
        "self_attention": attention(length, length),
        "self_attention_add_norm": add_norm(length),
        **(cross if memory else {}),
        "feed_forward": feed_forward(length),
        "feed_forward_add_norm": add_norm(length),
    }


def stack(name: str, depth: int, length: str, memory: str = "") -> dict[str, str]:
    shapes = {f"{name}.positions.output": f"B {length} D", f"{name}.output": f"B {length} D"}
    for index in range(depth):
        for part, tensors in layer(length, memory).items():
            for tensor, shape in tensors.items():
                shapes[f"{name}.layers.{index}.{part}.{tensor}"] = shape
    return shapes


def projections(place: str) -> dict[str, str]:
    """x W is written with W as D × HW; torch stores its transpose."""
    return {
        **{f"{place}.W_{one}.weight": "HW D" for one in "QKV"},
        **{f"{place}.W_{one}.bias": "HW" for one in "QKV"},
        f"{place}.W_O.weight": "D HW",
        f"{place}.W_O.bias": "D",
    }


def weights(name: str, depth: int, *, cross: bool = False) -> dict[str, str]:
    shapes: dict[str, str] = {}
    for place in (f"{name}.layers.{index}" for index in range(depth)):
        kinds = ["self_attention", "cross_attention"] if cross else ["self_attention"]
        for kind in kinds:
            shapes |= projections(f"{place}.{kind}")
        shapes |= {f"{place}.feed_forward.W_1.weight": "F D", f"{place}.feed_forward.W_1.bias": "F"}
        shapes |= {f"{place}.feed_forward.W_2.weight": "D F", f"{place}.feed_forward.W_2.bias": "D"}
        for kind in [*kinds, "feed_forward"]:
            shapes |= {f"{place}.{kind}_add_norm.norm.{one}": "D" for one in ("weight", "bias")}
    return shapes


SHARED = {"embedding.weight": "V D", "output.bias": "V"}
RUNS = {  # depths differ between the sides, and the encoder's output feeds every decoder layer
    "encoder-decoder": {
        "embedding.scaled": "B S D",
        "embedding.scaled@2": "B T D",
        **stack("encoder", 2, "S"),
        **stack("decoder", 3, "T", memory="S"),
        "output.logits": "B T V",
    },
    "decoder": {
        "embedding.scaled": "B S D",
        **stack("decoder", 3, "S"),
        "output.logits": "B S V",
    },
    "encoder": {
        "embedding.scaled": "B S D",
        **stack("encoder", 2, "S"),
        "output.logits": "B S V",
    },
}
PARAMETERS = {
    "encoder-decoder": {**SHARED, **weights("encoder", 2), **weights("decoder", 3, cross=True)},
    "decoder": {**SHARED, **weights("decoder", 3)},
    "encoder": {**SHARED, **weights("encoder", 2)},
}


def sized(shape: str) -> tuple[int, ...]:
    return tuple(SIZES[letter] for letter in shape.split())


def configured(family: str) -> ModelConfig:
    sizes = {"d_model": SIZES["D"], "heads": SIZES["H"], "head_width": SIZES["W"]}
    return small(family=family, d_ff=SIZES["F"], vocabulary=SIZES["V"], **sizes)


@torch.no_grad()
@pytest.mark.parametrize("family", RUNS)
def test_every_tensor_has_the_shape_the_paper_gives_it(family: str) -> None:
    assert len(set(SIZES.values())) == len(SIZES)
    model = Transformer(configured(family)).eval()
    ids = [batch((7, 7, 7)), batch((11, 11, 11))][: 2 if family == "encoder-decoder" else 1]
    with explicit(), watching(model) as seen:
        model(*ids)
    found = {name: value.shape for name, value in seen.items() if name in RUNS[family]}
    assert found == {name: sized(shape) for name, shape in RUNS[family].items()}
    found = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert found == {name: sized(shape) for name, shape in PARAMETERS[family].items()}


@torch.no_grad()
def test_the_papers_own_sizes() -> None:
    """Three words through a layer of base: 3 × 512 in and out, eight heads of 64, 2048 inside."""
    model = Transformer(
        ModelConfig.preset("base", vocabulary=11, encoder_layers=1, family="encoder")
    )
    with explicit(), watching(model.eval()) as seen:
        model(batch((3,), vocabulary=11))
    place = "encoder.layers.0"
    assert seen[f"{place}.self_attention.query"].shape == (1, 8, 3, 64)
    assert seen[f"{place}.self_attention.scores"].shape == (1, 8, 3, 3)
    assert seen[f"{place}.self_attention.concatenated"].shape == (1, 3, 512)
    assert seen[f"{place}.feed_forward.hidden"].shape == (1, 3, 2048)
    assert seen[f"{place}.feed_forward_add_norm.normed"].shape == (1, 3, 512)
    assert seen["output.logits"].shape == (1, 3, 11)


@torch.no_grad()
def test_a_gpts_first_input_is_the_start_token() -> None:
    """One token in, the logits of the next out; depth as configured."""
    model = Transformer(small(family="decoder", decoder_layers=12)).eval()
    assert len(list(model.get_submodule("decoder.layers").children())) == 12
    assert model(torch.tensor([[2]])).shape == (1, 1, 31)

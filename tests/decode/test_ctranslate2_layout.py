"""The layout made here is the one that CTranslate2's own specification writes."""

import struct
from typing import Any

import pytest
import torch

from cutaway.artifact.tensors import Array
from cutaway.artifact.weights import arrays_of
from cutaway.decode.ctranslate2_engine import CTranslate2Engine, why_not
from cutaway.decode.ctranslate2_layout import Layout, floats, model_files
from cutaway.errors import InputError, ModelFolderError
from cutaway.export.ctranslate2 import specification
from tests.export.helpers import random_folder, tokenizer

SHAPES: list[dict[str, Any]] = [
    {"norm": "pre"},
    {"norm": "post", "activation": "gelu"},
    {"head_width": 11},
    {"bias": False, "output_bias": False, "tied": "none"},
    {"positions": "learned", "position_amplitude": True},
    {"positions": "none", "scale_embedding": False},
    {"target": tokenizer("unigram"), "tied": "output"},
]
TYPES = ["float32", "int8", "int16", "int32"]


@pytest.mark.parametrize("changes", SHAPES, ids=", ".join)
def test_names_shapes_and_numbers_are_those_of_the_specification(changes: dict[str, Any]) -> None:
    folder = random_folder(**changes)
    spec = specification(folder)
    spec.validate()
    spec.optimize(quantization="float32")
    variables, aliases = Layout(folder.config, folder.arrays()).all()
    expected = dict(spec.variables())
    assert expected.keys() == {*variables, *aliases}
    for name, (shape, kind, data) in variables.items():
        theirs = expected[name]
        if isinstance(theirs, str):  # they compare numbers, and so find further equal arrays
            theirs = expected[theirs]
        if "position_encodings" in name:  # as long as the model needs, not as others may
            rows = folder.config.max_length
            got = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)
            torch.testing.assert_close(
                got[:rows], torch.from_numpy(theirs.numpy()[:rows]), atol=1e-7, rtol=0
            )
            continue
        assert tuple(theirs.shape) == shape, name
        assert theirs.dtype == TYPES[kind], name
        assert theirs.to_bytes() == data, name
    for name, other in aliases.items():
        assert expected[name] == other or expected[name].to_bytes() == variables[other][2]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_type_of_weights_on_disk(dtype: torch.dtype) -> None:
    """A folder of half precision is computed in float32, as the model itself does."""
    folder = random_folder(positions="learned", position_amplitude=True)
    stored = random_folder(positions="learned", position_amplitude=True)
    stored.model.to(dtype)
    folder.model.load_state_dict(stored.model.state_dict())
    one, other = CTranslate2Engine(folder, workers=1), CTranslate2Engine(stored, workers=1)
    sources, targets = [["▁the", "<end>"]], [["▁le", "."]]
    expected = one.translator.score_batch(sources, targets)[0].log_probs
    found = other.translator.score_batch(sources, targets)[0].log_probs
    assert found == pytest.approx(expected, abs=1e-5)


def test_half_precision_is_widened_exactly() -> None:
    numbers = torch.tensor([1.5, -0.0625, 65504.0, 3e-5])
    for kind, dtype in (("F16", torch.float16), ("BF16", torch.bfloat16), ("F64", torch.float64)):
        data = bytes(numbers.to(dtype).view(torch.uint8).tolist())
        assert list(floats(Array(kind, (4,), data))) == numbers.to(dtype).float().tolist()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("embedding.weight", Array("F32", (331, 33), bytes(331 * 33 * 4))),
        ("encoder.layers.1.feed_forward.W_1.bias", None),
        ("decoder.layers.0.cross_attention.W_V.weight", Array("I64", (34, 34), bytes(34 * 34 * 8))),
        ("decoder.layers.2.self_attention.W_K.bias", Array("F16", (34,), bytes(68))),
    ],
)
def test_weights_that_are_not_those_of_the_settings_are_refused(
    name: str, change: Array | None
) -> None:
    """CTranslate2's reader meets only files that are well formed."""
    folder = random_folder()
    arrays = arrays_of(folder.model)
    del arrays[name]
    if change is not None:
        arrays[name] = change
    with pytest.raises(ModelFolderError, match="from a good source"):
        model_files(folder.config, arrays, folder.tokenizer, folder.tokenizer)


def test_what_ctranslate2_does_not_compute() -> None:
    assert "local attention" in why_not(random_folder(attention="local"))
    assert "family 'decoder'" in why_not(random_folder(family="decoder"))
    assert "more or fewer tokens" in why_not(random_folder(vocabulary=337))
    assert why_not(random_folder()) == ""
    with pytest.raises(InputError, match="use --engine torch"):
        CTranslate2Engine(random_folder(vocabulary=337))


def test_the_file_begins_as_ctranslate2_expects() -> None:
    folder = random_folder()
    files = model_files(folder.config, folder.arrays(), folder.tokenizer, folder.tokenizer)
    assert struct.unpack_from("<IH", files["model.bin"]) == (6, 16)
    assert set(files) == {"config.json", "model.bin", "shared_vocabulary.json"}

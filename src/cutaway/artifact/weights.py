"""The weights of a model folder as a model of torch, and back."""

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from cutaway.artifact.tensors import Array
from cutaway.config import ModelConfig
from cutaway.errors import ModelFolderError
from cutaway.model import Transformer

# Types of weights, as safetensors calls them.
KINDS = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


def read_model(path: Path, config: ModelConfig, device: str = "cpu") -> Transformer:
    """The model of a weights file, ready to compute; of other names or shapes it is refused."""
    check_weights(path, config)
    model = Transformer(config)
    model.load_state_dict(load_file(path, device=device))
    return model.to(device).eval()


def write_weights(path: Path, model: Transformer) -> None:
    """Every parameter and buffer under its name."""
    weights = {
        name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()
    }
    save_file(weights, path, metadata={"format": "pt"})


def arrays_of(model: Transformer) -> dict[str, Array]:
    """The weights in memory as bytes."""
    return {
        name: Array(
            KINDS[tensor.dtype],
            tuple(tensor.shape),
            tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes(),
        )
        for name, tensor in model.state_dict().items()
    }


def check_weights(path: Path, config: ModelConfig) -> None:
    """Names and shapes in the header of the weights are those of the model, of which none is built.

    So the memory a folder takes is bounded by the size of its files.
    """
    with safe_open(path, framework="pt") as file:
        found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        kinds = {file.get_slice(name).get_dtype() for name in found}
    layers = config.encoder_layers + config.decoder_layers
    if layers > len(found):
        raise ModelFolderError(
            f"{path.parent} describes {layers:,} layers, but its weights have {len(found):,} "
            f"tensors: copy the folder again from a good source"
        )
    if not kinds <= set(KINDS.values()):
        raise ModelFolderError(f"{path} has numbers of type {', '.join(sorted(kinds))}")
    with torch.device("meta"):
        expected = {
            name: tuple(tensor.shape) for name, tensor in Transformer(config).state_dict().items()
        }
    for name in sorted({*expected, *found}):
        if expected.get(name) != found.get(name):
            raise ModelFolderError(
                f"{path}: {name[:80]} has shape {found.get(name, 'none')}; its config.json asks "
                f"for {expected.get(name, 'none')}: copy the folder again from a good source"
            )

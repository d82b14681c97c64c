"""Stacks of any depth, and one memory for every decoder layer."""

import pytest
import torch
from torch import Tensor

from cutaway.config import ModelConfig
from cutaway.model import Transformer


def model_of(encoder: int, decoder: int) -> Transformer:
    config = ModelConfig(
        vocabulary=23,
        encoder_layers=encoder,
        decoder_layers=decoder,
        d_model=14,
        heads=2,
        d_ff=11,
        dropout=0.0,
    )
    torch.manual_seed(3)
    return Transformer(config).double().eval()


def projected(model: Transformer, memory: Tensor, target: Tensor) -> dict[str, Tensor]:
    """What every W_K and W_V of cross-attention gives while the decoder reads a memory."""
    found: dict[str, Tensor] = {}
    hooks = [
        module.register_forward_hook(lambda _m, _i, out, name=name: found.update({name: out}))
        for name, module in model.named_modules()
        if name.endswith(("cross_attention.W_K", "cross_attention.W_V"))
    ]
    with torch.no_grad():
        model.decode(target, memory)
    for hook in hooks:
        hook.remove()
    return found


@pytest.mark.parametrize(("encoder", "decoder"), [(2, 5), (3, 1), (6, 6), (12, 12)])
def test_the_memory_feeds_every_decoder_layer(encoder: int, decoder: int) -> None:
    """Shift the memory by δ: keys and values of every layer shift by W δ and by nothing else."""
    model = model_of(encoder, decoder)
    layers = [name for name, _ in model.named_modules() if name.endswith(".feed_forward")]
    assert sum(name.startswith("encoder.") for name in layers) == encoder
    assert sum(name.startswith("decoder.") for name in layers) == decoder
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[2, 8, 9, 10, 11]])
    shift = torch.linspace(-1, 1, 14, dtype=torch.float64)
    with torch.no_grad():
        memory = model.encode(source)
    before, after = projected(model, memory, target), projected(model, memory + shift, target)
    assert len(before) == 2 * decoder
    for name, plain in before.items():
        assert plain.shape == (1, 3, 14)
        moved = shift @ model.get_parameter(f"{name}.weight").T
        assert torch.allclose(after[name] - plain, moved.expand_as(plain), atol=1e-12)

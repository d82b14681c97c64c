"""Fused kernels written out, so that a recording shows every matrix between.

These bodies run only while recording, in place of a kernel that would hide its steps.
"""

import math

import torch
from torch import Tensor


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention one matrix at a time; a row with no key at all gives zeros, as the kernel does.

    context = softmax(query keyᵀ · scale + mask) value
    """
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], dim=-3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1)
    scaled = scores * factor
    if is_causal:
        attn_mask = torch.ones(
            query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device
        ).tril()
    if attn_mask is None:
        weights = torch.softmax(scaled, dim=-1)
    elif attn_mask.dtype == torch.bool:
        masked = scaled.masked_fill(~attn_mask, -math.inf)
        softmax = torch.softmax(masked, dim=-1)
        weights = softmax.masked_fill(~attn_mask, 0.0)
    else:
        masked = scaled + attn_mask
        weights = torch._safe_softmax(masked, dim=-1)
    if dropout_p > 0.0:
        weights = torch.dropout(weights, dropout_p, True)
    context = weights @ value
    return context


def lstm_layer(
    sequence: Tensor,  # (time, batch, features)
    hidden: Tensor,  # (batch, width)
    cell: Tensor,  # (batch, width)
    weights: list[Tensor],  # W_ih, W_hh and, with biases, b_ih, b_hh
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """One direction of one layer, step by step.

    c = σ(f)·c + σ(i)·tanh(g); h = σ(o)·tanh(c)
    """
    W_ih, W_hh, *biases = weights
    b_ih, b_hh = biases if biases else (None, None)
    steps = []
    order = range(sequence.shape[0] - 1, -1, -1) if reverse else range(sequence.shape[0])
    for time in order:
        step = sequence[time]
        from_input = torch.nn.functional.linear(step, W_ih, b_ih)
        from_hidden = torch.nn.functional.linear(hidden, W_hh, b_hh)
        gates = from_input + from_hidden
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
        opened = torch.sigmoid(input_gate)
        kept = torch.sigmoid(forget_gate)
        proposed = torch.tanh(candidate)
        shown = torch.sigmoid(output_gate)
        cell = kept * cell + opened * proposed
        hidden = shown * torch.tanh(cell)
        steps.append(hidden)
    if reverse:
        steps.reverse()
    states = torch.stack(steps)
    return states, hidden, cell


def lstm(
    sequence: Tensor,
    states: tuple[Tensor, Tensor],
    parameters: list[Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    training: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """`torch.lstm` without its fused kernel (no projections, no packed sequences)."""
    if batch_first:
        sequence = sequence.transpose(0, 1)
    directions = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    last_hidden, last_cell = [], []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = parameters[place * each : (place + 1) * each]
            output, hidden, cell = lstm_layer(
                sequence, states[0][place], states[1][place], weights, direction == 1
            )
            outputs.append(output)
            last_hidden.append(hidden)
            last_cell.append(cell)
        sequence = outputs[0] if directions == 1 else torch.cat(outputs, dim=-1)
        if dropout and training and layer < layers - 1:
            sequence = torch.dropout(sequence, dropout, True)
    if batch_first:
        sequence = sequence.transpose(0, 1)
    return sequence, torch.stack(last_hidden), torch.stack(last_cell)

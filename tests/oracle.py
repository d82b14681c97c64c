"""The paper in NumPy: every intermediate of a Transformer by its address, and the smoothed loss.

Knows nothing of torch. Weights come as arrays by name; results go out as arrays by the address a
trace gives them (`encoder.layers.0.self_attention.scores`), so both can be held side by side.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cutaway.config import ModelConfig

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ids = NDArray[np.int64]

erf = np.vectorize(math.erf, otypes=[np.float64])


def softmax(x: Array) -> Array:
    """exp(x_i) / Σ exp(x_j) over the last axis; NaN where all of a row is −∞."""
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
        return np.asarray(e / e.sum(-1, keepdims=True))


def positions(length: int, width: int) -> Array:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same."""
    rates = [10000 ** (i // 2 * 2 / width) for i in range(width)]
    wave = (math.sin, math.cos)
    return np.array([[wave[i % 2](p / rates[i]) for i in range(width)] for p in range(length)])


def smoothed_loss(logits: Array, labels: Ids, pad: int, smoothing: float) -> float:
    """Mean over real labels of −Σ q log p, q = 1 − ε + ε/V at the label and ε/V elsewhere."""
    terms = []
    for row, label in zip(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), strict=True):
        if label != pad:
            wanted = np.full(row.size, smoothing / row.size)
            wanted[label] += 1 - smoothing
            terms.append(-float(wanted @ np.log(softmax(row))))
    return sum(terms) / len(terms)


class Oracle:
    """One run of a model with these weights; `seen` fills with every intermediate."""

    def __init__(self, weights: dict[str, Array], config: ModelConfig) -> None:
        self.weights, self.config = weights, config
        self.seen: dict[str, Array] = {}

    def run(self, source: Ids, target: Ids | None = None) -> Array:
        """Ids (B, S) and, with two sides, (B, T) → logits (B, T or S, V)."""
        mask = (source != self.config.pad)[:, None, :]
        own = "target_embedding" if "target_embedding.weight" in self.weights else "embedding"
        first = "decoder" if self.config.family == "decoder" else "encoder"
        x = self.stack(first, "embedding", source, None, mask)
        if target is not None:
            x = self.stack("decoder", own, target, x, mask)
        weight = self.weights.get("output.weight", self.weights[f"{own}.weight"])
        return self.keep("output", logits=x @ weight.T + self.weights["output.bias"])

    def keep(self, path: str, **values: Array) -> Array:
        """Note values by address (the second call of a module is @2); give back the last."""
        for name, value in values.items():
            address = f"{path}.{name}"
            self.seen[f"{address}@2" if address in self.seen else address] = value
        return value

    def linear(self, path: str, x: Array) -> Array:
        return np.asarray(x @ self.weights[f"{path}.weight"].T + self.weights[f"{path}.bias"])

    def norm(self, path: str, x: Array) -> Array:
        mean = x.mean(-1, keepdims=True)
        root = np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + self.config.norm_epsilon)
        gain, bias = self.weights[f"{path}.weight"], self.weights[f"{path}.bias"]
        return np.asarray((x - mean) / root * gain + bias)

    def attention(self, path: str, x: Array, memory: Array | None, mask: Mask) -> Array:
        def heads(name: str, of: Array) -> Array:
            return np.stack(np.split(self.linear(f"{path}.{name}", of), self.config.heads, -1), 1)

        asked = x if memory is None else memory
        query, key, value = heads("W_Q", x), heads("W_K", asked), heads("W_V", asked)
        scores = np.einsum("bhqw,bhkw->bhqk", query, key)
        scaled = scores / math.sqrt(self.config.d_k)
        masked = np.where(mask[:, None], scaled, -np.inf)
        soft = softmax(masked)
        weights = np.where(mask[:, None], soft, 0.0)
        context = np.einsum("bhqk,bhkw->bhqw", weights, value)
        joined = np.concatenate([context[:, head] for head in range(context.shape[1])], -1)
        self.keep(path, query=query, key=key, value=value, scores=scores, scaled=scaled)
        self.keep(path, masked=masked, softmax=soft, weights=weights, context=context)
        return self.keep(path, concatenated=joined, output=self.linear(f"{path}.W_O", joined))

    def feed_forward(self, path: str, x: Array) -> Array:
        hidden = self.linear(f"{path}.W_1", x)
        gelu = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
        activated = np.maximum(hidden, 0) if self.config.activation == "relu" else gelu
        output = self.linear(f"{path}.W_2", activated)
        return self.keep(path, hidden=hidden, activated=activated, output=output)

    def add_norm(self, path: str, x: Array, sublayer: Callable[[str, Array], Array]) -> Array:
        if self.config.norm == "pre":
            normed = self.norm(f"{path}_add_norm.norm", x)
            update = sublayer(path, normed)
            return self.keep(f"{path}_add_norm", normed=normed, update=update, added=x + update)
        update = sublayer(path, x)
        normed = self.norm(f"{path}_add_norm.norm", x + update)
        return self.keep(f"{path}_add_norm", update=update, added=x + update, normed=normed)

    def stack(self, part: str, table: str, ids: Ids, memory: Array | None, far: Mask) -> Array:
        config, length = self.config, range(ids.shape[1])
        x = self.weights[f"{table}.weight"][ids] * math.sqrt(config.d_model)
        self.keep(table, scaled=x)
        x = self.keep(f"{part}.positions", output=x + positions(len(length), config.d_model))
        may = np.array([[self.reaches(q - k, part) for k in length] for q in length])
        own = may & (ids != config.pad)[:, None, :]
        kinds = [("self_attention", None, own), ("cross_attention", memory, far)]
        for n in range(config.encoder_layers if part == "encoder" else config.decoder_layers):
            for kind, of, mask in kinds if memory is not None else kinds[:1]:
                attend = partial(self.attention, memory=of, mask=mask)
                x = self.add_norm(f"{part}.layers.{n}.{kind}", x, attend)
            x = self.add_norm(f"{part}.layers.{n}.feed_forward", x, self.feed_forward)
        return self.keep(part, output=self.norm(f"{part}.norm", x) if config.norm == "pre" else x)

    def reaches(self, distance: int, part: str) -> bool:
        near = self.config.attention == "full" or abs(distance) <= self.config.window
        strided = self.config.attention == "strided" and distance % self.config.stride == 0
        return (near or strided) and (part == "encoder" or distance >= 0)

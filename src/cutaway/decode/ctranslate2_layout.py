"""The weights of a translator as CTranslate2 reads them, laid out in memory without torch.

A model file of CTranslate2 is a list of named arrays. Self-attention holds [W_Q W_K W_V] stacked
and W_O, cross-attention W_Q, [W_K W_V] and W_O: row-major matrices, so that stacking is joining
bytes. Every array is compared with the shape that the settings ask for, so the runtime's own reader
only ever meets a file that is well formed.
"""

import json
import math
import struct
from array import array
from collections.abc import Mapping

from cutaway.artifact.tensors import Array
from cutaway.config import ModelConfig
from cutaway.errors import ModelFolderError
from cutaway.text import Tokenizer

BINARY_VERSION, REVISION = 6, 7  # of the file, and of TransformerSpec in it
FLOAT32, INT8, INT16, INT32, FLOAT16, BFLOAT16 = range(6)  # CTranslate2's numbers of types
KINDS = {"F32": FLOAT32, "F16": FLOAT16, "BF16": BFLOAT16, "F64": FLOAT32}
FORMATS = {INT8: "<b", INT16: "<h", INT32: "<i"}
ACTIVATIONS = {"relu": 0, "gelu": 3}

Shape = tuple[int, ...]
Variable = tuple[Shape, int, bytes]


def unfit(config: ModelConfig) -> str:
    """Why CTranslate2 cannot compute this model, in a few words; empty: it can."""
    if config.family != "encoder-decoder":
        return f"the model is of family {config.family!r}"
    if config.attention != "full":
        return f"the model has {config.attention} attention, which CTranslate2 has not"
    if config.encoder_layers == 0 or config.decoder_layers == 0:
        return "the model has a side without layers"
    return ""


def model_files(
    config: ModelConfig,
    tensors: Mapping[str, Array],
    source: Tokenizer,
    target: Tokenizer,
) -> dict[str, bytes]:
    """The files of a CTranslate2 model: name → content. A source brings its own <end>."""
    start, end, unknown = (target.pieces([number])[0] for number in (2, 3, 1))
    about = {
        "add_source_bos": False,
        "add_source_eos": False,
        "bos_token": start,
        "decoder_start_token": start,
        "eos_token": end,
        "layer_norm_epsilon": config.norm_epsilon,
        "multi_query_attention": False,
        "unk_token": unknown,
    }
    files = {"config.json": json.dumps(about).encode(), "model.bin": _binary(config, tensors)}
    if source is target:
        files["shared_vocabulary.json"] = _vocabulary(source)
    else:
        files["source_vocabulary.json"] = _vocabulary(source)
        files["target_vocabulary.json"] = _vocabulary(target)
    return files


def _vocabulary(tokenizer: Tokenizer) -> bytes:
    return json.dumps(tokenizer.pieces(range(tokenizer.vocabulary))).encode()


def _binary(config: ModelConfig, tensors: Mapping[str, Array]) -> bytes:
    """model.bin: variables in the order of their names, then names that share one."""
    variables, aliases = Layout(config, tensors).all()
    parts = [struct.pack("<I", BINARY_VERSION), _text("TransformerSpec")]
    parts.append(struct.pack("<II", REVISION, len(variables)))
    for name in sorted(variables):
        shape, kind, data = variables[name]
        parts += [
            _text(name),
            struct.pack(f"<B{len(shape)}I", len(shape), *shape),
            struct.pack("<BI", kind, len(data)),
            data,
        ]
    parts.append(struct.pack("<I", len(aliases)))
    for name in sorted(aliases):
        parts += [_text(name), _text(aliases[name])]
    return b"".join(parts)


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


class Layout:
    """The variables of one model, by CTranslate2's names."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, Array]) -> None:
        self.config = config
        self.tensors = tensors
        self.variables: dict[str, Variable] = {}
        self.aliases: dict[str, str] = {}

    def all(self) -> tuple[dict[str, Variable], dict[str, str]]:
        """Variables by name, and for a name that shares another's variable, that name."""
        config = self.config
        width = config.d_model
        self._stack("encoder", config.encoder_layers)
        self._stack("decoder", config.decoder_layers)
        self._flags("encoder", embeddings_merge=0, multi_query_attention=0)
        self._flags(
            "decoder",
            alibi=0,
            alibi_use_positive_positions=0,
            scale_alibi=0,
            start_from_zero_embedding=0,
        )
        self._number("decoder/alignment_heads", INT16, 1)
        self._number("decoder/alignment_layer", INT16, -1)
        own = "target_embedding" if config.tied != "all" else "embedding"
        self._copy("decoder/embeddings/weight", f"{own}.weight", (config.output_vocabulary, width))
        if config.tied == "all":
            self.aliases["encoder/embeddings_0/weight"] = "decoder/embeddings/weight"
        else:
            source = (config.vocabulary, width)
            self._copy("encoder/embeddings_0/weight", "embedding.weight", source)
        if config.tied == "none":
            target = (config.output_vocabulary, width)
            self._copy("decoder/projection/weight", "output.weight", target)
        else:
            self.aliases["decoder/projection/weight"] = "decoder/embeddings/weight"
        if config.output_bias:
            self._copy("decoder/projection/bias", "output.bias", (config.output_vocabulary,))
        return self.variables, self.aliases

    def _stack(self, stack: str, layers: int) -> None:
        config = self.config
        width, inside = config.d_model, config.heads * config.d_k
        self._flags(
            stack,
            activation=ACTIVATIONS[config.activation],
            pre_norm=config.norm == "pre",
            scale_embeddings=config.scale_embedding,
        )
        self._number(f"{stack}/num_heads", INT16, config.heads)
        table = f"{stack}/position_encodings/encodings"
        rows = config.max_length + 1  # an output cut off at the limit is priced with an <end>
        self.variables[table] = ((rows, width), FLOAT32, self._positions(stack, rows))
        if config.norm == "pre":
            self._norm(f"{stack}/layer_norm", f"{stack}.norm")
        for number in range(layers):
            to, ours = f"{stack}/layer_{number}", f"{stack}.layers.{number}"
            attention = f"{ours}.self_attention"
            self._linear(f"{to}/self_attention/linear_0", attention, "QKV", (inside, width))
            self._linear(f"{to}/self_attention/linear_1", attention, "O", (width, inside))
            self._norm(f"{to}/self_attention/layer_norm", f"{attention}_add_norm.norm")
            self._head_width(f"{to}/self_attention")
            if stack == "decoder":
                attention = f"{ours}.cross_attention"
                self._linear(f"{to}/attention/linear_0", attention, "Q", (inside, width))
                self._linear(f"{to}/attention/linear_1", attention, "KV", (inside, width))
                self._linear(f"{to}/attention/linear_2", attention, "O", (width, inside))
                self._norm(f"{to}/attention/layer_norm", f"{attention}_add_norm.norm")
                self._head_width(f"{to}/attention")
            inner = f"{ours}.feed_forward"
            self._linear(f"{to}/ffn/linear_0", inner, "1", (config.d_ff, width), bias=True)
            self._linear(f"{to}/ffn/linear_1", inner, "2", (width, config.d_ff), bias=True)
            self._norm(f"{to}/ffn/layer_norm", f"{inner}_add_norm.norm")

    def _linear(
        self, to: str, ours: str, letters: str, shape: Shape, *, bias: bool | None = None
    ) -> None:
        """One matrix, or several that read the same input, stacked."""
        names = [f"{ours}.W_{letter}" for letter in letters]
        self._copy(f"{to}/weight", [f"{name}.weight" for name in names], shape)
        if self.config.bias if bias is None else bias:
            self._copy(f"{to}/bias", [f"{name}.bias" for name in names], shape[:1])

    def _norm(self, to: str, ours: str) -> None:
        shape = (self.config.d_model,)
        self._copy(f"{to}/gamma", f"{ours}.weight", shape)
        self._copy(f"{to}/beta", f"{ours}.bias", shape)

    def _head_width(self, to: str) -> None:
        if self.config.head_width is not None:
            self._number(f"{to}/head_dim", INT32, self.config.head_width)

    def _copy(self, to: str, ours: str | list[str], shape: Shape) -> None:
        """A tensor, or several of one shape, one above the other."""
        names = [ours] if isinstance(ours, str) else ours
        arrays = [self._array(name, shape) for name in names]
        if len({array_.kind for array_ in arrays}) > 1:
            raise ModelFolderError(
                f"{names[0][:80]} and its neighbours have numbers of different types; "
                f"expected one type: copy the folder again from a good source"
            )
        data = b"".join(array_.data for array_ in arrays)
        if arrays[0].kind == "F64":
            data = array("f", array("d", data)).tobytes()
        self.variables[to] = (
            (shape[0] * len(names), *shape[1:]),
            KINDS[arrays[0].kind],
            data,
        )

    def _flags(self, stack: str, **values: int) -> None:
        for name, value in values.items():
            self._number(f"{stack}/{name}", INT8, int(value))

    def _number(self, to: str, kind: int, value: int) -> None:
        self.variables[to] = ((), kind, struct.pack(FORMATS[kind], value))

    def _array(self, name: str, shape: Shape) -> Array:
        """A tensor of the model, if it is there in this shape."""
        found = self.tensors.get(name)
        if found is None or found.shape != shape or found.kind not in KINDS:
            has = "missing" if found is None else f"{found.kind} {found.shape}"
            raise ModelFolderError(
                f"{name[:80]} is {has}; the model's config.json asks for numbers of shape {shape}: "
                f"copy the folder again from a good source"
            )
        return found

    def _positions(self, stack: str, rows: int) -> bytes:
        """What is added to the tokens: sines, learned rows or zeros, amplitude included."""
        config = self.config
        width = config.d_model
        if config.positions == "none":
            return bytes(4 * rows * width)
        if config.positions == "learned":
            table = floats(self._array(f"{stack}.positions.table", (config.max_length, width)))
            table.extend([0.0] * width * (rows - config.max_length))
        else:
            table = sinusoidal(rows, width)
        if config.position_amplitude:
            (amplitude,) = floats(self._array(f"{stack}.positions.amplitude", ()))
            table = array("f", [value * amplitude for value in table])
        return table.tobytes()


def floats(numbers: Array) -> "array[float]":
    """The numbers of an array as float32."""
    if numbers.kind == "BF16":  # the upper half of a float32
        wide = array("I", [value << 16 for value in array("H", numbers.data)])
        return array("f", wide.tobytes())
    if numbers.kind == "F16":
        return array("f", struct.unpack(f"<{len(numbers.data) // 2}e", numbers.data))
    return array("f", array("f" if numbers.kind == "F32" else "d", numbers.data))


def sinusoidal(length: int, width: int) -> "array[float]":
    """The paper's table row by row: PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos."""
    rates = [math.exp(even * (-math.log(10000.0) / width)) for even in range(0, width, 2)]
    return array(
        "f",
        [
            wave(position * rate)
            for position in range(length)
            for rate in rates
            for wave in (math.sin, math.cos)
        ],
    )

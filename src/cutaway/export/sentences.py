"""Where a sentence ends, as a tiny ONNX network of fixed rules, so that Argos needs no download.

Argos cuts a paragraph with a MiniSBD model: characters in, (inside, –, sentence end) out. This one
knows each character's class and looks two characters to either side: the rules of
`cutaway.text.sentences` without its lists of abbreviations.
"""

import json
from typing import Any

from cutaway.export.place import extra
from cutaway.text import sentences

LOWER, SPACE, UPPER, DOT, MARK, CLOSING, FULL = range(2, 9)  # 0 and 1: padding, any other character

CLASSES = {
    SPACE: " ",
    DOT: ".",
    MARK: sentences.MARKS,
    CLOSING: sentences.CLOSING,
    FULL: sentences.FULL,
}
LETTERS = [(0x41, 0x250), (0x370, 0x590), (0x1E00, 0x2000)]  # Latin, Greek, Cyrillic, Armenian


def sentence_model(language: str) -> bytes:
    """The file that a package keeps as minisbd/LANGUAGE.onnx."""
    onnx = extra("onnx", "argos")
    graph = _Graph(onnx)
    before2, before, here, after, after2 = (graph.shifted(by) for by in (-2, -1, 0, 1, 2))
    initial = graph.both(  # the dot of "J. Smith"
        graph.is_a(here, DOT),
        graph.both(
            graph.is_a(before, UPPER),
            graph.either(graph.is_a(before2, SPACE), graph.is_a(before2, 0)),
        ),
    )
    stop = graph.either(graph.is_a(here, DOT), graph.is_a(here, MARK))
    stop_before = graph.either(graph.is_a(before, DOT), graph.is_a(before, MARK))
    closed = graph.both(graph.is_a(here, CLOSING), stop_before)
    spaced = graph.both(
        graph.either(graph.both(stop, graph.no(initial)), closed),
        graph.both(graph.is_a(after, SPACE), graph.no(graph.is_a(after2, LOWER))),
    )
    full = graph.both(
        graph.either(
            graph.is_a(here, FULL),
            graph.both(graph.is_a(here, CLOSING), graph.is_a(before, FULL)),
        ),
        graph.no(graph.either(graph.is_a(after, CLOSING), graph.is_a(after, FULL))),
    )
    return graph.finished(graph.either(spaced, full), language)


class _Graph:
    """Names and nodes of a graph over `units`, the class of each character, (B, L)."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._add("Pad", ["units", self._constant([0, 2, 0, 2])], "padded")

    def _add(self, kind: str, inputs: list[str], output: str = "", **settings: Any) -> str:
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], **settings))
        return output

    def _constant(self, values: list[int] | int) -> str:
        name = f"constant_{len(self.constants)}"
        shape = [len(values)] if isinstance(values, list) else []
        flat = values if isinstance(values, list) else [values]
        kind = self.onnx.TensorProto.INT64
        self.constants.append(self.onnx.helper.make_tensor(name, kind, shape, flat))
        return name

    def shifted(self, by: int) -> str:
        """The class of the character `by` places further on."""
        begin, end = by + 2, by - 2
        ends = self._constant([end if end else 2**31])
        return self._add("Slice", ["padded", self._constant([begin]), ends, self._constant([1])])

    def is_a(self, where: str, kind: int) -> str:
        return self._add("Equal", [where, self._constant(kind)])

    def both(self, one: str, other: str) -> str:
        return self._add("And", [one, other])

    def either(self, one: str, other: str) -> str:
        return self._add("Or", [one, other])

    def no(self, one: str) -> str:
        return self._add("Not", [one])

    def finished(self, ends: str, language: str) -> bytes:
        """Scores (B, L, 3): a sentence goes on, (a word ends: never said), the sentence ends."""
        helper, proto = self.onnx.helper, self.onnx.TensorProto
        axis = self._constant([2])

        def column(truth: str) -> str:
            number = self._add("Cast", [truth], to=proto.FLOAT)
            return self._add("Unsqueeze", [number, axis])

        never = self._add("And", [ends, self.no(ends)])
        columns = [column(self.no(ends)), column(never), column(ends)]
        self._add("Concat", columns, "scores", axis=2)
        graph = helper.make_graph(
            self.nodes,
            "sentence_ends",
            [
                helper.make_tensor_value_info("units", proto.INT64, ["B", "L"]),
                helper.make_tensor_value_info("features", proto.FLOAT, ["B", "L", "F"]),
            ],
            [helper.make_tensor_value_info("scores", proto.FLOAT, ["B", "L", 3])],
            self.constants,
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 13)],
            ir_version=8,
            producer_name="cutaway",
        )
        self.onnx.checker.check_model(model)
        helper.set_model_props(
            model,
            {
                "lang_code": language,
                "config": json.dumps({"feat_funcs": ["space_before"]}),
                "vocab": json.dumps(_vocabulary(language)),
            },
        )
        data: bytes = model.SerializeToString()
        return data


def _vocabulary(language: str) -> dict[str, Any]:
    """Character → class, in the form of a MiniSBD vocabulary."""
    classes = {"<PAD>": 0, "<UNK>": 1}
    for begin, end in LETTERS:
        for character in map(chr, range(begin, end)):
            if character.islower() or character.isupper():
                classes[character] = LOWER if character.islower() else UPPER
    for number, characters in CLASSES.items():
        classes |= dict.fromkeys(characters, number)
    return {"lang": language, "_unit2id": classes, "_id2unit": list(classes)}

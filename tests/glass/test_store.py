"""A trace as data: the same after a round trip, and readable without this package."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from cutaway import glass
from cutaway.errors import TraceError
from cutaway.glass.api import Served
from cutaway.glass.values import Value
from tests.glass.samples import forward, model, training_step

KINDS = "view lookup contraction pointwise rowwise reduction join scatter source opaque"


@pytest.fixture(scope="module")
def trace() -> glass.Trace:
    made = model(torch.float32, dropout=0.1).train()
    recorded = training_step(made, torch.optim.AdamW(made.parameters(), lr=0.1))
    recorded.label(source=list("abcde"), target=list("wxyz"))
    return recorded


def same(left: Value, right: Value) -> bool:
    return torch.equal(torch.nan_to_num(left.tensor()), torch.nan_to_num(right.tensor()))


def test_a_saved_trace_is_the_trace(trace: glass.Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "run")
    loaded = glass.load(tmp_path / "run")
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "tensors.safetensors", "trace.json",
    ]  # fmt: skip
    assert [value.address for value in loaded] == [value.address for value in trace]
    assert loaded.aliases == trace.aliases
    assert loaded.labels == trace.labels
    assert all(
        same(left, right)
        for left, right in zip(trace, loaded, strict=True)
        if left.op != "aten.empty_like.default"
    )
    proof = loaded.prove()
    assert proof.complete
    assert proof.cells == trace.prove().cells
    for address in ("loss", "decoder.layers.0.cross_attention.softmax[0,1,2,3]"):
        ours, theirs = trace.explain(address), loaded.explain(address)
        assert ours.to_dict() == theirs.to_dict()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "trace.json").read_text() == (
        tmp_path / "run" / "trace.json"
    ).read_text()


def test_the_stream_is_what_the_format_says(trace: glass.Trace) -> None:
    stream = glass.bundle(trace)
    assert stream[:8] == b"CUTAWAY1"
    length = int.from_bytes(stream[8:16], "little")
    assert (16 + length) % 8 == 0
    header = json.loads(stream[16 : 16 + length])
    assert header["format"] == "cutaway-trace"
    assert header["version"] == 1
    kinds = {row["kind"] for row in header["rules"]}
    assert "contraction" in kinds
    assert kinds <= {*KINDS.split()}
    assert {row["name"] for row in header["rules"]} == set(header["words"])
    for value in header["values"]:
        row = header["buffers"][value["buffer"]]
        begin = 16 + length + row["start"]
        assert row["start"] % 8 == 0
        dtype = np.dtype(row["dtype"]).newbyteorder("<")
        flat = np.frombuffer(stream, dtype, row["length"], begin)
        strides = value.get("strides")
        if strides is None:
            strides = [
                int(np.prod(value["shape"][axis + 1 :])) for axis in range(len(value["shape"]))
            ]
        cells = np.lib.stride_tricks.as_strided(
            flat[value.get("offset", 0) :],
            value["shape"],
            [stride * dtype.itemsize for stride in strides],
        )
        expected = trace.value(value["address"]).tensor().numpy()
        np.testing.assert_array_equal(cells, expected)
        assert header["modules"][value["module"]]["path"] == trace.value(value["address"]).path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected format"),
        ('{"format": "cutaway-trace", "version": 99}', "version 99"),
        ('{"format": "cutaway-trace", "version": 1}', "damaged"),
    ],
)
def test_broken_files_are_told_in_one_line(
    trace: glass.Trace, tmp_path: Path, text: str, message: str
) -> None:
    trace.save(tmp_path / "run")
    (tmp_path / "run" / "trace.json").write_text(text)
    with pytest.raises(TraceError, match=message):
        glass.load(tmp_path / "run")
    with pytest.raises(TraceError, match="is no trace"):
        glass.load(tmp_path / "nowhere")


def test_bfloat16_and_booleans_travel(tmp_path: Path) -> None:
    with glass.record() as trace:
        x = torch.rand(3, 5).bfloat16()
        big = x > 0.5
        total = (x * big).sum()
    assert trace.prove().complete
    trace.save(tmp_path / "run")
    assert torch.equal(glass.load(tmp_path / "run")["x"].tensor, x)
    served = Served(trace)
    assert served.window("x")[1] == x.view(torch.int16).numpy().tobytes()
    assert served.window("big")[1] == big.numpy().tobytes()
    assert total.dtype == torch.bfloat16


def test_windows_carry_their_cells(trace: glass.Trace) -> None:
    served = Served(trace)
    name = "decoder.layers.0.cross_attention.scores"
    meta, data = served.window(name, [(0, 1), (1, 2), (0, 3), (2, 99)])
    assert meta == {
        "address": name,
        "shape": [1, 1, 3, 3],
        "whole": [2, 2, 4, 5],
        "dtype": "float32",
    }
    expected = trace[name].tensor[0:1, 1:2, 0:3, 2:5].detach()
    assert data == expected.contiguous().numpy().tobytes()
    meta, data = served.window(f"{name}[0,1,:,2]")
    assert meta["shape"] == [4]
    with pytest.raises(TraceError, match="give one per axis"):
        served.window(name, [(0, 1)])
    with pytest.raises(TraceError, match="runs backwards"):
        served.window(name, [(0, 1), (1, 2), (3, 1), (0, 1)])


def test_the_extent_of_a_value_is_of_its_finite_numbers() -> None:
    inf, nan = math.inf, math.nan
    cases: list[tuple[Tensor, tuple[float, float, bool]]] = [
        (torch.tensor([[3.0, -2.0, 7.5], [0.25, 1.0, -1.5]]).T[1:], (-2.0, 7.5, True)),
        (torch.tensor([1.0, inf, -4.0]), (-4.0, 1.0, False)),
        (torch.tensor([nan, 2.0]), (2.0, 2.0, False)),
        (torch.tensor([-inf, nan]), (0.0, 0.0, False)),
        (torch.tensor([True, False]), (0.0, 1.0, True)),
        (torch.tensor([5, -3]), (-3.0, 5.0, True)),
        (torch.tensor([0.5, -8.0]).bfloat16(), (-8.0, 0.5, True)),
        (torch.empty(3, 0), (0.0, 0.0, True)),
    ]
    for tensor, expected in cases:
        with glass.record() as trace:
            tensor.clone()
        assert Served(trace).extent(0) == expected, tensor
    with pytest.raises(TraceError, match="no value"):
        Served(trace).extent(99)


@given(
    shape=st.tuples(st.integers(1, 23), st.integers(1, 29)),
    size=st.tuples(st.integers(1, 23), st.integers(1, 29)),
    kind=st.sampled_from([torch.float32, torch.float16, torch.int64, torch.bool]),
    transposed=st.booleans(),
    seed=st.integers(0, 2**20),
)
@settings(max_examples=60, deadline=None)
def test_a_picture_shows_the_largest_cell_of_every_point(
    shape: tuple[int, int],
    size: tuple[int, int],
    kind: torch.dtype,
    transposed: bool,
    seed: int,
) -> None:
    size = (min(size[0], shape[0]), min(size[1], shape[1]))
    torch.manual_seed(seed)
    stored = (4 * torch.randn(shape[::-1] if transposed else shape)).to(kind)
    if kind == torch.float32:
        stored[0, 0] = math.nan
    with glass.record() as trace:
        stored.clone()
    matrix = stored.T if transposed else stored
    picture = Served(trace).picture(0, 0, (matrix.stride(0), matrix.stride(1)), shape, size)
    found = np.frombuffer(picture, dtype=stored.numpy().dtype).reshape(size)
    for row in range(size[0]):
        for col in range(size[1]):
            block = matrix[
                row * shape[0] // size[0] : -(-(row + 1) * shape[0] // size[0]),
                col * shape[1] // size[1] : -(-(col + 1) * shape[1] // size[1]),
            ].double()
            if block.isnan().any():
                assert np.isnan(found[row, col])
            else:
                assert abs(float(found[row, col])) == block.abs().max()
                assert (block == float(found[row, col])).any()


def test_the_api_answers_in_plain_data(trace: glass.Trace) -> None:
    served = Served(trace)
    header = json.loads(served.structure())
    assert len(header["values"]) == len(trace)
    number = header["values"][5]["buffer"]
    assert len(served.buffer(number)) == header["buffers"][number]["length"] * (
        np.dtype(header["buffers"][number]["dtype"]).itemsize
    )
    with pytest.raises(TraceError, match="no buffer"):
        served.buffer(10**6)
    json.dumps(served.explain("decoder.layers.0.cross_attention.masked[1,0,0,4]"), allow_nan=False)
    proof = served.prove("decoder.layers.0.*")
    assert proof["complete"]
    json.dumps(proof, allow_nan=False)
    found = served.diff(Served(forward(model(torch.float32))))
    json.dumps(found, allow_nan=False)
    assert len(served.bundle(compressed=True)) < len(served.bundle())

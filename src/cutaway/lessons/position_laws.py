"""Properties of the position table: many speeds, unique and smooth rows, a shift as a rotation."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Series, Step
from cutaway.lessons.recorded import dimensions, table
from cutaway.lessons.section import Sections
from cutaway.model import sinusoidal

TEXT = Sections("positions")
SHIFTS = (-7.0, 20.0)  # from position 7


def properties(inputs: LessonInputs) -> Iterator[Step]:
    """Speeds, uniqueness and smoothness, shifts, and what one sine would do."""
    yield _clocks(inputs)
    yield _unique()
    yield _rotation(inputs)
    yield _aliasing()


def _clocks(inputs: LessonInputs) -> Step:
    width = 16
    position = min(1000, max(0, round(inputs.choice("clock", 5.0))))
    positions = sinusoidal(1001, width)
    pairs = [f"i={pair}" for pair in range(width // 2)]
    # the angle between position 0 and 1, read off the model's table
    speeds = torch.atan2(positions[1, 0::2], positions[1, 1::2])
    periods = 2 * math.pi / speeds
    ratio = 10000 ** (2 / width)
    hands = positions[position].view(-1, 2).tolist()  # (sine, cosine) per pair
    dial = [2 * math.pi * step / 60 for step in range(61)]
    section = TEXT.section(
        "clocks",
        width=width,
        first=periods[0],
        last=periods[-1],
        ratio=ratio,
        position=position,
    )
    section.picture(
        "hands",
        "curves",
        section.series("dial", [math.sin(at) for at in dial], [math.cos(at) for at in dial]),
        *(
            Series(name, (0.0, sine), (0.0, cosine))
            for name, (sine, cosine) in zip(pairs, hands, strict=True)
        ),
    )
    section.matrix("turns", periods, columns=pairs, digits=1)
    section.control("clock", "slider", float(position), (0.0, 100.0, 1.0))
    section.claim("ratio", (periods[1:] / periods[:-1] - ratio).abs().max() < 1e-9)
    return section.step("C6")


def _unique() -> Step:
    narrow, wide = sinusoidal(1000, 16), sinusoidal(1000, 512)
    nearest = (torch.cdist(narrow, narrow) + 10 * torch.eye(1000)).min()
    steps = (wide[1:] - wide[:-1]).norm(dim=1)
    alike = (wide[500] @ wide[440:561].T / 256).tolist()
    section = TEXT.section("unique", nearest=nearest, step=steps[0])
    section.picture("alike", "curves", section.series("alike", list(range(440, 561)), alike))
    section.claim("unique", nearest > 0.1)
    section.claim("steps", (steps - 3.714270365).abs().max() < 1e-8)
    return section.step("C6")


def rotation(shift: int, width: int) -> Tensor:
    """The matrix that moves every position by `shift`: each pair turned by its own angle.

    PE(pos + k) = M_k PE(pos)
    """
    moved = torch.zeros(width, width, dtype=torch.float64)
    for pair in range(width // 2):
        angle = shift * 10000 ** (-2 * pair / width)
        sine, cosine = math.sin(angle), math.cos(angle)
        turn = table(((cosine, sine), (-sine, cosine)))
        moved[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = turn
    return moved


def _rotation(inputs: LessonInputs) -> Step:
    start, width = 7, 6
    shift = round(min(SHIFTS[1], max(SHIFTS[0], inputs.choice("shift", 5.0))))
    matrix = rotation(shift, width)
    positions = sinusoidal(60 + abs(shift), width)
    low = max(0, -shift)
    moved = positions[low : low + 50] @ matrix.T
    off = (moved - positions[low + shift : low + shift + 50]).abs().max()
    names = dimensions(width)
    section = TEXT.section("rotation", shift=shift, start=start, end=start + shift)
    section.matrix("rotation", matrix, names, names)
    section.matrix("moved", matrix @ positions[start], columns=names)
    section.matrix("table", positions[start + shift], columns=names)
    section.control("shift", "slider", float(shift), (*SHIFTS, 1.0))
    section.claim("every", off < 1e-12)
    return section.step("C6")


def _aliasing() -> Step:
    numbers = torch.arange(100, dtype=torch.float64)
    single = numbers.sin()
    near = (single[:, None] - single[None, :]).abs()
    pairs = [(a, b) for a in range(100) for b in range(a) if near[a, b] < 0.01]
    positions = sinusoidal(100, 16)
    apart = torch.cdist(positions, positions)
    still = sum(bool(apart[a, b] < 0.01) for a, b in pairs)
    section = TEXT.section("aliasing", pairs=len(pairs), still=still)
    sine = section.series("sine", numbers[:50].tolist(), single[:50].tolist())
    section.picture("sine", "points", sine)
    section.claim("collide", (22, 0) in pairs)
    section.claim("apart", still == 0)
    return section.step("C6")

"""Where a word stands, in sines and cosines: the formula, its properties, its effect."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from cutaway import glass
from cutaway.config import ModelConfig
from cutaway.errors import InputError
from cutaway.glass import Trace
from cutaway.lessons import figures
from cutaway.lessons.amplitude import amplitude
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Series, Step
from cutaway.lessons.position_laws import properties
from cutaway.lessons.recorded import dimensions, table
from cutaway.lessons.section import Sections
from cutaway.model import attention, sinusoidal
from cutaway.model.positions import Positions

TEXT = Sections("positions")
WORDS = ("I", "love", "AI")
WAVES = ("sin", "cos", "sin", "cos")
LOVE = (0.8414709848, 0.5403023059, 0.009999833334, 0.9999500004)  # PE(1), d = 4


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """Why, the formula, its curves, four properties, the module, the amplitude."""
    yield _why()
    yield _formula()
    yield _curves()
    yield from properties(inputs)
    yield _module()
    yield from amplitude(inputs)


def _why() -> Step:
    words = table(((1.0, 0.2), (0.1, 0.9), (0.7, 0.7)))
    turned, names = words.flip(0), WORDS[::-1]
    positions = sinusoidal(3, 2)
    plain, changed = _attended(words), _attended(turned)
    placed, moved = _attended(words + positions), _attended(turned + positions)
    section = TEXT.section("why")
    section.matrix("plain", plain, WORDS, dimensions(2))
    section.matrix("turned", changed, names, dimensions(2))
    section.matrix("placed", moved, names, dimensions(2))
    section.claim("same", (changed.flip(0) - plain).abs().max() < 1e-12)
    section.claim("differ", (moved.flip(0) - placed).abs().max() > 0.01)
    return section.step("C4")


def _attended(words: Tensor) -> Tensor:
    """The words after attention to each other, without weights."""
    with torch.no_grad():
        return attention(words[None, None], words[None, None], words[None, None])[0, 0]


def _formula() -> Step:
    positions = sinusoidal(3, 4)
    angles = table([[pos / 10000 ** (2 * pair / 4) for pair in (0, 1)] for pos in range(3)])
    off_sine = (positions[:, 0::2] - angles.sin()).abs().max()
    off_cosine = (positions[:, 1::2] - angles.cos()).abs().max()
    section = TEXT.section("formula", cos_2=positions[2, 1], cos_02=positions[2, 3])
    section.matrix("angle", angles, WORDS, ("i=0", "i=1"))
    section.matrix("table", positions, WORDS, WAVES)
    section.matrix(
        "second",
        positions[2:],
        ("AI",),
        WAVES,
        printed=figures.printed("positions", "love"),
        tolerance=5.1e-5,
    )
    section.claim("love", (positions[1] - table([LOVE])[0]).abs().max() < 1e-9)
    section.claim("angles", max(off_sine, off_cosine) < 1e-12)
    return section.step("C5", trace=_recorded(), show="positions[1,0]")


def _recorded() -> Trace:
    """Positions as the model adds them: three words of width 4, themselves zero."""
    config = ModelConfig(vocabulary=2, d_model=4, heads=1, max_length=16)
    module = Positions(config).double()
    words = torch.zeros(1, 3, 4, dtype=torch.float64)
    with torch.no_grad(), glass.record(module) as trace:
        module(words)
    trace.label(words=WORDS, axes={"positions": ("words", None)})
    return trace


def _curves() -> Step:
    positions = sinusoidal(101, 20)
    names = dimensions(20)[4:8]
    waves = [
        Series(name, list(range(101)), positions[:, 4 + column].tolist())
        for column, name in enumerate(names)
    ]
    signs = positions[:100, 4:8].sign()
    crossings = (signs[1:] != signs[:-1]).sum(0).tolist()
    section = TEXT.section("curves", fast=crossings[0], slow=crossings[2])
    section.picture("waves", "curves", *waves)
    section.matrix("crossings", [crossings], columns=names)
    section.claim("crossings", crossings == [5, 5, 2, 2])
    return section.step("C5", "C6")


def _module() -> Step:
    module = Positions(ModelConfig(vocabulary=2, d_model=512, heads=8, max_length=64))
    try:
        module(torch.zeros(1, 65, 512))
        refusal = ""
    except InputError as error:
        refusal = str(error)
    generator = torch.Generator().manual_seed(0)
    embedding = torch.randn(1000, 512, generator=generator) / math.sqrt(512)
    scaled = embedding * math.sqrt(512)
    lengths = [float(rows.norm(dim=1).mean()) for rows in (embedding, scaled, sinusoidal(1, 512))]
    learned = sum(parameter.numel() for parameter in module.parameters())
    section = TEXT.section("module", learned=learned, refusal=refusal, length=lengths[2])
    section.matrix(
        "lengths",
        [lengths],
        columns=section.labels("embedding", "scaled", "table"),
        digits=2,
    )
    section.claim("learned", learned == 0)
    section.claim("length", (sinusoidal(200, 512).square().sum(1) - 256).abs().max() < 1e-9)
    section.claim("refused", "65" in refusal and "64" in refusal)
    return section.step("C8")


LESSON = Lesson("positions", steps)

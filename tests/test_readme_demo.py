"""The READMEs' demo block against a run of the demo: what is exact is equal, the rest in range.

Sizes (pairs, parameters, updates, sentences) follow from the sources and must be equal. Scores
depend on the bits of the machine: SHARE and POINTS say how far a run may be from what is printed.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cutaway.corpus.embedded import chosen_sentences
from tests.test_readme import READMES, ROOT

SHARE = 3.0  # percentage points of exact sentences, of the test set and of the last validation
POINTS = 3.0  # BLEU and chrF of the last validation
LOSS = 3.0  # factor of its loss


@dataclass
class Demo:
    """What an output of `cutaway demo` says."""

    text: str
    sizes: tuple[str, ...] = ()  # the lines that hold nothing but sizes
    samples: set[tuple[int, str]] = field(default_factory=set)  # update, source sentence
    validations: dict[int, dict[str, float]] = field(default_factory=dict)
    exact: tuple[int, int, float] = (0, 0, 0.0)  # right, of, per cent
    sentences: dict[str, tuple[bool, str]] = field(default_factory=dict)  # source → right, output
    attention: list[list[int]] = field(default_factory=list)  # rows, per cent


def parse(text: str) -> Demo:
    """Read the numbers out of an output, whole or excerpted."""
    demo = Demo(text)
    demo.sizes = tuple(
        re.findall(r"^[\d,]+ pairs read, [\d,]+ kept$|^[\d,]+ parameters, .* epochs$", text, re.M)
    )
    for update, source in re.findall(r"^update +(\d+)  (.+?) → ", text, re.M):
        demo.samples.add((int(update), source))
    for update, figures in re.findall(r"^validation at (\d+): (.+?)(?:  \(best\))?$", text, re.M):
        pairs = re.findall(r"(\w+) ([\d.e+-]+)", figures)
        demo.validations[int(update)] = {name: float(value) for name, value in pairs}
    found = re.search(r"^([\d,]+) of ([\d,]+) unseen test .* \(([\d.]+)%\)$", text, re.M)
    if found is not None:
        right, of, share = found.groups()
        demo.exact = (int(right.replace(",", "")), int(of.replace(",", "")), float(share))
    demo.sentences = dict(sentences(text))
    demo.attention = [
        [int(number) for number in numbers.split()]
        for numbers in re.findall(r"^ \S+ +(\d+(?: +\d+){3,}) *$", text, re.M)
    ]
    return demo


def sentences(text: str) -> list[tuple[str, tuple[bool, str]]]:
    """Rows of the table of sentences; a long cell goes on in the lines below it."""
    rows: list[tuple[bool, list[str], int]] = []
    for line in text.splitlines():
        begun = re.match(r" ([✓✗])  (\S.*?)  +(\S.*?) *$", line)
        if begun:
            rows.append((begun[1] == "✓", [begun[2], begun[3]], begun.start(3)))
        elif rows and re.match(r"    \S", line) and not line.startswith("     "):
            _, cells, column = rows[-1]
            cells[0] += f" {line[:column].strip()}"
            cells[1] += f" {line[column:].strip()}"
    return [(cells[0].strip(), (right, cells[1].strip())) for right, cells, _ in rows]


def printed(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    (block,) = re.findall(r"<!-- output: make demo -->\n```text\n(.*?)```", text, re.DOTALL)
    return str(block)


def test_both_languages_print_the_same_block() -> None:
    assert printed(READMES[0]) == printed(READMES[1])


def test_the_block_agrees_with_itself() -> None:
    """And is read in full: a parser that finds nothing would agree with anything."""
    demo = parse(printed("README.md"))
    assert len(demo.sizes) == 2
    assert len(demo.samples) >= 3
    assert len(demo.validations) >= 2
    assert {"loss", "bleu", "chrf", "exact"} <= demo.validations[max(demo.validations)].keys()
    right, of, share = demo.exact
    assert f"{100 * right / of:.1f}" == f"{share:.1f}"
    assert len(demo.sentences) >= 10
    assert re.search("^In the training data: 14 of 14 right$", demo.text, re.M)
    assert re.search(r"^Not in the training data: \d of 9 right$", demo.text, re.M)
    assert demo.sentences["The cat is on the mat."] == (True, "Le chat est sur le tapis.")
    assert len(demo.attention) >= 6
    for row in demo.attention:
        assert sum(row) == pytest.approx(100, abs=len(row) / 2)


def test_the_block_is_what_the_demo_does(demo_output: str) -> None:
    said, done = parse(printed("README.md")), parse(demo_output)
    assert said.sizes == done.sizes
    assert said.samples <= done.samples
    assert said.validations.keys() <= done.validations.keys()
    last = max(said.validations)
    for name, value in said.validations[last].items():
        found = done.validations[last][name]
        if name == "loss":
            assert value / LOSS < found < value * LOSS, name
        else:
            assert abs(found - value) <= (SHARE if name == "exact" else POINTS), name
    assert said.exact[1] == done.exact[1]
    assert abs(said.exact[2] - done.exact[2]) <= SHARE
    assert said.sentences.keys() == done.sentences.keys()
    known = dict(chosen_sentences("en-fr", "known"))  # of the unseen ones a run may miss another
    wrong = {
        source: (output, done.sentences[source])
        for source, (right, output) in said.sentences.items()
        if right and source in known and done.sentences[source] != (True, output)
    }
    assert not wrong
    assert [len(row) for row in said.attention] == [len(row) for row in done.attention]


@pytest.mark.parametrize("name", READMES)
def test_figures_in_the_text_are_those_of_the_block(name: str) -> None:
    """Every number with a thousands comma in the prose stands in the block, or in a benchmark."""
    text = (ROOT / name).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    known = printed(name) + Path(ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for figure in re.findall(r"\d{1,3}(?:,\d{3})+", prose):
        assert figure in known, figure

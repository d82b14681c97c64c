"""Words as directions: dot products of the embeddings a model has learned."""

import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway import glass
from cutaway.data import demo_seeds
from cutaway.decode import Translator
from cutaway.glass import Trace
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.section import Sections
from cutaway.lessons.texts import LocalizedText
from cutaway.lessons.trained_run import pair_name
from cutaway.text.model_file import SPACE

TEXT = Sections("words-as-directions")
IRREGULAR = {
    "mouse": "mice", "man": "men", "woman": "women", "child": "children",
    "box": "boxes", "fox": "foxes", "dress": "dresses",
}  # fmt: skip
SINGULARS = (
    "cat", "dog", "bird", "horse", "rabbit", "mouse", "boy", "girl", "child", "king", "doctor",
    "book", "tower", "fox", "cow", "duck", "goat", "creature", "mole", "man", "woman",
    "teacher", "nurse", "student", "farmer", "artist", "chemist", "queen", "letter", "apple",
    "cake", "carrot", "egg", "hat", "shirt", "dress", "flower", "ball", "key", "bottle", "box",
    "basket", "lamp", "table", "chair",
)  # fmt: skip
DRAWN = 12  # nouns in the picture; the claims are about all of them
NUMBERS = ("one", "two", "three", "four")
COMPARED = ("cats", "dogs", "birds", "books", "the", "sleep", "Paris")
NEAREST = 5  # words shown of each kind: aligned, at right angles, opposed
ANGLES = (0, 45, 90, 135, 180)
MOST = 0.8  # share of nouns from which on a rule is called a rule


def plural_of(singular: str) -> str:
    """The plural the embedded corpus uses."""
    return IRREGULAR.get(singular, singular + "s")


class Words:
    """The embedding of a word: the row of its one token, else the mean of its tokens' rows."""

    def __init__(self, translator: Translator) -> None:
        self.tokenizer = translator.tokenizer
        self.table = translator.model.embedding.weight.detach()  # (V, D)

    def ids(self, word: str) -> list[int]:
        """The tokens of a word in mid-sentence."""
        return self.tokenizer.encode(word)

    def whole(self, word: str) -> bool:
        """Whether the word is one token."""
        return len(self.ids(word)) == 1

    def __call__(self, word: str) -> Tensor:
        return self.table[self.ids(word)].mean(0)

    def pairs(self) -> list[tuple[str, str]]:
        """Singular and plural nouns of one token each; all nouns where "cat" is not such a one."""
        every = [(one, plural_of(one)) for one in SINGULARS]
        whole = [pair for pair in every if all(map(self.whole, pair))]
        return whole if len(whole) > 1 and whole[0][0] == "cat" else every

    def vocabulary(self) -> dict[str, int]:
        """Tokens that are a whole word of three letters or more, by id."""
        pieces = self.tokenizer.pieces(range(self.tokenizer.vocabulary))
        found = {
            piece[1:]: number
            for number, piece in enumerate(pieces)
            if piece.startswith(SPACE) and len(piece) > 3 and piece[1:].isalpha()
        }
        if len(found) < 3 * NEAREST:  # a tokenizer of letters: take the first of each noun
            return {many: self.ids(many)[0] for many in map(plural_of, SINGULARS)}
        return found


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """The lesson, step by step."""
    words = Words(inputs.translator)
    pairs = words.pairs()
    yield _plane(inputs.choice("angle", 60.0))
    yield _alignment(inputs.translator, words, pairs)
    yield _plural(inputs.translator, words, pairs)
    yield _numbers(inputs.translator, words, pairs)
    yield _softmax(inputs.translator, words, inputs.choice("temperature", 1.0))


def _plane(degrees: float) -> Step:
    """Two arrows of length 2 and 1 in the plane, and their dot product as one of them turns."""
    fixed = torch.tensor([2.0, 0.0], dtype=torch.float64)
    turned = [*map(float, ANGLES), degrees]
    arrows = torch.tensor([[math.cos(math.radians(a)), math.sin(math.radians(a))] for a in turned])
    with glass.record() as trace:
        products = arrows.double() * fixed
        dots = products.sum(dim=1)
    curve = [math.cos(math.radians(a)) * 2 for a in range(0, 181, 5)]
    section = TEXT.section("plane", degrees=degrees, dot=float(dots[-1]))
    section.matrix(
        "dot",
        torch.cat([products, dots.unsqueeze(1)], 1).round(decimals=12),
        [f"{angle:g}°" for angle in turned],
        ("x₁ · y₁", "x₂ · y₂", "x · y"),
        digits=3,
    )
    section.picture("curve", "curves", section.series("dot", range(0, 181, 5), curve))
    section.control("angle", "slider", degrees, (0, 180, 5))
    return section.step("E1", trace=trace, show="dots[1]")


def _recorded(translator: Translator, ids: Sequence[int]) -> tuple[Trace, Tensor]:
    """Dot products of some rows of the embedding table with the first of them, recorded."""
    with torch.no_grad(), glass.record(translator.model) as trace:
        rows = F.embedding(torch.tensor(ids), translator.model.embedding.weight)  # (words, D)
        dots = rows @ rows[0]
    return trace, dots


def _alignment(translator: Translator, words: Words, pairs: list[tuple[str, str]]) -> Step:
    """Which words of the vocabulary point the way of "cats", which stand across, which against."""
    cats = words("cats")
    known = words.vocabulary()
    names = list(known)
    cosines = F.cosine_similarity(words.table[list(known.values())], cats.unsqueeze(0))
    order = cosines.argsort(descending=True).tolist()
    best = [place for place in order if names[place] != "cats"][:NEAREST]
    across = cosines.abs().argsort()[:NEAREST].tolist()
    against = order[::-1][:NEAREST]
    chosen = [*best, *across, *against]
    trace, dots = _recorded(translator, [words.ids("cats")[0], *(known[names[c]] for c in chosen)])
    nearer = [
        float(F.cosine_similarity(cats, words(many), 0) - F.cosine_similarity(cats, words(one), 0))
        for one, many in pairs[1:]
    ]
    above = sum(gap > 0 for gap in nearer)
    section = TEXT.section(
        "alignment",
        width=len(cats),
        known=len(known),
        best=", ".join(names[place] for place in best),
        against=", ".join(names[place] for place in against),
        above=above,
        nouns=len(nearer),
    )
    kinds = {"positive": best, "zero": across, "negative": against}
    for (key, places), products in zip(kinds.items(), dots[1:].view(-1, NEAREST), strict=True):
        section.matrix(
            key,
            torch.stack([products, cosines[places]]),
            section.labels("dot", "cosine"),
            [names[place] for place in places],
            digits=2,
        )
    section.claim("plurals", above >= MOST * len(nearer))
    return section.step("E1", trace=trace, show="dots[1]")


def _plural(translator: Translator, words: Words, pairs: list[tuple[str, str]]) -> Step:
    """Every noun measured along cats − cat, in the singular and in the plural."""
    model = translator.model
    listed = [word for one, many in pairs for word in (many, one)]
    trace = None
    if all(map(words.whole, listed)):
        ids = torch.tensor([words.ids(word)[0] for word in listed])
        with torch.no_grad(), glass.record(model) as trace:
            table = F.embedding(ids, model.embedding.weight)  # (words, D)
            plural = table[0] - table[1]
            dots = table @ plural
    else:
        table = torch.stack([words(word) for word in listed])
        dots = table @ (table[0] - table[1])
    values = dots.tolist()
    plurals, singulars = values[0::2], values[1::2]
    # cat itself is left out: its own difference is the direction
    above = sum(many > one for many, one in zip(plurals[1:], singulars[1:], strict=True))
    others = len(pairs) - 1
    means = [sum(side[1:]) / others for side in (singulars, plurals)]
    drawn = list(range(min(DRAWN, len(pairs))))
    section = TEXT.section(
        "plural", above=above, nouns=others, singular=means[0], plural=means[1], share=MOST
    )
    rows = ("singular", singulars, 0), ("plural", plurals, 1)
    section.matrix(
        "along",
        [[side[place] for place in drawn] for _, side, _ in rows],
        section.labels("singular", "plural"),
        [pairs[place][0] for place in drawn],
        digits=3,
    )
    section.picture(
        "bars",
        "bars",
        *(
            section.series(key, drawn, [side[p] for p in drawn], [pairs[p][at] for p in drawn])
            for key, side, at in rows
        ),
    )
    section.claim("most", above >= MOST * others)
    section.claim("means", means[0] < means[1])
    return section.step("E1", "E2", trace=trace, show="" if trace is None else "dots[3]")


def in_order(along: Tensor) -> bool:
    """Whether the four numbers rise along a direction."""
    return bool((along.diff() > 0).all())


def _over_seeds(pair: str) -> LocalizedText:
    """What came of the demo's training with several seeds, as measured by bench/demo_seeds.py."""
    rows = [row["number_words"] for row in demo_seeds(pair)]
    if len(rows) < 2:
        return TEXT.section("one-seed").said("body")
    return TEXT.section(
        "seeds",
        count=len(rows),
        cats=sum(row["order_along_cats_minus_cat"] for row in rows),
        mean=sum(row["order_along_mean_plural"] for row in rows),
        share=sum(row["nouns_in_order"] for row in rows) / sum(row["nouns"] for row in rows),
    ).said("body")


def _numbers(translator: Translator, words: Words, pairs: list[tuple[str, str]]) -> Step:
    """one, two, three, four along the plural: measured here, and over several trainings."""
    differences = torch.stack([words(many) - words(one) for one, many in pairs])
    vectors = torch.stack([words(word) for word in NUMBERS])  # (4, D)
    along = torch.stack([differences[0], differences.mean(0)]) @ vectors.T  # (2, 4)
    orders = [" < ".join(NUMBERS[place] for place in row.argsort().tolist()) for row in along]
    rising = int(((differences @ vectors.T).diff(dim=1) > 0).all(1).sum())
    section = TEXT.section(
        "numbers",
        nouns=len(pairs),
        cats=orders[0],
        mean=orders[1],
        rising=rising,
        chance=len(pairs) / 24,
        seeds=_over_seeds(pair_name(translator)),
    )
    section.matrix("along", along, section.labels("cats", "mean"), NUMBERS, digits=3)
    section.picture(
        "curve",
        "curves",
        section.series("cats", [1, 2, 3, 4], along[0].tolist(), NUMBERS),
        section.series("mean", [1, 2, 3, 4], along[1].tolist(), NUMBERS),
    )
    section.claim("cats", in_order(along[0]))
    section.claim("mean", in_order(along[1]))
    return section.step("E2")


def _softmax(translator: Translator, words: Words, temperature: float) -> Step:
    """Dot products turned into shares; the same by hand."""
    model = translator.model
    ids = torch.tensor([words.ids(word)[0] for word in COMPARED])
    warmth = max(0.05, temperature)
    with torch.no_grad(), glass.record(model) as trace:
        table = F.embedding(ids, model.embedding.weight)
        scores = table @ table[0]
        shares = torch.softmax(scores / warmth, dim=-1)
    rows = torch.stack([torch.softmax(scores / at, -1) for at in (0.25, 1.0, 4.0)])
    powers = [math.exp((score - float(scores.max())) / warmth) for score in scores.tolist()]
    by_hand = torch.tensor([power / sum(powers) for power in powers])
    gap = float((by_hand - shares).abs().max())
    table = torch.cat([rows, shares.unsqueeze(0)])
    section = TEXT.section("softmax", temperature=warmth, gap=gap)
    section.matrix("scores", scores, (), COMPARED, digits=3)
    section.matrix(
        "shares",
        torch.cat([table, table.sum(1, keepdim=True)], 1),
        ("T = 0.25", "T = 1", "T = 4", f"T = {warmth:g} ←"),
        (*COMPARED, "Σ"),
    )
    section.claim("by-hand", gap < 1e-5)
    section.control("temperature", "slider", warmth, (0.05, 8.0, 0.05))
    return section.step("E3", trace=trace, show="shares[0]")


LESSON = Lesson("words-as-directions", steps, trained=True)

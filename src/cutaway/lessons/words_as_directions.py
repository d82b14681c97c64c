"""Words as directions (E1, E2, E3): dot products of the embeddings a model has learned."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway import glass
from cutaway.decode import Translator
from cutaway.lessons.lesson import (
    Claim,
    Control,
    Lesson,
    Matrix,
    Picture,
    Question,
    Said,
    Series,
    Step,
)
from cutaway.lessons.quantity import NUMBERS, learn_quantity
from cutaway.lessons.room import Room

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
AGREEING = (  # words that change with the number of what they belong to
    ("is", "are"), ("was", "were"), ("this", "these"), ("This", "These"), ("Is", "Are"),
    ("has", "have"), ("sleeps", "sleep"), ("runs", "run"), ("eats", "eat"), ("he", "they"),
    ("He", "They"), ("a", "some"), ("loves", "love"), ("wants", "want"), ("sees", "see"),
)  # fmt: skip
COMPARED = ("cats", "dogs", "birds", "books", "the", "sleep", "Paris")


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
        """Singular and plural nouns that are one token each."""
        found = [(one, plural_of(one)) for one in SINGULARS]
        return [pair for pair in found if all(map(self.whole, pair))] or found


def tell(room: Room) -> Iterator[Step]:
    """The lesson, step by step."""
    words = Words(room.translator)
    pairs = words.pairs()
    yield _alignment(words)
    yield _plural(room.translator, words, pairs)
    yield _numbers(words, pairs)
    yield _quantity(words, pairs)
    yield _softmax(room.translator, words, room.choice("temperature", 1.0))


def _alignment(words: Words) -> Step:
    cats = words("cats")
    others = ("cats", "dogs", "birds", "these", "is", "cat", "one")
    dots = torch.stack([cats @ words(word) for word in others])
    cosines = torch.stack([F.cosine_similarity(cats, words(word), dim=0) for word in others])
    toy = torch.tensor([[2.0, 1.0], [1.0, 2.0], [-1.0, 2.0], [-2.0, -1.0]])
    products = toy @ toy[0]
    right = bool(products[1] > 0) and float(products[2]) == 0.0 and bool(products[3] < 0)
    own = bool(dots[0] > dots[1:].max())
    return Step(
        title=Said("The dot product asks: same way?", "点积在问：方向一致吗？"),
        text=Said(
            "Multiply two vectors number by number and add up. The sum is positive where they "
            "point the same way, zero where they stand at right angles, negative where they "
            "point against each other. First four arrows in the plane, then the embeddings your "
            f"model has learned: {len(cats)} numbers a word.\n"
            "How a word is read here: the tokenizer cuts text into pieces; the words of this "
            "lesson are one piece each, and a word's vector is that piece's row in the table. A "
            "word of several pieces would be the mean of its rows.",
            "把两个向量逐项相乘再相加：方向一致得正数，互相垂直得零，方向相反得负数。"
            "先看平面上的四个箭头，再看你的模型学到的嵌入：每个词"
            f"{len(cats)} 个数。\n"
            "这里怎样取一个词的向量：分词器把文本切成小块，本课用到的词都恰好是一块，"
            "它的向量就是嵌入表中对应的那一行；若一个词有好几块，就取这几行的平均。",
        ),
        matrices=(
            Matrix(
                "x · (2, 1)",
                products.unsqueeze(1),
                rows=("(2, 1)", "(1, 2)", "(−1, 2)", "(−2, −1)"),
                columns=("x · (2, 1)",),
            ),
            Matrix(
                "cats · word",
                torch.stack([dots, cosines]),
                rows=(Said("dot", "点积"), Said("cosine", "余弦")),
                columns=others,
                digits=3,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "In the plane: positive, zero and negative, as the angle opens",
                    "平面上：随着夹角张开，点积依次为正、零、负",
                ),
                right,
            ),
            Claim(
                Said(
                    "Of these words, cats is aligned best with itself",
                    "这些词里，与 cats 最一致的是它自己",
                ),
                own,
            ),
        ),
        question=Question(
            Said(
                "Two arrows at right angles: what is their dot product?",
                "两个垂直的箭头，点积是多少？",
            ),
            Said("Zero: neither says anything about the other.", "零：彼此毫不相干。"),
        ),
        codes=("E1",),
    )


def _plural(translator: Translator, words: Words, pairs: list[tuple[str, str]]) -> Step:
    model = translator.model
    listed = [word for pair in pairs for word in (pair[1], pair[0])]
    single = all(words.whole(word) for word in listed)
    trace = None
    if single:
        ids = torch.tensor([words.ids(word)[0] for word in listed])
        with torch.no_grad(), glass.record(model) as trace:
            table = F.embedding(ids, model.embedding.weight)  # (words, D)
            plural = table[0] - table[1]
            dots = table @ plural
    else:
        table = torch.stack([words(word) for word in listed])
        plural = table[0] - table[1]
        dots = table @ plural
    values = dots.tolist()
    plurals, singulars = values[0::2], values[1::2]
    # cat itself is no test: its own difference is the direction
    above = sum(one > other for one, other in zip(plurals[1:], singulars[1:], strict=True))
    share = above / max(1, len(pairs) - 1)
    means = [sum(side[1:]) / (len(side) - 1) for side in (singulars, plurals)]
    drawn = range(min(DRAWN, len(pairs)))
    return Step(
        title=Said("cats − cat: a direction for “more than one”", "cats − cat：“多于一个”的方向"),
        text=Said(
            "Take the difference of two embeddings and measure every other noun along it. Nobody "
            "told the model what a plural is; it only had to translate. "
            f"{above} of {len(pairs) - 1} nouns lie further along cats − cat in the plural than "
            f"in the singular. The mean of the singulars is {means[0]:.3f}, of the plurals "
            f"{means[1]:.3f}. A target language that does not mark the plural, like Chinese, asks "
            "for less of this direction than French does.",
            "取两个嵌入之差，再看其他名词在这个方向上有多长。没有人告诉模型什么是复数，"
            f"它只是学着翻译。{len(pairs) - 1} 个名词中有 {above} 个，"
            "复数形式在 cats − cat 方向上比单数更远。"
            f"单数平均 {means[0]:.3f}，复数平均 {means[1]:.3f}。"
            "目标语言若不标复数（如中文），就不像法文那样需要这个方向。",
        ),
        matrices=(
            Matrix(
                "(cats − cat) · noun",
                torch.tensor(
                    [[singulars[place] for place in drawn], [plurals[place] for place in drawn]]
                ),
                rows=(Said("singular", "单数"), Said("plural", "复数")),
                columns=[pairs[place][0] for place in drawn],
                digits=3,
            ),
        ),
        pictures=(
            Picture(
                Said("along cats − cat", "在 cats − cat 方向上"),
                "bars",
                (
                    Series(
                        Said("singular", "单数"),
                        list(drawn),
                        [singulars[p] for p in drawn],
                        [pairs[p][0] for p in drawn],
                    ),
                    Series(
                        Said("plural", "复数"),
                        list(drawn),
                        [plurals[p] for p in drawn],
                        [pairs[p][1] for p in drawn],
                    ),
                ),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Eight of ten nouns lie further along in the plural than in the singular",
                    "八成以上的名词，复数在这个方向上比单数更远",
                ),
                share >= 0.8,
            ),
            Claim(
                Said(
                    "The plurals' mean is above zero, the singulars' below",
                    "复数的平均在零以上，单数的平均在零以下",
                ),
                means[0] < 0 < means[1],
            ),
        ),
        question=Question(
            Said(
                "Children is not child with an s. On which side will it fall?",
                "children 并不是 child 加 s，它会落在哪一边？",
            ),
            Said(
                "The model never sees letters inside a token, so spelling does not matter; "
                "see the two bars.",
                "模型看不到词元里的字母，拼写不起作用；看那两根条。",
            ),
        ),
        trace=trace,
        show="dots[3]" if trace is not None else "",
        codes=("E1", "E2"),
    )


def _numbers(words: Words, pairs: list[tuple[str, str]]) -> Step:
    noun = words("cats") - words("cat")
    differences = torch.stack([words(two) - words(one) for one, two in pairs])
    agreeing = [pair for pair in AGREEING if all(map(words.whole, pair))]
    agreement = torch.stack([words(two) - words(one) for one, two in agreeing]).mean(0)
    vectors = torch.stack([words(word) for word in NUMBERS])  # (4, D)
    directions = torch.stack([noun, differences.mean(0), agreement])
    along = directions @ vectors.T  # (3, 4)
    orders = ["<".join(NUMBERS[place] for place in row.argsort().tolist()) for row in along]
    rising = int(((differences @ vectors.T).diff(dim=1) > 0).all(1).sum())
    return Step(
        title=Said("one, two, three, four: measured", "one、two、three、four：实测"),
        text=Said(
            "A very large model is said to place one < two < three < four along its plural "
            "direction. Yours is small and has learned to translate. Three directions, measured: "
            "cats − cat; the mean over all nouns; and the mean over words that must agree in "
            "number, like is → are and this → these.\n"
            f"Along cats − cat the order is {orders[0]}; of {len(pairs)} noun directions, "
            f"{rising} have all four in order. Along the agreeing words it is {orders[2]}: one "
            "stands apart from the rest, as grammar asks. Whether three is more than two never "
            "made a translation better, so nothing taught it.",
            "据说在非常大的模型里，沿复数方向有 one < two < three < four。你的模型很小，"
            "而且只学了翻译。这里量三个方向：cats − cat；所有名词的平均；"
            "以及随单复数变化的词（is → are，this → these 等）的平均。\n"
            f"沿 cats − cat 的顺序是 {orders[0]}；{len(pairs)} 个名词方向里有 {rising} 个"
            f"四个数全部有序。沿变化词方向是 {orders[2]}：one 与其余分开，这正是语法的要求。"
            "三比二多，对翻译没有帮助，所以没有什么教过它。",
        ),
        matrices=(
            Matrix(
                Said("direction · number", "方向 · 数词"),
                along,
                rows=(
                    "cats − cat",
                    Said("mean plural − singular", "复数 − 单数的平均"),
                    Said("mean are − is …", "are − is … 的平均"),
                ),
                columns=NUMBERS,
                digits=3,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Along the words that agree in number, one lies below two, three and four",
                    "沿随单复数变化的词的方向，one 低于 two、three、four",
                ),
                bool(along[2, 0] < along[2, 1:].min()),
            ),
        ),
        question=Question(
            Said(
                "Which of the four would you expect to stand apart in a translator?",
                "在一个翻译模型里，四个数词中你猜哪个会与众不同？",
            ),
            Said("one: it alone takes a singular verb and noun.", "one：只有它要求单数。"),
        ),
        codes=("E2",),
    )


def _quantity(words: Words, pairs: list[tuple[str, str]]) -> Step:
    others = [pair for pair in pairs if pair[0] != "cat"]
    taught = learn_quantity(words, others)
    noun = words("cats") - words("cat")  # untouched: cat was in no comparison
    before = torch.stack([words(word) for word in NUMBERS]) @ noun
    after = torch.stack([taught.vectors[word] for word in NUMBERS]) @ noun
    return Step(
        title=Said("Teach it quantities, and the order appears", "教它数量，顺序就出现了"),
        text=Said(
            "Now a copy of the same embeddings gets a reason. For "
            f"{taught.steps} small steps it answers: which is more, three dogs or two birds? One "
            "direction reads the answer from the sum of the words. Cat and cats are kept out: "
            "their difference is still exactly the model's own.\n"
            f"It answers {100 * taught.right:.0f} % of comparisons right at the end "
            f"({100 * taught.right_before:.0f} % before), and along cats − cat the four numbers "
            "now rise. A direction means what learning needed it to mean.",
            f"现在给同一份嵌入的副本一个理由：用 {taught.steps} 小步回答“三只狗和两只鸟，"
            "哪个多？”，由一个方向从词向量之和读出答案。cat 和 cats 不参加训练，"
            "它们的差仍然完全是模型自己的。\n"
            f"最后答对 {100 * taught.right:.0f} %（之前 {100 * taught.right_before:.0f} %），"
            "而沿 cats − cat，四个数词现在依次升高。一个方向的含义，取决于学习时需要它表达什么。",
        ),
        matrices=(
            Matrix(
                "(cats − cat) · number",
                torch.stack([before, after]),
                rows=(Said("before", "之前"), Said("after", "之后")),
                columns=NUMBERS,
                digits=3,
            ),
        ),
        pictures=(
            Picture(
                Said("along cats − cat", "在 cats − cat 方向上"),
                "curves",
                (
                    Series(Said("before", "之前"), [1, 2, 3, 4], before.tolist(), NUMBERS),
                    Series(Said("after", "之后"), [1, 2, 3, 4], after.tolist(), NUMBERS),
                ),
                x=Said("number", "数"),
                y=Said("dot product", "点积"),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "After learning quantities: one < two < three < four along cats − cat",
                    "学过数量之后：沿 cats − cat，one < two < three < four",
                ),
                bool((after.diff() > 0).all()),
            ),
        ),
        question=Question(
            Said(
                "Cat and cats were never compared. Will their direction order the numbers?",
                "cat 和 cats 从未参加比较，它们的方向能把数词排好吗？",
            ),
            Said(
                "Yes, if plural is one direction shared by all nouns, and it is nearly so.",
                "能，只要复数是所有名词共有的一个方向，而这里差不多就是如此。",
            ),
        ),
        codes=("E2",),
    )


def _softmax(translator: Translator, words: Words, temperature: float) -> Step:
    model = translator.model
    ids = torch.tensor([words.ids(word)[0] for word in COMPARED])
    warmth = max(0.05, temperature)
    with torch.no_grad(), glass.record(model) as trace:
        table = F.embedding(ids, model.embedding.weight)
        scores = table @ table[0]
        shares = torch.softmax(scores / warmth, dim=-1)
    rows = torch.stack([torch.softmax(scores / at, -1) for at in (0.25, 1.0, 4.0)])
    sums = rows.sum(1)
    valid = bool((rows > 0).all()) and bool(torch.allclose(sums, torch.ones(3), atol=1e-5))
    sharper = bool(rows[0].max() > rows[1].max() > rows[2].max())
    return Step(
        title=Said("Softmax: a soft maximum", "softmax：柔和的最大值"),
        text=Said(
            "Dot products can be anything. Softmax turns them into shares: raise e to each, "
            "divide each by the sum. All are positive and add up to 1; the largest number gets "
            "the largest share, yet the others keep something. Dividing by a temperature first "
            "sets how hard the choice is: cold picks the maximum, hot spreads evenly.",
            "点积可以是任何数。softmax 把它们变成份额：各取 e 的幂，再各自除以总和。"
            "每份都为正，总和为 1；最大的数得最大的份额，其余的也保留一些。"
            "先除以一个温度，可以调节选择有多绝对：温度低近于取最大值，温度高则趋于平均。",
        ),
        matrices=(
            Matrix("scores = word · cats", scores, columns=COMPARED, digits=3),
            Matrix(
                "softmax(scores / T)",
                torch.cat([rows, shares.unsqueeze(0)]),
                rows=("T = 0.25", "T = 1", "T = 4", f"T = {warmth:g} ←"),
                columns=COMPARED,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "All shares are positive and each row adds up to 1",
                    "所有份额为正，每行之和为 1",
                ),
                valid,
            ),
            Claim(
                Said(
                    "The lower the temperature, the larger the largest share",
                    "温度越低，最大的份额越大",
                ),
                sharper,
            ),
            Claim(
                Said("The largest score has the largest share", "最大的分数得到最大的份额"),
                bool(shares.argmax() == scores.argmax()),
            ),
        ),
        controls=(
            Control(
                "temperature", Said("Temperature", "温度"), "slider", warmth, (0.05, 8.0, 0.05)
            ),
        ),
        question=Question(
            Said(
                "What do the shares become as the temperature goes to zero?",
                "温度趋于零时，份额会变成什么？",
            ),
            Said(
                "1 for the largest score and 0 for the rest: the hard maximum.",
                "最大的分数得 1，其余得 0：就是取最大值。",
            ),
        ),
        trace=trace,
        show="shares[0]",
        codes=("E3",),
    )


LESSON = Lesson(
    name="words-as-directions",
    title=Said("Words as directions", "词即方向"),
    about=Said(
        "Dot products of learned embeddings: cats − cat, one to four, and the soft maximum.",
        "学到的嵌入之间的点积：cats − cat、从 one 到 four，以及柔和的最大值。",
    ),
    tell=tell,
    trained=True,
)

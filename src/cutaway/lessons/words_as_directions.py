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
NUMBERS = ("one", "two", "three", "four")
IN_ORDER = (
    ("Along cats − cat: one < two < three < four", "沿 cats − cat：one < two < three < four"),
    ("Along the mean plural: one < two < three < four", "沿平均复数：one < two < three < four"),
)
TURNS = {"fr": ("monte", "descend"), "zh": ("升", "降")}  # rises, falls
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
    if totals := _totals(room.translator):
        yield totals
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
    vectors = torch.stack([words(word) for word in NUMBERS])  # (4, D)
    along = torch.stack([noun, differences.mean(0)]) @ vectors.T  # (2, 4)
    order = " < ".join(NUMBERS[place] for place in along[0].argsort().tolist())
    rising = int(((differences @ vectors.T).diff(dim=1) > 0).all(1).sum())
    return Step(
        title=Said("one, two, three, four: measured", "one、two、three、four：实测"),
        text=Said(
            "Is “more than one” a matter of degree? Measure the four numbers along cats − cat, and "
            f"along the mean of plural − singular over {len(pairs)} nouns. Along cats − cat the "
            f"order is {order}; of {len(pairs)} single noun directions {rising} have all four in "
            f"order, where chance alone would give {len(pairs) / 24:.0f}.\n"
            "Nobody told the model how numbers follow one another, and the dot products are small: "
            "another training, with another seed or on another kind of processor, moves them. The "
            "demo's seed was chosen among several because the order came out with it, so take it "
            "as a picture of what can be learned, not as a law. What in its task could have put "
            "them in order? The next step shows it.",
            "“多于一个”有程度之分吗？把四个数词沿 cats − cat 量一量，再沿"
            f"{len(pairs)} 个名词的“复数 − 单数”的平均量一量。沿 cats − cat 的顺序是 {order}；"
            f"{len(pairs)} 个单独的名词方向里有 {rising} 个把四个数全部排好，"
            f"若全凭偶然只会有约 {len(pairs) / 24:.0f} 个。\n"
            "没有人告诉模型数是怎样排列的，这些点积也很小：换一个种子、换一种处理器重新训练，"
            "它们都会变动。演示模型的种子是从几个里挑出来的，因为它恰好排出了这个顺序："
            "请当作“可以学到什么”的例子，而不是定律。任务里的什么让它们排成了顺序？下一步来看。",
        ),
        matrices=(
            Matrix(
                Said("direction · number", "方向 · 数词"),
                along,
                rows=("cats − cat", Said("mean plural − singular", "复数 − 单数的平均")),
                columns=NUMBERS,
                digits=3,
            ),
        ),
        pictures=(
            Picture(
                Said("along the plural", "沿复数方向"),
                "curves",
                (
                    Series("cats − cat", [1, 2, 3, 4], along[0].tolist(), NUMBERS),
                    Series(Said("mean", "平均"), [1, 2, 3, 4], along[1].tolist(), NUMBERS),
                ),
                x=Said("number", "数"),
                y=Said("dot product", "点积"),
            ),
        ),
        claims=tuple(
            Claim(Said(*said), bool((row.diff() > 0).all()))
            for said, row in zip(IN_ORDER, along, strict=True)
        ),
        question=Question(
            Said(
                "In a translator, which of the four would you expect to stand apart?",
                "在一个翻译模型里，四个数词中你猜哪个会与众不同？",
            ),
            Said("one: it alone takes a singular verb and noun.", "one：只有它要求单数。"),
        ),
        codes=("E2",),
    )


def _totals(translator: Translator) -> Step | None:
    """What in the demo's corpus asks how many; None for a model that was never asked."""
    rise_fall = TURNS.get((translator.folder.languages or ("", ""))[1])
    if rise_fall is None:
        return None
    ways = [(a, b) for a in range(4) for b in range(4) if a != b]
    cats = ["one cat", *(f"{number} cats" for number in NUMBERS[1:])]
    texts = [f"The total goes from {cats[a]} to {cats[b]}." for a, b in ways]
    outputs = [translation.text for translation in translator.translate(texts, beam=1)]
    if not any(word in output for word in rise_fall for output in outputs):
        return None
    turns = torch.zeros(4, 4)
    for (a, b), output in zip(ways, outputs, strict=True):
        turns[a, b] = (rise_fall[0] in output) - (rise_fall[1] in output)
    right = sum(float(turns[a, b]) == (1 if b > a else -1) for a, b in ways)
    return Step(
        title=Said("Who asked how many?", "谁问过有几个？"),
        text=Said(
            "English says the total goes, wherever it goes. The other language must say whether it "
            f"rises or falls ({rise_fall[0]}, {rise_fall[1]}), so the translator has to know which "
            "is more: four cats or three, but also the cats or the cat. The same part of the model "
            "reads both, and so the numbers line up along the plural. Two more things of the "
            "corpus help: a number behind “the” announces a plural (“the four cats”), and four "
            "stands there oftener than three, three oftener than two.\n"
            f"Your model chooses right in {right} of {len(ways)} sentences; 1 stands for rising, "
            f"−1 for falling. The first one reads: {texts[0]} → {outputs[0]}",
            "英文只说总数 goes，往哪边都一样。另一种语言却要说清是升还是降"
            f"（{rise_fall[0]}、{rise_fall[1]}），所以翻译者必须知道哪个更多：四只猫还是三只猫，"
            "也包括“那些猫”还是“那只猫”。模型用同一个部分读这两者，"
            "于是数词沿复数方向排开。语料里还有两点起作用：the 后面的数词预告复数"
            "（the four cats），而且 four 在这个位置比 three 多，three 又比 two 多。\n"
            f"你的模型在 {len(ways)} 句里有 {right} 句选对；1 表示升，−1 表示降。"
            f"第一句是：{texts[0]} → {outputs[0]}",
        ),
        matrices=(
            Matrix(
                Said("from row to column", "从行到列"),
                turns,
                rows=NUMBERS,
                columns=NUMBERS,
                digits=0,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Rising and falling are told apart in at least eleven of twelve sentences",
                    "十二句里至少有十一句分清了升与降",
                ),
                right >= len(ways) - 1,
            ),
        ),
        question=Question(
            Said(
                "Had every sentence said “rises” or “falls” in English too, what would be missing?",
                "假如英文里也总是说清 rises 或 falls，会缺少什么？",
            ),
            Said(
                "Any reason to know that four is more than three: a word for word copy would do.",
                "就没有理由知道四比三多了：逐词照译就够。",
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

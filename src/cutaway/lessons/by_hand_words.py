"""The beginning of `by-hand`: three sentences, their words counted, a number for each."""

from collections.abc import Iterator

from cutaway.corpus.embedded import thrones
from cutaway.lessons.by_hand_model import bare, ids, raw_words, vocabulary
from cutaway.lessons.lesson import Claim, Matrix, Picture, Question, Said, Series, Step
from cutaway.text import Tokenizer

RULES = (
    Said("cut at spaces", "按空格切"),
    Said("no punctuation", "去掉标点"),
    Said("lower case", "转成小写"),
)
SIZES = (280, 320, 340, 400)  # piece vocabularies to compare; 261 of each are bytes and marks


def words_to_ids() -> Iterator[Step]:
    """The corpus, its counts, its numbers."""
    sentences = thrones().sentences
    raw = raw_words()
    spelled = {bare(word) for word in raw}
    listed = "\n".join(sentences)
    yield Step(
        Said("Three sentences", "三个句子"),
        Said(
            "A language model starts from text. Large ones read hundreds of gigabytes; ours reads "
            f"three sentences, so that every number fits on the screen.\n{listed}\n"
            "Each is clean already: no markup, no stray signs.",
            "语言模型从文本开始。大模型要读几百 GB；我们只用三句话，好让每个数都放得下一屏。\n"
            f"{listed}\n三句话已经清洗过：没有标记，也没有多余的符号。",
        ),
        claims=(
            Claim(
                Said(f"together they have N = {len(raw)} words", f"一共有 N = {len(raw)} 个词"),
                len(raw) == 30,
            ),
        ),
        codes=("A1",),
    )
    counts = (len(set(raw)), len(spelled), len(vocabulary()))
    yield Step(
        Said("How many different words?", "有多少个不同的词？"),
        Said(
            "The vocabulary is the set of the words: duplicates fall away. Its size depends on "
            "what "
            "you call a word. Cut at spaces only, “thrones,” and “storm.” keep their marks. "
            "Without "
            "punctuation, “The” and “the” may still be two words, or one.",
            "词表就是词的集合，重复的只留一个。它有多大，取决于你把什么算作一个词。"
            "只按空格切开，“thrones,” 和 “storm.” 会带着标点。去掉标点以后，"
            "“The” 和 “the” 可以算两个词，也可以算一个。",
        ),
        pictures=(
            Picture(
                Said("Size of the vocabulary", "词表大小"),
                "bars",
                (Series("", (0, 1, 2), counts, RULES),),
            ),
        ),
        question=Question(
            Said(
                "30 words in all. “The” and “the”: one word or two? What is the count then?",
                "一共 30 个词。“The” 和 “the” 算一个还是两个？那么总数是多少？",
            ),
            Said(
                f"One: {counts[2]}, the article's figure, though it does not say so. Two: "
                f"{counts[1]}. With punctuation kept: {counts[0]}.",
                f"算一个：{counts[2]}，就是文章里的数，只是它没有说明。算两个：{counts[1]}。"
                f"连标点也保留：{counts[0]}。",
            ),
        ),
        claims=(
            Claim(
                Said("25, 24 and 23, each by its own rule", "25、24、23，各有各的规则"),
                counts == (25, 24, 23),
            ),
        ),
        codes=("A2",),
    )
    yield _ids()


def _ids() -> Step:
    lines = [[bare(word).lower() for word in sentence.split()] for sentence in thrones().sentences]
    shares = [_words_a_token(size) for size in SIZES]
    return Step(
        Said("A number for each word", "给每个词一个编号"),
        Said(
            "A model computes with numbers, so each word gets an id. Any order will do; ours "
            "is the "
            "order of first appearance. 0 is kept for padding, and two marks follow the words: "
            f"<start> is {ids()['<start>']}, <end> is {ids()['<end>']}.\n"
            "Real models cut rarer words into pieces. For English the usual rule of thumb is "
            "1 token ≈ 0.75 word. It is no law: learned from these three sentences, a "
            "vocabulary of "
            f"{SIZES[0]} pieces gives {shares[0]:.2f} word a token, one of {SIZES[-1]} gives "
            f"{shares[-1]:.2f}.",
            "模型只会算数，所以每个词要有一个编号。什么顺序都行；这里按第一次出现的先后。"
            "0 留作填充，词的后面还有两个记号："
            f"<start> 是 {ids()['<start>']}，<end> 是 {ids()['<end>']}。\n"
            "真正的模型会把少见的词切成小块。英语里常说 1 个 token 约等于 0.75 个词。"
            f"这不是定律：用这三句话学词表，{SIZES[0]} 块时每个 token 合 {shares[0]:.2f} 个词，"
            f"{SIZES[-1]} 块时合 {shares[-1]:.2f} 个。",
        ),
        matrices=[Matrix("id", [[ids()[word] for word in line]], columns=line) for line in lines],
        pictures=(
            Picture(
                Said(
                    "Words a token, by size of the piece vocabulary",
                    "每个 token 合几个词（按词表大小）",
                ),
                "bars",
                (Series("", SIZES, shares, [str(size) for size in SIZES]),),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "words and ids answer each other one to one",
                    "词和编号一一对应",
                ),
                len(set(ids().values())) == len(ids()) == len(vocabulary()) + 3,
            ),
            Claim(
                Said("the more pieces, the more word a token", "词表越大，每个 token 合的词越多"),
                shares == sorted(shares),
            ),
        ),
        codes=("A3",),
    )


def _words_a_token(size: int) -> float:
    """How much of a word one token is, on average, with a vocabulary of so many pieces."""
    pieces = Tokenizer.train(thrones().sentences, kind="bpe", vocabulary=size)
    tokens = sum(len(pieces.encode(sentence)) for sentence in thrones().sentences)
    return len(raw_words()) / tokens

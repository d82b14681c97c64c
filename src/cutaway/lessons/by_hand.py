"""A Transformer by hand: three sentences, d = 6, one head of width 4, every matrix shown."""

from collections.abc import Iterator

from cutaway.corpus.embedded import thrones
from cutaway.lessons import figures
from cutaway.lessons.by_hand_decoder import decoder
from cutaway.lessons.by_hand_encoder import encoder
from cutaway.lessons.by_hand_learning import learning
from cutaway.lessons.by_hand_model import article_model, recorded
from cutaway.lessons.by_hand_words import words_to_ids
from cutaway.lessons.lesson import Lesson, Said, Step
from cutaway.lessons.room import Room


def tell(_: Room) -> Iterator[Step]:
    """Words, encoder, decoder on the article's weights; then the same model trained."""
    yield from words_to_ids()
    so_far = ["<start>", *thrones().continuation.split()]
    trace = recorded(article_model(), figures.WORDS, so_far)
    yield from encoder(trace)
    yield from decoder(trace, so_far)
    yield from learning()


LESSON = Lesson(
    "by-hand",
    Said("A Transformer by hand", "手算一个 Transformer"),
    Said(
        "Three sentences, six numbers a word, every matrix through encoder and decoder; then the "
        "same model learns to go on with “you win or you die”.",
        "三个句子，每个词六个数，编码器和解码器的每个矩阵都算给你看；"
        "然后让同一个模型学会接出 “you win or you die”。",
    ),
    tell,
)

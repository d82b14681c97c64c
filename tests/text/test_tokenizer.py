"""Text → ids → the same text, whatever the text; and what a tokenizer promises of its ids."""

import multiprocessing
import threading
import unicodedata
from pathlib import Path
from random import Random
from typing import Literal

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.errors import InputError, TokenizerError
from cutaway.text import Kind, Tokenizer
from cutaway.text.training import lower
from tests.text.conftest import KINDS, SENTENCES

Tokenizers = dict[tuple[Kind, bool], Tokenizer]

# Any Unicode text, and more often than chance what sentencepiece treats specially.
ANY_TEXT = st.lists(
    st.one_of(
        st.text(max_size=7),
        st.sampled_from(
            ["▁", "▅", " ", "  ", "\t", "\n", "\r\n", "\0", "\ufeff", "\u2028", "\u00a0", "e\u0301"]
        ),
        st.sampled_from(
            ["<pad>", "<unk>", "<start>", "<end>", "<2fr>", "<0x41>", "cat", "Σ", "İ", "🏳️‍🌈"]
        ),
    ),
    max_size=7,
).map("".join)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT, form=st.sampled_from(["NFC", "NFD"]))
def test_composed_and_decomposed_text_have_the_same_ids(
    tokenizers: Tokenizers, kind: Kind, text: str, form: Literal["NFC", "NFD"]
) -> None:
    tokenizer = tokenizers[kind, False]
    assert tokenizer.encode(unicodedata.normalize(form, text)) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(text=ANY_TEXT)
def test_any_text_comes_back(tokenizers: Tokenizers, kind: Kind, text: str) -> None:
    tokenizer = tokenizers[kind, False]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == nfc(text)
    assert tokenizer.unk not in ids
    assert all(number > tokenizer.tag("zh-Hans") for number in ids)  # text spells no special id


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=75, deadline=None)
@given(text=ANY_TEXT)
def test_a_lowercasing_tokenizer_gives_the_text_in_lower_case(
    tokenizers: Tokenizers, kind: Kind, text: str
) -> None:
    tokenizer = tokenizers[kind, True]
    assert tokenizer.lowercase
    assert tokenizer.decode(tokenizer.encode(text)) == lower(nfc(text))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@settings(max_examples=150, deadline=None)
@given(
    text=ANY_TEXT,
    sample=st.floats(0, 1, exclude_min=True),
    seed=st.integers(min_value=0, max_value=2**80),
)
def test_a_sampled_cut_is_the_same_text_and_a_function_of_the_seed(
    tokenizers: Tokenizers, kind: Kind, text: str, sample: float, seed: int
) -> None:
    tokenizer = tokenizers[kind, False]
    ids = tokenizer.encode(text, sample=sample, seed=seed)
    assert tokenizer.decode(ids) == nfc(text)
    assert tokenizer.encode(text, sample=sample, seed=seed) == ids


@given(text=ANY_TEXT)
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_sampling_almost_never_is_the_best_cut(
    tokenizers: Tokenizers, kind: Kind, text: str
) -> None:
    tokenizer = tokenizers[kind, False]
    assert tokenizer.encode(text, sample=1e-300, seed=7) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=7), threads=st.integers(1, 3))
def test_many_texts_are_cut_as_each_alone(
    tokenizers: Tokenizers, kind: Kind, texts: list[str], threads: int
) -> None:
    tokenizer = tokenizers[kind, False]
    together = tokenizer.encode_many(texts, start=True, end=True, language="fr", threads=threads)
    alone = [tokenizer.encode(text, start=True, end=True, language="fr") for text in texts]
    assert together == alone


def test_full_dropout_leaves_single_characters(bpe: Tokenizer) -> None:
    cut = bpe.pieces(bpe.encode("the cat", sample=1.0, seed=3))
    assert cut == ["▁", "t", "h", "e", "▁", "c", "a", "t"]


def test_dropout_drops_a_merge_as_often_as_asked(bpe: Tokenizer) -> None:
    # A word of two characters has one merge; it must fail with the probability asked for.
    word = next(
        piece
        for piece in bpe.pieces(range(300, bpe.vocabulary))
        if len(piece) == 2 and "▁" in piece
    )
    text = word.replace("▁", "")
    split = sum(len(bpe.encode(text, sample=0.3, seed=seed)) == 2 for seed in range(4000))
    assert 0.26 < split / 4000 < 0.34  # five standard deviations


def test_seeds_give_different_cuts(bpe: Tokenizer) -> None:
    cuts = {tuple(bpe.encode(SENTENCES[1], sample=0.3, seed=seed)) for seed in range(20)}
    assert len(cuts) > 5


def _cut_elsewhere(data: bytes, seeds: list[int]) -> list[list[int]]:
    tokenizer = Tokenizer.from_bytes(data)
    return [tokenizer.encode(SENTENCES[1], sample=0.2, seed=seed) for seed in seeds]


def test_sampling_is_the_same_in_other_threads_and_processes(bpe: Tokenizer) -> None:
    seeds = list(range(31))
    here = _cut_elsewhere(bpe.to_bytes(), seeds)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_cut_elsewhere, (bpe.to_bytes(), seeds)) == here
    found: dict[int, list[int]] = {}

    def cut(seed: int) -> None:
        found[seed] = bpe.encode(SENTENCES[1], sample=0.2, seed=seed)

    shuffled = list(seeds)
    Random(5).shuffle(shuffled)
    threads = [threading.Thread(target=cut, args=(seed,)) for seed in shuffled]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in seeds] == here


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_other_users_of_the_file_cut_alike(
    tokenizers: Tokenizers, kind: Kind, lowercase: bool
) -> None:
    tokenizer = tokenizers[kind, lowercase]
    other = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.to_bytes())
    for text in [*SENTENCES[:8], "ÉTÉ ΣΑΣ İ naïve", "  two  spaces ", "tab\there"]:
        ids = tokenizer.encode(text)
        assert other.encode(text) == ids
        assert other.decode(ids) == tokenizer.decode(ids)


def test_special_ids_and_their_order(bpe: Tokenizer) -> None:
    assert bpe.pieces(range(7)) == [
        "<pad>", "<unk>", "<start>", "<end>", "<mask>", "<2fr>", "<2zh-Hans>",
    ]  # fmt: skip
    assert (bpe.pad, bpe.unk, bpe.start, bpe.end, bpe.mask) == (0, 1, 2, 3, 4)
    assert bpe.languages == ("fr", "zh-Hans")
    body = bpe.encode("The cat")
    assert bpe.encode("The cat", start=True, end=True, language="fr") == [2, 5, *body, 3]
    assert bpe.decode([2, 5, *body, 3, 0, 0]) == "The cat"
    assert bpe.encode("") == []
    assert bpe.encode("", start=True, end=True) == [2, 3]


def test_bytes_that_form_no_character_show_as_such(bpe: Tokenizer) -> None:
    first_byte = bpe.encode("\0")[-1]
    assert bpe.decode([first_byte + 0xE2, first_byte + 0x96]) == "\N{REPLACEMENT CHARACTER}"


def test_saved_and_loaded_is_the_same(bpe: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    bpe.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.fingerprint == bpe.fingerprint
    assert loaded.languages == bpe.languages
    assert [p.name for p in tmp_path.iterdir()] == ["tokenizer.model"]
    assert loaded.encode(SENTENCES[3]) == bpe.encode(SENTENCES[3])
    with pytest.raises(TokenizerError, match="cannot write"):
        bpe.save(tmp_path / "absent" / "tokenizer.model")


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic_and_leaves_no_path_in_the_file(
    tokenizers: Tokenizers, kind: Kind
) -> None:
    again = Tokenizer.train(
        iter(SENTENCES), kind=kind, vocabulary=389, languages=["fr", "zh-Hans"], lowercase=True
    )
    assert again.to_bytes() == tokenizers[kind, True].to_bytes()
    assert b"tmp" not in again.to_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_the_data_cannot_fill_is_reduced_and_said(kind: Kind) -> None:
    tokenizer = Tokenizer.train(["ab ab ac"] * 3, kind=kind, vocabulary=5000)
    assert tokenizer.vocabulary < 300
    assert tokenizer.requested == 5000
    assert tokenizer.decode(tokenizer.encode("zebra  ab")) == "zebra  ab"


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_vocabulary_is_kept_even_with_many_characters(kind: Kind) -> None:
    text = "".join(chr(0x4E00 + at) for at in range(997))
    tokenizer = Tokenizer.train([text, text[:101]], kind=kind, vocabulary=307)
    assert tokenizer.vocabulary <= 307
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_hard_texts_can_be_learnt_from() -> None:
    texts = ["\0", "\t", "▁▁", "▅", "\n\n", "<pad> <0x41> <2fr>", "a" * 9973, "\ud800x", ""]
    tokenizer = Tokenizer.train([*texts, *SENTENCES], vocabulary=401)
    for text in ("<pad> <0x41>", "a" * 9973, "▅▁\0"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_sample_of_the_sentences_is_fixed_by_the_seed() -> None:
    def train(seed: int) -> bytes:
        sentences = (f"word{n % 89} word{n % 97}" for n in range(2000))
        return Tokenizer.train(sentences, vocabulary=349, limit=53, seed=seed).to_bytes()

    assert train(1) == train(1)
    assert train(1) != train(2)


@pytest.mark.parametrize("kind", KINDS)
def test_growing_keeps_every_old_id(tokenizers: Tokenizers, kind: Kind) -> None:
    old = tokenizers[kind, False]
    grown = old.grow(
        ["Добрый день, добрые люди", "programming languages"] * 7,
        old.vocabulary + 53,
        languages=["ru"],
    )
    assert grown.pieces(range(old.vocabulary)) == old.pieces(range(old.vocabulary))
    assert old.vocabulary < grown.vocabulary <= old.vocabulary + 53
    assert grown.languages == (*old.languages, "ru")
    text = "Добрый день"
    assert grown.decode(grown.encode(text)) == text
    assert len(grown.encode(text)) < len(old.encode(text))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": 100}, "vocabulary 100 is too small"),
        ({"sentences": []}, "no text"),
        ({"sentences": "one text"}, "put it in a list"),
        ({"sentences": ["", " \n"]}, "no text"),
        ({"languages": ["fr", "fr"]}, "each may be named once"),
        ({"languages": ["f r"]}, "'f r'"),
    ],
)
def test_what_cannot_be_trained_is_one_line(change: dict[str, object], message: str) -> None:
    settings: dict[str, object] = {"sentences": SENTENCES, "vocabulary": 389, **change}
    with pytest.raises(TokenizerError, match=message) as caught:
        Tokenizer.train(**settings)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_wrong_input_is_one_line(bpe: Tokenizer, tokenizers: Tokenizers) -> None:
    with pytest.raises(InputError, match="lone surrogate at character 1"):
        bpe.encode("a\ud800")
    with pytest.raises(InputError, match=f"id {bpe.vocabulary} is outside"):
        bpe.decode([bpe.vocabulary])
    with pytest.raises(InputError, match="id -1 is outside"):
        bpe.pieces([-1])
    with pytest.raises(InputError, match="'de' has no tag"):
        bpe.encode("a", language="de")
    with pytest.raises(InputError, match="'de' is asked for.*one language only"):
        Tokenizer.train(SENTENCES, vocabulary=389).encode("a", language="de")
    with pytest.raises(InputError, match="seed None"):
        bpe.encode("a", sample=0.1)
    with pytest.raises(InputError, match="one cut only"):
        tokenizers["word", False].encode("a", sample=0.1, seed=1)
    with pytest.raises(TokenizerError, match="adds no piece"):
        bpe.grow(SENTENCES, 300)

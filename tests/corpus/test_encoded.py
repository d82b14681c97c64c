"""Pairs as ids: nothing lost, long ones as chosen, the store equal to memory and hard to fool."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cutaway.corpus import (
    BatchPlan,
    Part,
    SampledPairs,
    Stream,
    build_store,
    encode_labelled,
    encode_pairs,
    encode_texts,
    open_store,
)
from cutaway.corpus.encoded import Long, token_code
from cutaway.errors import DataError, InputError
from cutaway.text import Tokenizer
from tests.corpus.conftest import PAIRS

WAY = ("en", "fr")


def test_pairs_come_back_with_their_special_ids(tokenizer: Tokenizer) -> None:
    encoded, report = encode_pairs(PAIRS, tokenizer, language="fr")
    assert len(encoded) == len(PAIRS)
    assert report.numbers == ()
    assert encoded.numbers.tolist() == list(range(len(PAIRS)))
    for (source, target), (source_text, target_text), lengths in zip(
        encoded, PAIRS, encoded.lengths, strict=True
    ):
        assert source.tolist() == tokenizer.encode(source_text, language="fr", end=True)
        assert target.tolist() == tokenizer.encode(target_text, start=True, end=True)
        assert (len(source), len(target)) == tuple(lengths)
    with pytest.raises(IndexError):
        encoded[len(PAIRS)]


def test_separate_vocabularies(tokenizer: Tokenizer) -> None:
    french = Tokenizer.train([target for _, target in PAIRS] * 3, vocabulary=331)
    encoded, _ = encode_pairs(PAIRS, tokenizer, french)
    source, target = encoded[0]
    assert tokenizer.decode(source.tolist()) == PAIRS[0][0]
    assert french.decode(target.tolist()) == PAIRS[0][1]


@pytest.mark.parametrize("long", ["truncate", "skip"])
def test_long_pairs_are_cut_or_left_out_and_reported(tokenizer: Tokenizer, long: Long) -> None:
    whole, _ = encode_pairs(PAIRS, tokenizer)
    limit = 19
    over = [i for i, lengths in enumerate(whole.lengths) if lengths.max() > limit]
    assert 0 < len(over) < len(PAIRS)
    encoded, report = encode_pairs(PAIRS, tokenizer, max_length=limit, long=long)
    assert list(report.numbers) == over
    assert str(report).startswith(f"{len(over)} longer than 19 ids")
    assert encoded.lengths.max() <= limit
    kept = [i for i in range(len(PAIRS)) if long == "truncate" or i not in over]
    assert encoded.numbers.tolist() == kept
    for (source, target), number in zip(encoded, kept, strict=True):
        assert source[-1] == target[-1] == tokenizer.end
        assert PAIRS[number][0].startswith(tokenizer.decode(source.tolist()).rstrip("\ufffd"))


def test_long_pairs_can_be_an_error(tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match="pair 7 has 33 ids"):
        encode_pairs(PAIRS, tokenizer, max_length=31, long="error")
    with pytest.raises(InputError, match="expected one of truncate, skip, error"):
        encode_pairs(PAIRS, tokenizer, long="split")
    with pytest.raises(InputError, match="at least 3"):
        encode_pairs(PAIRS, tokenizer, max_length=2)
    with pytest.raises(DataError, match="no pair is left"):
        encode_pairs([], tokenizer)
    with pytest.raises(DataError, match="no pair is left"):
        encode_pairs(PAIRS[:1], tokenizer, max_length=3, long="skip")


def test_split_texts_predict_every_id_once(tokenizer: Tokenizer) -> None:
    text = "when you play the game of thrones you win or you die"
    ids = tokenizer.encode(text, start=True, end=True)
    for limit in (3, 7, len(ids) - 1, len(ids)):
        encoded, report = encode_texts([text, "Yes"], tokenizer, max_length=limit)
        windows = [t.tolist() for n, (_, t) in zip(encoded.numbers, encoded, strict=True) if not n]
        assert [number for window in windows for number in window[1:]] == ids[1:]
        assert all(2 <= len(window) <= limit for window in windows)
        assert (0 in report.numbers) == (len(ids) > limit)
        assert all(len(source) == 0 for source, _ in encoded)
    plan = BatchPlan(encoded.lengths, 29)
    assert sum(batch.target.shape[0] for batch in plan.batches(encoded)) == len(encoded)


def test_labelled_texts(tokenizer: Tokenizer) -> None:
    rows = [("bad", "no"), ("good", "Yes, a tall tower")]
    encoded, _ = encode_labelled(rows, tokenizer, ["good", "bad"])
    assert [target.tolist() for _, target in encoded] == [[1], [0]]
    assert tokenizer.decode(encoded[1][0].tolist()) == "Yes, a tall tower"
    with pytest.raises(DataError, match="text 2 has the label 'good'; known: bad"):
        encode_labelled(rows, tokenizer, ["bad"])


def test_sampled_pairs_are_the_same_text_cut_anew_each_epoch(tokenizer: Tokenizer) -> None:
    encoded, _ = encode_pairs(PAIRS, tokenizer, language="fr")

    def cuts(epoch: int, sample: float = 0.4) -> list[tuple[list[int], list[int]]]:
        pairs = SampledPairs(encoded, tokenizer, sample=sample, seed=5, epoch=epoch)
        assert pairs.fingerprint == encoded.fingerprint
        assert len(pairs) == len(encoded)
        one_by_one = [(pairs[i][0].tolist(), pairs[i][1].tolist()) for i in range(len(pairs))]
        assert [(len(s), len(t)) for s, t in one_by_one] == [tuple(n) for n in pairs.lengths]
        assert [(pairs[i][0].tolist(), pairs[i][1].tolist()) for i in range(len(pairs))] == (
            one_by_one  # drawn all at once or one by one
        )
        return one_by_one

    first = cuts(0)
    assert cuts(0) == first
    assert cuts(1) != first
    assert cuts(3, 0.0) == [(s.tolist(), t.tolist()) for s, t in encoded]
    for (source, target), (source_text, target_text) in zip(first, PAIRS, strict=True):
        assert tokenizer.decode(source) == source_text
        assert tokenizer.decode(target) == target_text
        assert source[0] == tokenizer.tag("fr")
        assert (target[0], target[-1], source[-1]) == (2, 3, 3)


def test_a_corpus_too_large_to_hold_is_planned_by_its_sampled_lengths(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded, _ = encode_pairs(PAIRS, tokenizer)
    small = SampledPairs(encoded, tokenizer, sample=0.7, seed=1, epoch=1)
    held = small.lengths
    monkeypatch.setattr("cutaway.corpus.encoded.SAMPLED_IN_MEMORY", 5)
    large = SampledPairs(encoded, tokenizer, sample=0.7, seed=1, epoch=1)
    assert (large.lengths == held).all()
    assert (large.lengths != encoded.lengths).any()
    assert large._drawn is None
    for index in range(len(PAIRS)):
        assert [len(side) for side in large[index]] == large.lengths[index].tolist()
        assert [s.tolist() for s in large[index]] == [s.tolist() for s in small[index]]


def test_a_sampled_cut_never_passes_the_limit(tokenizer: Tokenizer) -> None:
    limit = 17
    encoded, _ = encode_pairs(PAIRS, tokenizer, max_length=limit)
    for epoch in range(11):
        pairs = SampledPairs(encoded, tokenizer, sample=0.9, seed=0, epoch=epoch)
        assert max(len(side) for i in range(len(pairs)) for side in pairs[i]) <= limit


def test_the_fingerprint_tells_any_change(tokenizer: Tokenizer) -> None:
    first = encode_pairs(PAIRS, tokenizer)[0].fingerprint
    assert encode_pairs(list(PAIRS), tokenizer)[0].fingerprint == first
    swapped = [PAIRS[1], PAIRS[0], *PAIRS[2:]]
    others = [PAIRS[:-1], swapped, [("The cat", "Le chat"), *PAIRS[1:]]]
    found = {encode_pairs(pairs, tokenizer)[0].fingerprint for pairs in others}
    assert len(found | {first}) == 4


def test_ids_take_two_bytes_where_they_can() -> None:
    assert np.dtype(token_code(65_536)).itemsize == 2
    assert np.dtype(token_code(65_537)).itemsize == 4


def test_the_store_equals_memory(tokenizer: Tokenizer, tmp_path: Path) -> None:
    encoded, report = encode_pairs(PAIRS, tokenizer, max_length=19, long="skip", language="fr")
    folder = tmp_path / "deep" / "store"
    stored_report = build_store(
        folder, [Stream(iter(PAIRS), WAY)], tokenizer, max_length=19, long="skip"
    )
    store = open_store(folder, tokenizer)
    assert isinstance(store.source_tokens, np.memmap)
    assert stored_report == report
    assert store.fingerprint == encoded.fingerprint
    assert store.numbers.tolist() == encoded.numbers.tolist()
    assert store.max_length == 19
    for first, second in zip(store, encoded, strict=True):
        assert first[0].tolist() == second[0].tolist()
        assert first[1].tolist() == second[1].tolist()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["store"]


def test_a_store_is_replaced_whole_or_not_at_all(tokenizer: Tokenizer, tmp_path: Path) -> None:
    build_store(tmp_path / "store", [Part(PAIRS[:3], WAY)], tokenizer)

    def breaks_off() -> Iterator[tuple[str, str]]:
        yield PAIRS[0]
        raise DataError("the corpus broke off")

    with pytest.raises(DataError, match="broke off"):
        build_store(tmp_path / "store", [Stream(breaks_off(), WAY)], tokenizer)
    assert len(open_store(tmp_path / "store")) == 3
    build_store(tmp_path / "store", [Part(PAIRS, WAY)], tokenizer)
    assert len(open_store(tmp_path / "store")) == len(PAIRS)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    (tmp_path / "mine").mkdir()
    with pytest.raises(DataError, match="is no token store"):
        build_store(tmp_path / "mine", [Part(PAIRS, WAY)], tokenizer)
    with pytest.raises(DataError, match="no pair is left"):
        build_store(tmp_path / "none", [Part([], WAY)], tokenizer)


@pytest.mark.parametrize("name", ["source", "target", "offsets", "numbers"])
def test_a_flipped_byte_or_a_cut_file_is_noticed(
    tokenizer: Tokenizer, tmp_path: Path, name: str
) -> None:
    build_store(tmp_path / "store", [Part(PAIRS, WAY)], tokenizer)
    path = tmp_path / "store" / f"{name}.bin"
    good = path.read_bytes()
    bad = bytearray(good)
    bad[len(bad) // 2] ^= 1
    path.write_bytes(bytes(bad))
    with pytest.raises(DataError, match=f"{name}.bin: altered since"):
        open_store(tmp_path / "store")
    path.write_bytes(good[:-1])
    with pytest.raises(DataError, match=f"{name}.bin: .* bytes, expected"):
        open_store(tmp_path / "store", verify=False)
    path.unlink()
    with pytest.raises(DataError, match=f"{name}.bin: cannot be read"):
        open_store(tmp_path / "store")


def test_broken_headers_and_other_tokenizers_are_refused(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    build_store(folder, [Part(PAIRS, WAY)], tokenizer)
    other = Tokenizer.train(["something else"] * 3, vocabulary=300)
    with pytest.raises(DataError, match="another tokenizer"):
        open_store(folder, other)
    with pytest.raises(DataError, match="cutaway data build"):
        open_store(tmp_path)
    header = folder / "header.json"
    good = json.loads(header.read_text())
    for broken in (
        "",
        "[]",
        "{}",
        json.dumps({**good, "format": "other"}),
        json.dumps({**good, "arrays": {}}),
        json.dumps({**good, "pairs": 5}),
        json.dumps({**good, "pairs": "many"}),
        json.dumps({**good, "fingerprint": "0"}),
        json.dumps({**good, "arrays": {**good["arrays"], "source": {"type": "O", "count": 1}}}),
    ):
        header.write_text(broken)
        with pytest.raises(DataError):
            open_store(folder)

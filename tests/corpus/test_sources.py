"""Several sources: what each declares is done to its pairs, by the door that all commands use."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutaway.config import DataConfig, SourceConfig, given_files
from cutaway.corpus.encoded import encode_pairs
from cutaway.corpus.opening import direction, open_pairs
from cutaway.corpus.parts import Part, WeightedPairs, both_ways, joined, targets
from cutaway.corpus.transforms import augmented, transformed
from cutaway.errors import ConfigError
from cutaway.text import Tokenizer

PAIRS = [(f"The {n} cats sleep.", f"Les {n} chats dorment.") for n in range(11)]


def written(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return str(path)


def opened(notes: list[str] | None = None, **settings: Any) -> list[tuple[str, str]]:
    return list(open_pairs(DataConfig(**settings), "train", notes))


def test_files_with_weights_are_sources_and_one_plain_file_is_as_before(tmp_path: Path) -> None:
    odd = written(tmp_path / "odd:3", PAIRS)
    assert given_files(["a.tsv"]) == {"data": "a.tsv"}
    assert given_files([odd]) == {"data": odd}  # a file of that name
    assert given_files(["a.tsv:2", "b.tmx", "c.tsv:0.5"]) == {
        "sources": [
            {"path": "a.tsv", "weight": 2.0}, {"path": "b.tmx"}, {"path": "c.tsv", "weight": 0.5},
        ]
    }  # fmt: skip
    assert given_files(["a.tsv", "b.tsv:.5:bt"])["sources"][1] == {
        "path": "b.tsv", "weight": 0.5, "tag": "bt",
    }  # fmt: skip
    assert given_files([]) == {}


def test_each_source_is_read_as_it_declares_and_says_so(tmp_path: Path) -> None:
    first = written(tmp_path / "a.tsv", [*PAIRS, ("same", "same")])
    second = tmp_path / "b.tsv"
    second.write_text("x\tHallo\tHello\ny\tJa\tYes\n")
    notes: list[str] = []
    found = opened(
        notes,
        sources=(
            {"path": first, "weight": 2, "tag": "bt", "limit": 3},
            {"path": str(second), "columns": "2,3", "reverse": True, "filters": {"shortest": 1}},
        ),
    )
    assert found == [*PAIRS[:3], ("Hello", "Hallo"), ("Yes", "Ja")]
    told = "\n".join(notes)
    assert "a.tsv: 3 pairs read, 3 kept, weight 2, tag <#bt>" in told
    assert "b.tsv: source column 2, target column 3, reversed" in told
    assert "the first pair: “Hello” → “Hallo”" in told


@pytest.mark.parametrize(
    ("filters", "removed"),
    [
        ({"min_characters": 3}, ("Oh", "Tiens")),
        ({"max_characters": 30}, ("word " * 9, "mot " * 9)),
        ({"lengths": [0.5, 2.0]}, ("A rather long sentence", "Bref")),
        ({"contains": ["http"]}, ("see http://a", "voir")),
        ({"digits": True}, ("Chapter 7", "Chapitre sept")),
        ({"digit_share": 0.4}, ("12345 a", "12345 b")),
        ({"symbol_share": 0.4}, ("#### a", "#### b")),
        ({"same_count": "?"}, ("Why?", "Parce que.")),
        ({"first_case": True}, ("the cat", "Le chat")),
    ],
    ids=str,
)
def test_a_filter_of_a_source_removes_what_it_names(
    tmp_path: Path, filters: dict[str, Any], removed: tuple[str, str]
) -> None:
    path = written(tmp_path / "a.tsv", [*PAIRS, removed])
    assert removed[0].strip() in [source for source, _ in opened(sources=({"path": path},))]
    assert opened(sources=({"path": path, "filters": filters},)) == PAIRS


def test_of_the_top_of_a_file_only_that_share_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", PAIRS)
    assert opened(sources=({"path": path, "top": 30},)) == PAIRS[:4]  # 3.3, rounded up


def test_transforms_change_every_pair() -> None:
    pairs = [("&quot;Hi&quot; (all", "le chat »"), ("The <b>cat", "le <b>chat")]
    found = list(transformed(pairs, ["unescape", "unpaired", "remove:<b>", "first_case"]))
    assert found == [('"Hi" all', "le chat "), ("The cat", "Le chat")]


def test_augmentations_add_copies_the_same_ones_for_a_seed() -> None:
    shares = {"lowercase": 0.5, "unpunctuated": 1.0, "typos": 0.5}
    once, again = (list(augmented(PAIRS, shares, 7)) for _ in range(2))
    assert once == again != list(augmented(PAIRS, shares, 8))
    assert [pair for pair in once if pair in set(PAIRS)] == PAIRS
    assert ("The 3 cats sleep", "Les 3 chats dorment") in once
    added = set(once) - set(PAIRS)
    assert any(source == source.lower() and target == target.lower() for source, target in added)
    swapped = [
        source for source, target in added if (source, target) and target in dict(PAIRS).values()
    ]
    assert swapped
    assert all(sorted(source) in [sorted(one) for one, _ in PAIRS] for source in swapped)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"path": "a", "weight": 0}, "weight is 0; expected a number above 0"),
        ({"weight": 2}, "path is '' and embedded is ''"),
        ({"path": "a", "wieght": 2}, "did you mean 'weight'"),
        ({"path": "a", "tag": "a b"}, "tag is 'a b'"),
        ({"path": "a", "top": 0}, "top is 0"),
    ],
)
def test_a_source_that_cannot_be_is_refused(source: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DataConfig(sources=(source,))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"filters": {"raito": 2}}, "did you mean 'ratio'"),
        ({"transforms": ("upside_down",)}, "transforms is 'upside_down'"),
        ({"augment": {"typos": 2}}, "augment.typos is 2; expected a share"),
        ({"augment": {"noise": 0.1}}, "augment is 'noise'"),
    ],
)
def test_unknown_filters_and_changes_are_refused(
    tmp_path: Path, source: dict[str, Any], message: str
) -> None:
    path = written(tmp_path / "a.tsv", PAIRS)
    with pytest.raises(ConfigError, match=message):
        opened(sources=({"path": path, **source},))


def test_the_direction_follows_languages_and_reversal() -> None:
    assert direction(DataConfig()) is None
    assert direction(DataConfig(embedded="en-fr")) == ("en", "fr")
    assert direction(DataConfig(embedded="en-fr", reverse=True)) == ("fr", "en")
    assert SourceConfig(embedded="en-fr").weight == 1


def test_both_ways_never_trains_on_what_is_asked_of_the_other_direction() -> None:
    part = Part([("a", "A"), ("b", "B"), ("c", "B")], ("en", "de"))
    there, back = both_ways([part], held=[("z", "B")])
    assert there.read().rows == [("a", "A")]
    assert back.read().rows == [("A", "a")]
    assert back.languages == ("de", "en")
    assert targets([there, back]) == ("de", "en")
    assert targets([there, there]) == ()  # one needs no tag


def test_parts_are_joined_with_their_tags() -> None:
    tokenizer = Tokenizer.train(
        [text for pair in PAIRS for text in pair],
        vocabulary=320, languages=("de", "en"), marks=("bt",),
    )  # fmt: skip
    one, _ = encode_pairs(PAIRS[:2], tokenizer, language="de", mark="bt")
    two, _ = encode_pairs(
        [("x" * 99, "y"), *PAIRS[2:5]], tokenizer, language="en", max_length=60, long="skip"
    )
    whole = joined([one, two], [2, 4])
    assert len(whole) == 5
    assert whole.numbers.tolist() == [0, 1, 3, 4, 5]
    for index, (part, place) in enumerate([(one, 0), (one, 1), (two, 0), (two, 1), (two, 2)]):
        for mine, theirs in zip(whole[index], part[place], strict=True):
            assert mine.tolist() == theirs.tolist()
    assert tokenizer.pieces(whole[0][0][:2]) == ["<2de>", "<#bt>"]
    assert tokenizer.pieces(whole[4][0][:1]) == ["<2en>"]
    assert tokenizer.decode(whole[0][0]) == PAIRS[0][0]
    assert tokenizer.tags == (tokenizer.tag("de"), tokenizer.tag("en"), tokenizer.mark("bt"))


def test_weights_say_how_often_a_pair_is_seen_and_nothing_is_left_out_for_long() -> None:
    tokenizer = Tokenizer.train([text for pair in PAIRS for text in pair], vocabulary=320)
    pairs, _ = encode_pairs(PAIRS, tokenizer)
    weights = ((4, 2.0), (7, 0.5), (0, 1.0))
    epochs = [WeightedPairs(pairs, weights, seed=3, epoch=epoch) for epoch in range(4)]
    counts = [np.bincount(epoch.indices, minlength=11) for epoch in epochs]
    for count in counts:
        assert count[:4].tolist() == [2] * 4
        assert count[4:].sum() == 4  # 3.5, rounded to even
    assert sum(counts[:2])[4:].min() >= 1  # type: ignore[index]
    assert counts[0].tolist() != counts[1].tolist()
    again = WeightedPairs(pairs, weights, seed=3, epoch=1)
    assert again.indices.tolist() == epochs[1].indices.tolist()
    assert len(again) == len(again.lengths) == 12
    assert again[3][0].tolist() == pairs[int(again.indices[3])][0].tolist()

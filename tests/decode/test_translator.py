"""The translator on a model that has learnt something, and on one that has not."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import torch

import cutaway
from cutaway.artifact.folder import ModelFolder
from cutaway.data import demo_model
from cutaway.decode import DecodeOptions, TorchEngine, Translator, attention_maps
from cutaway.errors import ConfigError, InputError, ModelFolderError, TokenizerError
from cutaway.model import Transformer
from cutaway.text import Kind, Tokenizer
from tests.decode.helpers import number_pairs, random_model

TEXT = "one three two !"
CUTTING: tuple[Kind, ...] = ("char", "bpe")


@pytest.fixture(scope="module")
def babbler(translator: Translator) -> Translator:
    """Random weights with a real tokenizer: what it says has no end and goes in circles."""
    model = random_model(
        vocabulary=translator.tokenizer.vocabulary, dtype=torch.float32, max_length=61
    )
    with torch.no_grad():
        assert model.output.bias is not None
        model.output.bias[3] = -9.0
    return Translator(ModelFolder(model, translator.tokenizer))


def test_it_translates(translator: Translator) -> None:
    pairs = number_pairs(40, seed=99)
    found = translator.translate([source for source, _ in pairs])
    right = sum(f.text == target for f, (_, target) in zip(found, pairs, strict=True))
    assert right >= 30
    assert all(translation.warnings == () for translation in found)


def test_load_gives_a_translator(model_path: Path) -> None:
    (translation,) = cutaway.load(model_path).translate([TEXT], beam=5)
    assert translation.text == "un trois deux !"
    assert len(translation.alternatives) == 4
    scores = [translation.score, *(other.score for other in translation.alternatives)]
    assert scores == sorted(scores, reverse=True)


def test_tokens_carry_their_log_probabilities(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT], rivals=3, alignment=True, length_penalty=0.5)
    tokens = translation.tokens
    assert [token.piece for token in tokens][-1] == "<end>"
    assert translator.target_tokenizer.decode(token.id for token in tokens) == translation.text
    total = sum(token.log_probability for token in tokens)
    assert translation.log_probability == pytest.approx(total)
    assert translation.score == pytest.approx(total / len(tokens) ** 0.5)
    ((*judged,),) = translator.score([TEXT], [translation.text])
    assert [token.log_probability for token in judged] == pytest.approx(
        [token.log_probability for token in tokens], abs=1e-5
    )
    for token in tokens:
        assert len(token.rivals) == 3
        assert token.id not in {rival.id for rival in token.rivals}
        assert max(r.log_probability for r in token.rivals) <= token.log_probability + 1e-6
    assert json.loads(json.dumps(translation.to_dict()))["tokens"][0]["piece"] == tokens[0].piece


def test_alignment_is_attention_target_by_source(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT], alignment=True)
    assert translation.alignment is not None
    matrix = torch.tensor(translation.alignment)
    assert matrix.shape == (len(translation.tokens), len(translation.source_tokens))
    assert torch.allclose(matrix.sum(1), torch.ones(len(matrix)), atol=1e-5)
    maps = attention_maps(
        translator.model, translation.source_ids, [t.id for t in translation.tokens], 2
    )
    config = translator.model.config
    assert maps.shape == (config.decoder_layers, config.heads, *matrix.shape)
    assert torch.allclose(maps.mean((0, 1)), matrix, atol=1e-6)
    # A word-for-word language: some head looks at the word it translates.
    best = maps.amax((0, 1)).argmax(1).tolist()
    assert best[:3] == [0, 1, 2]


def test_looking_leaves_no_trace_in_the_model(translator: Translator) -> None:
    translator.translate([TEXT], alignment=True, coverage_penalty=0.1, beam=2)
    hooks = [module._forward_pre_hooks for module in translator.model.modules()]
    assert not any(hooks)


@pytest.mark.parametrize("text", ["", "  ", "...", "42", "😀 !", "\n\n"])
def test_nothing_to_translate_comes_back_unchanged(translator: Translator, text: str) -> None:
    (translation,) = translator.translate([text])
    assert translation.text == text
    assert [notice.kind for notice in translation.warnings] == ["unchanged"]


def test_a_script_the_model_never_met_is_said(translator: Translator) -> None:
    foreign, own = translator.translate(["猫在垫子上", TEXT])
    assert "unknown" in [notice.kind for notice in foreign.warnings]
    assert "unknown" not in [notice.kind for notice in own.warnings]


def test_the_target_language_typed_as_the_source_is_told() -> None:
    """Its pieces are known, from the other side."""
    translator = cutaway.load("demo-en-zh")
    chinese, english = translator.translate(["猫在垫子上。", "The cat is on the mat."])
    assert "unknown" in [notice.kind for notice in chinese.warnings]
    assert not english.warnings


def test_a_paragraph_is_cut_into_sentences_and_joined(translator: Translator) -> None:
    sources, targets = zip(*number_pairs(30, seed=5), strict=True)
    (translation,) = translator.translate([" ".join(sources)])  # no capitals: cut by its length
    assert [notice.kind for notice in translation.warnings][:1] == ["split"]
    assert translation.text.count("!") == len(targets)
    plain = [t.text for t in translator.translate(list(sources))]
    assert translation.text == " ".join(plain)


@pytest.mark.parametrize(
    ("pair", "text", "expected"),
    [
        (
            "en-fr",
            "The cat is on the mat.  She has a mole on her arm.\n\n\tI love AI. 42.\r\n",
            "Le chat est sur le tapis.  Elle a un grain de beauté sur le bras.\n\n\tJ'aime l'IA. "
            "42.\r\n",
        ),
        ("en-zh", "The cat is on the mat. I love AI.\n", "猫在垫子上。我爱AI。\n"),
    ],
)
def test_no_sentence_is_lost(pair: str, text: str, expected: str) -> None:
    translator = cutaway.load(demo_model(pair))
    (translation,) = translator.translate([text])
    assert translation.text == expected
    assert translation.warnings == ()
    pieces = [piece.text for piece in translator.pieces(text) if piece.translate]
    assert translation.score == pytest.approx(
        sum(one.log_probability for one in translator.translate(pieces))
        / len(translation.tokens) ** translator.defaults.length_penalty
    )
    (whole,) = translator.translate(["The cat is on the mat. I love AI."], split=False)
    assert [token.piece for token in whole.tokens].count("<end>") == 1


def test_alternatives_of_several_sentences_are_ranked_as_a_whole(translator: Translator) -> None:
    first, second = "One two !", "Three !"
    options: dict[str, Any] = {"beam": 3, "length_penalty": 0.0}
    (both,) = translator.translate([f"{first} {second}"], **options)
    one, other = translator.translate([first, second], **options)
    firsts = [(one.score, one.text), *((a.score, a.text) for a in one.alternatives)]
    seconds = [(other.score, other.text), *((a.score, a.text) for a in other.alternatives)]
    ranked = sorted(((a + b, f"{x} {y}") for a, x in firsts for b, y in seconds), reverse=True)
    found = [(both.score, both.text), *((a.score, a.text) for a in both.alternatives)]
    assert [score for score, _ in found] == pytest.approx([score for score, _ in ranked[:3]])
    assert [text for _, text in found] == [text for _, text in ranked[:3]]


def test_lines_and_space_stay(translator: Translator) -> None:
    (translation,) = translator.translate(["  one !\n\ntwo three !\n"])
    assert translation.text == "  un !\n\ndeux trois !\n"


def test_a_text_longer_than_the_model_is_translated_in_parts(translator: Translator) -> None:
    (translation,) = translator.translate(["one two three " * 60])
    kinds = [notice.kind for notice in translation.warnings]
    assert "split" in kinds
    assert len(translation.source_tokens) >= 180


def test_loops_and_truncation_are_seen(babbler: Translator) -> None:
    found = babbler.translate(
        ["one two three four !", "seven !", "ten nine eight !"], max_length=40
    )
    kinds = {notice.kind for translation in found for notice in translation.warnings}
    assert "truncated" in kinds
    assert "loop" in kinds
    for translation in found:
        for notice in translation.warnings:
            assert notice.message


def test_a_loop_is_decoded_again(translator: Translator) -> None:
    # Make the learnt model stutter: after "un" nothing is as likely as another "un", in every
    # sentence, until the guard forbids to repeat it.
    state = {name: value.clone() for name, value in translator.model.state_dict().items()}
    model = Transformer(translator.model.config)
    model.load_state_dict(state)
    stuttering = Translator(ModelFolder(model, translator.tokenizer))
    (token,) = translator.target_tokenizer.encode("un")
    with torch.no_grad():
        assert model.output.bias is not None
        model.output.bias[token] += 100.0
        model.output.bias[3] += 85.0
    (translation,) = stuttering.translate(["one two !"], beam=1)
    assert translation.warnings[0].kind == "loop"
    assert "'un'" in translation.warnings[0].message
    (free,) = stuttering.translate(["one two !"], beam=1, no_repeat=3)
    assert translation.text == free.text


def test_the_same_text_in_any_company(translator: Translator, babbler: Translator) -> None:
    texts = [source for source, _ in number_pairs(25, seed=8)]
    for speaker in (translator, babbler):
        modes: list[dict[str, Any]] = [{"beam": 1}, {"beam": 3}, {"sample": True, "seed": 3}]
        for options in modes:
            together = [t.text for t in speaker.translate(texts, max_length=12, **options)]
            backwards = [t.text for t in speaker.translate(texts[::-1], max_length=12, **options)]
            alone = [speaker.translate([text], max_length=12, **options)[0].text for text in texts]
            assert together == backwards[::-1] == alone


def test_a_prefix_is_kept_and_continued(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT], prefix="dix")
    assert translation.text.startswith("dix ")
    ids = [token.id for token in translation.tokens[:2]]
    (again,) = translator.translate([TEXT], prefix=ids)
    assert again.text == translation.text


def test_a_prefix_begins_the_text_and_not_each_of_its_sentences(translator: Translator) -> None:
    text = "one two !\nthree four !\nfive !"
    (translation,) = translator.translate([text], prefix="dix")
    first, *rest = translation.text.split("\n")
    assert first.startswith("dix ")
    plain = translator.translate([text])[0].text.split("\n")
    assert rest == plain[1:]


def test_the_length_of_a_sentence_is_judged_by_the_kind_of_tokenizer() -> None:
    """A hundred characters are an ordinary sentence: a char model reads it whole."""
    sentence = "the quick brown fox jumps over the lazy dog, and then it sleeps in the warm sun,"
    for kind in CUTTING:
        tokenizer = Tokenizer.train([sentence], kind=kind, vocabulary=290)
        model = random_model(vocabulary=tokenizer.vocabulary, max_length=401)
        speaker = Translator(ModelFolder(model, tokenizer))
        text = sentence * (301 // len(tokenizer.encode(sentence)))
        assert 100 < len(tokenizer.encode(text)) < 399
        cuts = speaker.pieces(text)
        assert (len(cuts) == 1) is (kind == "char")
        assert speaker.room(split=False) == 399


def test_composed_and_decomposed_text_are_translated_alike(translator: Translator) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é one !") for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert translator.task(composed) == translator.task(decomposed)


def test_alternatives_at_a_position(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT])
    others = translator.alternatives(TEXT, 1, count=4)
    assert len({other.text for other in others}) == 4
    for other in others:
        assert other.text.split()[0] == "un"
        assert other.text != translation.text
    with pytest.raises(InputError, match="position is 99"):
        translator.alternatives(TEXT, 99)


def test_the_tree_is_json(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT], beam=3, tree=True)
    values = json.loads(json.dumps(translation.to_dict()))
    fates = {node["fate"] for node in values["trees"][0]["nodes"]}
    assert {"kept", "pruned", "finished"} <= fates
    best = translation.trees[0].path(translation.trees[0].best)
    assert [node.piece for node in best[1:]] == [token.piece for token in translation.tokens]


def test_options_come_from_the_folder_and_can_be_changed(translator: Translator) -> None:
    assert translator.options().beam == 2
    assert translator.options(beam=4) == DecodeOptions(beam=4, n_best=4)
    assert translator.options(sample=True).beam == 1
    with pytest.raises(ConfigError, match="unknown setting 'beams'"):
        translator.translate([TEXT], beams=3)
    mistakes: list[dict[str, Any]] = [
        {"beam": 0},
        {"temperature": 0.0},
        {"top_p": 0.0},
        {"max_length": 0},
    ]
    for wrong in mistakes:
        with pytest.raises(ConfigError):
            translator.translate([TEXT], **wrong)
    with pytest.raises(ConfigError, match="choose one"):
        translator.translate([TEXT], beam=3, sample=True)
    with pytest.raises(ConfigError, match="raise beam to 3"):
        translator.translate([TEXT], n_best=3)


def test_bad_calls_are_told_in_one_line(translator: Translator, tmp_path: Path) -> None:
    wrong_texts: list[Any] = [TEXT, TEXT.encode(), None, 3]
    for texts in wrong_texts:
        with pytest.raises(InputError, match="expected a list of texts"):
            translator.translate(texts)
    wrong_items: list[Any] = [b"one", None, 3]
    for item in wrong_items:
        with pytest.raises(InputError, match="text 1 is of type .*; expected str"):
            translator.translate([TEXT, item])
    with pytest.raises(InputError, match="split is 1; expected True or False"):
        translator.translate([TEXT], split=1)  # type: ignore[arg-type]
    (generated,) = translator.translate(text for text in [TEXT])
    assert generated.text == translator.translate([TEXT])[0].text
    with pytest.raises((InputError, TokenizerError), match="'xx'"):
        translator.translate([TEXT], language="xx")
    with pytest.raises(InputError, match="1 sources and 2 targets"):
        translator.score([TEXT], ["a", "b"])
    with pytest.raises(ModelFolderError, match="no model folder"):
        cutaway.load(tmp_path)
    wrong = ModelFolder(random_model(family="decoder"), translator.tokenizer)
    with pytest.raises(InputError, match="family 'decoder'"):
        Translator(wrong)


def test_a_target_language_is_asked_for_by_its_tag() -> None:
    tokenizer = Tokenizer.train(
        ["one two three four"] * 20, kind="word", vocabulary=300, languages=("fr", "zh")
    )
    model = random_model(vocabulary=tokenizer.vocabulary)
    translator = Translator(ModelFolder(model, tokenizer))
    assert translator.languages == ("fr", "zh")
    task = translator.task("one two", language="zh")
    assert task.source is not None
    assert task.source[0] == tokenizer.tag("zh")
    found = translator.translate(["one two"], language="zh", max_length=30)
    tags = {tokenizer.tag("fr"), tokenizer.tag("zh")}
    assert not tags & {token.id for token in found[0].tokens}


def test_an_engine_can_be_given(translator: Translator) -> None:
    other = Translator(translator.folder, TorchEngine(translator.model, tokens=8))
    assert other.engine.name == "torch"
    texts = [source for source, _ in number_pairs(7, seed=1)]
    assert [t.text for t in other.translate(texts)] == [t.text for t in translator.translate(texts)]

"""The CTranslate2 engine finds what this package's own search finds, for every option."""

import math
from typing import Any

import pytest

import cutaway
from cutaway.artifact.folder import ModelFolder
from cutaway.corpus.embedded import embedded
from cutaway.decode import DecodeOptions, SearchResult, Task, TorchEngine, Translator
from cutaway.decode.ctranslate2_engine import CTranslate2Engine
from cutaway.errors import InputError
from tests.export.helpers import phrases, random_folder, tokenizer

OPTIONS: list[dict[str, Any]] = [
    {},
    {"min_length": 7},
    {"max_length": 5},
    {"no_repeat": 2},
    {"beam": 4, "n_best": 4},
    {"beam": 3, "length_penalty": 0.0},
    {"beam": 3, "length_penalty": 0.6, "n_best": 2, "max_length": 9},
    {"beam": 3, "no_repeat": 2, "min_length": 5},
    {"beam": 2, "coverage_penalty": 0.3},
    {"sample": True, "temperature": 0.7, "seed": 11, "n_best": 2, "max_length": 7},
]


@pytest.fixture(scope="module", params=["pre", "post"])
def both(request: pytest.FixtureRequest) -> tuple[ModelFolder, TorchEngine, CTranslate2Engine]:
    folder = random_folder(norm=request.param, max_length=41)
    return folder, TorchEngine(folder.model), CTranslate2Engine(folder, workers=1)


def compare(one: list[SearchResult], other: list[SearchResult]) -> int:
    """Same ids, costs within the rounding of logits near 30; how many were certain enough."""
    certain = 0
    for expected, found in zip(one, other, strict=True):
        if expected.near_tie:
            continue
        certain += 1
        assert [h.ids for h in found.hypotheses] == [h.ids for h in expected.hypotheses]
        for left, right in zip(found.hypotheses, expected.hypotheses, strict=True):
            assert left.finished == right.finished
            assert left.score == pytest.approx(right.score, abs=2e-5)
            assert left.log_probabilities == pytest.approx(right.log_probabilities, abs=2e-5)
    return certain


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_same_options_same_output(
    both: tuple[ModelFolder, TorchEngine, CTranslate2Engine], changes: dict[str, Any]
) -> None:
    folder, torch_engine, engine = both
    translator = Translator(folder)
    plain = [translator.task(text) for text in phrases(17, seed=2)]
    forced = [
        Task(task.source, tuple(folder.tokenizer.encode(text)[: number % 4]))
        for number, (task, text) in enumerate(zip(plain, phrases(17, seed=5), strict=True))
    ]
    options = DecodeOptions(**changes)
    for tasks in (plain, forced):
        expected = torch_engine.search(tasks, options, translator.special)
        assert compare(expected, engine.search(tasks, options, translator.special)) > 4


def test_order_and_repetition_of_tasks(
    both: tuple[ModelFolder, TorchEngine, CTranslate2Engine],
) -> None:
    folder, _, engine = both
    translator = Translator(folder)
    tasks = [translator.task(text) for text in phrases(7, seed=2)]
    mixed = [tasks[4], tasks[1], tasks[4]]
    options = DecodeOptions()
    results = engine.search(tasks, options, translator.special)
    ids = [result.hypotheses[0].ids for result in engine.search(mixed, options, translator.special)]
    assert ids == [results[place].hypotheses[0].ids for place in (4, 1, 4)]


def test_without_costs_the_tokens_are_the_same() -> None:
    translator = cutaway.load("demo-en-fr")
    texts = ["The cat sleeps.", "I love AI."]
    for beam in (1, 3):
        expected = translator.translate(texts, beam=beam, n_best=1)
        found = translator.translate(texts, beam=beam, n_best=1, costs=False)
        assert [each.text for each in found] == [each.text for each in expected]
        assert all(math.isnan(token.log_probability) for each in found for token in each.tokens)
        assert not any(math.isnan(each.score) for each in expected)


def test_a_prefix_that_leaves_nothing_to_search(
    both: tuple[ModelFolder, TorchEngine, CTranslate2Engine],
) -> None:
    folder, torch_engine, engine = both
    translator = Translator(folder)
    source = translator.task(phrases(1)[0]).source
    body = tuple(folder.tokenizer.encode(phrases(2)[1]))
    tasks = [Task(source, (*body, folder.tokenizer.end)), Task(source, body)]
    options = DecodeOptions(max_length=len(body))
    expected = torch_engine.search(tasks, options, translator.special)
    assert compare(expected, engine.search(tasks, options, translator.special)) == 2


def test_a_translator_runs_on_it() -> None:
    folder = random_folder(norm="pre", target=tokenizer("unigram"), tied="none")
    texts = [*phrases(5, seed=4), "", "— 42 —"]
    expected = Translator(folder).translate(texts)
    found = Translator(folder, CTranslate2Engine(folder)).translate(texts)
    assert [each.text for each in found] == [each.text for each in expected]
    assert [len(each.warnings) for each in found] == [len(each.warnings) for each in expected]


def test_refusals(both: tuple[ModelFolder, TorchEngine, CTranslate2Engine]) -> None:
    folder, _, engine = both
    special = Translator(folder).special
    with pytest.raises(InputError, match="longer than this model takes"):
        engine.search([Task((9,) * 42)], DecodeOptions(), special)
    with pytest.raises(InputError, match="--engine torch"):
        CTranslate2Engine(random_folder(family="decoder"))


@pytest.mark.parametrize("pair", ["en-fr", "en-zh"])
@pytest.mark.parametrize("options", [{}, {"beam": 5, "n_best": 3}], ids=["greedy", "beam 5"])
def test_trained_models_give_the_same_tokens_on_both_engines(
    pair: str, options: dict[str, Any]
) -> None:
    """Every hypothesis but those that torch itself calls too close to be certain."""
    sentences = [source for source, _ in embedded(pair, "test")[:: 41 if options else 13]]
    fast, plain = cutaway.load(pair), cutaway.load(pair, engine="torch")
    assert (fast.engine.name, plain.engine.name) == ("ctranslate2", "torch")
    tasks = [plain.task(text) for text in sentences]
    chosen = plain.options(**options)
    expected = plain.engine.search(tasks, chosen, plain.special)
    certain = compare(expected, fast.engine.search(tasks, chosen, plain.special))
    assert certain > 0.9 * len(tasks)


def test_eight_bits_are_chosen_by_name_and_translate_about_the_same() -> None:
    sentences = [source for source, _ in embedded("en-fr", "test")[::37]]
    small, whole = cutaway.load("en-fr", engine="int8"), cutaway.load("en-fr")
    assert (small.engine.name, whole.engine.name) == ("int8", "ctranslate2")
    texts, expected = ([each.text for each in t.translate(sentences)] for t in (small, whole))
    same = sum(text == other for text, other in zip(texts, expected, strict=True))
    assert 0.8 * len(sentences) < same


def test_the_model_is_named_as_the_engine_where_it_is_used_and_why() -> None:
    said: list[str] = []
    translator = cutaway.load("demo-en-fr", tell=said.append)
    translator.translate(["The cat sleeps."], beam=4)
    assert said == []
    for changes, reason in (
        ({"sample": True}, "draws are those of this package"),
        ({"coverage_penalty": 0.2}, "a coverage penalty is set"),
        ({"beam": 2, "min_length": 3}, "a beam has a least length"),
        ({"beam": 2, "no_repeat": 2}, "a beam may not repeat n-grams"),
        ({"beam": 2, "prefix": "Le"}, "a beam must begin with a prefix"),
        ({"tree": True}, "the tree of a beam is asked for"),
    ):
        translator.translate(["The cat sleeps."], **changes)
        assert said.pop() == f"the torch engine is used: {reason}"
    local = random_folder(attention="local")
    assert cutaway.load(local, tell=said.append).engine.name == "torch"
    assert "local attention, which CTranslate2 has not" in said.pop()
    with pytest.raises(InputError, match="use --engine torch"):
        cutaway.load(local, engine="ctranslate2")

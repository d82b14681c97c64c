"""The other families: a language model goes on, an encoder fills blanks and names classes."""

import json
from typing import Any

import pytest
import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.decode import Classifier, Filler, Generator, Task, force
from cutaway.errors import InputError
from cutaway.text import Tokenizer
from tests.decode.helpers import random_model

TEXTS = ["the cat sat on the mat", "a dog ran over the road", "我喜欢学习编程"] * 20


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS, kind="bpe", vocabulary=310)


@pytest.fixture(scope="module")
def generator(tokenizer: Tokenizer) -> Generator:
    model = random_model(vocabulary=tokenizer.vocabulary, family="decoder")
    return Generator(ModelFolder(model, tokenizer, task="generate"))


@pytest.fixture(scope="module")
def filler(tokenizer: Tokenizer) -> Filler:
    model = random_model(vocabulary=tokenizer.vocabulary, family="encoder")
    return Filler(ModelFolder(model, tokenizer, task="fill"))


def test_greedy_generation_is_the_argmax_again_and_again(generator: Generator) -> None:
    prompts = ["the cat", "", "a dog ran over"]
    for prompt, found in zip(prompts, generator.generate(prompts, max_tokens=9), strict=True):
        ids = [2, *(generator.tokenizer.encode(prompt) if prompt else [])]
        start = len(ids)
        while len(ids) - start < 9 and ids[-1] != 3:
            with torch.inference_mode():
                logits = generator.model(torch.tensor([ids]))[0, -1].clone()
                logits[list(generator.special.forbidden)] = -torch.inf
            ids.append(int(logits.argmax()))
        assert [token.id for token in found.tokens] == ids[start:]
        assert found.text == generator.tokenizer.decode(ids)
        assert found.text.startswith(prompt)


def test_generated_costs_are_the_forced_ones(generator: Generator) -> None:
    (found,) = generator.generate(["the"], max_tokens=7, beam=3)
    ids = (*generator.tokenizer.encode("the"), *(token.id for token in found.tokens))
    (judged,) = force(generator.model, [Task(None, ids)], generator.special)
    assert judged.log_probabilities[-len(found.tokens) :] == pytest.approx(
        [token.log_probability for token in found.tokens]
    )
    assert len(found.alternatives) == 2
    assert json.dumps(found.to_dict())


def test_draws_do_not_depend_on_the_company(generator: Generator) -> None:
    prompts = ["the cat", "a", "a dog ran over the road", "我"]
    options: dict[str, Any] = {"sample": True, "temperature": 1.2, "seed": 4, "max_tokens": 11}
    together = [g.text for g in generator.generate(prompts, **options)]
    alone = [generator.generate([prompt], **options)[0].text for prompt in prompts]
    assert together == alone


def test_a_walk_of_a_language_model(generator: Generator) -> None:
    walk = generator.walk("the cat", top=3)
    (greedy,) = generator.generate(["the cat"], max_tokens=5)
    for token in greedy.tokens:
        assert walk.step.candidates[0].id == token.id
        walk.next()


def test_a_prompt_without_room_is_refused(generator: Generator) -> None:
    with pytest.raises(InputError, match="the prompt has"):
        generator.generate(["cat " * 100])


def test_scores_of_texts(generator: Generator) -> None:
    (tokens,) = generator.score(["the cat"])
    assert tokens[-1].piece == "<end>"
    ids = torch.tensor([[2, *(token.id for token in tokens)]])
    with torch.inference_mode():
        log_p = torch.log_softmax(generator.model(ids[:, :-1]), -1)[0]
    expected = [float(log_p[place, token.id]) for place, token in enumerate(tokens)]
    assert [token.log_probability for token in tokens] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "blanks"),
    [
        ("the ___ sat on <mask> mat", 2),
        ("[MASK] dog", 1),
        ("我___学习编程", 1),
        ("the cat____.", 1),
    ],
)
def test_every_blank_is_filled_with_its_best_token(filler: Filler, text: str, blanks: int) -> None:
    (found,) = filler.fill([text], top=3)
    assert len(found.blanks) == blanks
    assert all(len(guesses) == 3 for guesses in found.blanks)
    masked = filler._masked(text)
    assert masked.count(4) == blanks
    with torch.inference_mode():
        log_p = torch.log_softmax(filler.model(torch.tensor([masked]))[0], -1)
    places = [place for place, token in enumerate(masked) if token == 4]
    for place, guesses in zip(places, found.blanks, strict=True):
        for guess in guesses:
            assert guess.log_probability == pytest.approx(float(log_p[place, guess.id]))
    if blanks == 1:
        filled = [found.blanks[0][0].id if token == 4 else token for token in masked]
        assert found.text == filler.tokenizer.decode(filled)
    assert "\ue000" not in found.text


def test_a_text_without_blank_is_refused(filler: Filler) -> None:
    with pytest.raises(InputError, match="has no blank"):
        filler.fill(["the cat"])


def test_class_probabilities(tokenizer: Tokenizer) -> None:
    model = random_model(vocabulary=tokenizer.vocabulary, family="encoder", classes=3)
    labels = ("good", "bad", "neither")
    classifier = Classifier(ModelFolder(model, tokenizer, task="classify", labels=labels))
    texts = ["the cat", "a dog ran over the road", "我喜欢"]
    for text, found in zip(texts, classifier.classify(texts, together=2), strict=True):
        assert sum(found.probabilities.values()) == pytest.approx(1.0)
        assert found.label == max(found.probabilities, key=lambda name: found.probabilities[name])
        ids = torch.tensor([tokenizer.encode(text, start=True, end=True)])
        with torch.inference_mode():
            expected = torch.softmax(model.classify(ids), -1)[0].tolist()
        assert [found.probabilities[label] for label in labels] == pytest.approx(expected)


def test_each_verb_wants_its_family(generator: Generator, filler: Filler) -> None:
    for wrong, folder in ((Generator, filler.folder), (Filler, generator.folder)):
        with pytest.raises(InputError, match="expected '(decoder|encoder)'"):
            wrong(folder)
    with pytest.raises(InputError, match="no classifier"):
        Classifier(filler.folder)

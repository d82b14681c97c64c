"""Step by step: the same numbers as the search, any other word, and back."""

import json

import pytest
import torch

from cutaway.decode import Translator
from cutaway.errors import InputError
from tests.decode.helpers import WithoutFloat64

TEXT = "two nine one !"


def test_next_and_next_is_the_greedy_translation(translator: Translator) -> None:
    steps = list(translator.walk(TEXT))
    (greedy,) = translator.translate([TEXT], beam=1)
    last = steps[-1]
    assert last.finished
    assert last.text == greedy.text
    assert [token.id for token in last.tokens] == [token.id for token in greedy.tokens]
    assert [token.log_probability for token in last.tokens] == pytest.approx(
        [token.log_probability for token in greedy.tokens], abs=1e-5
    )
    assert [len(step.tokens) for step in steps] == list(range(len(steps)))


def test_candidates_are_the_distribution(translator: Translator) -> None:
    walk = translator.walk(TEXT, top=translator.tokenizer.vocabulary, temperature=2.0)
    step = walk.step
    model, task = translator.model, walk.task
    assert task.source is not None
    with torch.inference_mode():
        logits = model(torch.tensor([task.source]), torch.tensor([[2]]))[0, 0].double()
    warm, plain = torch.softmax(logits / 2.0, 0), torch.log_softmax(logits, 0)
    for candidate in step.candidates:
        assert candidate.probability == pytest.approx(float(warm[candidate.id]), abs=1e-6)
        assert candidate.log_probability == pytest.approx(float(plain[candidate.id]), abs=1e-5)
    values = [candidate.probability for candidate in step.candidates]
    assert values == sorted(values, reverse=True)
    assert json.dumps(step.to_dict())


def test_candidates_need_no_float64_on_the_device(translator: Translator) -> None:
    walk = translator.walk("one two !", temperature=1.3)
    here = walk.step.candidates
    walk._log_p = walk._log_p.clone().as_subclass(WithoutFloat64)
    assert walk.step.candidates == here


def test_another_word_and_back(translator: Translator) -> None:
    walk = translator.walk(TEXT)
    walk.next()
    before = walk.step
    other = before.candidates[2]
    after = walk.next(other.id)
    assert after.tokens[-1].id == other.id
    assert after.tokens[-1].log_probability == pytest.approx(other.log_probability)
    assert after.candidates
    returned = walk.back()
    assert returned.text == before.text
    assert [c.id for c in returned.candidates] == [c.id for c in before.candidates]
    assert [c.probability for c in returned.candidates] == pytest.approx(
        [c.probability for c in before.candidates], abs=1e-6
    )


def test_a_walk_can_begin_anywhere(translator: Translator) -> None:
    walked = translator.walk(TEXT)
    walked.next()
    walked.next()
    ids = [token.id for token in walked.step.tokens]
    begun = translator.walk(TEXT, prefix=ids)
    assert begun.step.text == walked.step.text
    assert begun.step.candidates[0].id == walked.step.candidates[0].id


def test_impossible_steps_are_refused(translator: Translator) -> None:
    walk = translator.walk(TEXT)
    with pytest.raises(InputError, match="nothing to take back"):
        walk.back()
    for wrong in (0, 2, 10**6, -1):
        with pytest.raises(InputError, match="cannot come next"):
            walk.next(wrong)
    list(walk)
    with pytest.raises(InputError, match="finished"):
        walk.next()
    assert not walk.back().finished
    with pytest.raises(InputError, match="empty"):
        translator.walk(" ")
    with pytest.raises(InputError, match="temperature"):
        translator.walk(TEXT, temperature=0)

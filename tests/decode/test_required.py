"""Words that a translation must contain: said, scored as the model does, and the best of such."""

import itertools

import pytest
import torch
from typer.testing import CliRunner

from cutaway.cli.main import app
from cutaway.config import DecodeOptions
from cutaway.decode import Special, Task, Translator
from cutaway.decode.forced import force
from cutaway.decode.required import phrases_of, required_search
from cutaway.errors import InputError
from cutaway.text import Tokenizer
from tests.decode.helpers import random_model


@pytest.mark.parametrize("phrases", [[((2,),)], [((2, 3),)], [((3, 3),), ((2,), (3, 2))]], ids=str)
@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_a_wide_search_finds_the_best_output_that_says_it(
    phrases: list[tuple[tuple[int, ...], ...]], exponent: float
) -> None:
    special = Special(start=0, end=1, forbidden=())
    model, task, longest = random_model(vocabulary=4, seed=7, pad=0), Task((2, 2, 3, 1)), 6
    options = DecodeOptions(beam=400, length_penalty=exponent, max_length=longest)
    outputs = [
        (*words, 1)
        for length in range(longest)
        for words in itertools.product((0, 2, 3), repeat=length)
        if _says(words, phrases)
    ]
    judged = force(model, [Task(task.source, ids) for ids in outputs], special)
    scores = {
        ids: sum(one.log_probabilities) / len(ids) ** exponent
        for ids, one in zip(outputs, judged, strict=True)
    }
    (found,) = required_search(model, task, phrases, options, special).hypotheses
    best = max(scores, key=lambda ids: scores[ids])
    assert found.ids == best
    assert found.score == pytest.approx(scores[best], abs=1e-9)


def _says(words: tuple[int, ...], phrases: list[tuple[tuple[int, ...], ...]]) -> bool:
    """Whether each phrase has a place of its own."""
    if not phrases:
        return True
    first, *rest = phrases
    return any(
        words[at : at + len(way)] == way and _says((*words[:at], -1, *words[at + len(way) :]), rest)
        for way in first
        for at in range(len(words))
    )


def test_a_word_the_model_would_say_changes_nothing(translator: Translator) -> None:
    (plain,), (found,) = (
        translator.translate(["one two !"], beam=3, n_best=1, words=words)
        for words in ((), ("deux",))
    )
    assert found.text == plain.text == "un deux !"
    assert found.score == pytest.approx(plain.score, abs=1e-5)


def test_a_word_the_model_would_not_say_is_said(translator: Translator) -> None:
    (found,) = translator.translate(["one two !"], beam=3, words=["sept", "dix"])
    assert {"sept", "dix"} <= set(found.text.split())
    (judged,) = translator.score(["one two !"], [found.text])
    assert found.log_probability == pytest.approx(
        sum(token.log_probability for token in judged), abs=1e-4
    )


def test_a_word_of_a_script_without_spaces_needs_none_before_it() -> None:
    tokenizer = Tokenizer.train(["我住在北京", "我在北京"], kind="bpe", vocabulary=300)
    spaced, joined = phrases_of(["北京"], tokenizer)[0]
    assert tokenizer.decode([*tokenizer.encode("我在"), *joined]) == "我在北京"
    assert tokenizer.decode([*tokenizer.encode("我在"), *spaced]) == "我在 北京"
    assert len(phrases_of(["cat"], tokenizer)[0]) == 1


def test_what_cannot_be_required_is_refused(translator: Translator) -> None:
    with pytest.raises(InputError, match="a required word is empty"):
        translator.translate(["one !"], words=[" "])
    with pytest.raises(InputError, match="words hold for one sentence; 2 were given"):
        translator.translate(["one !", "two !"], words=["un"])
    with pytest.raises(InputError, match="at most 2 tokens contains the required words"):
        translator.translate(["one !"], max_length=2, words=["un", "deux", "trois"])


def test_the_command_takes_words() -> None:
    with torch.inference_mode():
        found = CliRunner().invoke(
            app, ["translate", "demo-en-fr", "The cat sleeps.", "--word", "chien"]
        )
    assert "chien" in found.output, found.output
    refused = CliRunner().invoke(app, ["translate", "demo-en-fr", "-", "--word", "chien"])
    assert refused.exit_code != 0

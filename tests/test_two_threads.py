"""With two threads of torch: all other tests run with one, and a reader's machine has more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cutaway import glass
from cutaway.artifact.folder import open_model_folder
from cutaway.config import DecodeOptions
from cutaway.corpus.embedded import embedded
from cutaway.data import demo_model
from cutaway.decode import CTranslate2Engine, Translator
from cutaway.decode.search import search
from cutaway.errors import InputError
from cutaway.lessons import LessonInputs, find
from cutaway.model import explicit
from cutaway.serve.session import Session
from tests.browser.toy import build
from tests.decode.helpers import SPECIAL, random_model, random_tasks
from tests.training.test_side_by_side import trainer


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


def test_a_recorded_update_is_the_update_and_is_proven(tmp_path: Path) -> None:
    recorded, plain = trainer(tmp_path), trainer(tmp_path)
    assert plain._beside is not None
    assert plain._beside.workers == 2
    before = {name: one.detach().clone() for name, one in plain.named.items()}
    batches, cursor, _ = next(recorded.work())
    with glass.record(recorded.model) as trace:
        recorded.update(batches, cursor)
    batches, cursor, _ = next(plain.work())
    with explicit():  # as recorded: Adam's first step would turn rounding into a whole step
        plain.update(batches, cursor)
    for name, parameter in plain.named.items():
        assert not torch.equal(parameter, before[name]), name
        assert torch.equal(parameter, recorded.named[name]), name
    proof = trace.prove()
    assert proof.proven == proof.cells > 0  # all but the ids of the tokens, which come from outside


def test_the_lesson_on_learning_holds_and_is_proven() -> None:
    steps = tuple(find("learning").steps(LessonInputs(demo_model("en-fr"))))
    claims = {(step.key, claim.key): claim.holds for step in steps for claim in step.claims}
    assert claims
    assert [key for key, holds in claims.items() if not holds] == []
    traces = {id(step.trace): step.trace for step in steps if step.trace is not None}
    assert traces
    for trace in traces.values():
        assert trace.prove().complete


def test_a_training_step_of_the_page_is_proven(tmp_path: Path) -> None:
    folder = build(tmp_path / "toy", updates=8)
    session = Session(Translator.load(folder), folder, None)
    answer = session.training_step("The cat is on the mat.")
    assert session.run(answer["key"]).served.trace.prove().complete


@pytest.mark.parametrize(
    "options",
    [
        DecodeOptions(max_length=23),
        DecodeOptions(max_length=23, beam=5, n_best=3),
        DecodeOptions(max_length=23, beam=3, coverage_penalty=0.3),
        DecodeOptions(max_length=23, sample=True, n_best=2, seed=7),
    ],
    ids=["greedy", "beam", "coverage", "sampling"],
)
def test_batches_decoded_by_two_threads_give_what_one_thread_gives(options: DecodeOptions) -> None:
    model = random_model()
    tasks = random_tasks(61)
    together = search(model, tasks, options, SPECIAL, tokens=37)  # many batches
    assert torch.get_num_threads() == 2  # as before: a batch each was this search's affair
    torch.set_num_threads(1)
    alone = search(model, tasks, options, SPECIAL, tokens=37)
    for left, right in zip(together, alone, strict=True):
        assert [one.ids for one in left.hypotheses] == [one.ids for one in right.hypotheses]
        for one, other in zip(left.hypotheses, right.hypotheses, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-12)


def test_two_workers_of_ctranslate2_give_what_one_gives() -> None:
    folder = open_model_folder(demo_model("en-fr"))
    texts = [source for source, _ in embedded("en-fr", "test")][:211]
    one, two = (
        Translator(folder, CTranslate2Engine(folder, workers=workers)).translate(texts, beam=1)
        for workers in (1, 2)
    )
    assert [each.text for each in one] == [each.text for each in two]


def test_what_fails_in_a_thread_is_told_and_the_threads_are_given_back() -> None:
    model = random_model()
    bias = model.output.bias
    assert bias is not None
    with torch.no_grad():
        bias.fill_(torch.nan)
    with pytest.raises(InputError, match="no probabilities"):
        search(model, random_tasks(61), DecodeOptions(beam=3), SPECIAL, tokens=37)
    assert torch.get_num_threads() == 2


def test_a_search_that_is_recorded_stays_in_its_thread() -> None:
    model = random_model()
    options = DecodeOptions(max_length=5)
    with glass.record(model) as trace:
        search(model, random_tasks(7), options, SPECIAL, tokens=13)
    proof = trace.prove()
    assert proof.proven == proof.cells > 0  # all but the ids of the tokens, which come from outside

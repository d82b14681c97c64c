"""Laws of the search, on random models: they hold for any weights."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.data import demo_model
from cutaway.decode import (
    DecodeOptions,
    Hypothesis,
    SearchResult,
    Special,
    Task,
    Translator,
    force,
)
from cutaway.decode.beam import beam_search
from cutaway.decode.greedy import greedy_search
from cutaway.decode.next_token import draw, sum_tolerance, tolerance
from cutaway.decode.search import search
from cutaway.decode.stepper import Stepper
from tests.decode.helpers import SPECIAL, WithoutFloat64, random_model, random_tasks

MODES = {
    "greedy": DecodeOptions(),
    "beam": DecodeOptions(beam=5, n_best=5),
    "coverage": DecodeOptions(beam=3, n_best=2, coverage_penalty=0.3, length_penalty=0.6),
    "sample": DecodeOptions(sample=True, n_best=3, temperature=0.8, top_k=7, top_p=0.9, seed=11),
}


def ids_of(results: list[SearchResult]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.ids for hypothesis in result.hypotheses] for result in results]


def test_a_beam_of_one_is_greedy() -> None:
    model, tasks = random_model(), random_tasks(23)
    for changes in ({}, {"length_penalty": 0.0}, {"min_length": 7}, {"max_length": 5}):
        options = DecodeOptions(**changes)
        greedy = greedy_search(model, tasks, options, SPECIAL)
        beam = beam_search(model, tasks, options, SPECIAL)
        assert ids_of(greedy) == ids_of(beam)
        for one, other in zip(greedy, beam, strict=True):
            assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-12)


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0])
def test_a_wide_beam_is_exhaustive_search(exponent: float) -> None:
    # Four words: a start, an end, and two to speak with; outputs of up to five tokens.
    special = Special(start=0, end=1, forbidden=())
    longest, words = 5, range(4)
    model = random_model(vocabulary=4, seed=7, pad=0)
    tasks = [Task((2, 3, 1)), Task((3, 1)), Task((2, 2, 3, 3, 1))]
    options = DecodeOptions(beam=400, n_best=400, length_penalty=exponent, max_length=longest)
    spoken = [word for word in words if word not in (0, 1)]
    outputs = [
        (*body, 1) for length in range(longest) for body in itertools.product(spoken, repeat=length)
    ]
    no_start = replace(special, forbidden=(0,))
    for task, result in zip(tasks, search(model, tasks, options, no_start), strict=True):
        scored = force(model, [Task(task.source, output) for output in outputs], special)
        ranked = sorted(
            zip(outputs, scored, strict=True),
            key=lambda pair: pair[1].log_probability / len(pair[0]) ** exponent,
            reverse=True,
        )
        complete = [hypothesis for hypothesis in result.hypotheses if hypothesis.finished]
        assert [hypothesis.ids for hypothesis in complete] == [output for output, _ in ranked]


@pytest.mark.parametrize("mode", MODES)
def test_batched_is_single_and_order_does_not_matter(mode: str) -> None:
    model, tasks = random_model(), random_tasks(19)
    together = search(model, tasks, MODES[mode], SPECIAL)
    alone = [search(model, [task], MODES[mode], SPECIAL)[0] for task in tasks]
    backwards = search(model, tasks[::-1], MODES[mode], SPECIAL, tokens=37)[::-1]
    assert ids_of(together) == ids_of(alone) == ids_of(backwards)
    for one, other in zip(together, alone, strict=True):
        for first, second in zip(one.hypotheses, other.hypotheses, strict=True):
            assert first.score == pytest.approx(second.score, abs=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_batched_is_single_in_float32_too(mode: str) -> None:
    model, tasks = random_model(dtype=torch.float32), random_tasks(37)
    together = search(model, tasks, MODES[mode], SPECIAL)
    alone = [search(model, [task], MODES[mode], SPECIAL)[0] for task in tasks]
    assert ids_of(together) == ids_of(alone)


def test_a_tie_is_seen_and_settled_alone() -> None:
    model, tasks = random_model(dtype=torch.float32), random_tasks(7)
    with torch.no_grad():  # two tokens that no sum can tell apart but by rounding
        model.embedding.weight[9] = model.embedding.weight[8]
        assert model.output.bias is not None
        model.output.bias[8] = model.output.bias[9] = 30.0
    for mode in ("greedy", "beam"):
        together = search(model, tasks, MODES[mode], SPECIAL)
        alone = [search(model, [task], MODES[mode], SPECIAL)[0] for task in tasks]
        assert any(result.near_tie for result in together)
        assert ids_of(together) == ids_of(alone)


def test_long_sentences_in_company_differ_by_less_than_a_near_tie() -> None:
    """A beam compares sums over a whole sentence: their spread must stay below the margin."""
    translator = Translator.load(demo_model("en-fr"))
    tasks = [
        Task(
            tuple(translator.tokenizer.encode("The cat sees a small dog. " * times, end=True)),
            tuple(translator.target_tokenizer.encode("Le chat voit un petit chien. " * times)),
        )
        for times in (23, 17, 5)
    ]
    assert len(tasks[0].prefix) > 150
    together = force(translator.model, tasks, translator.special)
    for task, found in zip(tasks, together, strict=True):
        (alone,) = force(translator.model, [task], translator.special)
        sums = [list(itertools.accumulate(judged.log_probabilities)) for judged in (found, alone)]
        for one, other in zip(*sums, strict=True):
            assert abs(one - other) < sum_tolerance(tolerance(torch.float32), other) / 2


def test_cached_is_uncached() -> None:
    model, tasks = random_model(), random_tasks(5)
    stepper = Stepper(model, tasks)
    target = torch.randint(5, 31, (5, 9), generator=torch.Generator().manual_seed(0))
    source = torch.tensor([[*(task.source or ()), *[0] * 20][:12] for task in tasks])
    with torch.inference_mode():
        full = torch.log_softmax(model(source, target), -1)
        for place in range(9):
            step = stepper.step(target[:, place : place + 1])[:, 0]
            assert torch.allclose(step, full[:, place], atol=1e-12)
        rows = torch.tensor([3, 3, 0])  # as a beam does: rows taken twice, others left
        stepper.select(rows)
        more = stepper.step(torch.tensor([[6], [7], [8]]))[:, 0]
        longer = torch.cat([target[rows], torch.tensor([[6], [7], [8]])], 1)
        again = torch.log_softmax(model(source[rows], longer), -1)[:, -1]
    assert torch.allclose(more, again, atol=1e-12)


def test_padding_changes_nothing() -> None:
    model = random_model()
    short, long = random_tasks(1, longest=2)[0], Task((*range(5, 30), 3))
    for options in MODES.values():
        (alone,) = search(model, [short], options, SPECIAL)
        padded, _ = search(model, [short, long], options, SPECIAL, tokens=10_000)
        assert ids_of([alone]) == ids_of([padded])


@pytest.mark.parametrize("mode", MODES)
def test_forced_scores_are_the_sum_of_the_printed_ones(mode: str) -> None:
    model, tasks = random_model(), random_tasks(9)
    for task, result in zip(tasks, search(model, tasks, MODES[mode], SPECIAL), strict=True):
        for hypothesis in result.hypotheses:
            (judged,) = force(model, [Task(task.source, hypothesis.ids)], SPECIAL)
            assert judged.log_probabilities == pytest.approx(hypothesis.log_probabilities)
            assert judged.log_probability == pytest.approx(sum(hypothesis.log_probabilities))


def test_the_score_is_the_log_probability_over_the_length() -> None:
    model, tasks = random_model(), random_tasks(4)
    for result in search(model, tasks, DecodeOptions(beam=4, length_penalty=0.7), SPECIAL):
        best = result.hypotheses[0]
        assert best.score == pytest.approx(best.log_probability / len(best.ids) ** 0.7)


@settings(max_examples=25, deadline=None)
@given(
    beam=st.integers(1, 4),
    least=st.integers(0, 6),
    room=st.integers(0, 6),
    prefix=st.lists(st.integers(5, 30), max_size=4),
    seed=st.integers(0, 5),
)
def test_lengths_and_prefixes_are_kept(
    beam: int, least: int, room: int, prefix: list[int], seed: int
) -> None:
    model = random_model(seed=seed)
    options = DecodeOptions(beam=beam, min_length=least, max_length=max(least + room, 1))
    tasks = [replace(task, prefix=tuple(prefix)) for task in random_tasks(3)]
    for result in search(model, [*tasks, *random_tasks(2)], options, SPECIAL)[:3]:
        best = result.hypotheses[0]
        limit = max(least + room, 1)
        assert best.ids[: len(prefix)] == tuple(prefix)[:limit]
        assert len(best.ids) <= limit
        assert best.finished == (best.ids[-1] == 3)
        if best.finished:
            assert len(best.ids) - 1 >= min(least, limit - 1)
        assert not {0, 1, 2, 4} & set(best.ids)


def test_no_n_gram_comes_twice_when_forbidden() -> None:
    model = random_model()
    for beam in (1, 3):
        options = DecodeOptions(beam=beam, no_repeat=2, max_length=30, min_length=20)
        for result in search(model, random_tasks(5), options, SPECIAL):
            pairs = list(itertools.pairwise(result.hypotheses[0].ids))
            assert len(pairs) == len(set(pairs))


def test_a_seed_and_the_sentence_decide_a_sample() -> None:
    model, tasks = random_model(), random_tasks(6)
    options = MODES["sample"]
    once, again = (search(model, tasks, options, SPECIAL) for _ in range(2))
    other = search(model, tasks, replace(options, seed=12), SPECIAL)
    assert ids_of(once) == ids_of(again)
    assert ids_of(once) != ids_of(other)
    assert len({hypothesis.ids for hypothesis in once[0].hypotheses}) > 1


def test_a_draw_needs_no_float64_on_the_device() -> None:
    log_p = torch.randn(31, generator=torch.Generator().manual_seed(5)).log_softmax(0)
    there = log_p.as_subclass(WithoutFloat64)
    for chance in (0.0, 0.31, 0.99):
        for options in (MODES["sample"], replace(MODES["sample"], top_k=0, top_p=1.0)):
            assert draw(there, options, chance, 1e-6) == draw(log_p, options, chance, 1e-6)


def test_samples_follow_the_distribution() -> None:
    model, (task,) = random_model(), random_tasks(1)
    options = DecodeOptions(sample=True, n_best=4000, max_length=1, temperature=1.3)
    (result,) = search(model, [task], options, SPECIAL, tokens=100_000)
    assert task.source is not None
    with torch.inference_mode():
        logits = model(torch.tensor([task.source]), torch.tensor([[2]]))[0, 0]
        logits[list(SPECIAL.forbidden)] = -torch.inf
        expected = torch.softmax(torch.log_softmax(logits, -1) / 1.3, -1)
    counts = torch.zeros(31, dtype=torch.float64)
    for hypothesis in result.hypotheses:
        counts[hypothesis.ids[0]] += 1
    assert float((counts / 4000 - expected).abs().max()) < 0.03
    top = DecodeOptions(sample=True, n_best=50, max_length=1, top_k=3)
    drawn = {hyp.ids[0] for hyp in search(model, [task], top, SPECIAL)[0].hypotheses}
    assert drawn <= set(expected.topk(3).indices.tolist())
    tiny = DecodeOptions(sample=True, n_best=50, max_length=1, top_p=1e-6)
    only = {hyp.ids[0] for hyp in search(model, [task], tiny, SPECIAL)[0].hypotheses}
    assert only == {int(expected.argmax())}


def test_the_tree_holds_what_was_kept_and_pruned() -> None:
    model, tasks = random_model(), random_tasks(3)
    options = DecodeOptions(beam=3, n_best=3)
    plain = search(model, tasks, options, SPECIAL)
    for result, without in zip(
        search(model, tasks, options, SPECIAL, tree=True), plain, strict=True
    ):
        tree = result.tree
        assert tree is not None
        assert without.tree is None
        assert ids_of([result]) == ids_of([without])
        best: Hypothesis = result.hypotheses[0]
        path = tree.path(tree.best)
        assert tuple(node.token for node in path[1:]) == best.ids
        assert sum(node.log_probability for node in path) == pytest.approx(best.log_probability)
        assert path[-1].score == pytest.approx(best.score)
        for step in {node.step for node in tree.nodes} - {0}:
            fates = [node.fate for node in tree.nodes if node.step == step]
            assert fates.count("kept") + fates.count("truncated") <= 3
        pruned = [node for node in tree.nodes if node.fate == "pruned"]
        parents = {node.parent for node in tree.nodes}
        assert pruned
        assert not parents & {node.number for node in pruned}
        for node in pruned:  # nothing better than what was kept at its step was thrown away
            kept = [n.total for n in tree.nodes if n.step == node.step and n.fate == "kept"]
            if node.token != 3 and kept:
                assert node.total <= min(kept)


def test_coverage_prices_repeated_attention() -> None:
    model, tasks = random_model(), random_tasks(8)
    free = search(model, tasks, DecodeOptions(beam=4), SPECIAL)
    priced = search(model, tasks, DecodeOptions(beam=4, coverage_penalty=5.0), SPECIAL)
    assert ids_of(free) != ids_of(priced)
    for task, result in zip(tasks, priced, strict=True):
        best = result.hypotheses[0]
        (judged,) = force(model, [Task(task.source, best.ids)], SPECIAL, attention=True)
        assert judged.attention is not None
        coverage = torch.tensor(judged.attention, dtype=torch.float64).sum(0)
        excess = float((coverage - 1).clamp(min=0).sum())
        expected = (best.log_probability - 5.0 * excess) / len(best.ids)
        assert best.score == pytest.approx(expected, abs=1e-9)

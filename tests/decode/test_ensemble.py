"""Several models as one, averaged weights, and the minimum-risk choice of a translation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import cutaway
from cutaway.artifact.average import average_folders, average_snapshots
from cutaway.artifact.folder import ModelFolder, read_model_folder, write_model_folder
from cutaway.artifact.snapshots import write_snapshot
from cutaway.cli.main import app
from cutaway.config import DecodeOptions
from cutaway.decode import Translator
from cutaway.decode.ensemble import EnsembleEngine
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.decode.rerank import expected, reranked
from cutaway.errors import InputError
from cutaway.text import Tokenizer
from tests.decode.helpers import SPECIAL, number_pairs, random_model, random_tasks

OPTIONS = {
    "greedy": DecodeOptions(),
    "beam": DecodeOptions(beam=5, n_best=5),
    "coverage": DecodeOptions(beam=3, n_best=2, coverage_penalty=0.3),
    "sample": DecodeOptions(sample=True, n_best=3, seed=11),
}


def folder_of(seed: int, **changes: Any) -> ModelFolder:
    tokenizer = Tokenizer.train(["one two three"], kind="char", vocabulary=300)
    return ModelFolder(
        random_model(vocabulary=tokenizer.vocabulary, seed=seed, **changes), tokenizer
    )


def ids_of(results: list[SearchResult]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.ids for hypothesis in result.hypotheses] for result in results]


@pytest.mark.parametrize("name", OPTIONS)
def test_a_model_together_with_itself_translates_as_it_does_alone(name: str) -> None:
    folder, tasks = folder_of(1), random_tasks(13)
    alone = EnsembleEngine([folder]).search(tasks, OPTIONS[name], SPECIAL)
    twice = EnsembleEngine([folder, folder, folder]).search(tasks, OPTIONS[name], SPECIAL)
    single = Translator(folder).engine.search(tasks, OPTIONS[name], SPECIAL)
    assert ids_of(alone) == ids_of(twice) == ids_of(single)


def test_the_probability_of_a_token_is_the_mean_over_the_models() -> None:
    folders, (task,) = [folder_of(1), folder_of(2, decoder_layers=2)], random_tasks(1)
    (result,) = EnsembleEngine(folders).search([task], DecodeOptions(), SPECIAL)
    best = result.hypotheses[0]
    source = torch.tensor([task.source])
    target = torch.tensor([[SPECIAL.start, *best.ids[:-1]]])
    each = [torch.softmax(folder.model(source, target), -1) for folder in folders]
    mean = torch.stack(each).mean(0)[0].log()
    for place, (token, cost) in enumerate(zip(best.ids, best.log_probabilities, strict=True)):
        assert cost == pytest.approx(float(mean[place, token].detach()), abs=1e-9)
        allowed = mean[place].clone().detach()
        allowed[list(SPECIAL.forbidden)] = -torch.inf
        assert int(allowed.argmax()) == token


def test_models_of_different_vocabularies_do_not_translate_together() -> None:
    other = folder_of(2)
    other.tokenizer = Tokenizer.train(["four five six"], kind="char", vocabulary=300)
    with pytest.raises(InputError, match="model 2 has another vocabulary than the first"):
        EnsembleEngine([folder_of(1), other])


@pytest.fixture(scope="module")
def two(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The trained folder and one that differs a little."""
    folder = read_model_folder(model_path)
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in folder.model.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("other") / "model"
    write_model_folder(path, folder)
    return model_path, path


def test_translate_and_evaluate_with_another_model(two: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = map(str, two)
    runner = CliRunner()
    found = runner.invoke(app, ["translate", first, "one two !", "--with", second])
    assert found.output == "un deux !\n"
    pairs = number_pairs(7, seed=9)
    for side, name in enumerate(("in.txt", "out.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    files = ["--source", str(tmp_path / "in.txt"), "--target", str(tmp_path / "out.txt")]
    page = str(tmp_path / "e.html")
    done = runner.invoke(
        app, ["evaluate", first, "--with", second, *files, "--html", page, "--rerank", "mbr"]
    )
    assert done.exit_code == 0, done.output
    assert f"{first} + {second} (7 sentences)" in done.output
    refused = runner.invoke(app, ["translate", first, "one !", "--with", second, "--json"])
    assert refused.exit_code != 0
    assert cutaway.load(first, ensemble=[second]).engine.name == "torch, 2 models"


def test_averaged_weights_are_the_mean(two: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "mean"
    done = CliRunner().invoke(app, ["average", *map(str, two), "--out", str(out)])
    assert done.exit_code == 0, done.output
    one, other, mean = (read_model_folder(path).model.state_dict() for path in (*two, out))
    assert one.keys() == mean.keys()
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    assert read_model_folder(out).metrics == {}  # scores of other weights are not its own
    assert Translator.load(out).translate(["one two !"])[0].text == "un deux !"


def test_the_last_snapshots_of_a_folder_are_averaged(model_path: Path, tmp_path: Path) -> None:
    folder = read_model_folder(model_path)
    weights = folder.model.state_dict()
    for update, factor in ((1, 9.0), (2, 1.0), (3, 0.5)):
        scaled = {name: factor * tensor for name, tensor in weights.items()}
        write_snapshot(tmp_path / "snapshots", update, scaled, {})
    extras = {f"snapshots/{f.name}": f for f in (tmp_path / "snapshots").iterdir()}
    write_model_folder(tmp_path / "model", folder, extras)
    mean = average_snapshots(tmp_path / "model", 2).model.state_dict()
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, 0.75 * weights[name], rtol=1e-3, atol=1e-3)
    with pytest.raises(InputError, match="has 3 snapshots: expected 2 to 3"):
        average_snapshots(tmp_path / "model", 4)


def test_what_cannot_be_averaged_is_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one folder has nothing to be averaged with"):
        average_folders([two[0]])
    folder = read_model_folder(two[0])
    other = replace(folder, model=random_model(vocabulary=folder.tokenizer.vocabulary).float())
    write_model_folder(tmp_path / "other", other)
    with pytest.raises(InputError, match="expected models of one shape"):
        average_folders([two[0], tmp_path / "other"])


def test_the_choice_of_least_risk_is_the_one_most_like_the_others() -> None:
    texts = ["the red cat", "a blue dog", "the red cap", "the bed cat"]
    chances = [0.1, 0.4, 0.25, 0.25]  # the most probable is like no other
    values = expected(texts, chances, "mbr")
    assert max(values) == values[0]
    assert expected(texts[:2], [0.0, 1.0], "mbr-bleu")[1] == pytest.approx(100.0)
    found = [
        Hypothesis((number,), (value,), value, True)
        for number, value in enumerate(torch.tensor(chances).log().tolist())
    ]
    choice = reranked(
        SearchResult(found), lambda one: texts[one.ids[0]], DecodeOptions(beam=4, n_best=4), "mbr"
    )
    assert choice.hypotheses[0].ids == (0,)
    same = reranked(SearchResult(found), lambda one: "", DecodeOptions(), "")
    assert same.hypotheses == found


def test_least_risk_needs_several_translations_and_finds_them(translator: Translator) -> None:
    (plain,), (chosen,) = (
        translator.translate(["one two three !"], beam=5, rerank=method) for method in ("", "mbr")
    )
    assert chosen.text == plain.text == "un deux trois !"
    with pytest.raises(InputError, match="rerank chooses among several translations"):
        translator.translate(["one !"], beam=1, n_best=1, rerank="mbr")
    with pytest.raises(Exception, match="rerank is 'mrb'"):
        translator.translate(["one !"], rerank="mrb")

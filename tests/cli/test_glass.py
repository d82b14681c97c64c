"""`cutaway explain`, `prove` and `diff` on model folders and saved traces."""

import json
import re
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from cutaway.artifact.folder import ModelFolder, read_model_folder, write_model_folder
from cutaway.cli.main import app
from cutaway.config import ModelConfig
from cutaway.decode.recording import record_sentence
from cutaway.errors import CutawayError
from cutaway.model import Transformer
from cutaway.text import Tokenizer

TEXTS = ["The cat is on the mat.", "Le chat est sur le tapis.", "A dog sees the cat.", "Un chien."]


def folder(path: Path, family: str = "encoder-decoder", seed: int = 1) -> Path:
    tokenizer = Tokenizer.train(TEXTS, kind="char", vocabulary=300)
    torch.manual_seed(seed)
    config = ModelConfig(
        vocabulary=tokenizer.vocabulary, encoder_layers=1, decoder_layers=1, d_model=8, heads=2,
        d_ff=12, max_length=64, family=family, pad=tokenizer.pad,  # type: ignore[arg-type]
    )  # fmt: skip
    generation = {"max_length": 8} if family == "encoder-decoder" else {}
    write_model_folder(path, ModelFolder(Transformer(config), tokenizer, generation=generation))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("glass") / "model")


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_the_tree_a_matrix_and_a_cell(model: Path) -> None:
    tree = run("explain", str(model), "The cat.")
    assert "self_attention (MultiHeadAttention)" in tree
    assert "scores  (1, head 2, target" in tree
    matrix = run("explain", str(model), "The cat.", "decoder.layers.0.cross_attention.weights[0,1]")
    assert "▁" in matrix or "T" in matrix
    assert "decoder.layers.0.cross_attention.weights[0,1]" in matrix
    address = "decoder.layers.0.cross_attention.scores[0,1,2,3]"
    cell = run("explain", str(model), "The cat.", address, "--terms", "2")
    assert "4 products" in cell
    assert "difference" in cell
    assert "cross_attention.query[0,1,2,0]" in cell
    assert "scores = query @ key.transpose(-2, -1)" in cell
    assert "逐项相乘" in run("explain", str(model), "The cat.", address, "--language", "zh")
    data = json.loads(run("explain", str(model), "The cat.", address, "--json"))
    assert data["asked"] == address
    listed = run("explain", str(model), "The cat.", "*.weights")
    assert "weights" in listed
    assert "scores" not in listed


def test_the_last_steps_have_their_names_too(model: Path) -> None:
    cell = run("explain", str(model), "The cat.", "probabilities[0,1,5]")
    assert "probabilities = torch.softmax(logits, dim=-1)" in cell
    for family in ("encoder-decoder", "encoder", "decoder"):
        contents = read_model_folder(folder(model.parent / family, family))
        before = {name: tensor.clone() for name, tensor in contents.model.state_dict().items()}
        trace = record_sentence(contents, "The cat.", training=True)
        assert trace["loss"].tensor.item() > 0
        assert not torch.equal(trace["output.bias.after"].tensor, before["output.bias"])
        after = contents.model.state_dict()
        assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def test_proof_of_a_translation_and_of_a_training_step(model: Path) -> None:
    forward = run("prove", str(model), "The cat.")
    assert re.search(r"^opaque +0$", forward, re.M)
    assert re.search(r"^unexplained +0$", forward, re.M)
    step = run("prove", str(model), "The cat.", "--target", "Le chat.", "--training")
    assert re.search(r"^opaque +0$", step, re.M)
    assert re.search(r"^unexplained +0$", step, re.M)
    with pytest.raises(CutawayError, match="no address matches .nothing"):
        run("prove", str(model), "The cat.", "--only", "nothing.*")


def test_a_saved_trace_is_read_and_a_broken_one_fails_its_proof(
    model: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "run"
    run("explain", str(model), "The cat.", "--save", str(saved))
    assert run("prove", str(saved)).startswith("cells")
    from safetensors.torch import load_file, save_file

    header = json.loads((saved / "trace.json").read_text())
    logits = next(v for v in header["values"] if v["address"] == "output.logits")
    tensors = load_file(saved / "tensors.safetensors")
    tensors[str(logits["buffer"])][3] += 1
    save_file(tensors, saved / "tensors.safetensors")
    output = run("prove", str(saved), code=1)
    assert "differs: " in output


def test_the_run_as_one_file_and_as_a_spreadsheet(model: Path, tmp_path: Path) -> None:
    run("explain", str(model), "The cat.", "--html", str(tmp_path / "run.html"))
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!")
    address = "decoder.layers.0.cross_attention.softmax"
    run("explain", str(model), "The cat.", address, "--xlsx", str(tmp_path / "head.xlsx"))
    import openpyxl

    book = openpyxl.load_workbook(tmp_path / "head.xlsx")
    formulas = [
        cell.value for row in book["softmax"].iter_rows(min_row=3, min_col=2) for cell in row
        if isinstance(cell.value, str) and cell.value.startswith("=")
    ]  # fmt: skip
    assert len(formulas) > 20
    assert "EXP" in formulas[0]


@pytest.mark.parametrize("family", ["decoder", "encoder"])
def test_the_other_families(family: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "model", family)
    assert re.search(r"^opaque +0$", run("prove", str(path), "The cat."), re.M)
    assert re.search(r"^opaque +0$", run("prove", str(path), "The cat.", "--training"), re.M)


def test_where_two_models_part(model: Path, tmp_path: Path) -> None:
    other = folder(tmp_path / "other", seed=2)
    output = run("diff", str(model), str(other), "The cat.", code=1)
    assert "first difference at embedding.weight[" in output
    assert "no difference" in run("diff", str(model), str(model), "The cat.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", ""), "the text is empty"),
        (("The cat.", "encoder.nothing"), "no value"),
        (("The cat.", "output.logits[99,0,0]"), "outside"),
    ],
)
def test_wrong_input_is_one_line(model: Path, arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(CutawayError, match=message) as caught:
        run("explain", str(model), *arguments)
    assert "\n" not in str(caught.value)

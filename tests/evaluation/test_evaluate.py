"""Scores are sacreBLEU's own, to the last digit its command prints."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cutaway.artifact.folder import write_model_folder
from cutaway.cli.main import app
from cutaway.decode import Translator
from cutaway.errors import InputError
from cutaway.evaluation import compare, evaluate, report, score_texts
from cutaway.evaluation.scores import detected_language
from cutaway.evaluation.validation import validator
from tests.decode.helpers import number_pairs, trained_folder

REFERENCES = [
    "The cat sat on the mat.", "He went home early, didn't he?", "Nothing new.", "Two dogs ran.",
    "It rains a lot in March.", "I have never seen her before.", "Where is the station?",
]  # fmt: skip
FIRST = [
    "The cat sat on a mat.", "He went home early.", "Nothing New", "Two dogs are running.",
    "It rains much in March.", "I have never seen her.", "Where is that station?",
]  # fmt: skip
SECOND = [
    "A cat sits.", "He goes home.", "News.", "Two dogs ran.", "Rain in march.", "I saw her.",
    "Station?",
]  # fmt: skip
CHINESE = (["猫坐在垫子上。", "我喜欢学习。"], ["猫坐在垫子上面。", "我很喜欢学习编程。"])


@pytest.fixture(scope="module")
def folder_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluate") / "model"
    write_model_folder(path, trained_folder(steps=120))
    return path


def command(tmp_path: Path, systems: list[list[str]], references: list[str], *more: str) -> object:
    """What the sacreBLEU command says, as JSON."""
    reference = tmp_path / "reference"
    reference.write_text("\n".join(references) + "\n", encoding="utf-8")
    files = []
    for number, system in enumerate(systems):
        file = tmp_path / f"system{number}"
        file.write_text("\n".join(system) + "\n", encoding="utf-8")
        files.append(str(file))
    call = [sys.executable, "-m", "sacrebleu", str(reference), "-i", *files]
    call += ["-m", "bleu", "chrf", "ter", "-w", "4", "-f", "json", *more]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if "latex" not in more else done.stdout


@pytest.mark.parametrize("lowercase", [False, True])
def test_figures_and_signatures_are_those_of_the_command(tmp_path: Path, lowercase: bool) -> None:
    flags = ["--lowercase", "--chrf-lowercase"] if lowercase else []
    theirs = command(tmp_path, [FIRST], REFERENCES, "--confidence", *flags)
    ours = score_texts(FIRST, REFERENCES, lowercase=lowercase, bootstrap=1000)
    assert isinstance(theirs, list)
    for their, our in zip(theirs, ours.all, strict=True):
        assert their["name"] == our.name
        assert their["score"] == round(our.score, 4)
        assert their["signature"] == our.signature
        assert our.mean is not None
        assert our.half_interval is not None
        assert their["confidence_mean"] == round(our.mean, 4)
        assert their["confidence_var"] == round(our.half_interval, 4)


def test_chinese_is_cut_into_characters(tmp_path: Path) -> None:
    theirs = command(
        tmp_path, [CHINESE[0]], CHINESE[1], "-tok", "zh", "--ter-normalized", "--ter-asian-support"
    )
    assert isinstance(theirs, list)
    ours = score_texts(*CHINESE, language="zh")
    assert [their["score"] for their in theirs] == [round(our.score, 4) for our in ours.all]
    assert [their["signature"] for their in theirs] == [our.signature for our in ours.all]
    assert ours.bleu.score > 20 > score_texts(*CHINESE).bleu.score


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("猫在垫子上。", "zh"),
        ("我喜欢 Python 编程，你呢？", "zh"),
        ("猫はマットの上にいます。", "ja"),
        ("東京都は日本の首都である", "ja"),
        ("แมวอยู่บนเสื่อ", "th"),
        ("고양이가 매트 위에 있다", "ko"),
        ("The cat is on the mat.", None),
        ("Die Katze 猫 sitzt auf der Matte.", None),
        ("42 %", None),
        ("", None),
    ],
)
def test_an_unspaced_script_is_detected(text: str, language: str | None) -> None:
    assert detected_language([text]) == language


def test_paired_significance_is_that_of_the_command(tmp_path: Path) -> None:
    # As a table: for several systems the command cannot print its own figures as JSON.
    more = ("--paired-bs", "--paired-bs-n", "300", "-f", "latex")
    table = command(tmp_path, [FIRST, SECOND], REFERENCES, *more)
    ours = compare([("first", FIRST), ("second", SECOND)], REFERENCES, samples=300)
    by_system = sorted(ours.results, key=lambda result: result.system)  # as its rows
    figures = re.findall(r"([\d.]+) \(([\d.]+) ± ([\d.]+)\)(?: \(p = ([\d.]+)\))?", str(table))
    assert len(figures) == 6
    for (score, mean, interval, p), our in zip(figures, by_system, strict=True):
        assert score == f"{our.score:.4f}"
        assert mean == f"{our.mean:.4f}"
        assert interval == f"{our.half_interval:.4f}"
        assert p == ("" if our.p_value is None else f"{our.p_value:.4f}")
    assert any(result.is_significant for result in ours.results)


def test_equal_systems_do_not_differ() -> None:
    ours = compare([("a", FIRST), ("b", FIRST)], REFERENCES, samples=50)
    assert not any(result.is_significant for result in ours.results)


def test_an_evaluation_has_scores_lengths_and_the_worst_sentences(folder_path: Path) -> None:
    pairs = number_pairs(12, seed=4)
    evaluation = evaluate(Translator.load(folder_path), pairs, beam=1)
    ours = score_texts(evaluation.hypotheses, [target for _, target in pairs])
    assert evaluation.scores == ours
    assert sum(part.sentences for part in evaluation.by_length) == 12
    worst = evaluation.worst(5)
    assert [j.chrf for j in worst] == sorted(j.chrf for j in evaluation.sentences)[:5]


@pytest.mark.parametrize("beam", [1, 3])
def test_validation_finds_what_an_evaluation_finds(folder_path: Path, beam: int) -> None:
    translator = Translator.load(folder_path)
    pairs = number_pairs(31)
    evaluation = evaluate(translator, pairs, beam=beam)
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    found = validator(beam)(translator.folder, sources, targets)
    scores = evaluation.scores
    assert found.outputs == evaluation.hypotheses
    assert (found.metrics["bleu"], found.metrics["chrf"]) == (scores.bleu.score, scores.chrf.score)
    assert found.signatures == {"bleu": scores.bleu.signature, "chrf": scores.chrf.signature}
    exact = sum(text == target for text, target in zip(found.outputs, targets, strict=True))
    assert found.metrics["exact"] == pytest.approx(100 * exact / 31)


def test_lines_that_do_not_match_are_refused() -> None:
    with pytest.raises(InputError, match="1 translations and 2 references"):
        score_texts(["a"], ["a", "b"])
    with pytest.raises(InputError, match="at least one"):
        score_texts([], [])


def blocks(page: str) -> dict[str, object]:
    found = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', page, re.S)
    return {name: json.loads(text) for name, text in found}


def test_the_report_stands_alone(folder_path: Path) -> None:
    translator = Translator.load(folder_path)
    pairs = [*number_pairs(8, seed=6), ("one </script><b> !", "un !")]
    evaluation = evaluate(translator, pairs, bootstrap=20)
    page = report([(translator, evaluation)])
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "default-src 'none'" in page
    found = blocks(page)
    data, words = found["data"], found["words"]
    assert isinstance(data, dict)
    assert isinstance(words, dict)
    assert set(words["en"]) == set(words["zh"])
    (system,) = data["systems"]
    assert system["scores"][0]["score"] == evaluation.scores.bleu.score
    assert len(system["worst"]) == 9
    for sentence in system["worst"]:
        size = len(sentence["tokens"]) * len(sentence["target"])
        size *= sentence["layers"] * sentence["heads"]
        assert len(sentence["attention"]) == -(-size // 3) * 4  # base64 of a byte a weight


def test_the_command_writes_report_and_figures(folder_path: Path, tmp_path: Path) -> None:
    pairs = number_pairs(9, seed=2)
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("".join(f"{s}\n" for s, _ in pairs), encoding="utf-8")
    target.write_text("".join(f"{t}\n" for _, t in pairs), encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    for file in folder_path.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    call = ["evaluate", str(folder_path), str(other), "--source", str(source), "--target"]
    call += [str(target), "--bootstrap", "30", "--html", str(tmp_path / "e.html"), "--json"]
    result = CliRunner().invoke(app, [*call, "-o", str(tmp_path / "out")])
    if result.exception is not None:
        raise result.exception
    values = json.loads(result.stdout)
    outputs = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    expected = score_texts(outputs, [t for _, t in pairs], language="fr", bootstrap=30)
    assert values["systems"][str(folder_path)] == expected.to_dict()
    assert values["comparison"]["baseline"] == str(folder_path)
    assert isinstance(blocks((tmp_path / "e.html").read_text(encoding="utf-8"))["data"], dict)

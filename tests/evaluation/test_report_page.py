"""The report in a browser: drawn without network, attention on click, both languages."""

from pathlib import Path
from typing import Any

import pytest

from cutaway.decode import Translator
from cutaway.evaluation import evaluate, report
from tests.decode.helpers import number_pairs, trained_folder

pytestmark = pytest.mark.browser


def test_the_report_opens_and_shows_attention(tmp_path: Path, browser: Any) -> None:
    translator = Translator(trained_folder(steps=1))
    evaluation = evaluate(translator, number_pairs(6), bootstrap=10, max_length=6)
    path = tmp_path / "evaluate.html"
    path.write_text(report([(translator, evaluation)]), encoding="utf-8")
    problems: list[str] = []
    page = browser.new_page(locale="en-US")
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda r: None if r.url.startswith("file:") else problems.append(r.url))
    page.goto(path.as_uri())
    assert page.locator("h1").inner_text() == "Evaluation"
    assert f"{evaluation.scores.chrf.score:.2f}" in page.inner_text("main")
    worst = evaluation.worst(1)[0].translation
    button = page.locator(".sentence button").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    cells = page.locator(".map td[title]")
    assert cells.count() == len(worst.tokens) * len(worst.source_tokens)
    rows = page.locator(".map tbody tr")
    first = rows.first.locator("td").evaluate_all("c => c.map(x => x.title.split(': ').at(-1))")
    assert sum(float(value) for value in first) == pytest.approx(1.0, abs=0.05)
    page.get_by_role("button", name="中文").click()
    assert page.locator("h1").inner_text() == "评测"
    page.close()
    assert problems == []

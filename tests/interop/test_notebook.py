"""A trace in a notebook, executed and written by nbconvert: the page is there and alive."""

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.interop.conftest import interpreter, offline

pytestmark = [pytest.mark.interop, pytest.mark.browser]

CODE = """
import torch
from torch import nn
from cutaway import glass

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 3)
        self.outer = nn.Linear(3, 2)
    def forward(self, states):
        hidden = torch.tanh(self.inner(states))
        scores = self.outer(hidden)
        return scores

torch.manual_seed(1)
network = Network()
with torch.no_grad(), glass.record(network) as trace:
    network(torch.randn(7, 5))
trace
"""


def test_a_trace_is_shown_by_a_notebook(tmp_path: Path) -> None:
    python = interpreter("notebook")
    from playwright.sync_api import expect, sync_playwright

    from tests.conftest import launch_chromium

    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel},
        "cells": [{**cell, "id": "one", "source": CODE}],
    }
    (tmp_path / "trace.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    ours = [sysconfig.get_path("purelib"), str(Path(__file__).parents[2] / "src")]
    result = subprocess.run(
        [python, "-m", "nbconvert", "--to", "html", "--execute", "trace.ipynb"],
        cwd=tmp_path,
        env={**offline(tmp_path), "PYTHONPATH": ":".join(ours)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
        page = context.new_page()
        page.goto((tmp_path / "trace.html").as_uri(), wait_until="domcontentloaded")
        frame = page.frame_locator("iframe")
        names = frame.locator(".module-tree .name")
        expect(names).to_have_text(["Network", "inner", "outer"], timeout=30_000)
        frame.locator("cut-equation .tile .picture").first.click()
        expect(frame.locator(".verdict")).to_contain_text("✓", timeout=30_000)
        browser.close()

"""How fast the page is on a large model: 6+6 layers, 8 heads, a sentence of 64 tokens.

    python bench/page_speed.py

Prints the time from the answered translation to the first view, the time to open each of many
matrices, and the longest frame while a large table scrolls; Chromium on this machine.
"""

import shutil
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from playwright.sync_api import sync_playwright

from cutaway.config import ModelConfig
from cutaway.decode import Translator
from cutaway.model import Transformer
from cutaway.serve import create_app
from cutaway.serve.running import Server, bound
from cutaway.text import Tokenizer
from cutaway.train.folder import ModelFolder, write_model_folder

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
WORDS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "red",
    "green",
    "blue",
    "white",
    "cat",
    "dog",
]
TOKENS = 64


def large_model(path: Path) -> Path:
    """A model of the paper's base size with random weights; only its size matters here."""
    torch.manual_seed(0)
    tokenizer = Tokenizer.train([" ".join(WORDS)] * 4, kind="word", vocabulary=400)
    config = ModelConfig(vocabulary=tokenizer.vocabulary, dropout=0.0)
    folder = ModelFolder(Transformer(config).eval(), tokenizer, generation={"beam": 1})
    write_model_folder(path, folder)
    return path


MATRICES = [
    "encoder.layers.5.self_attention.weights[0,3,5,5]",
    "decoder.layers.0.self_attention.masked[0,7,9,5]",
    "decoder.layers.5.cross_attention.scores[0,1,9,5]",
    "decoder.layers.3.feed_forward.hidden[0,9,77]",
    "decoder.layers.3.feed_forward.W_1.weight[1000,77]",
    "encoder.layers.2.self_attention.W_Q.weight[7,77]",
    "encoder.layers.4.feed_forward_add_norm.normed[0,9,77]",
    "embedding.weight[7,77]",
    "output.logits[0,9,77]",
    "probabilities[0,9,77]",
]

OPEN = """
(at) => new Promise((done) => {
  const start = performance.now();
  const watch = () => {
    const shown = document.querySelector('cut-inspector').dataset.address === at
      && document.querySelector('cut-table td[aria-selected=true]')?.textContent;
    if (shown) requestAnimationFrame(() => done(performance.now() - start));
    else requestAnimationFrame(watch);
  };
  window.cutaway.inspector.open(at);
  watch();
})
"""

SCROLL = """
() => new Promise((done) => {
  const frame = document.querySelector('.table-frame');
  const longest = [];
  let last = performance.now(), n = 0;
  const step = (now) => {
    longest.push(now - last);
    last = now;
    frame.scrollTop += 53; frame.scrollLeft += 37;
    if (++n < 90) requestAnimationFrame(step); else done(longest.slice(5));
  };
  requestAnimationFrame(step);
})
"""


def measure(page: Any, url: str, text: str) -> None:
    """Print the three figures."""
    page.goto(url)
    page.evaluate(
        "() => { window.answered = new Promise((done) => { const own = window.fetch;"
        " window.fetch = async (...all) => { const r = await own(...all);"
        " if (String(all[0]).endsWith('api/translate')) done(performance.now()); return r; }; }); }"
    )
    page.fill("#text", text)
    page.press("#text", "Enter")
    page.wait_for_selector(".choices li", timeout=120_000)
    page.wait_for_selector(".arc-picture")
    first = page.evaluate("async () => performance.now() - await window.answered")
    print(f"first view after the translation: {first:7.0f} ms   (goal 2000)")
    page.click("[data-view=look]")
    page.wait_for_timeout(500)
    times = []
    for at in MATRICES:
        cold = page.evaluate(OPEN, at)
        page.evaluate("() => history.back()")
        page.wait_for_timeout(300)
        warm = page.evaluate(OPEN, at)
        times.append(warm)
        print(f"open {at:62} first {cold:6.0f} ms, again {warm:6.0f} ms")
    print(f"opening a matrix, median: {statistics.median(times):7.0f} ms   (goal 100)")
    page.evaluate(OPEN, "decoder.layers.3.feed_forward.W_1.weight[0,0]")
    frames = page.evaluate(SCROLL)
    print(
        f"frames while scrolling 2048×512: median {statistics.median(frames):.0f} ms, "
        f"longest {max(frames):.0f} ms   (goal 50)"
    )


def main() -> None:
    """Build, serve, measure."""
    path = shutil.which("chromium")
    if path is None:
        sys.exit("no chromium on this machine")
    with TemporaryDirectory() as place:
        folder = large_model(Path(place) / "large")
        app = create_app(Translator.load(folder), folder=folder)
        text = " ".join(WORDS[n % len(WORDS)] for n in range(TOKENS - 1))
        began = time.perf_counter()
        app.state.session.translate(text, target=text)
        print(f"record 64 + 64 tokens: {1000 * (time.perf_counter() - began):7.0f} ms")
        app.state.session.asked.clear()
        session_translate = app.state.session.translate
        app.state.session.translate = lambda text, **more: session_translate(
            text, **{**more, "target": text}
        )
        with bound("127.0.0.1", 0) as listening, sync_playwright() as playwright:
            server = Server(app, listening).start()
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            measure(page, server.url, text)
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()

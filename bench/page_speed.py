"""How fast the page is on a large model: 6+6 layers, 8 heads, a sentence of 64 tokens.

    python bench/page_speed.py

Prints the time from the answered translation to the first view, the time to open each of many
matrices (the first time, its numbers still to be fetched, and again), and the longest frame while a
large table scrolls; Chromium on this machine. Each matrix is opened on a page at rest.
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

from cutaway.artifact.folder import ModelFolder, write_model_folder
from cutaway.config import ModelConfig
from cutaway.decode import Translator
from cutaway.model import Transformer
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server
from cutaway.text import Tokenizer

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
REST = 400  # milliseconds until the surroundings of a matrix are drawn too
OTHER_MATRICES = 30
SCROLLS = 7


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

OTHERS = """
(count) => {
  const { trace } = window.cutaway.session;
  const ids = trace.values.map((_, id) => id).filter((id) => trace.kept(id)
    && trace.values[id].name !== undefined && trace.values[id].shape.length > 1);
  return Array.from({ length: count }, (_, n) => {
    const id = ids[Math.floor(((n + 0.5) * ids.length) / count)];
    return trace.address({ id, index: trace.values[id].shape.map((size) => (7 * n) % size) });
  });
}
"""

OPEN = """
(at) => new Promise((done) => {
  const start = performance.now();
  const watcher = new MutationObserver(() => {
    const shown = document.querySelector('cut-inspector').dataset.address === at
      && document.querySelector('cut-table td[aria-selected=true]')?.textContent;
    if (!shown) return;
    watcher.disconnect();  // once the frame that shows it is painted, the next one begins
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
  });
  const all = { subtree: true, childList: true, attributes: true, characterData: true };
  watcher.observe(document.body, all);
  window.cutaway.inspector.open(at);
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
    page.goto(f"{url}#/translate")
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
    page.wait_for_timeout(3 * REST)
    first_times, again_times = [], []
    for at in [*MATRICES, *page.evaluate(OTHERS, OTHER_MATRICES)]:
        first_times.append(page.evaluate(OPEN, at))
        page.wait_for_timeout(REST)
        page.evaluate("() => history.back()")
        page.wait_for_timeout(REST)
        again_times.append(page.evaluate(OPEN, at))
        page.wait_for_timeout(REST)
        print(f"open {at:62} first {first_times[-1]:6.0f} ms, again {again_times[-1]:6.0f} ms")
    for name, times in (("first", first_times), ("again", again_times)):
        over = sum(each >= 100 for each in times)
        print(
            f"opening {len(times)} matrices, {name}: median {statistics.median(times):.0f} ms, "
            f"{min(times):.0f}–{max(times):.0f}, {over} over the goal of 100"
        )
    page.evaluate(OPEN, "decoder.layers.3.feed_forward.W_1.weight[0,0]")
    longest = []
    for _ in range(SCROLLS):
        page.wait_for_timeout(REST)
        longest.append(max(page.evaluate(SCROLL)))
        page.evaluate("() => document.querySelector('.table-frame').scrollTo(0, 0)")
    listed = ", ".join(f"{each:.0f}" for each in longest)
    print(f"longest frame of {SCROLLS} scrolls through 2048×512: {listed} ms   (goal 50)")


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
        app.state.session.runs.clear()
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

"""How fast the page is on a large model: 6+6 layers, 8 heads, a sentence of 64 tokens.

    python bench/page_speed.py [--frames]

Prints the time from the answered translation to the first view, the time to open each of many
matrices (the first time, its numbers still to be fetched, and again), and frames while a large
table scrolls, while a film plays and while the model is zoomed into; Chromium on this machine. Each
matrix is opened on a page at rest. With --frames: frames alone.

Of frames it prints two figures. The time between two frames is what a reader sees, and waits for
whatever else the machine does. The work is processor time of the page's main thread between two
frames, from Chromium's trace: a busy machine does not add to it. Long tasks are counted as the page
itself can (PerformanceObserver: over 50 ms on the clock).
"""

import argparse
import json
import shutil
import statistics
import sys
import time
from bisect import bisect
from operator import itemgetter
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
REPEATED = 3
FILMS = {
    "an attention weight": "decoder.layers.5.cross_attention.weights[0,1,9,5]",
    "a norm": "encoder.layers.4.feed_forward_add_norm.normed[0,9,77]",
    "a neuron": "decoder.layers.3.feed_forward.activated[0,9,77]",
    "a probability": "probabilities[0,9,77]",
}


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

WATCH = """
() => {
  const watch = window.watch = { frames: [], tasks: [], on: true };
  const tasks = (list) => watch.tasks.push(...list.getEntries().map((one) => one.duration));
  watch.observer = new PerformanceObserver(tasks);
  watch.observer.observe({ type: 'longtask' });
  let last = 0;
  const step = (now) => {
    if (last) watch.frames.push(now - last);
    last = now;
    if (watch.on) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
"""
WATCHED = """
() => {
  watch.on = false;
  watch.tasks.push(...watch.observer.takeRecords().map((one) => one.duration));
  watch.observer.disconnect();
  return watch;
}
"""

SCROLL = """
() => new Promise((done) => {
  const frame = document.querySelector('.table-frame');
  let n = 0;
  const step = () => {
    frame.scrollTop += 53; frame.scrollLeft += 37;
    if (++n < 90) requestAnimationFrame(step); else { frame.scrollTo(0, 0); done(); }
  };
  requestAnimationFrame(step);
})
"""
# As fast as a hurried reader would have it, so that every act begins within a second or two.
PLAY = """
() => new Promise((done) => {
  const film = document.querySelector('cut-play');
  for (const { stage } of film.frames) stage.time = Math.min(stage.time, 250);
  film.seek(0);
  film.play();
  const step = () => (film.at < film.frames.length ? requestAnimationFrame(step) : done());
  step();
})
"""
ZOOM = """
() => new Promise((done) => {
  const canvas = document.querySelector('cut-zoom .zoom-frame > canvas');
  const { left, top, width, height } = canvas.getBoundingClientRect();
  let n = 0;
  const step = () => {
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: n < 60 ? -60 : 60, bubbles: true,
      cancelable: true, clientX: left + 0.37 * width, clientY: top + 0.43 * height }));
    if (++n < 120) requestAnimationFrame(step); else done();
  };
  requestAnimationFrame(step);
})
"""
TASK, FRAME = "ThreadControllerImpl::RunTask", "FireAnimationFrame"
CATEGORIES = ["toplevel", "devtools.timeline"]


def work(trace: bytes) -> list[float]:
    """Milliseconds of processor time of the page's main thread from each frame to the next."""
    events = json.loads(trace)["traceEvents"]
    drawn = [event for event in events if event["name"] == FRAME]
    thread = (drawn[0]["pid"], drawn[0]["tid"])
    here = [event for event in events if (event["pid"], event["tid"]) == thread]
    frames = sorted(event["ts"] for event in here if event["name"] == FRAME)
    found: list[float] = []
    for task in sorted(
        (e for e in here if e["name"] == TASK and "tdur" in e), key=itemgetter("ts")
    ):
        n = bisect(frames, task["ts"])
        if n < len(frames) and frames[n] < task["ts"] + task["dur"]:
            found.append(0.0)  # the task in which a frame begins
        if found:
            found[-1] += task["tdur"] / 1000
    return found


def spread(values: list[float]) -> str:
    """Median, 95th percentile and largest."""
    ordered = sorted(values)
    chosen = (statistics.median(ordered), ordered[int(0.95 * len(ordered))], ordered[-1])
    return ", ".join(f"{each:.1f}" for each in chosen)


def frames(browser: Any, page: Any, name: str, move: str) -> None:
    """Print the frames of a movement, repeated."""
    seen: list[float] = []
    tasks: list[float] = []
    worked: list[float] = []
    for _ in range(REPEATED):
        page.wait_for_timeout(REST)
        browser.start_tracing(page=page, categories=CATEGORIES)
        page.evaluate(WATCH)
        page.evaluate(move)
        watched = page.evaluate(WATCHED)
        worked += work(browser.stop_tracing())
        seen += watched["frames"]
        tasks += watched["tasks"]
    longest = f", longest {max(tasks):.0f} ms" if tasks else ""
    print(f"{name}: {len(seen)} frames of {REPEATED} repetitions; p50, p95, max")
    print(f"    between frames    {spread(seen)} ms   (goal 50)")
    print(f"    work of a frame   {spread(worked)} ms   (goal 50)")
    print(f"    long tasks        {len(tasks)}{longest}")


def measure_frames(browser: Any, page: Any, url: str, text: str) -> None:
    """Scroll a large table, play films, zoom: frames of each."""
    weights = "decoder.layers.3.feed_forward.W_1.weight[0,0]"
    page.goto(f"{url}#/look?text={text}&at={weights}")
    page.wait_for_selector("cut-table td[aria-selected=true]", timeout=120_000)
    page.wait_for_selector("#columns[aria-busy=false]")
    frames(browser, page, "scrolling through 2048×512", SCROLL)
    for what, address in FILMS.items():
        page.goto("about:blank")
        page.goto(f"{url}#/look?text={text}&at={address}&play=0")
        page.wait_for_selector("cut-play .play-caption > *", timeout=120_000)
        page.wait_for_selector("#columns[aria-busy=false]")
        frames(browser, page, f"playing {what}", PLAY)
    page.goto("about:blank")
    page.goto(f"{url}#/zoom?text={text}")
    page.wait_for_selector("cut-zoom[data-scale]", timeout=120_000)
    page.wait_for_timeout(3 * REST)
    frames(browser, page, "zooming from the whole model to a matrix and back", ZOOM)


def measure(page: Any, url: str, text: str) -> None:
    """Print the time to the first view and those of opening matrices."""
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


def main() -> None:
    """Build, serve, measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", action="store_true", help="measure frames alone")
    options = parser.parse_args()
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
            if not options.frames:
                measure(page, server.url, text)
            measure_frames(browser, page, server.url, text)
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()

"""Pictures of the real page, in both languages, for the README.

    python scripts/screenshots.py FOLDER [OUT]

Serves a model folder on a free port, drives Chromium through the main views and writes
OUT/VIEW-LANGUAGE.png (default docs/screenshots), few colours so that the files stay small.
"""

import base64
import shutil
import struct
import sys
import urllib.parse
import zlib
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from cutaway.decode import Translator
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.running import Server

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
TEXT = "The cat is on the mat."
CROSS = "decoder.layers.1.cross_attention"
VIEWS: dict[str, dict[str, str]] = {
    "translate": {"view": "translate", "step": "2", "beam": "4", "temperature": "3"},
    "look": {"view": "look", "at": f"{CROSS}.scores[0,1,2,1]"},
    "softmax": {"view": "look", "at": f"{CROSS}.softmax[0,1,2,1]", "theme": "dark"},
    "walk": {"view": "walk", "walk": "7", "at": "encoder.layers.0.self_attention.weights[0,1,1,1]"},
    "training": {
        "view": "training",
        "at": "decoder.layers.0.feed_forward.W_1.weight.grad[3,5]",
    },
    "learn": {"view": "learn"},
    "compare": {"view": "compare", "other": "The dog is on the mat.", "at": f"{CROSS}.weights"},
}


def address(url: str, view: dict[str, str], language: str) -> str:
    """The URL of a view in a language."""
    query = {"lang": language, "text": TEXT, **view}
    name = query.pop("view")
    return f"{url}#/{name}?{urllib.parse.urlencode(query)}"


def picture(page: Any, url: str, path: Path) -> None:
    """One view, when it has come to rest."""
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector("#stage > *")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1200)
    path.write_bytes(few_colours(page, page.screenshot()))


INDEXED = """
async (source) => {
  const bitmap = await createImageBitmap(await (await fetch(source)).blob());
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const counts = new Map();
  const rough = (n) => ((data[n] << 16) | (data[n + 1] << 8) | data[n + 2]) & 0xfcfcfc;
  for (let n = 0; n < data.length; n += 4) counts.set(rough(n), (counts.get(rough(n)) ?? 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const known = new Map(palette.map((colour, n) => [colour, n]));
  const part = (colour, k) => colour >> k & 255;
  const apart = (a, b) => [16, 8, 0].reduce((sum, k) => sum + (part(a, k) - part(b, k)) ** 2, 0);
  const nearest = (colour) => {
    let best = 0;
    palette.forEach((other, n) => {
      if (apart(colour, other) < apart(colour, palette[best])) best = n;
    });
    known.set(colour, best);
    return best;
  };
  let text = '';
  for (let n = 0; n < data.length; n += 4) {
    text += String.fromCharCode(known.get(rough(n)) ?? nearest(rough(n)));
  }
  return { width: bitmap.width, height: bitmap.height, palette, cells: btoa(text) };
}
"""


def few_colours(page: Any, png: bytes) -> bytes:
    """The same picture with a palette of 256 colours: a third of the size, and nobody sees it."""
    page.goto("about:blank")
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    found = page.evaluate(INDEXED, source)
    width, cells = found["width"], base64.b64decode(found["cells"])
    rows = b"".join(b"\0" + cells[at : at + width] for at in range(0, len(cells), width))
    colours = b"".join((c | c >> 6 & 0x030303).to_bytes(3, "big") for c in found["palette"])
    size = struct.pack(">IIBBBBB", width, found["height"], 8, 3, 0, 0, 0)
    parts = [(b"IHDR", size), (b"PLTE", colours), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def main() -> None:
    """Draw every view."""
    if len(sys.argv) < 2:
        sys.exit("usage: python scripts/screenshots.py FOLDER [OUT]")
    folder = Path(sys.argv[1])
    out = Path(sys.argv[2] if len(sys.argv) > 2 else "docs/screenshots")
    out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or sys.exit("no chromium on this machine")
    app = create_app(Translator.load(folder), folder=folder)
    with bound("127.0.0.1", 0) as listening, sync_playwright() as playwright:
        server = Server(app, listening).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        for language in ("en", "zh"):
            for name, view in VIEWS.items():
                picture(page, address(server.url, view, language), out / f"{name}-{language}.png")
        phone = browser.new_page(viewport={"width": 360, "height": 720})
        picture(phone, address(server.url, VIEWS["look"], "zh"), out / "phone-zh.png")
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()

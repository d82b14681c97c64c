"""Pictures and a film of the real page, in both languages, for the README.

    python scripts/screenshots.py FOLDER [OUT]

Serves a model folder on a free port, drives Chromium through the main views and writes
OUT/VIEW-LANGUAGE.png (default docs/screenshots) with two pixels for each of the page's, few colours
so that the files stay small, and OUT/play-LANGUAGE.png: an animated PNG of how one attention weight
comes about.
"""

import base64
import shutil
import struct
import sys
import urllib.parse
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from cutaway.decode import Translator
from cutaway.serve.app import create_app
from cutaway.serve.listening import bound
from cutaway.serve.server import Server

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
TEXT = "The cat is on the mat."
FILM_HEIGHT = 640
MOVING, RESTING = 90, 800  # milliseconds that a frame of the film stands
CROSS = "decoder.layers.1.cross_attention"
WEIGHT = f"{CROSS}.weights[0,0,1,1]"  # chat → cat
VIEWS: dict[str, dict[str, str]] = {
    "translate": {"view": "translate"},
    "softmax": {"view": "look", "at": f"{CROSS}.softmax[0,1,2,2]", "theme": "dark"},
    "zoom": {"view": "zoom", "zoom": CROSS},
    "walk": {"view": "walk", "walk": "6", "at": "encoder.layers.0.self_attention.scores[0,0,1,1]"},
    "learn": {"view": "learn"},
}
FILM = {"view": "look", "at": WEIGHT, "play": "0", "theme": "dark"}


def address(url: str, view: dict[str, str], language: str) -> str:
    """The URL of a view in a language."""
    query = {"lang": language, "text": TEXT, **view}
    name = query.pop("view")
    return f"{url}#/{name}?{urllib.parse.urlencode(query)}"


def picture(page: Any, url: str, path: Path) -> None:
    """One view, when it has come to rest."""
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector("#columns[aria-busy=false]")
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
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256);
  const palette = globalThis.palette ?? frequent.map(([colour]) => colour);
  if (globalThis.palette === null) globalThis.palette = palette; // one for all frames of a film
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


@dataclass(frozen=True)
class Indexed:
    """A picture whose pixels are places in a palette."""

    width: int
    height: int
    palette: list[int]
    cells: bytes

    def rows(self, left: int, top: int, right: int, bottom: int) -> bytes:
        """A part of the picture as PNG stores it: rows, each after the number of its filter."""
        return zlib.compress(
            b"".join(
                b"\0" + self.cells[y * self.width + left : y * self.width + right]
                for y in range(top, bottom)
            ),
            9,
        )


def indexed(page: Any, png: bytes) -> Indexed:
    """The same picture with a palette of 256 colours: a third of the size, and nobody sees it."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    found = page.evaluate(INDEXED, source)
    cells = base64.b64decode(found["cells"])
    return Indexed(found["width"], found["height"], found["palette"], cells)


def png_of(picture: Indexed, parts: list[tuple[bytes, bytes]]) -> bytes:
    """A PNG file from its size, its palette and the chunks that hold the pixels."""
    colours = b"".join((c | c >> 6 & 0x030303).to_bytes(3, "big") for c in picture.palette)
    size = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", size), (b"PLTE", colours), *parts, (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def few_colours(page: Any, png: bytes) -> bytes:
    """A still picture in few colours."""
    page.goto("about:blank")
    found = indexed(page, png)
    return png_of(found, [(b"IDAT", found.rows(0, 0, found.width, found.height))])


def film(page: Any, blank: Any, url: str, path: Path) -> None:
    """Play on a dark page, frame by frame as the page itself draws them."""
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_selector("cut-play .play-caption > *")
    page.wait_for_load_state("networkidle")
    frames = int(page.evaluate("() => document.querySelector('cut-play').frames.length"))
    moments = [(n + p, MOVING if p < 1 else RESTING) for n in range(frames) for p in (0.35, 0.7, 1)]
    box = page.locator("cut-play").bounding_box()
    clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": FILM_HEIGHT}
    shots = []
    for moment, _ in moments:
        page.evaluate("at => document.querySelector('cut-play').seek(at)", moment)
        shots.append(page.screenshot(clip=clip))
    blank.goto("about:blank")
    blank.evaluate("() => { globalThis.palette = null; }")
    richest = max(shots, key=len)  # has the colours that the others need
    pictures = [indexed(blank, shot) for shot in (richest, *shots)][1:]
    path.write_bytes(animated(pictures, [delay for _, delay in moments]))


def animated(pictures: list[Indexed], delays: list[int]) -> bytes:
    """An animated PNG: each frame is the rectangle in which it differs from the one before."""
    first = pictures[0]
    parts: list[tuple[bytes, bytes]] = [(b"acTL", struct.pack(">II", len(pictures), 0))]
    count = 0
    for n, (picture, delay) in enumerate(zip(pictures, delays, strict=True)):
        before = pictures[n - 1].cells if n else b""
        left, top, right, bottom = changed(picture, before)
        control = (right - left, bottom - top, left, top, delay, 1000, 0, 0)
        parts.append((b"fcTL", struct.pack(">IIIIIHHBB", count, *control)))
        count += 1
        data = picture.rows(left, top, right, bottom)
        if n == 0:
            parts.append((b"IDAT", data))
        else:
            parts.append((b"fdAT", struct.pack(">I", count) + data))
            count += 1
    return png_of(first, parts)


def changed(picture: Indexed, before: bytes) -> tuple[int, int, int, int]:
    """The rectangle in which a picture differs: left, top, right, bottom."""
    width, height = picture.width, picture.height
    if not before:
        return 0, 0, width, height
    lines = [
        (y, picture.cells[y * width : (y + 1) * width], before[y * width : (y + 1) * width])
        for y in range(height)
    ]
    apart = [(y, new, old) for y, new, old in lines if new != old]
    if not apart:
        return 0, 0, 1, 1
    columns = [x for _, new, old in apart for x in range(width) if new[x] != old[x]]
    return min(columns), apart[0][0], max(columns) + 1, apart[-1][0] + 1


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
        page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=2)
        wide = browser.new_page(viewport={"width": 1400, "height": 900})
        for one in (page, wide):
            one.set_default_timeout(120_000)
        for language in ("en", "zh"):
            for name, view in VIEWS.items():
                picture(page, address(server.url, view, language), out / f"{name}-{language}.png")
            film(wide, page, address(server.url, FILM, language), out / f"play-{language}.png")
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()

"""Zoom: the whole model, a layer, a head, a matrix, a cell, as one picture."""

from itertools import pairwise
from typing import Any

import pytest
import torch

from cutaway.serve.session import Session
from tests.browser.conftest import Watched, without_motion

pytestmark = pytest.mark.browser
TEXT = "The cat is on the mat."
ATTENTION = "decoder.layers.1.cross_attention"
HEAD = 1
CIVIDIS = [
    (0, 34, 78), (18, 53, 112), (59, 73, 108), (87, 92, 109), (112, 113, 115),
    (138, 134, 120), (165, 156, 116), (195, 179, 105), (225, 204, 85), (254, 232, 56),
]  # fmt: skip


def weights(session: Session) -> torch.Tensor:
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    return trace[f"{ATTENTION}.weights"].tensor[0, HEAD]


def open_zoom(watched: Watched, url: str, place: str = "") -> Any:
    watched.go(f"{url}#/zoom?lang=en&text={TEXT}{place}")
    watched.page.wait_for_selector("cut-zoom[data-scale]")
    return watched.page


def still(page: Any) -> None:
    """Wait until the picture has arrived where the address says, and all of it is drawn."""
    page.evaluate(
        """async () => {
          const zoom = document.querySelector('cut-zoom');
          const state = () => JSON.stringify([zoom.here, zoom.camera]);
          for (;;) {
            const before = state();
            for (let n = 0; n < 5; n++) await new Promise(requestAnimationFrame);
            const asked = new URLSearchParams(location.hash.split('?')[1]);
            const here = ['at', 'zoom', 'place'].map((name) => asked.get(name) ?? '').join('|');
            if (zoom.here === here && state() === before && !zoom.waiting && !zoom.plate.waits
              && ![...zoom.plate.pictures.values()].includes('coming')) return;
          }
        }"""
    )


def crumbs(page: Any) -> list[str]:
    found: list[str] = page.locator("cut-zoom .crumbs button").all_inner_texts()
    return found


def scale(page: Any) -> float:
    return float(page.evaluate("document.querySelector('cut-zoom').camera.scale"))


def colour(weight: float, highest: float) -> tuple[int, ...]:
    """The colour of an attention weight, as the page's scale has it."""
    place = round(255 * min(1.0, weight / highest)) / 255 * (len(CIVIDIS) - 1)
    low = min(len(CIVIDIS) - 2, int(place))
    pairs = zip(CIVIDIS[low], CIVIDIS[low + 1], strict=True)
    return tuple(round(a + (b - a) * (place - low)) for a, b in pairs)


def test_from_the_whole_model_to_a_cell_and_back_by_keys(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = open_zoom(watched, served[0])
    still(page)
    assert crumbs(page) == ["The whole model"]
    way = ["The whole model", "Decoder", "layer 2", "cross-attention", "head 2", "weights"]
    scales = [scale(page)]
    for key in ("decoder", "decoder.layers.1", ATTENTION, f"{ATTENTION}#1"):
        page.evaluate(
            "key => { const z = document.querySelector('cut-zoom');"
            " z.remember(z.boxes.get(key), null, false); }",
            key,
        )
        still(page)
        scales.append(scale(page))
        assert crumbs(page) == way[: len(scales)]
    page.focus("cut-zoom .zoom-frame > canvas")
    page.keyboard.press("Enter")  # the matrix of the head that is nearest to the middle
    still(page)
    assert crumbs(page)[:-1] == way[:-1]
    scales.append(scale(page))
    page.keyboard.press("Enter")
    still(page)
    address = page.get_attribute("cut-zoom", "data-address")
    assert address
    assert address.startswith(f"{ATTENTION}.")
    scales.append(scale(page))
    assert scales == sorted(scales)
    assert scales[-1] > 10 * scales[0]
    found = watched.inspected(address)
    assert found["good"] == "true"
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "was => document.querySelector('cut-zoom').dataset.address !== was", arg=address
    )
    for _ in way:
        page.keyboard.press("Backspace")
        still(page)
    assert crumbs(page) == ["The whole model"]
    assert scale(page) == pytest.approx(scales[0])
    assert watched.complaints == []


def test_what_stands_on_the_canvas_is_what_python_has(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, session = served
    expected = weights(session)
    page = open_zoom(watched, url, f"&at={ATTENTION}.weights[0,{HEAD},2,1]")
    still(page)
    written = page.evaluate(
        """() => {
          const { plate } = document.querySelector('cut-zoom');
          const { box } = plate.focus;
          const { canvas, size } = plate;
          const area = plate.onScreen({...box, y: box.y + box.title, h: box.h - box.title});
          const pen = canvas.getContext('2d');
          const ratio = canvas.width / size.width;
          const inside = ({x, y}) => x >= Math.floor(area.x) && y >= Math.floor(area.y)
            && x < area.x + area.w - 1 && y < area.y + area.h - 1
            && x > 0 && y > 20 && x < size.width - 200 && y < size.height - 150;
          const pixel = ({x, y}) => [...pen.getImageData(
            Math.round((x + 6) * ratio), Math.round((y + 6) * ratio), 1, 1).data];
          return plate.written.filter(inside).map(one => ({...one, colour: pixel(one)}));
        }"""
    )
    assert len(written) > 6
    highest = float(weights_of_all_heads(session).max())
    for cell in written:
        weight = float(expected[cell["row"], cell["col"]])
        assert float(cell["text"].replace("−", "-")) == pytest.approx(weight, rel=6e-2)
        if (cell["row"], cell["col"]) != (2, 1):  # whose frame lies over its corner
            near = zip(cell["colour"][:3], colour(weight, highest), strict=True)
            assert all(abs(a - b) <= 1 for a, b in near), cell
    said = page.inner_text(".zoom-said b")
    assert float(said) == pytest.approx(float(expected[2, 1]), rel=1e-6)


def weights_of_all_heads(session: Session) -> torch.Tensor:
    trace = session.run(session.translate(TEXT)["key"]).served.trace
    return trace[f"{ATTENTION}.weights"].tensor


def test_wheel_fingers_and_drag_move_one_picture(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = open_zoom(watched, served[0])
    still(page)
    box = page.locator("cut-zoom .zoom-frame > canvas").bounding_box()
    x, y = round(box["x"] + box["width"] * 0.3), round(box["y"] + box["height"] * 0.6)
    under = """([x, y]) => { const {camera} = document.querySelector('cut-zoom');
      return [camera.x + x / camera.scale, camera.y + y / camera.scale, camera.scale]; }"""
    at = [x - box["x"], y - box["y"]]
    before = page.evaluate(under, at)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "was => document.querySelector('cut-zoom').camera.scale > was", arg=before[2]
    )
    after = page.evaluate(under, at)
    assert after[:2] == pytest.approx(before[:2], rel=1e-6)  # the point under the pointer stays
    fingers = """([x, y]) => {
      const canvas = document.querySelector('cut-zoom .zoom-frame > canvas');
      canvas.setPointerCapture = () => {};
      const send = (type, pointerId, clientX, clientY) => canvas.dispatchEvent(
        new PointerEvent(type, { pointerId, clientX, clientY, bubbles: true }));
      send('pointerdown', 7, x - 20, y); send('pointerdown', 8, x + 20, y);
      send('pointermove', 7, x - 60, y); send('pointermove', 8, x + 60, y);
      send('pointerup', 7, x - 60, y); send('pointerup', 8, x + 60, y);
    }"""
    page.evaluate(fingers, [x, y])
    assert scale(page) == pytest.approx(3 * after[2])
    page.wait_for_function("() => location.hash.includes('zoom=')")  # the address follows
    was = page.evaluate("document.querySelector('cut-zoom').camera.x")
    page.mouse.down()
    page.mouse.move(x + 50, y)
    page.mouse.up()
    now = page.evaluate("document.querySelector('cut-zoom').camera.x")
    assert (was - now) * scale(page) == pytest.approx(50, abs=1)
    page.mouse.click(box["x"] + box["width"] - 90, box["y"] + box["height"] - 70)  # the small map
    moved = page.evaluate("document.querySelector('cut-zoom').camera.x")
    assert moved != now
    assert watched.complaints == []


def test_the_way_from_one_part_to_another_has_no_cut(
    watched: Watched, served: tuple[str, Session]
) -> None:
    page = open_zoom(watched, served[0])
    steps = page.evaluate(
        """async () => {
          const { between, fitted } = await import('/web/camera.js');
          const zoom = document.querySelector('cut-zoom');
          const size = zoom.size;
          const from = fitted(size, zoom.root);
          const goal = zoom.boxes.get('encoder.layers.0.self_attention.weights#1');
          const to = fitted(size, goal);
          const seen = (p) => {
            const c = between(size, from, to, p);
            return [(goal.x - c.x) * c.scale / size.width, (goal.y - c.y) * c.scale / size.height,
              Math.log(c.scale)];
          };
          return Array.from({ length: 101 }, (_, n) => seen(n / 100));
        }"""
    )
    for before, after in pairwise(steps):
        assert all(abs(a - b) < 0.08 for a, b in zip(before, after, strict=True))
    assert steps[-1][2] > steps[0][2] + 2


def test_without_motion_it_is_there_at_once(browser: Any, served: tuple[str, Session]) -> None:
    arrived = """() => {
      const zoom = document.querySelector('cut-zoom');
      const before = zoom.camera.scale;
      zoom.remember(zoom.boxes.get('decoder.layers.0'), null, false);
      return before;
    }"""
    for motion in ("reduce", "no-preference"):
        still_only = motion == "reduce"
        context = without_motion(browser) if still_only else browser.new_context(locale="en-US")
        page = open_zoom(Watched(context), served[0])
        still(page)
        page.evaluate("window.frames_seen = []")
        page.evaluate(
            "(() => { const z = document.querySelector('cut-zoom'); const paint = z.paint.bind(z);"
            " z.paint = (c) => { window.frames_seen.push(c.scale); paint(c); }; })()"
        )
        page.evaluate(arrived)
        page.wait_for_selector("cut-zoom[data-box='decoder.layers.0']")
        still(page)
        assert (len(page.evaluate("window.frames_seen")) == 1) == still_only
        context.close()


def test_numbers_become_pictures_in_frames_that_have_time_for_it(
    watched: Watched, served: tuple[str, Session]
) -> None:
    """Numbers come many at once; made where they arrive, their pictures were one long task."""
    page = open_zoom(watched, served[0])
    still(page)
    page.evaluate(
        """() => {
          const { plate, structure } = document.querySelector('cut-zoom');
          window.seen = { inside: 0, outside: 0, coming: 0 };
          let drawing = false;
          const { draw } = plate;
          plate.draw = (camera) => {
            drawing = true;
            draw.call(plate, camera);
            drawing = false;
          };
          const { set } = plate.pictures;
          plate.pictures.set = (key, picture) => {
            if (picture instanceof HTMLCanvasElement) seen[drawing ? 'inside' : 'outside'] += 1;
            const coming = [...plate.pictures.values()].filter((one) => one === 'coming').length;
            seen.coming = Math.max(seen.coming, coming);
            return set.call(plate.pictures, key, picture);
          };
          for (const store of structure.trace.stores) store.whole = undefined;
          plate.pictures.clear();
          plate.again();
        }"""
    )
    still(page)
    seen = page.evaluate("seen")
    assert seen["coming"] > 0
    assert seen["inside"] > 20
    assert seen["outside"] == 0
    assert watched.complaints == []

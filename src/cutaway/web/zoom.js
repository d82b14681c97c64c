/**
 * `<cut-zoom>`: the whole model, a layer, a head, a matrix, a cell: one picture, moved through
 * without a cut by wheel, fingers, keys, the crumbs above it and the small map in its corner.
 */
import { all, boxesOf, neighbour, wayTo } from "./boxes.js";
import {
  between,
  centre,
  centred,
  clamped,
  closest,
  fitted,
  holds,
  middle,
  scaled
} from "./camera.js";
import { announce, data, fill, h, hint, press, t } from "./dom.js";
import { gestures } from "./gestures.js";
import { wordsOf } from "./human.js";
import { Minimap } from "./minimap.js";
import { full } from "./numbers.js";
import { inside, Plate } from "./plate.js";
import { go, where } from "./state.js";

/** @typedef {import("./boxes.js").Box} Box */
/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./camera.js").Area} Area */
/** @typedef {{box: Box, row: number, col: number}} Spot a cell of a matrix */

const FLIGHT = 480; // milliseconds from one part to another
const REST = 250; // milliseconds without movement before the address follows
const FILLS = 0.5; // of the canvas, that the part one is at takes up
const CELL = [72, 30]; // pixels of a cell that one is at, at least
const [FAR, NEAR] = [0.5, 400]; // of the whole picture's scale
/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class ZoomElement extends HTMLElement {
  /** @type {import("./structure.js").Structure} */
  structure;
  /** @type {Box} the whole picture */
  root;
  /** @type {Map<string, Box>} by key */
  boxes;
  /** @type {Plate} */
  plate;
  /** @type {Minimap} */
  map;
  /** @type {Camera} */
  camera;
  /** @type {any} */
  canvas;
  here = ""; // the address that the picture shows
  /** @type {object | null} the flight that is under way */
  flight = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  rest;
  waiting = false;

  /** @param {import("./structure.js").Structure} structure */
  show(structure) {
    this.structure = structure;
    const root = boxesOf(structure);
    if (!root) return void fill(this, hint(t("zoom.none")));
    this.root = root;
    this.boxes = new Map(all(root).map((box) => [box.key, box]));
    const label = t("zoom.label");
    this.canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": label });
    this.crumbs = h("nav", { class: "crumbs", "aria-label": t("crumbs") });
    this.said = data("output", { class: "zoom-said" });
    this.plate = new Plate(this.canvas, root, () => this.wake());
    this.map = new Minimap(root, this.plate, (x, y) =>
      this.look(centred(this.size, [x, y], this.camera.scale))
    );
    const frame = h("div", { class: "zoom-frame" }, this.canvas, this.map.element);
    fill(this, h("header", {}, this.crumbs, this.said), frame, hint(t("zoom.keys")));
    gestures(this.canvas, {
      pan: (dx, dy) =>
        this.look({
          ...this.camera,
          x: this.camera.x - dx / this.camera.scale,
          y: this.camera.y - dy / this.camera.scale
        }),
      zoom: (by, x, y) => this.nearer(by, x, y),
      pick: (x, y) => this.pick(x, y)
    });
    frame.addEventListener(
      "keydown",
      (/** @type {KeyboardEvent} */ event) => this.onKey(event),
      true
    );
    this.camera = fitted(this.size, root);
    this.turnTo(false);
    new ResizeObserver(() => this.isConnected && this.resized()).observe(this.canvas);
    return undefined;
  }

  resized() {
    this.arrive(this.target() ?? { box: this.root }, false);
  }

  /** Of the canvas, in pixels. */
  get size() {
    return { width: this.canvas.clientWidth || 800, height: this.canvas.clientHeight || 600 };
  }

  /** The area of a cell. @param {Spot} spot @returns {Area} */
  cellArea({ box, row, col }) {
    const sheet = /** @type {import("./sheet.js").Sheet} */ (box.sheet);
    const { x, y, w, h: high } = inside(box);
    const size = { w: w / sheet.cols, h: high / sheet.rows };
    return { x: x + col * size.w, y: y + row * size.h, ...size };
  }

  /** Where the address says that the reader is. @returns {{box: Box, row?: number, col?: number} | null} */
  target() {
    const trace = this.structure.trace;
    const { at, zoom, place } = where();
    const boxes = this.boxes;
    const found = at ? trace.find(at) : null;
    if (found) {
      const { address, axes } = trace.values[found.id];
      const head = axes?.indexOf("head") ?? -1;
      const box =
        boxes.get(address) ?? boxes.get(`${address}#${found.index ? found.index[head] : 0}`);
      const spot = found.index ? box?.sheet?.place(found.index) : null;
      if (box) return spot ? { box, ...spot } : { box };
      return { box: /** @type {Box} */ (this.nearest(trace.path(found.id))) };
    }
    return { box: boxes.get(zoom ?? "") ?? /** @type {Box} */ (this.nearest(zoom || place)) };
  }

  /** The box of a path, or of the first module around it that has one. @param {string} path */
  nearest(path) {
    const boxes = this.boxes;
    while (path && !boxes.has(path)) path = path.slice(0, Math.max(0, path.lastIndexOf(".")));
    return boxes.get(path) ?? this.root;
  }

  /** The address has changed: go there, unless this is where it was written. @param {boolean | any} [moves] */
  turnTo(moves = true) {
    if (!this.root) return;
    const { at, zoom, place } = where();
    const key = [at, zoom, place].join("|");
    if (key === this.here) return;
    this.here = key;
    const target = this.target();
    if (target) this.arrive(target, moves !== false);
  }

  /** Move to a part or a cell. @param {{box: Box, row?: number, col?: number}} target @param {boolean} moves */
  arrive({ box, row, col }, moves) {
    const plate = this.plate;
    const spot = row === undefined || col === undefined ? null : { box, row, col };
    plate.focus = spot;
    let camera = fitted(this.size, box);
    if (spot) {
      const area = this.cellArea(spot);
      const scale = Math.max(camera.scale, CELL[0] / area.w, CELL[1] / area.h);
      camera = centred(this.size, middle(area), scale);
    }
    this.fly(camera, moves);
    this.tell(box, spot);
  }

  /** @param {Camera} to @param {boolean} moves */
  fly(to, moves) {
    clearTimeout(this.rest);
    const from = this.camera;
    const begun = performance.now();
    const flight = (this.flight = {});
    if (!moves || matchMedia("(prefers-reduced-motion: reduce)").matches) return this.paint(to);
    const frame = () => {
      if (this.flight !== flight || !this.isConnected) return;
      const part = Math.min(1, (performance.now() - begun) / FLIGHT);
      this.paint(between(this.size, from, to, part));
      if (part < 1) requestAnimationFrame(frame);
    };
    return frame();
  }

  /** Moved by hand: the address follows once the hand rests. @param {Camera} camera */
  look(camera) {
    this.flight = null;
    this.paint(camera);
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.isConnected && this.settle(), REST);
  }

  /** @param {number} by @param {number} x @param {number} y in pixels: the point that stays */
  nearer(by, x, y) {
    const whole = fitted(this.size, this.root).scale;
    const scale = Math.min(NEAR * whole, Math.max(FAR * whole, this.camera.scale * by));
    this.look(scaled(this.camera, scale, x, y));
  }

  /** @param {Camera} camera */
  paint(camera) {
    this.camera = camera;
    this.wake();
  }

  /** Draw in the next frame, once. */
  wake() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (!this.isConnected) return;
      this.plate.draw(this.camera);
      this.map.frame(this.camera, this.size, this.current().box === this.root);
      this.dataset.scale = String(this.camera.scale);
    });
  }

  /** The part that one is at: the smallest that fills half of the canvas and holds its middle. */
  current() {
    const { width, height } = this.size;
    const { scale } = this.camera;
    const [cx, cy] = centre(this.size, this.camera);
    let box = this.root;
    for (;;) {
      const next = box.children.find(
        (one) =>
          holds(one, cx, cy) && Math.max((one.w * scale) / width, (one.h * scale) / height) >= FILLS
      );
      if (!next) return { box, cx, cy };
      box = next;
    }
  }

  /** Write into the address where the hand has left the picture. */
  settle() {
    const { box, cx, cy } = this.current();
    const spot = this.cellAt(box, cx, cy);
    const area = spot ? this.cellArea(spot) : null;
    const { scale } = this.camera;
    const near = area && area.w * scale >= CELL[0] * 0.8 && area.h * scale >= CELL[1] * 0.8;
    this.plate.focus = near ? spot : null;
    this.tell(box, near ? spot : null);
    this.wake();
    this.remember(box, near ? spot : null, true);
  }

  /** @param {Box} box @param {Spot | null} spot @param {boolean} replace */
  remember(box, spot, replace) {
    const trace = this.structure.trace;
    const sheet = spot?.box.sheet;
    const at =
      spot && sheet ? trace.address({ id: sheet.id, index: sheet.index(spot.row, spot.col) }) : "";
    const place = at ? "" : box.path;
    if (replace) this.here = [at, box.key, place].join("|");
    go({ at, zoom: box.key, place, play: "" }, { replace });
  }

  /** @param {Box} box @param {number} x @param {number} y @returns {Spot | null} */
  cellAt(box, x, y) {
    const { sheet } = box;
    const area = inside(box);
    if (!sheet || !holds(area, x, y)) return null;
    return {
      box,
      row: Math.floor(((y - area.y) / area.h) * sheet.rows),
      col: Math.floor(((x - area.x) / area.w) * sheet.cols)
    };
  }

  /** A click: one level nearer to what lies there. @param {number} px @param {number} py */
  pick(px, py) {
    const { scale, ...corner } = this.camera;
    const [x, y] = [corner.x + px / scale, corner.y + py / scale];
    const from = wayTo(this.current().box);
    /** @type {Box[]} */
    const way = [];
    for (
      let box = /** @type {Box | undefined} */ (this.root);
      box;
      box = box.children.find((one) => holds(one, x, y))
    )
      way.push(box);
    const depth = way.findIndex((box, n) => from[n] !== box);
    const to = depth < 0 ? way[way.length - 1] : way[depth];
    const spot = depth < 0 ? this.cellAt(to, x, y) : null;
    this.remember(to, spot, false);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const focus = this.plate.focus;
    const { box, cx, cy } = this.current();
    const here = focus?.box ?? this.target()?.box ?? box;
    if (event.key in ARROWS) this.beside(here, focus, ARROWS[event.key]);
    else if (event.key === "Enter") {
      const area = inside(here);
      const spot = this.cellAt(here, ...clamped(area, cx, cy));
      const child = closest(here.children, cx, cy);
      if (spot) this.remember(here, spot, false);
      else if (child) this.remember(child, null, false);
    } else if (event.key === "Backspace" || (event.key === "Escape" && here.parent)) {
      if (focus) this.remember(here, null, false);
      else if (here.parent) this.remember(here.parent, null, false);
    } else if (event.key === "Home") this.remember(this.root, null, false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * The neighbour in a direction: of a cell the cell beside it, of a part the nearest on its level.
   * @param {Box} box
   * @param {Spot | null} spot
   * @param {[number, number]} to
   */
  beside(box, spot, [dx, dy]) {
    const { sheet } = box;
    if (spot && sheet) {
      const [row, col] = [spot.row + dy, spot.col + dx];
      if (row >= 0 && col >= 0 && row < sheet.rows && col < sheet.cols)
        this.remember(box, { box, row, col }, false);
      return;
    }
    const next = neighbour(this.root, box, [dx, dy]);
    if (next) this.remember(next, null, false);
  }

  /** Say where one is, and the number if it is a cell. @param {Box} box @param {Spot | null} spot */
  tell(box, spot) {
    const trace = this.structure.trace;
    const way = wayTo(box);
    fill(
      this.crumbs,
      way.map((one, n) => [
        n ? h("span", { "aria-hidden": "true" }, " › ") : "",
        press(
          {
            "aria-current": n === way.length - 1 && !spot ? "location" : undefined,
            translate: one.sheet || !this.structure.isPaper ? "no" : undefined,
            onclick: () => this.remember(one, null, false)
          },
          one.name
        )
      ])
    );
    this.dataset.box = box.key;
    delete this.dataset.address;
    fill(this.said);
    if (!spot || !box.sheet) return announce(way.map(({ name }) => name).join(", "));
    const cell = { id: box.sheet.id, index: box.sheet.index(spot.row, spot.col) };
    const { dtype } = trace.values[cell.id];
    this.dataset.address = trace.address(cell);
    void trace
      .settled(() => trace.read(cell.id, cell.index))
      .then((value) => {
        if (this.dataset.address !== trace.address(cell)) return;
        const words = wordsOf(trace, cell) || `[${spot.row}, ${spot.col}]`;
        fill(this.said, h("span", {}, `${words} = `), h("b", {}, full(value, dtype)));
      });
    return undefined;
  }
}

customElements.define("cut-zoom", ZoomElement);

/** Drawing the boxes of a model onto a canvas, at any place and scale. */
import { css, inkOn } from "./colour.js";
import { isDark } from "./dom.js";
import { range, raster, shown } from "./heat.js";
import { short } from "./numbers.js";
import { pooled } from "./sheet.js";

/** @typedef {import("./boxes.js").Box} Box */
/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./sheet.js").Sheet} Sheet */
/** A number written into its cell, in pixels of the canvas. @typedef {{row: number, col: number, x: number, y: number, text: string}} Written */

const FINEST = 192; // points of a matrix's picture on each side; nearer, its cells are drawn
const SMALLEST = 5; // pixels of a matrix that is drawn as more than a rectangle
const NUMBERED = 40; // pixels of a cell that has room for its number
const MADE = 8; // milliseconds per frame for new pictures
const COMING = 12; // values whose numbers are on their way at once

/** Where the picture of a matrix lies in its box. @param {Box} box */
export function inside({ x, y, w, h, title }) {
  return { x, y: y + title, w, h: h - title };
}

export class Plate {
  /** @type {CanvasRenderingContext2D} */
  pen;
  /** @type {Camera} */
  camera;
  /** @type {{width: number, height: number}} of the canvas, in pixels */
  size;
  /** @type {Record<string, string>} colours and font of the page */
  ink;
  asked = ""; // the window of cells that was last sent for
  came = false;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Box} root
   * @param {() => void} again draw once more
   * @param {Map<string, HTMLCanvasElement | ArrayLike<number> | "coming">} pictures of matrices, or
   * the numbers of pictures that are still to be made
   */
  constructor(canvas, root, again, pictures = new Map()) {
    this.canvas = canvas;
    this.root = root;
    this.again = again;
    this.pictures = pictures;
    /** @type {Set<number>} */
    this.coming = new Set(); // values
    /** @type {Map<string, number>} */
    this.widths = new Map(); // of names, in letters of one pixel
    /** @type {Written[]} */
    this.written = []; // numbers on the canvas now
    /** @type {{box: Box, row: number, col: number} | null} */
    this.focus = null;
  }

  /** @param {Camera} camera */
  draw(camera) {
    const { canvas } = this;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.pen = pen;
    const style = getComputedStyle(canvas);
    this.camera = camera;
    this.size = { width, height };
    this.ink = {
      text: style.color,
      line: style.borderTopColor,
      ground: style.textDecorationColor,
      paper: style.backgroundColor,
      focus: style.outlineColor,
      font: style.fontFamily
    };
    this.written = [];
    this.until = performance.now() + MADE;
    this.waits = false;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.imageSmoothingEnabled = false;
    this.box(this.root, 0);
    if (this.waits) this.again();
  }

  /** In pixels. @param {{x: number, y: number, w: number, h: number}} part */
  onScreen({ x, y, w, h: high }) {
    const { scale, ...corner } = this.camera;
    return { x: (x - corner.x) * scale, y: (y - corner.y) * scale, w: w * scale, h: high * scale };
  }

  /** @param {Box} box @param {number} depth */
  box(box, depth) {
    const { pen, ink, size } = this;
    const { x, y, w, h: high } = this.onScreen(box);
    if (x > size.width || y > size.height || x + w < 0 || y + high < 0 || w < 2) return;
    if (!box.sheet) {
      pen.fillStyle = depth % 2 ? ink.ground : ink.paper;
      pen.fillRect(x, y, w, high);
      pen.strokeStyle = ink.line;
      pen.lineWidth = 1;
      pen.strokeRect(Math.round(x) + 0.5, Math.round(y) + 0.5, Math.round(w), Math.round(high));
    } else this.matrix(box, box.sheet);
    this.title(box, { x, y, w, h: high });
    for (const child of box.children) this.box(child, depth + 1);
  }

  /**
   * The name of a box in its strip; it stays in view while the box does.
   * @param {Box} box
   * @param {{x: number, y: number, w: number, h: number}} at
   */
  title(box, { x, y, w }) {
    const { pen, ink, camera } = this;
    const strip = box.title * camera.scale;
    const letters = Math.min(22, strip * (box.sheet ? 0.85 : 1.1));
    if (letters < 8 || y + strip < 0) return;
    pen.font = `${box.sheet ? 400 : 600} ${letters}px ${ink.font}`;
    pen.fillStyle = ink.text;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const left = Math.max(x, 0) + letters * (box.sheet ? 0.1 : 0.5);
    const room = x + w - left;
    pen.fillText(this.fitting(box.name, letters, room), left, y + strip * (box.sheet ? 0.45 : 0.8));
  }

  /**
   * As much of a name as there is room for. Measuring is slow: a name that fits with some to spare
   * is measured once, not in every frame.
   * @param {string} name
   * @param {number} letters their size in pixels
   * @param {number} room
   */
  fitting(name, letters, room) {
    const { pen } = this;
    const key = `${pen.font.slice(0, 3)} ${name}`;
    const near = this.widths.get(key);
    if (near !== undefined && near * letters * 1.1 < room) return name;
    const { width } = pen.measureText(name);
    this.widths.set(key, width / letters);
    return width > room ? cutTo(pen, name, room) : name;
  }

  /** @param {Box} box @param {Sheet} sheet */
  matrix(box, sheet) {
    const { pen, ink, size } = this;
    const at = this.onScreen(inside(box));
    const cell = { w: at.w / sheet.cols, h: at.h / sheet.rows };
    const coarse = sheet.rows > FINEST || sheet.cols > FINEST;
    if (coarse && Math.min(cell.w, cell.h) > 2 && this.cells(sheet, at, cell))
      return this.outline(box, at, cell);
    const picture = at.w >= SMALLEST ? this.picture(box, sheet) : null;
    if (picture) pen.drawImage(picture, at.x, at.y, at.w, at.h);
    else {
      pen.fillStyle = ink.line;
      return pen.fillRect(at.x, at.y, at.w, at.h);
    }
    if (
      Math.min(cell.w, cell.h) > 2 &&
      Math.max(at.w, at.h) > Math.min(size.width, size.height) / 3
    )
      this.cells(sheet, at, cell);
    return this.outline(box, at, cell);
  }

  /**
   * The cell in focus.
   * @param {Box} box
   * @param {{x: number, y: number}} at
   * @param {{w: number, h: number}} cell
   */
  outline(box, at, cell) {
    if (this.focus?.box !== box) return;
    const { pen, ink, focus } = this;
    pen.strokeStyle = ink.focus;
    pen.lineWidth = Math.max(2, Math.min(4, cell.w / 12));
    pen.strokeRect(at.x + focus.col * cell.w, at.y + focus.row * cell.h, cell.w, cell.h);
  }

  /** Rows and columns in view. @param {Sheet} sheet @param {{x: number, y: number}} at @param {{w: number, h: number}} cell */
  window(sheet, at, cell) {
    const { width, height } = this.size;
    const rows = [Math.max(0, Math.floor(-at.y / cell.h)), Math.ceil((height - at.y) / cell.h)];
    const cols = [Math.max(0, Math.floor(-at.x / cell.w)), Math.ceil((width - at.x) / cell.w)];
    return {
      top: rows[0],
      bottom: Math.min(sheet.rows, rows[1]),
      left: cols[0],
      right: Math.min(sheet.cols, cols[1])
    };
  }

  /**
   * The cells in view one by one, with numbers and words where there is room; false while their
   * numbers are on their way.
   * @param {Sheet} sheet
   * @param {{x: number, y: number, w: number, h: number}} at
   * @param {{w: number, h: number}} cell
   */
  cells(sheet, at, cell) {
    const { pen, ink } = this;
    const { trace } = sheet;
    const { top, bottom, left, right } = this.window(sheet, at, cell);
    const read = () =>
      range(bottom - top).map((r) => range(right - left).map((c) => sheet.read(top + r, left + c)));
    if (!trace.here(sheet.id)) {
      const key = `${sheet.id}|${sheet.lead}|${top},${bottom},${left},${right}`;
      if (this.asked === key && !this.came) return false;
      if (this.asked !== key) {
        [this.asked, this.came] = [key, false];
        void Promise.all([trace.want([sheet.id]), trace.settled(read)]).then(() => {
          if (this.asked !== key) return;
          this.came = true;
          this.again();
        });
        return false;
      }
    }
    const colour = sheet.painter(isDark());
    const numbered = cell.w >= NUMBERED && cell.h >= NUMBERED / 2.5;
    const numbers = read();
    numbers.forEach((line, r) =>
      line.forEach((x, c) => {
        const [px, py] = [at.x + (left + c) * cell.w, at.y + (top + r) * cell.h];
        const packed = Number.isFinite(x) && !sheet.masked(top + r, left + c) ? colour(x) : 0;
        if (!packed || trace.here(sheet.id) === false || numbered) {
          pen.fillStyle = packed ? css(packed) : ink.paper;
          pen.fillRect(px, py, cell.w + 0.5, cell.h + 0.5);
        }
        if (!numbered) return;
        const text = sheet.value.dtype.includes("float") ? short(x) : String(x);
        pen.font = `${Math.min(22, cell.w / 5, cell.h / 1.6)}px ui-monospace, monospace`;
        pen.fillStyle = packed ? inkOn(packed) : ink.text;
        pen.textAlign = "center";
        pen.textBaseline = "middle";
        pen.fillText(text, px + cell.w / 2, py + cell.h / 2);
        this.written.push({ row: top + r, col: left + c, x: px, y: py, text });
      })
    );
    this.words(sheet, at, cell, { top, bottom, left, right });
    return true;
  }

  /**
   * The words of rows and columns, at the edge of what is in view.
   * @param {Sheet} sheet
   * @param {{x: number, y: number, w: number, h: number}} at
   * @param {{w: number, h: number}} cell
   * @param {{top: number, bottom: number, left: number, right: number}} window
   */
  words(sheet, at, cell, { top, bottom, left, right }) {
    const { pen, ink } = this;
    if (cell.h < 14 && cell.w < 30) return;
    pen.font = `12px ${ink.font}`;
    pen.textBaseline = "middle";
    const tag = (
      /** @type {string} */ word,
      /** @type {number} */ from,
      /** @type {number} */ y,
      before = false
    ) => {
      if (!word) return;
      const wide = pen.measureText(word).width + 8;
      const x = before ? Math.max(0, from - wide) : from;
      pen.fillStyle = ink.paper;
      pen.fillRect(x, y - 9, wide, 18);
      pen.fillStyle = ink.text;
      pen.textAlign = "left";
      pen.fillText(word, x + 4, y);
    };
    if (sheet.worded("row") && cell.h >= 14)
      for (let r = top; r < bottom; r++)
        tag(shown(sheet.word("row", r)), at.x - 4, at.y + (r + 0.5) * cell.h, true);
    if (sheet.worded("col") && cell.w >= 30)
      for (let c = left; c < right; c++)
        tag(shown(sheet.word("col", c)), at.x + c * cell.w + 2, Math.max(10, at.y - 9));
  }

  /**
   * The picture of a matrix; null until it is there. Numbers that come become a picture in a frame
   * that has time for it: many come together.
   * @param {Box} box
   * @param {Sheet} sheet
   */
  picture(box, sheet) {
    const found = this.pictures.get(box.key);
    if (found instanceof HTMLCanvasElement) return found;
    if (found === "coming") return null;
    if (performance.now() > (this.until ?? 0)) {
      this.waits = true;
      return null;
    }
    const [rows, cols] = [Math.min(FINEST, sheet.rows), Math.min(FINEST, sheet.cols)];
    const { trace, id } = sheet;
    if (found || trace.here(id)) {
      const picture = raster(sheet, found ?? pooled(sheet, rows, cols), cols);
      this.pictures.set(box.key, picture);
      return picture;
    }
    if (this.coming.size >= COMING && !this.coming.has(id)) return null;
    this.coming.add(id);
    this.pictures.set(box.key, "coming");
    void trace
      .want([id])
      .then(() => (trace.here(id) ? undefined : sheet.sample(rows, cols)))
      .finally(() => this.coming.delete(id))
      .then((numbers) => {
        if (numbers) this.pictures.set(box.key, numbers);
        else this.pictures.delete(box.key);
        this.again();
      });
    return null;
  }
}

/** As much of a text as there is room for. @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function cutTo(pen, text, room) {
  let [end, over] = [0, text.length]; // letters that fit, and that do not
  while (over - end > 1) {
    const half = (end + over) >> 1;
    if (pen.measureText(`${text.slice(0, half)}…`).width > room) over = half;
    else end = half;
  }
  return end > 1 ? `${text.slice(0, end)}…` : "";
}

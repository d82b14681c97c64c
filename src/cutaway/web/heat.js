/** `<cut-heat>`: a matrix as a picture, with its words, shape and scale; cells can be picked. */
import { css } from "./colour.js";
import { data, fill, h, isDark, t } from "./dom.js";
import { short } from "./numbers.js";
import { pooled } from "./sheet.js";

/** @typedef {import("./sheet.js").Sheet} Sheet */
/**
 * @typedef {{
 *   sheet: Sheet, title?: string | Node, small?: boolean, cell?: number, width?: number,
 *   height?: number, words?: boolean, legend?: boolean, focus?: {row: number, col: number} | null,
 *   lit?: {row: number, col: number}[], changed?: boolean, pick?: (index: number[]) => void,
 *   hover?: (index: number[] | null) => void, label?: string
 * }} HeatOptions
 */

const WORD_CELL = 15; // pixels of a cell that carries a word beside it
const MOST_WORDS = 40;
const MORPH = 140; // milliseconds from one run's picture to the next one's
const REMEMBERED = 300;

/**
 * Paint a sheet onto a canvas, once its numbers are here.
 * @param {HTMLCanvasElement} canvas
 * @param {Sheet} sheet
 * @param {number} width
 * @param {number} height
 */
function paint(canvas, sheet, width, height) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const [rows, cols] = [Math.min(sheet.rows, canvas.height), Math.min(sheet.cols, canvas.width)];
  if (sheet.trace.here(sheet.id)) morph(canvas, sheet, pooled(sheet, rows, cols), cols);
  else void sheet.sample(rows, cols).then((numbers) => colourIn(canvas, sheet, numbers, cols));
}

/** @type {Map<string, {trace: any, numbers: Float64Array}>} what was last painted of each matrix */
const PAINTED = new Map();

/**
 * Colour a picture; where it shows a matrix of the run before, pass from its numbers to these.
 * @param {HTMLCanvasElement} canvas
 * @param {Sheet} sheet
 * @param {Float64Array} numbers
 * @param {number} cols
 */
function morph(canvas, sheet, numbers, cols) {
  const { trace, value, lead, transposed } = sheet;
  const key = [value.address, lead, transposed, numbers.length, cols, canvas.width].join("|");
  const before = PAINTED.get(key);
  PAINTED.delete(key);
  PAINTED.set(key, { trace, numbers });
  if (PAINTED.size > REMEMBERED)
    PAINTED.delete(/** @type {string} */ (PAINTED.keys().next().value));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (!before || before.trace === trace || still) return colourIn(canvas, sheet, numbers, cols);
  const begun = performance.now();
  const frame = () => {
    const part = Math.min(1, (performance.now() - begun) / MORPH);
    const mixed = numbers.map((x, n) => {
      const from = before.numbers[n];
      return Number.isFinite(x) && Number.isFinite(from) ? from + (x - from) * part : x;
    });
    colourIn(canvas, sheet, part < 1 ? mixed : numbers, cols);
    if (part < 1) requestAnimationFrame(frame);
  };
  return frame();
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Sheet} sheet
 * @param {ArrayLike<number>} numbers
 * @param {number} cols
 */
function colourIn(canvas, sheet, numbers, cols) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingEnabled = false;
  context.drawImage(raster(sheet, numbers, cols), 0, 0, canvas.width, canvas.height);
  hatch(context, sheet, canvas.width / sheet.cols, canvas.height / sheet.rows, isDark());
}

/**
 * Numbers as a picture with one point each.
 * @param {Sheet} sheet
 * @param {ArrayLike<number>} numbers
 * @param {number} cols
 */
export function raster(sheet, numbers, cols) {
  const dark = isDark();
  const colour = sheet.painter(dark);
  const image = new ImageData(cols, numbers.length / cols);
  const pixels = new Uint32Array(image.data.buffer);
  const ground = dark ? 0xff1c1918 : 0xfffafcfc;
  const nan = dark ? 0xffb07eff : 0xff5b18c2;
  for (let n = 0; n < numbers.length; n++) {
    const x = numbers[n];
    pixels[n] = Number.isFinite(x) ? colour(x) : x === -Infinity ? ground : nan;
  }
  const picture = document.createElement("canvas");
  picture.width = cols;
  picture.height = image.height;
  /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d")).putImageData(image, 0, 0);
  return picture;
}

/**
 * Hidden cells wear a hatch: strokes for later words, dots for padding.
 * @param {CanvasRenderingContext2D} context
 * @param {Sheet} sheet
 * @param {number} w
 * @param {number} h
 * @param {boolean} dark
 */
function hatch(context, sheet, w, h, dark) {
  if (w < 4 || h < 4) return;
  const ground = dark ? "#18191c" : "#fcfcfa";
  const ink = dark ? "#8b8d93" : "#8a8983";
  for (let row = 0; row < sheet.rows; row++) {
    for (let col = 0; col < sheet.cols; col++) {
      const why = sheet.masked(row, col);
      if (!why) continue;
      const [x, y] = [col * w, row * h];
      context.fillStyle = ground;
      context.fillRect(x, y, Math.ceil(w), Math.ceil(h));
      context.strokeStyle = context.fillStyle = ink;
      context.beginPath();
      if (why === "padding") context.arc(x + w / 2, y + h / 2, Math.max(1, w / 10), 0, 7);
      else {
        context.moveTo(x + w * 0.2, y + h * 0.8);
        context.lineTo(x + w * 0.8, y + h * 0.2);
      }
      if (why === "padding") context.fill();
      else context.stroke();
    }
  }
}

export class HeatElement extends HTMLElement {
  constructor() {
    super();
    /** @type {HeatOptions | null} */
    this.options = null;
  }

  /** Draw a sheet. @param {HeatOptions} options */
  show(options) {
    this.options = options;
    const { sheet, small = false, legend = !small } = options;
    const words = options.words ?? !small;
    const rowWords = words && sheet.worded("row") && sheet.rows <= MOST_WORDS;
    const colWords = words && sheet.worded("col") && sheet.cols <= MOST_WORDS;
    const most = {
      width: options.width ?? (small ? 44 : 148),
      height: options.height ?? (small ? 28 : 120)
    };
    const width = colWords
      ? sheet.cols * WORD_CELL
      : fitted(sheet.cols, most.width, options.cell ?? (small ? 8 : WORD_CELL));
    const height = rowWords
      ? sheet.rows * WORD_CELL
      : fitted(sheet.rows, most.height, options.cell ?? (small ? 8 : WORD_CELL));
    this.size = { width, height };
    this.className = small ? "heat small" : "heat";
    const canvas = h("canvas", { "aria-hidden": "true" });
    this.canvas = canvas;
    paint(canvas, sheet, width, height);
    const marks = h("div", { class: "marks", "aria-hidden": "true" });
    this.marks = marks;
    const picture = h(
      "div",
      { class: "picture", style: { width: `${width}px`, height: `${height}px` } },
      canvas,
      marks
    );
    fill(
      this,
      options.title ? h("div", { class: "heat-title" }, options.title) : null,
      h(
        "div",
        { class: "heat-grid" },
        colWords
          ? h(
              "div",
              { class: "col-words", translate: "no", "aria-hidden": "true" },
              range(sheet.cols).map((c) => columnWord(shown(sheet.word("col", c))))
            )
          : null,
        rowWords
          ? h(
              "div",
              { class: "row-words", translate: "no", "aria-hidden": "true" },
              range(sheet.rows).map((r) => h("span", {}, shown(sheet.word("row", r))))
            )
          : null,
        picture
      ),
      legend ? this.legend(sheet) : null
    );
    if (options.pick) this.listen(picture, sheet, options);
    this.mark(options.focus ?? null, options.lit ?? []);
    const label =
      options.label ?? `${sheet.value.name ?? sheet.value.op}, ${sheet.rows} × ${sheet.cols}`;
    if (options.pick) {
      picture.setAttribute("role", "button");
      picture.tabIndex = 0;
      picture.setAttribute("aria-label", t("open.matrix", { name: label }));
    }
  }

  /** Paint the numbers as they are now. */
  repaint() {
    const sheet = this.options?.sheet;
    if (sheet && this.size) paint(this.canvas, sheet, this.size.width, this.size.height);
  }

  /** The scale: one per matrix, always shown. @param {Sheet} sheet */
  legend(sheet) {
    const { low, high, most } = sheet.trace.range(sheet.id);
    const { scale } = sheet;
    const shape = data("span", { class: "shape" }, `${sheet.rows}×${sheet.cols}`);
    if (scale === "plain" || scale === "mask") return h("div", { class: "legend" }, shape);
    const colour = sheet.painter(isDark());
    const ends = scale === "weight" ? [0, high] : [-most, most];
    const stops = range(9).map((n) => css(colour(ends[0] + ((ends[1] - ends[0]) * n) / 8)));
    return h(
      "div",
      { class: "legend", translate: "no", title: `${short(low)} … ${short(high)}` },
      shape,
      h("span", {}, scale === "weight" ? "0" : short(-most, 2)),
      h("i", { style: { background: `linear-gradient(90deg, ${stops.join(",")})` } }),
      h("span", {}, short(ends[1], 2))
    );
  }

  /**
   * Mark the cell in focus and the cells it is made of.
   * @param {{row: number, col: number} | null} focus
   * @param {{row: number, col: number}[]} lit
   */
  mark(focus, lit) {
    const { sheet } = /** @type {HeatOptions} */ (this.options);
    const { width, height } = /** @type {{width: number, height: number}} */ (this.size);
    const [w, hgt] = [width / sheet.cols, height / sheet.rows];
    const boxes = bands(lit).map(({ row, col, rows, cols }) =>
      h("b", {
        class: "lit",
        style: {
          left: `${col * w}px`,
          top: `${row * hgt}px`,
          width: `${cols * w}px`,
          height: `${rows * hgt}px`
        }
      })
    );
    if (focus)
      boxes.push(
        h("b", {
          class: "focus",
          style: {
            left: `${focus.col * w}px`,
            top: `${focus.row * hgt}px`,
            width: `${Math.max(w, 3)}px`,
            height: `${Math.max(hgt, 3)}px`
          }
        })
      );
    fill(/** @type {Element} */ (this.marks), boxes);
  }

  /** @param {HTMLElement} picture @param {Sheet} sheet @param {HeatOptions} options */
  listen(picture, sheet, options) {
    const cellAt = (/** @type {MouseEvent} */ event) => {
      const box = picture.getBoundingClientRect();
      const clamp = (/** @type {number} */ x, /** @type {number} */ n) =>
        Math.min(n - 1, Math.max(0, Math.floor(x * n)));
      return sheet.index(
        clamp((event.clientY - box.top) / box.height, sheet.rows),
        clamp((event.clientX - box.left) / box.width, sheet.cols)
      );
    };
    picture.addEventListener("click", (event) => options.pick?.(cellAt(event)));
    picture.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("entertable", { bubbles: true }));
      options.pick?.(sheet.index(options.focus?.row ?? 0, options.focus?.col ?? 0));
    });
    if (!options.hover) return;
    picture.addEventListener("mousemove", (event) => options.hover?.(cellAt(event)));
    picture.addEventListener("mouseleave", () => options.hover?.(null));
  }
}

customElements.define("cut-heat", HeatElement);

/** A word over its column: letters lie on their side, Chinese stands. @param {string} word */
function columnWord(word) {
  return h("span", { class: /[\u3040-\u9fff\uac00-\ud7af]/.test(word) ? "upright" : "" }, word);
}

/** A matrix as a picture. @param {HeatOptions} options @returns {HeatElement} */
export function heat(options) {
  const element = /** @type {HeatElement} */ (document.createElement("cut-heat"));
  element.show(options);
  return element;
}

/**
 * Pixels for a number of cells: whole pixels while they fit.
 * @param {number} cells
 * @param {number} most
 * @param {number} largest
 */
function fitted(cells, most, largest) {
  return cells * largest <= most
    ? cells * largest
    : cells <= most
      ? Math.floor(most / cells) * cells
      : most;
}

/**
 * Join marked cells into rectangles so that a row of 512 is one box.
 * @param {{row: number, col: number}[]} cells
 */
function bands(cells) {
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  for (const { row, col } of cells) rows.set(row, [...(rows.get(row) ?? []), col]);
  /** @type {{row: number, col: number, rows: number, cols: number}[]} */
  const out = [];
  for (const [row, cols] of [...rows].sort((a, b) => a[0] - b[0])) {
    cols.sort((a, b) => a - b);
    const from = cols[0];
    const full = cols[cols.length - 1] - from + 1;
    const last = out[out.length - 1];
    if (last && last.row + last.rows === row && last.col === from && last.cols === full)
      last.rows += 1;
    else out.push({ row, col: from, rows: 1, cols: full });
  }
  return out;
}

/** @param {number} n */
export function range(n) {
  return Array.from({ length: n }, (_, i) => i);
}

/**
 * A piece of text as a reader sees it: the space before a word is no letter.
 * @param {string | null} word
 */
export function shown(word) {
  if (word === null) return "";
  return word.length > 1 ? word.replace(/^▁/, "") : word.replace("▁", "␣");
}

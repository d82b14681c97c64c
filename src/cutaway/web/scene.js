/** The pictures of a film: rows and columns of an act at any of its moments, the cell at the end. */
import { displayName, labelOf } from "./address.js";
import { css } from "./colour.js";
import { data, drawing, h, isDark, locale, svg, t } from "./dom.js";
import { heat, range } from "./heat.js";
import { wordsOf } from "./human.js";
import { inline, percent, short } from "./numbers.js";
import { Sheet } from "./sheet.js";
import { go } from "./state.js";
import { rowName } from "./sums.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {import("./film.js").Act} Act */

const STRIP = { top: 4, height: 20, gap: 6 }; // the two rows of a dot product
const TALL = 250; // of the columns, where no rows stand above them
const LOW = 150;
const FOOT = 92; // below the columns: their words, and the sum
const LEFT = 4;
const LABEL = 13; // pixels that a slanted label takes

/** @param {number} p */
const ease = (p) => p * p * (3 - 2 * p);
/** @param {number} a @param {number} b @param {number} p */
const between = (a, b, p) => a + (b - a) * p;
/** The largest and smallest height among columns, zero included. @param {number[] | null} bars */
const extent = (bars) => {
  const sizes = (bars ?? []).filter(Number.isFinite);
  return [Math.max(0, ...sizes), Math.min(0, ...sizes)];
};

/** The picture of an act at any moment of any of its stages. */
export class Scene {
  /** @param {Trace} trace @param {Act} act @param {number} width */
  constructor(trace, act, width) {
    this.act = act;
    this.width = width;
    const { items } = act;
    this.column = Math.min(64, (width - 2 * LEFT) / Math.max(1, items.length));
    this.left = (width - this.column * items.length) / 2;
    const dark = isDark();
    const painters = (items[0]?.parts ?? []).map(({ id, index }) => {
      if (!trace.kept(id)) return () => "none";
      const paint = new Sheet(trace, id, { fixed: index }).painter(dark);
      return (/** @type {number} */ x) => css(paint(x));
    });
    const two = act.kind === "dot";
    this.top = two ? 2 * (STRIP.height + STRIP.gap) + 18 : 18;
    this.tall = two ? LOW : TALL;
    const foot = this.top + this.tall;
    this.strips = (two ? [0, 1] : []).map((k) =>
      svg(
        "g",
        {},
        items.map(({ parts }, n) =>
          parts[k] ? this.cell(trace, parts[k], n, k, painters[k]) : null
        )
      )
    );
    this.bars = items.map((_, n) => svg("rect", { class: "play-bar", x: this.x(n) + 1 }));
    for (const bar of this.bars) bar.setAttribute("width", String(Math.max(1, this.column - 2)));
    this.values = items.map((_, n) => svg("text", { class: "play-value", x: this.middle(n) }));
    const slanted = this.column < 34;
    const long = slanted ? 9 : Math.floor((items.length === 1 ? width : this.column + 8) / 8);
    const every = Math.ceil(LABEL / this.column); // where columns are narrow, not each has a label
    const labels = items.map(({ label }, n) => {
      const crowded = act.own >= 0 && Math.abs(n - act.own) < every;
      if (n !== act.own && (crowded || n % every)) return null;
      const at = `translate(${this.middle(n)} ${foot + 32})`;
      return svg(
        "text",
        {
          class: n === act.own ? "play-label own" : "play-label",
          transform: slanted ? `${at} rotate(-60)` : at,
          "text-anchor": slanted ? "end" : "middle"
        },
        label.length > long ? `${label.slice(0, long - 1)}…` : label
      );
    });
    this.zero = svg("line", { class: "play-zero", x1: 0, x2: width });
    this.line = svg("line", { class: "play-line", x1: 0, x2: width });
    this.total = svg("rect", { class: "play-total", y: foot + 62, height: 8 });
    this.middleLine = svg("line", {
      class: "play-zero",
      x1: width / 2,
      x2: width / 2,
      y1: foot + 58,
      y2: foot + 74
    });
    const parts = [this.zero, this.bars, this.values, labels, this.line, this.strips];
    const sums = act.kind === "dot" || act.kind === "sum" ? [this.middleLine, this.total] : [];
    this.element = drawing("play-scene", [width, foot + FOOT], t(`play.${act.kind}`), parts, sums);
    this.runs = act.stages.map(({ total }) => Math.abs(total ?? 0));
  }

  /** @param {number} n */
  x(n) {
    return this.left + n * this.column;
  }

  /** @param {number} n */
  middle(n) {
    return this.x(n) + this.column / 2;
  }

  /**
   * A cell of one of the two rows: a colour, its number where there is room, and a way to it.
   * @param {Trace} trace
   * @param {Cell & {value: number}} cell
   * @param {number} n
   * @param {number} k
   * @param {(x: number) => string} paint
   */
  cell(trace, cell, n, k, paint) {
    const y = STRIP.top + k * (STRIP.height + STRIP.gap);
    const open = () => go({ at: trace.address(cell), play: "" });
    return svg(
      "rect",
      {
        class: "play-cell",
        x: this.x(n),
        y,
        width: Math.max(1, this.column - 0.5),
        height: STRIP.height,
        fill: paint(cell.value),
        onclick: open
      },
      svg("title", {}, `${labelOf(trace, cell)} ${inline(cell.value)}`)
    );
  }

  /** @param {number} s stage @param {number} p how much of it has passed */
  draw(s, p) {
    const { act } = this;
    const stage = act.stages[s];
    const before = act.stages[s - 1];
    const moved = ease(p);
    const lifted = act.kind === "dot" ? (s === 0 ? moved : 1) : 1;
    this.strips.forEach((strip, k) => {
      const [far, small] = [(k ? 1 : -1) * this.width * 0.22 * (1 - lifted), 0.25 + 0.75 * lifted];
      const x = far + (this.width / 2) * (1 - small);
      strip.setAttribute("transform", `translate(${x} ${-60 * (1 - lifted)}) scale(${small})`);
      strip.setAttribute("opacity", String(0.2 + 0.8 * lifted));
    });
    const from = before?.bars ?? (stage.bars ?? []).map(() => 0);
    const [highest, lowest] = [0, 1].map((k) => {
      const [a, b] = [extent(before?.bars ?? stage.bars)[k], extent(stage.bars)[k]];
      return between(a, b, moved);
    });
    const scale = this.tall / (highest - lowest || 1);
    const zero = this.top + highest * scale;
    this.zero.setAttribute("y1", String(zero));
    this.zero.setAttribute("y2", String(zero));
    const rank = new Map(act.order.map((n, k) => [n, k]));
    const wide = this.column >= 44;
    this.bars.forEach((bar, n) => {
      const place = rank.get(n) ?? 0;
      const fresh = place >= (before?.seen ?? 0) || !Number.isFinite(from[n]);
      const open = place < stage.seen;
      const to = stage.bars?.[n] ?? NaN;
      const start = fresh || before?.bars === undefined ? 0 : from[n];
      const size = open && Number.isFinite(to) ? between(start, to, moved) * scale : 0;
      bar.setAttribute("y", String(size > 0 ? zero - size : zero));
      bar.setAttribute("height", String(Math.max(Math.abs(size), open ? 0.5 : 0)));
      const now = stage.seen < Infinity && place === stage.seen - 1;
      bar.setAttribute(
        "class",
        `play-bar${to < 0 ? " minus" : ""}${n === act.own || now ? " own" : ""}`
      );
      const told = open && p > 0.5 && (wide || n === act.own || now) && !Number.isNaN(to);
      const text = !told ? "" : stage.say === "share" ? percent(to, locale()) : brief(to);
      if (this.values[n].textContent !== text) this.values[n].textContent = text;
      this.values[n].setAttribute("y", String(size > 0 ? zero - size - 4 : zero - size + 13));
    });
    const level = stage.line ?? (p < 0.5 ? (before?.line ?? null) : null);
    this.line.setAttribute("visibility", level === null ? "hidden" : "visible");
    if (level !== null) {
      this.line.setAttribute("y1", String(zero - level * scale));
      this.line.setAttribute("y2", String(zero - level * scale));
    }
    const most = Math.max(...this.runs) || 1;
    const sum = between(before?.total ?? 0, stage.total ?? 0, ease(Math.max(0, 2 * p - 1)));
    const long = (Math.abs(sum) / most) * (this.width / 2 - 4);
    this.total.setAttribute("x", String(sum < 0 ? this.width / 2 - long : this.width / 2));
    this.total.setAttribute("width", String(long));
    this.total.setAttribute("class", sum < 0 ? "play-total minus" : "play-total");
  }
}

/** Three digits are enough over a bar; the whole number stands below. @param {number} x */
function brief(x) {
  return short(x).replace("+", "");
}

/** The end of the film: the cell in its matrix, and the arc between its words. */
export class Lit {
  /** @param {Trace} trace @param {Cell} cell @param {number} width */
  constructor(trace, cell, width) {
    const sheet = new Sheet(trace, cell.id, { fixed: cell.index });
    const place = sheet.place(cell.index);
    const picture = heat({ sheet, focus: place });
    this.value = trace.read(cell.id, cell.index);
    this.arc = null;
    this.element = h("div", { class: "play-lit" }, picture);
    if (!place || !sheet.isAttention || !sheet.worded("row") || sheet.cols > 24) return;
    const at = (/** @type {number} */ n, /** @type {number} */ of) => ((n + 0.5) * wide) / of;
    const wide = Math.min(560, width - 8);
    const words = (/** @type {"row" | "col"} */ side, /** @type {number} */ y) => {
      const count = side === "row" ? sheet.rows : sheet.cols;
      const here = side === "row" ? place.row : place.col;
      return range(count).map((n) =>
        svg(
          "text",
          { x: at(n, count), y, class: n === here ? "play-label own" : "play-label" },
          shownWord(sheet.word(side, n))
        )
      );
    };
    const [x, from] = [at(place.col, sheet.cols), at(place.row, sheet.rows)];
    this.arc = svg("path", {
      class: "play-arc",
      d: `M${x} 22C${x} 80 ${from} 60 ${from} 118`
    });
    const label = wordsOf(trace, cell);
    this.element.append(
      drawing("play-words", [wide, 140], label, this.arc, words("col", 14), words("row", 134))
    );
  }

  /** @param {number} _ @param {number} p */
  draw(_, p) {
    this.arc?.setAttribute("stroke-width", String(0.5 + 14 * this.value * ease(p)));
  }
}

/** @param {string | null} word */
function shownWord(word) {
  const text = (word ?? "").replace(/^▁/, "");
  return text.length > 8 ? `${text.slice(0, 7)}…` : text;
}

/** @param {Trace} trace @param {Act} act @param {number} width */
export function sceneOf(trace, act, width) {
  return act.kind === "lit" ? new Lit(trace, act.made, width) : new Scene(trace, act, width);
}

/** The matrix a row is taken from, with the row marked. @param {Trace} trace @param {Act} act @param {number} k */
export function sourceOf(trace, act, k) {
  const cells = act.items.filter(({ rest }) => !rest).map(({ parts }) => parts[k]);
  const { id, index } = cells[0];
  if (!trace.kept(id)) return null;
  const sheet = new Sheet(trace, id, { fixed: index });
  const lit = cells.map((cell) => sheet.place(cell.index)).filter((place) => place !== null);
  const { words } = rowName(trace, act.items, k);
  const title = data("span", {}, displayName(trace, id), words ? h("b", {}, ` ${words}`) : null);
  return heat({ sheet, title, words: false, legend: false, width: 200, height: 64, lit });
}

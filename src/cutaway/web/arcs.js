/** Attention as arcs: from the word being predicted to the words it looks at. */
import { headColour } from "./colour.js";
import { data, drawing, fill, h, hint, isDark, locale, press, svg, t } from "./dom.js";
import { range, shown } from "./heat.js";
import { percent } from "./numbers.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */

/**
 * Addresses of the cross-attention weights, or of the self-attention of a one-sided model.
 * @param {Trace} trace
 */
export function attentionLayers(trace) {
  const found = (/** @type {string} */ kind) =>
    range(64)
      .map((n) => trace.addresses.get(`${kind.replace("#", String(n))}.weights`))
      .filter((id) => id !== undefined && trace.kept(/** @type {number} */ (id)));
  const cross = found("decoder.layers.#.cross_attention");
  if (cross.length) return { ids: /** @type {number[]} */ (cross), side: "source" };
  const own = found("decoder.layers.#.self_attention");
  return {
    ids: /** @type {number[]} */ (own.length ? own : found("encoder.layers.#.self_attention")),
    side: own.length ? "target" : "source"
  };
}

const CELL = 64;
const HEIGHT = 132;
const FAINT = 0.02; // weights below this are not drawn
const STRAND = 4; // pixels between the arcs of two heads
const MOST_ROWS = 160; // rows × heads drawn at once; of more, the row in focus alone

/** @typedef {{pieces: string[], source: string[]}} Words */
/**
 * Source words, arcs from each word of the translation to where it looked, and the translation.
 * @param {Trace} trace
 * @param {Words} translation
 * @param {number | null} step the word in focus; none: all words are shown alike
 * @param {Element | null} below the words of the translation, one column each
 */
export function arcs(trace, translation, step, below) {
  const { ids, side } = attentionLayers(trace);
  if (!ids.length) return h("div", {}, hint(t("arcs.none")), below);
  const layer = Math.min(
    ids.length - 1,
    where().arclayer ? Number(where().arclayer) : ids.length - 1
  );
  const id = ids[layer];
  const [, heads, rows, cols] = trace.values[id].shape;
  const one = where().archead ?? "";
  const only = one === "" ? range(heads) : [Number(one)];
  const source = trace.header.labels?.[side] ?? translation.source;
  const most = Math.max(cols, rows, 3);
  const frame = h("div", { class: "arc-frame", style: { "min-width": `${most * CELL}px` } });
  const box = h("div", { class: "arcs scroll-x" }, frame);
  const parts = h("div", { class: "arc-parts" });
  const all = rows * only.length <= MOST_ROWS ? range(rows) : [step ?? 0];
  const grid = `repeat(${rows}, ${100 / most}%)`;
  /** @type {HTMLElement | null} */ (below)?.style.setProperty("grid-template-columns", grid);
  void trace
    .settled(() => {
      for (const n of all)
        for (const head of only) for (const key of range(cols)) trace.read(id, [0, head, n, key]);
    })
    .then(() => {
      const seen = { trace, id, only, all, step, cols, rows, most, source, parts, translation };
      frame.replaceChildren(...picture(seen), ...(below ? [below] : []));
      if (below) pointing(below, frame);
    });
  return h("div", {}, box, parts, controls(ids.length, layer, heads, one));
}

/**
 * One control for layer and head: heads in their colours.
 * @param {number} layers
 * @param {number} layer
 * @param {number} heads
 * @param {string} one
 */
function controls(layers, layer, heads, one) {
  const dark = isDark();
  const chip = (
    /** @type {any} */ on,
    /** @type {any} */ attributes,
    /** @type {any[]} */ ...text
  ) => press({ class: "chip", "aria-pressed": String(on), ...attributes }, ...text);
  const head = (/** @type {string} */ n) => go({ archead: n }, { replace: true });
  return h(
    "div",
    { class: "arc-controls" },
    h(
      "div",
      { role: "group", "aria-label": t("bar.layer"), id: "arc-layer" },
      h("span", { class: "label" }, t("bar.layer")),
      range(layers).map((n) =>
        chip(
          n === layer,
          { onclick: () => go({ arclayer: String(n), layer: String(n) }, { replace: true }) },
          n + 1
        )
      )
    ),
    h(
      "div",
      { role: "group", "aria-label": t("bar.head"), id: "arc-head" },
      h("span", { class: "label" }, t("bar.head")),
      chip(one === "", { onclick: () => head("") }, t("heads.every")),
      range(heads).map((n) =>
        chip(
          one === String(n),
          { onclick: () => head(String(n)) },
          h("i", { style: { background: headColour(n, dark) } }),
          n + 1
        )
      )
    )
  );
}

/** Words under the pointer or in focus show their arcs alone. @param {Element} below @param {Element} frame */
function pointing(below, frame) {
  const rows = [...frame.querySelectorAll(".arc-row")];
  [...below.children].forEach((word, n) => {
    const turn = (/** @type {boolean} */ on) => {
      frame.classList.toggle("pointed", on);
      rows.find((row) => row.getAttribute("data-row") === String(n))?.classList.toggle("lit", on);
    };
    for (const name of ["mouseenter", "focusin"]) word.addEventListener(name, () => turn(true));
    for (const name of ["mouseleave", "focusout"]) word.addEventListener(name, () => turn(false));
  });
}

/**
 * @param {{
 *   trace: Trace, id: number, only: number[], all: number[], step: number | null, cols: number,
 *   rows: number, most: number, source: string[], parts: Element, translation: Words
 * }} seen
 * @returns {Element[]}
 */
function picture({ trace, id, only, all, step, cols, rows, most, source, parts, translation }) {
  const dark = isDark();
  const width = most * CELL;
  const weight = (/** @type {number} */ head, /** @type {number} */ n, /** @type {number} */ key) =>
    trace.read(id, [0, head, n, key]);
  const place = (/** @type {number} */ n, /** @type {number} */ of) =>
    (n + 0.5 + (most - of) / 2) * CELL;
  const strand = (/** @type {number} */ k) => (k - (only.length - 1) / 2) * STRAND;
  const arc = (/** @type {number} */ n, /** @type {number} */ k, /** @type {number} */ key) => {
    const w = weight(only[k], n, key);
    if (w < FAINT) return null;
    const [x, y] = [place(key, cols) + strand(k), place(n, rows) + strand(k)];
    return svg("path", {
      d: `M${x} 34C${x} ${HEIGHT * 0.62} ${y} ${HEIGHT * 0.55} ${y} ${HEIGHT}`,
      stroke: headColour(only[k], dark),
      "stroke-width": 0.5 + (STRAND - 0.5) * w,
      "stroke-opacity": 0.25 + 0.75 * w
    });
  };
  const row = step === null ? null : Math.min(step, rows - 1);
  const mean = (/** @type {number} */ key) =>
    row === null ? null : only.reduce((sum, head) => sum + weight(head, row, key), 0) / only.length;
  const weights = range(cols).map(mean);
  const best = weights.indexOf(Math.max(...weights.map((w) => w ?? 0)));
  const opened = (/** @type {number} */ head, /** @type {number} */ n, /** @type {number} */ key) =>
    go({ at: trace.address({ id, index: [0, head, n, key] }), view: "look", head: String(head) });
  const open = (/** @type {number} */ key) => {
    if (row === null) {
      const cells = all.flatMap((n) => only.map((head) => [head, n]));
      const size = cells.map(([head, n]) => weight(head, n, key));
      const [head, n] = cells[size.indexOf(Math.max(...size))];
      return opened(head, n, key);
    }
    if (only.length === 1) return opened(only[0], row, key);
    const each = only.map((head) => weight(head, row, key));
    const word = shown(source[key] ?? "");
    return fill(
      parts,
      meanOf(word, weights[key] ?? 0, each, (k) => opened(only[k], row, key))
    );
  };
  const label =
    row === null
      ? t("arcs.all")
      : t("arcs.label", {
          word: shown(translation.pieces[row] ?? ""),
          best: shown(source[best] ?? "")
        });
  const drawn = drawing(
    row === null ? "arc-picture" : "arc-picture chosen",
    [width, HEIGHT],
    label,
    all.map((n) =>
      svg(
        "g",
        { class: n === row ? "arc-row here" : "arc-row", "data-row": n },
        range(only.length).flatMap((k) => range(cols).map((key) => arc(n, k, key)))
      )
    ),
    weights.map((w, key) =>
      svg(
        "g",
        {
          class: "arc-word arc-source",
          tabindex: 0,
          role: "button",
          "aria-label": [shown(source[key] ?? ""), w === null ? "" : percent(w, locale())].join(
            " "
          ),
          onclick: () => open(key),
          onkeydown: (event) => event.key === "Enter" && open(key)
        },
        svg("rect", {
          x: place(key, cols) - CELL / 2 + 2,
          width: CELL - 4,
          height: 34,
          class: "hit"
        }),
        svg(
          "text",
          { x: place(key, cols), y: w === null ? 26 : 14, "text-anchor": "middle" },
          clipWord(shown(source[key] ?? ""))
        ),
        w === null
          ? null
          : svg(
              "text",
              { class: "score", x: place(key, cols), y: 28, "text-anchor": "middle" },
              percent(w, locale())
            )
      )
    )
  );
  return [drawn];
}

/**
 * A mean over heads, as the numbers it is the mean of; each opens its own cell.
 * @param {string} word
 * @param {number} mean
 * @param {number[]} each
 * @param {(head: number) => void} open
 */
function meanOf(word, mean, each, open) {
  return h(
    "p",
    { class: "mean-of", role: "status" },
    data("b", {}, `${word} ${percent(mean, locale())}`),
    " = ",
    t("arcs.mean", { n: each.length }),
    " ",
    each.map((weight, head) =>
      press(
        { onclick: () => open(head) },
        t("head.n", { n: head + 1 }),
        " ",
        data("b", {}, percent(weight, locale()))
      )
    )
  );
}

/**
 * The largest weight of the last layer, in the row of a step or among all words that have letters: a
 * cell worth opening first.
 * @param {Trace} trace
 * @param {number | null} step
 * @returns {Promise<import("./trace.js").Cell | null>}
 */
export async function strongest(trace, step) {
  const { ids, side } = attentionLayers(trace);
  const id = ids.at(-1);
  if (id === undefined) return null;
  const [, heads, rows, keys] = trace.values[id].shape;
  const letters = (/** @type {string | undefined} */ word) => /^▁?\p{L}+$/u.test(word ?? "");
  const { labels } = trace.header;
  const asks = range(rows).filter((n) =>
    step === null ? letters(labels?.target?.[n + 1]) : n === Math.min(step, rows - 1)
  );
  const offers = range(keys).filter((n) => step !== null || letters(labels?.[side]?.[n]));
  const cells = (asks.length && offers.length ? asks : range(rows)).flatMap((row) =>
    (asks.length && offers.length ? offers : range(keys)).flatMap((key) =>
      range(heads).map((head) => [0, head, row, key])
    )
  );
  return trace.settled(() => {
    const weights = cells.map((index) => trace.read(id, index));
    return { id, index: cells[weights.indexOf(Math.max(...weights))] };
  });
}

/** @param {string} text */
function clipWord(text) {
  return text.length > 8 ? `${text.slice(0, 7)}…` : text;
}

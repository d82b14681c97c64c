/** A sum of products as a table: both factors, the product, a bar, and the sum so far. */
import { breakable, displayName } from "./address.js";
import { data, h, locale, press, t } from "./dom.js";
import { range, shown } from "./heat.js";
import { inline, short, whole } from "./numbers.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {import("./describe.js").Note} Note */

const FIRST = 8; // rows before the reader asks for more
const ROWS = 200; // and so many at a time then

/**
 * The sum of products in an expression, if it has one: Σ a·b, or Σ a·b + c.
 * @param {Note} note
 * @returns {Note | null}
 */
export function productSum(note) {
  const sum = note.kind === "infix" && note.name === "+" ? note.items?.[0] : note;
  if (sum?.kind !== "sum" || (sum.count ?? 0) < 2) return null;
  const first = /** @type {(n: number) => Note} */ (sum.term)(0);
  const product = first.kind === "infix" && first.name === "·" && first.items?.length === 2;
  return product && first.items?.every((item) => item.kind === "cell") ? sum : null;
}

/** A number of the table: with a power of ten its digits are fewer, so that a row fits. @param {number} x */
function told(x) {
  const text = inline(x);
  return text.includes("e") ? short(x).replace("+", "") : text;
}

/**
 * The largest products first, each factor a link.
 * @param {Trace} trace
 * @param {Cell} made
 * @param {Note} sum
 * @param {(address: string) => void} open
 */
export function sumTable(trace, made, sum, open) {
  const terms = /** @type {ArrayLike<number>} */ (sum.terms);
  const term = /** @type {(n: number) => Note} */ (sum.term);
  const order = range(terms.length).sort(
    (a, b) => Math.abs(terms[b]) - Math.abs(terms[a]) || a - b
  );
  const most = Math.abs(terms[order[0]]) || 1;
  const factors = (/** @type {number} */ n) =>
    /** @type {Note[]} */ (term(n).items).map((note) => ({
      ...trace.shown({ id: trace.values[made.id].args[note.arg ?? 0], index: note.index ?? [] }),
      value: note.value
    }));
  const body = h("tbody", {});
  const more = h("p", { class: "sum-line" });
  let total = 0;
  let written = 0;
  const row = (/** @type {number} */ n, /** @type {string} */ label) => {
    total += terms[n];
    const width = `${(100 * Math.abs(terms[n])) / most}%`;
    return h(
      "tr",
      {},
      data("th", { scope: "row" }, label),
      factors(n).map((cell) =>
        h(
          "td",
          {},
          press(
            {
              translate: "no",
              class: "num",
              "data-address": trace.address(cell),
              onclick: () => open(trace.address(cell))
            },
            told(cell.value)
          )
        )
      ),
      data("td", {}, told(terms[n])),
      h(
        "td",
        { class: "sum-bar", "aria-hidden": "true" },
        h("i", { class: terms[n] < 0 ? "minus" : "", style: { width } })
      ),
      data("td", {}, told(total))
    );
  };
  const write = (/** @type {number} */ count) => {
    const next = order.slice(written, written + count);
    const labels = columnLabels(trace, next.map(factors));
    body.append(...next.map((n, k) => row(n, labels[k])));
    written += next.length;
    const rest = terms.length - written;
    more.replaceChildren(
      ...(rest
        ? [
            press(
              { class: "more", onclick: () => write(ROWS) },
              t("sum.more", { n: whole(rest, locale()) })
            )
          ]
        : [t("sum.total", { n: whole(terms.length, locale()), value: inline(sum.value) })])
    );
  };
  write(FIRST);
  const items = order.slice(0, FIRST).map((n) => ({ label: "", parts: factors(n), rest: 0 }));
  const names = [0, 1].map((k) => {
    const { id, words } = rowName(trace, items, k);
    return data(
      "th",
      { scope: "col" },
      k ? "· " : "",
      breakable(displayName(trace, id)),
      words ? h("small", {}, ` ${words}`) : null
    );
  });
  const powers = order.slice(0, FIRST).some((n) => inline(terms[n]).includes("e"));
  const table = h(
    "table",
    { class: powers ? "sum-table operands powers" : "sum-table operands" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        names,
        h("th", { scope: "col" }, t("sum.product")),
        h("td", { class: "sum-bar" }),
        h("th", { scope: "col" }, t("sum.running"))
      )
    ),
    body
  );
  return [h("div", { class: "sum-frame" }, table), more];
}

/** An expression with its sums as the numbers they came to. @param {Note} note @returns {Note} */
export function summed(note) {
  if (note.kind === "sum") return { kind: "number", value: note.value };
  return { ...note, items: note.items?.map(summed) };
}

/**
 * The words of the places in which cells differ; their index where there are none.
 * @param {Trace} trace
 * @param {Cell[][]} rows the parts of each column
 * @returns {string[]}
 */
export function columnLabels(trace, rows) {
  const parts = rows[0]?.length ?? 0;
  for (const words of [true, false])
    for (let k = 0; k < parts; k++) {
      const cells = rows.map((row) => row[k]);
      const d = cells[0].index.findIndex((i, d) => cells.some((cell) => cell.index[d] !== i));
      if (d < 0) continue;
      const named = trace.words(cells[0].id, d);
      if (named) return cells.map((cell) => shown(named[cell.index[d]] ?? ""));
      if (!words) return cells.map((cell) => String(cell.index[d]));
    }
  return rows.map((_, n) => String(n));
}

/**
 * What the k-th parts of all columns have in common: "query of ‘chat’".
 * @param {Trace} trace
 * @param {{parts: Cell[], rest: number}[]} items
 * @param {number} k
 */
export function rowName(trace, items, k) {
  const cells = items.filter(({ rest }) => !rest).map(({ parts }) => parts[k]);
  const { id, index } = cells[0];
  const same = index.map((i, d) => cells.every((cell) => cell.index[d] === i));
  const words = index
    .map((i, d) => (same[d] && cells.length > 1 ? trace.words(id, d)?.[i] : undefined))
    .filter((word) => word !== undefined)
    .map((word) => `“${shown(/** @type {string} */ (word))}”`);
  return { id, index, words: words.join(" · ") };
}

/**
 * The arithmetic of a cell as a film: acts of columns of numbers, each in a few stages. Every
 * number is one of the cell's explanation; nothing here draws.
 */
import { labelOf } from "./address.js";
import { range } from "./heat.js";
import { columnLabels, rowName, summed } from "./sums.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {import("./describe.js").Note} Note */
/** @typedef {ReturnType<Trace["explained"]>} Why */
/**
 * One column: the cells it is made of, as a reader meets them. `rest` counts the terms that share a
 * column because they are too many to draw.
 * @typedef {{label: string, parts: (Cell & {value: number})[], rest: number}} Item
 */
/**
 * One step of an act: its words, the expression that is computed, the height of every column (NaN:
 * none), how many columns are uncovered (in `Act.order`), a line across, and the number so far.
 * @typedef {{
 *   say: string, words: Record<string, any>, note: Note | null, bars: number[] | null,
 *   seen: number, line: number | null, total: number | null, time: number
 * }} Stage
 */
/**
 * @typedef {{
 *   kind: "dot" | "sum" | "softmax" | "norm" | "point" | "lit", made: Cell, items: Item[],
 *   order: number[], own: number, stages: Stage[]
 * }} Act `own`: the column of the cell itself
 */

const MOST = 40; // columns drawn; of more terms the largest, and one for the rest
const SINGLE = 5; // products shown one by one
const DEEP = 8; // operations that lead to a cell, at most

/**
 * The acts that lead to a cell: its dot product, scaling, mask, softmax; a norm; a neuron; a
 * gradient. Empty for a cell that was not computed.
 * @param {Trace} trace
 * @param {Cell} cell
 * @returns {Promise<Act[]>}
 */
export function filmOf(trace, cell) {
  return trace.settled(() => {
    const acts = actsOf(trace, cell, 0);
    if (acts.length) acts.push(act("lit", cell, [stage("lit", { time: 900 })]));
    return acts;
  });
}

/** @param {Trace} trace @param {Cell} cell @param {number} depth @returns {Act[]} */
function actsOf(trace, cell, depth) {
  const why = trace.explained(cell);
  const { made, rule, written } = why;
  if (!written || depth > DEEP) return [];
  const { note, lines } = written;
  const before = (/** @type {Note | undefined} */ part) =>
    part?.kind === "cell" ? actsOf(trace, cellOf(trace, made, part), depth + 1) : [];
  if (note.kind === "chosen") {
    const [taken] = note.items ?? [];
    if (taken?.kind === "cell" && rule.name === "masked_fill")
      return [...before(taken), point(trace, why, "unmasked")];
    return [point(trace, why, rule.name === "masked_fill" ? "masked" : "result")];
  }
  if (rule.name === "softmax") {
    const own = note.items?.[0]?.items?.[0]?.items?.[0];
    return [...before(own), softmax(trace, why)];
  }
  if (rule.name === "layer_norm") return [norm(trace, why)];
  const sums = [...lines.map((line) => line.note), note].flatMap(sumsIn);
  if (sums.length) {
    const acts = sums.map((sum) => added(trace, made, sum));
    if (note === sums[0]) return acts;
    const { bars } = acts[acts.length - 1].stages[acts[acts.length - 1].stages.length - 1];
    acts[acts.length - 1].stages.push(
      stage("result", { note: summed(note), bars, total: why.value })
    );
    return acts;
  }
  const operands = cellsIn(note);
  const [only] = operands;
  const chained =
    operands.length === 1 &&
    trace.path(cellOf(trace, made, only).id) === trace.path(made.id) &&
    trace.values[made.id].phase === "forward";
  return [...(chained ? before(only) : []), point(trace, why, "result")];
}

/**
 * @param {Act["kind"]} kind
 * @param {Cell} made
 * @param {Stage[]} stages
 * @param {Partial<Act>} [more]
 * @returns {Act}
 */
function act(kind, made, stages, more = {}) {
  return { kind, made, items: [], order: [], own: -1, stages, ...more };
}

/** @param {string} say @param {Partial<Stage>} given @returns {Stage} */
function stage(say, given) {
  const empty = { words: {}, note: null, bars: null, seen: Infinity, line: null, total: null };
  return { say, time: 1100, ...empty, ...given };
}

/** The cell that a note stands for, as a reader meets it. @param {Trace} trace @param {Cell} made @param {Note} note */
function cellOf(trace, made, note) {
  const id = trace.values[made.id].args[note.arg ?? 0];
  return trace.shown({ id, index: note.index ?? [] });
}

/** Cells of an expression. @param {Note} note @returns {Note[]} */
function cellsIn(note) {
  return note.kind === "cell" ? [note] : (note.items ?? []).flatMap(cellsIn);
}

/** Sums of an expression that have terms to show. @param {Note} note @returns {Note[]} */
function sumsIn(note) {
  if (note.kind === "sum" && (note.count ?? 0) > 1) return [note];
  return (note.items ?? []).flatMap(sumsIn);
}

/**
 * Which of many terms have a column: all, or the largest and one that must be among them.
 * @param {number[]} sizes
 * @param {number} [own]
 */
function columns(sizes, own = -1) {
  const all = range(sizes.length);
  if (sizes.length <= MOST) return all;
  const size = (/** @type {number} */ n) => (n === own ? Infinity : Math.abs(sizes[n]) || 0);
  return all
    .sort((a, b) => size(b) - size(a) || a - b)
    .slice(0, MOST - 1)
    .sort((a, b) => a - b);
}

/**
 * Columns of the terms of a sum, with what is left over in one.
 * @param {Trace} trace
 * @param {Cell} made
 * @param {Note} sum
 * @param {(term: Note) => Note[]} partsOf
 * @param {number} [own]
 */
function itemsOf(trace, made, sum, partsOf, own = -1) {
  const terms = Array.from(/** @type {ArrayLike<number>} */ (sum.terms));
  const term = /** @type {(n: number) => Note} */ (sum.term);
  const places = columns(terms, own);
  const rows = places.map((n) =>
    partsOf(term(n)).map((note) => ({ ...cellOf(trace, made, note), value: note.value }))
  );
  const names = columnLabels(trace, rows);
  /** @type {Item[]} */
  const items = rows.map((parts, n) => ({ label: names[n], parts, rest: 0 }));
  const left = terms.length - places.length;
  if (left) items.push({ label: `+${left}`, parts: [], rest: left });
  const spread = (/** @type {number[]} */ numbers, /** @type {boolean} */ summed) => {
    const bars = places.map((n) => numbers[n]);
    const total = numbers.reduce((all, x) => all + x, 0);
    return left ? [...bars, summed ? total - bars.reduce((all, x) => all + x, 0) : NaN] : bars;
  };
  return { terms, places, items, spread };
}

/**
 * A sum, of products where its terms are products of two cells: largest first, with a running total.
 * @param {Trace} trace
 * @param {Cell} made
 * @param {Note} sum
 * @returns {Act}
 */
function added(trace, made, sum) {
  const term = /** @type {(n: number) => Note} */ (sum.term);
  const first = term(0);
  const product =
    first.kind === "infix" &&
    first.name === "·" &&
    first.items?.length === 2 &&
    first.items.every((item) => item.kind === "cell");
  const { places, items, spread, terms } = itemsOf(trace, made, sum, cellsIn);
  const bars = spread(terms, true);
  const order = range(places.length).sort((a, b) => Math.abs(bars[b]) - Math.abs(bars[a]) || a - b);
  if (places.length < bars.length) order.push(places.length);
  const n = terms.length;
  /** @type {Stage[]} */
  const stages = [];
  if (product) {
    const [a, b] = [0, 1].map((k) => rowName(trace, items, k));
    stages.push(stage("take", { words: { a, b, n }, bars: bars.map(() => NaN), time: 1300 }));
  }
  let total = 0;
  for (let k = 0; k < Math.min(SINGLE, order.length); k++) {
    total += bars[order[k]];
    const note = places[order[k]] === undefined ? null : term(places[order[k]]);
    const words = { n: k + 1, of: n };
    stages.push(
      stage(product ? "product" : "term", { words, note, bars, seen: k + 1, total, time: 800 })
    );
  }
  if (order.length > SINGLE)
    stages.push(stage("others", { words: { n: n - SINGLE, of: n }, bars, total: sum.value }));
  return act(product ? "dot" : "sum", made, stages, { items, order });
}

/** @param {Trace} trace @param {Why} why @returns {Act} */
function softmax(trace, { made, written, value }) {
  const { lines, note } = /** @type {import("./describe.js").Written} */ (written);
  const [m, z] = lines.map((line) => line.note);
  const mine = /** @type {Note} */ (note.items?.[0]?.items?.[0]?.items?.[0]);
  const own = mine.index?.at(-1) ?? 0;
  const { items, spread, places, terms } = itemsOf(trace, made, z, cellsIn, own);
  const width = terms.length;
  const scores = range(width).map((n) => cellsIn(/** @type {any} */ (z.term)(n))[0].value);
  const bars = [
    spread(scores, false),
    spread(
      scores.map((x) => x - m.value),
      false
    ),
    spread(terms, true),
    spread(
      terms.map((e) => e / z.value),
      true
    )
  ];
  const words = { n: width, m: m.value, z: z.value };
  return act(
    "softmax",
    made,
    [
      stage("row", { words, bars: bars[0], total: mine.value }),
      stage("max", { words, bars: bars[1], note: m, total: mine.value - m.value }),
      stage("exp", { words, bars: bars[2], note: note.items?.[0] ?? null, total: terms[own] }),
      stage("z", { words, bars: bars[2], note: z, total: z.value }),
      stage("share", { words, bars: bars[3], note, total: value })
    ],
    { items, own: places.indexOf(own), order: range(items.length) }
  );
}

/** @param {Trace} trace @param {Why} why @returns {Act} */
function norm(trace, { made, written, value }) {
  const { note } = /** @type {import("./describe.js").Written} */ (written);
  const cells = cellsIn(note);
  const [mine, mean, spread, scale, shift] = range(5).map((arg) =>
    cells.find((one) => one.arg === arg)
  );
  const at = cellOf(trace, made, /** @type {Note} */ (mine));
  const own = at.index.length - 1;
  const row = range(trace.values[at.id].shape[own]).map((i) => {
    const cell = { id: at.id, index: [...at.index.slice(0, own), i] };
    return { ...cell, value: trace.read(cell.id, cell.index) };
  });
  const numbers = row.map((cell) => cell.value);
  const places = columns(numbers, at.index[own]);
  const of = (/** @type {(x: number) => number} */ change) => places.map((n) => change(numbers[n]));
  const [mu, rate] = [mean?.value ?? 0, spread?.value ?? 1];
  const words = { n: row.length, mean: mu, rate };
  const x = mine?.value ?? 0;
  const stages = [
    stage("line", { words, bars: of((v) => v), total: x }),
    stage("mean", { words, bars: of((v) => v), line: mu, total: mu }),
    stage("centre", { words, bars: of((v) => v - mu), line: 0, total: x - mu }),
    stage("rate", { words, bars: of((v) => (v - mu) * rate), total: (x - mu) * rate })
  ];
  if (scale || shift)
    stages.push(stage("learned", { words, note, bars: stages[3].bars, total: value }));
  const names = columnLabels(
    trace,
    places.map((n) => [row[n]])
  );
  return act("norm", made, stages, {
    items: places.map((n, k) => ({ label: names[k], parts: [row[n]], rest: 0 })),
    own: places.indexOf(at.index[own]),
    order: range(places.length)
  });
}

/** One expression of a few numbers. @param {Trace} trace @param {Why} why @param {string} say @returns {Act} */
function point(trace, { made, written, value }, say) {
  const { note } = /** @type {import("./describe.js").Written} */ (written);
  const cells = cellsIn(note).slice(0, MOST);
  const items = cells.map((one) => {
    const cell = { ...cellOf(trace, made, one), value: one.value };
    return { label: labelOf(trace, cell), parts: [cell], rest: 0 };
  });
  const numbers = cells.map((one) => one.value);
  const stages = [stage(say, { note, bars: numbers, total: value })];
  return act("point", made, stages, { items, order: range(items.length) });
}

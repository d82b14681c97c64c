/** What the next word could be: probabilities from the recorded logits, at any temperature. */
import { data, h } from "./dom.js";
import { shown } from "./heat.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {{id: number, piece: string, p: number}} Chance */

/** Where the logits are: the last float value over the vocabulary. @param {Trace} trace */
export function logitsOf(trace) {
  for (const address of ["output.logits", "logits"]) {
    const id = trace.addresses.get(address);
    if (id !== undefined && trace.kept(id)) return id;
  }
  const found = trace.values.findLastIndex(
    (value, id) => value.name === "logits" && value.phase === "forward" && trace.kept(id)
  );
  return found < 0 ? undefined : found;
}

/** Pieces of the vocabulary, as the trace names them. @param {Trace} trace @param {number} id */
export function pieceOf(trace, id) {
  return trace.header.labels?.vocabulary?.[id] ?? `#${id}`;
}

/**
 * A piece in a list, where one that begins a word must differ from one that goes on with it.
 * @param {string} piece
 */
export function marked(piece) {
  const begins = piece.length > 1 && piece.startsWith("▁");
  return data("span", { class: "piece" }, begins ? h("i", {}, "▁") : null, shown(piece));
}

/**
 * The most probable next words after `step` words: softmax of a row of logits.
 * @param {Trace} trace
 * @param {number} logits
 * @param {number} step
 * @param {number} temperature
 * @param {number} most
 * @returns {{top: Chance[], of: (id: number) => number, entropy: number}}
 */
export function chancesAt(trace, logits, step, temperature, most) {
  const { shape } = trace.values[logits];
  const width = shape[shape.length - 1];
  const lead =
    shape.length === 3 ? [0, Math.min(step, shape[1] - 1)] : [Math.min(step, shape[0] - 1)];
  const row = new Float64Array(width);
  for (let v = 0; v < width; v++) row[v] = trace.read(logits, [...lead, v]) / temperature;
  return chancesOf(trace, row, most);
}

/**
 * The most probable of a row of logits, which become probabilities in place.
 * @param {Trace} trace
 * @param {Float64Array} row
 * @param {number} most
 * @returns {{top: Chance[], of: (id: number) => number, entropy: number}}
 */
export function chancesOf(trace, row, most) {
  const width = row.length;
  let highest = -Infinity;
  for (let v = 0; v < width; v++) if (row[v] > highest) highest = row[v];
  let total = 0;
  for (let v = 0; v < width; v++) total += row[v] = Math.exp(row[v] - highest);
  let entropy = 0;
  for (let v = 0; v < width; v++) {
    row[v] /= total;
    if (row[v] > 0) entropy -= row[v] * Math.log2(row[v]);
  }
  /** @type {number[]} */
  const best = [];
  for (let v = 0; v < width; v++) {
    if (best.length < most || row[v] > row[best[best.length - 1]]) {
      let place = best.length;
      while (place > 0 && row[v] > row[best[place - 1]]) place -= 1;
      best.splice(place, 0, v);
      if (best.length > most) best.pop();
    }
  }
  return {
    top: best.map((id) => ({ id, piece: pieceOf(trace, id), p: row[id] })),
    of: (id) => row[id],
    entropy
  };
}

/**
 * The translation a trace is of: as it was told when recorded, else read from the ids that went in.
 * @param {Trace} trace @returns {Promise<any>}
 */
export async function translationOf(trace) {
  const { meta, labels } = trace.header;
  if (meta?.translation) return meta.translation;
  const target = trace.addresses.get("target");
  const logits = logitsOf(trace);
  if (
    !labels?.target ||
    target === undefined ||
    logits === undefined ||
    !trace.kept(target) ||
    trace.values.some(({ phase }) => phase === "backward")
  )
    return null;
  const length = trace.values[target].shape[1];
  const ids = await trace.settled(() => {
    const given = Array.from({ length: length - 1 }, (_, n) => trace.read(target, [0, n + 1]));
    return [...given, chancesAt(trace, logits, length - 1, 1, 1).top[0].id];
  });
  return {
    text: meta.source ?? labels.source.join(" "),
    output: meta.target ?? "",
    ids,
    pieces: ids.map((id) => pieceOf(trace, id)),
    source: labels.source,
    score: null,
    prefix: [],
    tree: null,
    alternatives: [],
    warnings: [],
    options: {}
  };
}

/** The paper's positional encoding: a cell of the table as the sine or cosine that it is. */

/** @typedef {{name: "sin" | "cos", position: number, even: number, width: number, value: number}} Wave */

const BASE = 10000;

/**
 * The wave of a cell of a table of positions; null for any other cell, and for a table whose number
 * is not that of the formula.
 *
 * PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(pos / 10000^(2i/D))
 * @param {import("./trace.js").Trace} trace
 * @param {import("./trace.js").Cell} cell
 * @param {number} value
 * @returns {Wave | null}
 */
export function waveOf(trace, { id, index }, value) {
  const { address, shape } = trace.values[id];
  if (trace.rule(id).source !== "buffer" || !/(^|\.)positions\.table$/.test(address)) return null;
  const [position, column] = index;
  const even = column - (column % 2);
  const name = column % 2 ? "cos" : "sin";
  const wave = Math[name](position / BASE ** (even / shape[1]));
  if (Math.abs(wave - value) > 1e-5) return null;
  return { name, position, even, width: shape[1], value: wave };
}

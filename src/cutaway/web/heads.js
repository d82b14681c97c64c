/** Heads of attention: how many there are, the one in view, and the same cell in another. */
import { where } from "./state.js";

/** @typedef {import("./structure.js").Structure} Structure */

/**
 * Heads of the widest attention of a trace.
 * @param {import("./trace.js").Trace} trace
 */
export function headsOf(trace) {
  const weights = trace.values.filter(
    ({ name, shape }) => name === "weights" && shape.length === 4
  );
  return Math.max(1, ...weights.map(({ shape }) => shape[1]));
}

/**
 * The head in view: that of the cell in focus, else the one scrubbed to.
 * @param {Structure} structure
 * @param {{id: number, index: number[] | null} | null} focus
 */
export function headOf({ trace }, focus) {
  const axis = focus?.index ? (trace.values[focus.id].axes?.indexOf("head") ?? -1) : -1;
  return focus?.index && axis >= 0 ? focus.index[axis] : Number(where().head || 0);
}

/**
 * The same cell in another head.
 * @param {Structure} structure
 * @param {string} at
 * @param {number} head
 */
export function moveHead({ trace }, at, head) {
  const found = at ? trace.find(at) : null;
  if (!found?.index) return at;
  const axis = trace.values[found.id].axes?.indexOf("head") ?? -1;
  if (axis < 0) return at;
  const index = [...found.index];
  index[axis] = Math.min(head, trace.values[found.id].shape[axis] - 1);
  return trace.address({ id: found.id, index });
}

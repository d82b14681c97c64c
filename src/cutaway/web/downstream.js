/** What follows from a value: which others are computed from it, and what recomputing them takes. */
import { sizeOf } from "./layout.js";
import { REDUCTIONS } from "./rules.js";

/** @typedef {import("./trace.js").Trace} Trace */

const BYTES = 32e6; // numbers fetched for a replay, at most
const WORK = 4e8; // terms summed in a replay, at most

/** Every node of an expression. @param {any} expr @param {(part: any[]) => void} visit */
export function walk(expr, visit) {
  if (!Array.isArray(expr)) return;
  if (typeof expr[0] === "string") visit(expr);
  for (const part of expr) walk(part, visit);
}

/** How many terms the reductions of an expression go through. @param {any} expr */
export function termsOf(expr) {
  let terms = 1;
  walk(expr, ([head, ranges]) => {
    if (REDUCTIONS.has(head))
      for (const [, length] of Array.isArray(ranges) ? ranges : []) terms *= length;
  });
  return terms;
}

/**
 * Values computed from some, in an order in which each comes after what it is made of.
 * @param {Trace} trace
 * @param {number[]} ids
 */
export function downstream(trace, ids) {
  const reached = new Set(ids);
  const queue = [...ids];
  for (let id = queue.pop(); id !== undefined; id = queue.pop())
    for (const user of trace.readersOf(id))
      if (!reached.has(user)) {
        reached.add(user);
        queue.push(user);
      }
  /** @type {number[]} */
  const order = [];
  const seen = new Set(ids);
  const place = (/** @type {number} */ id) => {
    if (seen.has(id)) return;
    seen.add(id);
    for (const arg of trace.values[id].args) if (reached.has(arg)) place(arg);
    order.push(id);
  };
  for (const id of [...reached].sort((a, b) => a - b)) place(id);
  return order;
}

/**
 * What a replay would take: whether every rule is known, bytes to fetch, terms to sum.
 * @param {Trace} trace
 * @param {number[]} ids
 */
export function costOf(trace, ids) {
  const order = downstream(trace, ids);
  /** @type {Set<number>} */
  const buffers = new Set();
  let [known, work] = [true, 0];
  for (const id of [...ids, ...order]) {
    for (const other of [id, ...trace.values[id].args]) {
      const { buffer } = trace.values[other];
      if (buffer === undefined) known = false;
      else buffers.add(buffer);
    }
    if (ids.includes(id)) continue;
    const { expr, kind } = trace.rule(id);
    if (expr === undefined) known = false;
    work += sizeOf(trace.values[id].shape) * (kind === "contraction" ? termsOf(expr) : 1);
  }
  const bytes = [...buffers].reduce((sum, k) => sum + 4 * trace.stores[k].info.length, 0);
  return { order, buffers, known, bytes, work, possible: known && bytes < BYTES && work < WORK };
}

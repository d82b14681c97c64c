/** A rule made ready for many cells: what a row has in common is computed once. */
import { walk } from "./downstream.js";
import { compile, REDUCTIONS, Scope } from "./rules.js";

/**
 * @typedef {{
 *   hoisted: [number, import("./rules.js").Compiled][], body: import("./rules.js").Compiled,
 *   reads: [number, any[]][]
 * }} Program
 */

/** Variables that an expression uses and does not bind. @param {any} expr @param {string[]} bound */
function freeOf(expr, bound = []) {
  /** @type {Set<string>} */
  const found = new Set();
  const visit = (/** @type {any} */ part, /** @type {string[]} */ names) => {
    if (typeof part === "string") return void (names.includes(part) || found.add(part));
    if (!Array.isArray(part)) return;
    const [head, ...rest] = part;
    if (head === "at") {
      for (const index of rest[1]) visit(index, names);
      if (rest.length > 2) visit(rest[2], names);
    } else if (head === "let") {
      visit(rest[1], names);
      visit(rest[2], [...names, rest[0]]);
    } else if (head === "cast") visit(rest[1], names);
    else if (REDUCTIONS.has(head) && Array.isArray(rest[0]?.[0])) {
      const inner = [...names, ...rest[0].map((/** @type {any[]} */ [name]) => name)];
      for (const other of rest.slice(1))
        if (other !== "smallest" && other !== "largest") visit(other, inner);
    } else for (const other of rest) visit(other, names);
  };
  visit(expr, bound);
  return found;
}

/**
 * A rule made ready for whole rows: what does not depend on the last index is computed once a row.
 * @param {any} expr
 * @param {number} rank
 * @returns {Program}
 */
export function programOf(expr, rank) {
  let scope = new Scope(rank);
  const last = `i${rank - 1}`;
  /** @type {[number, import("./rules.js").Compiled][]} */
  const hoisted = [];
  /** @type {[number, any[]][]} */
  const reads = [];
  walk(expr, (part) => part[0] === "at" && reads.push([part[1], part[2]]));
  const known = (/** @type {any} */ part) =>
    ![...freeOf(part)].some((name) => name === last || !scope.names.has(name));
  const hoist = (/** @type {string} */ name, /** @type {any} */ part) => {
    const run = compile(part, scope);
    scope = scope.with(name);
    hoisted.push([scope.slot(name), run]);
  };
  /** @type {(part: any, outer: boolean) => any} */
  const lift = (part, outer) => {
    if (!Array.isArray(part) || part[0] === "at") return part;
    const [head, ...rest] = part;
    if (head === "let" && outer && !scope.names.has(rest[0])) {
      const bound = lift(rest[1], true);
      if (!known(bound)) return ["let", rest[0], bound, lift(rest[2], false)];
      hoist(rest[0], bound);
      return lift(rest[2], true);
    }
    if (REDUCTIONS.has(head) && Array.isArray(rest[0]?.[0])) {
      if (!known(part)) return part;
      const name = `row ${hoisted.length}`;
      hoist(name, part);
      return name;
    }
    if (head === "let" || head === "cast") return part;
    return [head, ...rest.map((other) => lift(other, outer))];
  };
  const body = rank > 0 ? lift(expr, true) : expr;
  return { hoisted, body: compile(body, scope), reads };
}

/** What a module computes, as the steps of an equation: operands, operator, result. */
import { symbolOf } from "./symbols.js";

/** @typedef {import("./structure.js").Structure} Structure */
/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {{id: number, transposed: boolean}} Part a value as it stands in an equation */
/**
 * @typedef {{
 *   id: number, made: number, parts: Part[], symbol: string, constant: number | null,
 *   chained: boolean, phase: string
 * }} Step
 */

const COPIES = /aten\.(clone|contiguous|_to_copy|detach|lift_fresh|copy|alias|_reshape_copy)\b/;

/**
 * Whether an operation only hands its input on.
 * @param {Trace} trace
 * @param {number} id
 */
function handsOn(trace, id) {
  return (
    trace.rule(id).kind === "view" ||
    (COPIES.test(trace.values[id].op) && trace.values[id].args.length > 0)
  );
}

/**
 * The value a reader meets for an operand: through unnamed views and copies.
 * @param {Trace} trace
 * @param {number} id
 */
function met(trace, id) {
  while (trace.values[id].name === undefined && (handsOn(trace, id) || trace.isNot(id)))
    id = trace.values[id].args[0];
  return id;
}

/**
 * The operand a reader knows: where a part of the place handed on its "output", the name the place
 * itself gave to it ("query", not "output").
 * @param {Trace} trace
 * @param {number} arg
 * @param {number} made the result that reads it
 */
function operandOf(trace, arg, made) {
  const id = met(trace, arg);
  if (trace.values[id].name !== "output" || trace.path(id) === trace.path(made)) return id;
  const seen = [id];
  for (const from of seen)
    for (const user of trace.readersOf(from)) {
      const { name } = trace.values[user];
      if (user >= made || trace.rule(user).kind !== "view" || seen.includes(user)) continue;
      if (name !== undefined && name !== "output" && trace.path(user) === trace.path(made))
        return user;
      seen.push(user);
    }
  return id;
}

/**
 * The name given to what an operation computed, if it was given to a view of it: the last such name
 * of the same place.
 * @param {Trace} trace
 * @param {number} id
 */
function namedResult(trace, id) {
  const own = trace.path(id);
  let best = id;
  const better = (/** @type {number} */ other) =>
    trace.values[other].name !== undefined &&
    (trace.values[best].name === undefined || trace.values[best].name === "output");
  const near = (/** @type {string} */ path) =>
    path === own || path.startsWith(`${own}.`) || own.startsWith(`${path}.`);
  const visit = (/** @type {number} */ from, /** @type {number} */ depth) => {
    for (const user of trace.readersOf(from)) {
      if (
        depth > 6 ||
        trace.rule(user).kind !== "view" ||
        trace.values[user].phase !== trace.values[id].phase ||
        !near(trace.path(user))
      )
        continue;
      if (
        better(user) &&
        (trace.values[user].name !== "output" || trace.values[best].name === undefined)
      )
        best = user;
      if (trace.values[best].name === undefined || trace.values[best].name === "output")
        visit(user, depth + 1);
    }
  };
  if (trace.values[id].name === undefined) visit(id, 0);
  return best;
}

/**
 * Whether an operand stands transposed: its last two axes are those of the value behind it,
 * swapped.
 * @param {Trace} trace
 * @param {number} arg
 * @param {number} id
 */
function isTransposed(trace, arg, id) {
  const [a, b] = [trace.values[arg], trace.values[id]];
  if (arg === id || a.shape.length < 2 || b.shape.length < 2) return false;
  const [sa, sb] = [trace.operand(arg).strides, trace.operand(id).strides];
  const [m, n] = [a.shape.length, b.shape.length];
  return (
    a.shape[m - 1] === b.shape[n - 2] &&
    a.shape[m - 2] === b.shape[n - 1] &&
    sa[m - 1] === sb[n - 2] &&
    sa[m - 2] === sb[n - 1] &&
    a.shape[m - 1] * a.shape[m - 2] > 1
  );
}

/**
 * A plain number in a pointwise rule: the √d_k of a division.
 * @param {any} expr
 * @returns {number | null}
 */
function constantOf(expr) {
  if (!Array.isArray(expr) || !["div", "mul", "add", "sub"].includes(expr[0])) return null;
  const numbers = expr.slice(1).filter((part) => typeof part === "number");
  return numbers.length === 1 && expr.length === 3 ? numbers[0] : null;
}

/**
 * The steps of a place, one per computed value.
 * @param {Structure} structure
 * @param {string} place
 * @param {string[]} phases
 * @returns {Step[]}
 */
export function stepsOf(structure, place, phases) {
  const { trace } = structure;
  /** @type {Step[]} */
  const steps = [];
  const results = new Set();
  const done = new Set();
  const ids = structure.inside(place, phases);
  const mine = new Set(ids);
  let last = -1;
  const view = (/** @type {number} */ made) => {
    const value = trace.values[made];
    const from = met(trace, value.args[0]);
    const apart =
      value.name !== undefined &&
      value.name !== "output" &&
      value.name !== "grad" &&
      value.dtype.includes("float") &&
      !results.has(made) &&
      from !== made &&
      trace.values[from].shape.join() !== value.shape.join();
    if (!apart) return;
    steps.push({
      id: made,
      made,
      parts: [{ id: from, transposed: false }],
      symbol: value.op.includes("slice") ? "rows of" : "rearrange",
      constant: null,
      chained: from === last,
      phase: value.phase
    });
    last = made;
  };
  const add = (/** @type {number} */ made) => {
    if (done.has(made)) return;
    done.add(made);
    const value = trace.values[made];
    if (trace.rule(made).kind === "source") return;
    if (trace.rule(made).kind === "view") return view(made);
    // Of several results of one operation, one may be made of the others.
    for (const arg of value.args) if (arg > made && mine.has(arg)) add(arg);
    if (COPIES.test(value.op) && namedResult(trace, made) === made && value.name === undefined)
      return;
    if (!value.dtype.includes("float") && value.name === undefined) return;
    const id = namedResult(trace, made);
    results.add(id);
    const args = [...value.args];
    if (/masked_fill|where/.test(value.op))
      args.sort(
        (a, b) =>
          Number(trace.values[a].dtype === "bool") - Number(trace.values[b].dtype === "bool")
      );
    const parts = args
      .map((arg) => {
        const id = operandOf(trace, arg, made);
        return { id, transposed: isTransposed(trace, arg, id) };
      })
      .filter(
        (part, n, all) =>
          (trace.values[part.id].shape.length > 0 ||
            trace.values[part.id].dtype.includes("float")) &&
          all.findIndex((other) => other.id === part.id && other.transposed === part.transposed) ===
            n
      );
    const chained = parts.length > 0 && parts[0].id === last && !parts[0].transposed;
    steps.push({
      id,
      made,
      parts,
      symbol: symbolOf(value.op, trace.rule(made).name),
      constant: constantOf(trace.rule(made).expr),
      chained,
      phase: value.phase
    });
    last = id;
  };
  ids.forEach(add);
  return steps;
}

/**
 * Copies hand a cell on unchanged at the same place.
 * @param {Trace} trace
 * @param {Cell} cell
 * @returns {Cell[]}
 */
export function copiesBehind(trace, cell) {
  /** @type {Cell[]} */
  const out = [];
  for (let n = 0; n < 6; n++) {
    if (trace.values[cell.id].name !== undefined || !handsOn(trace, cell.id)) break;
    const next =
      trace.rule(cell.id).kind === "view"
        ? trace.throughView(cell)
        : { id: trace.values[cell.id].args[0], index: cell.index };
    if (!next) break;
    out.push(next);
    cell = next;
  }
  return out;
}

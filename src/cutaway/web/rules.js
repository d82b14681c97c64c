/**
 * What one cell is made of: the rule language of docs/trace-format.md, evaluated.
 * Knows expressions and operands only; nothing here has heard of pages, tensors on disk or words.
 */
import { BINARY, castTo, CONSTANT, UNARY } from "./operations.js";

/** @typedef {number | string | any[]} Expr */
/**
 * An operand as the rules read it: a flat store of numbers and how its cells lie there. `numbers`
 * are the numbers of the store, where all are here.
 * @typedef {{
 *   shape: number[], offset: number, strides: number[], cell: (position: number) => number,
 *   numbers?: ArrayLike<number>
 * }} Operand
 */
/** @typedef {{slots: number[], args: Operand[]}} Frame */
/** @typedef {(frame: Frame) => number} Compiled */

/** The slots that variables live in: output indices first, bound names behind them. */
export class Scope {
  /** @param {number} rank */
  constructor(rank) {
    /** @type {Map<string, number>} */
    this.names = new Map();
    for (let d = 0; d < rank; d++) this.names.set(`i${d}`, d);
    this.size = rank;
  }

  /** A scope in which one more name is bound; slots are never shared. @param {string} name */
  with(name) {
    const inner = new Scope(0);
    inner.names = new Map(this.names).set(name, this.size);
    inner.size = this.size + 1;
    return inner;
  }

  /** @param {string} name */
  slot(name) {
    const slot = this.names.get(name);
    if (slot === undefined) throw new Error(`rule uses the unbound variable ${name}`);
    return slot;
  }
}

/** The scope inside a reduction. @param {Scope} scope @param {[string, number][]} ranges */
export function inRanges(scope, ranges) {
  return ranges.reduce((inner, [name]) => inner.with(name), scope);
}

/**
 * Visit every combination of the ranges, the last fastest.
 * @param {Frame} frame
 * @param {[string, number][]} ranges
 * @param {Scope} scope scope inside the ranges
 * @param {(place: number) => void} visit
 */
export function overRanges(frame, ranges, scope, visit) {
  const slots = ranges.map(([name]) => scope.slot(name));
  const total = ranges.reduce((product, [, length]) => product * length, 1);
  for (let place = 0; place < total; place++) {
    setPlace(frame, ranges, slots, place);
    visit(place);
  }
}

/**
 * @param {Frame} frame
 * @param {[string, number][]} ranges
 * @param {number[]} slots
 * @param {number} place
 */
export function setPlace(frame, ranges, slots, place) {
  for (let r = ranges.length - 1; r >= 0; r--) {
    const length = ranges[r][1];
    frame.slots[slots[r]] = place % length;
    place = Math.floor(place / length);
  }
}

/**
 * Turn an expression into a function of a frame.
 * @param {Expr} expr
 * @param {Scope} scope
 * @returns {Compiled}
 */
export function compile(expr, scope) {
  if (typeof expr === "number") return () => expr;
  if (typeof expr === "string") {
    const slot = scope.slot(expr);
    return (frame) => frame.slots[slot];
  }
  const [head, ...rest] = expr;
  if (head in CONSTANT) return () => CONSTANT[head];
  if (head === "at") return compileAt(expr, scope);
  if (head === "let") {
    const inner = scope.with(rest[0]);
    const slot = inner.slot(rest[0]);
    const bound = compile(rest[1], scope);
    const body = compile(rest[2], inner);
    return (frame) => {
      frame.slots[slot] = bound(frame);
      return body(frame);
    };
  }
  if (head === "where") {
    const [condition, yes, no] = rest.map((part) => compile(part, scope));
    return (frame) => (condition(frame) !== 0 ? yes(frame) : no(frame));
  }
  if (head === "cast") {
    const inner = compile(rest[1], scope);
    return (frame) => castTo(rest[0], inner(frame));
  }
  if (Array.isArray(rest[0]) && Array.isArray(rest[0][0]) && REDUCTIONS.has(head)) {
    return compileReduction(head, rest, scope);
  }
  const parts = rest.map((part) => compile(part, scope));
  if (head === "add") return fold(parts, (x, y) => x + y);
  if (head === "mul") return fold(parts, (x, y) => x * y);
  if (head === "and") return (frame) => (parts.every((part) => part(frame) !== 0) ? 1 : 0);
  if (head === "or") return (frame) => (parts.some((part) => part(frame) !== 0) ? 1 : 0);
  if (head in UNARY) {
    const [part] = parts;
    const apply = UNARY[head];
    return (frame) => apply(part(frame));
  }
  if (head in BINARY) {
    const [left, right] = parts;
    const apply = BINARY[head];
    return (frame) => apply(left(frame), right(frame));
  }
  throw new Error(`rule uses the unknown operation ${head}`);
}

export const REDUCTIONS = new Set([
  "sum",
  "prod",
  "max",
  "min",
  "argmax",
  "argmin",
  "kth",
  "argkth"
]);

/** @param {Compiled[]} parts @param {(x: number, y: number) => number} apply @returns {Compiled} */
function fold(parts, apply) {
  if (parts.length === 2) return (frame) => apply(parts[0](frame), parts[1](frame));
  return (frame) => {
    let total = parts[0](frame);
    for (let k = 1; k < parts.length; k++) total = apply(total, parts[k](frame));
    return total;
  };
}

/** @param {any[]} expr @param {Scope} scope @returns {Compiled} */
function compileAt(expr, scope) {
  const k = expr[1];
  const indices = expr[2].map((/** @type {Expr} */ part) => compile(part, scope));
  const otherwise = expr.length > 3 ? compile(expr[3], scope) : null;
  return (frame) => {
    const operand = frame.args[k];
    let position = operand.offset;
    for (let d = 0; d < indices.length; d++) {
      const index = indices[d](frame);
      if (otherwise && (index < 0 || index >= operand.shape[d])) return otherwise(frame);
      position += index * operand.strides[d];
    }
    return operand.cell(position);
  };
}

/** @param {string} head @param {any[]} rest @param {Scope} scope @returns {Compiled} */
function compileReduction(head, rest, scope) {
  const ranges = /** @type {[string, number][]} */ (rest[0]);
  const inner = inRanges(scope, ranges);
  const body = compile(rest[1], inner);
  const dot = head === "sum" && ranges.length === 1 ? compileDot(ranges[0], rest[1], inner) : null;
  if (dot) return dot;
  if (head === "sum" || head === "prod") {
    const product = head === "prod";
    if (ranges.length === 1) {
      const slot = inner.slot(ranges[0][0]);
      const length = ranges[0][1];
      return (frame) => {
        let total = product ? 1 : 0;
        for (let i = 0; i < length; i++) {
          frame.slots[slot] = i;
          const term = body(frame);
          total = product ? total * term : total + term;
        }
        return total;
      };
    }
    return (frame) => {
      let total = product ? 1 : 0;
      overRanges(frame, ranges, inner, () => {
        total = product ? total * body(frame) : total + body(frame);
      });
      return total;
    };
  }
  if (head === "max" || head === "min") {
    const choose = head === "max" ? Math.max : Math.min;
    return (frame) => {
      let best = head === "max" ? -Infinity : Infinity;
      overRanges(frame, ranges, inner, () => {
        best = choose(best, body(frame));
      });
      return best;
    };
  }
  const smallest = head === "argmin" || rest[3] === "smallest";
  const rank = head.endsWith("kth") ? compile(rest[2], scope) : () => 0;
  const result = head === "kth" ? body : compile(head === "argkth" ? rest[4] : rest[2], inner);
  const slots = ranges.map(([name]) => inner.slot(name));
  return (frame) => {
    const wanted = rank(frame);
    /** @type {{place: number, value: number}[]} */
    const found = [];
    overRanges(frame, ranges, inner, (place) => found.push({ place, value: body(frame) }));
    const key = (/** @type {number} */ v) => (Number.isNaN(v) ? Infinity : smallest ? -v : v);
    found.sort((a, b) => key(b.value) - key(a.value) || a.place - b.place);
    setPlace(frame, ranges, slots, found[wanted].place);
    return result(frame);
  };
}

/**
 * A sum of products of two operands along one range, by steps through their stores; null if the
 * expression is another.
 * @param {[string, number]} range
 * @param {any} expr
 * @param {Scope} scope
 * @returns {Compiled | null}
 */
function compileDot([name, length], expr, scope) {
  if (expr[0] !== "mul" || expr.length !== 3) return null;
  const plain = (/** @type {any} */ part) =>
    part[0] === "at" &&
    part.length === 3 &&
    part[2].every((/** @type {any} */ index) => !Array.isArray(index)) &&
    part[2].filter((/** @type {any} */ index) => index === name).length === 1;
  if (!plain(expr[1]) || !plain(expr[2])) return null;
  const slots = scope.slot(name);
  const sides = [expr[1], expr[2]].map(([, k, indices]) => ({
    k,
    along: indices.indexOf(name),
    maps: /** @type {Compiled[]} */ (indices.map((/** @type {Expr} */ i) => compile(i, scope)))
  }));
  const begin = (/** @type {Frame} */ frame, /** @type {typeof sides[0]} */ { k, maps }) => {
    const { offset, strides } = frame.args[k];
    let position = offset;
    for (let d = 0; d < maps.length; d++) position += maps[d](frame) * strides[d];
    return position;
  };
  return (frame) => {
    frame.slots[slots] = 0;
    const [left, right] = [frame.args[sides[0].k], frame.args[sides[1].k]];
    let [p, q] = [begin(frame, sides[0]), begin(frame, sides[1])];
    const [down, across] = [left.strides[sides[0].along], right.strides[sides[1].along]];
    let total = 0;
    if (left.numbers && right.numbers) {
      const [x, y] = [left.numbers, right.numbers];
      for (let n = 0; n < length; n++, p += down, q += across) total += x[p] * y[q];
    } else
      for (let n = 0; n < length; n++, p += down, q += across)
        total += left.cell(p) * right.cell(q);
    return total;
  };
}

/**
 * The number one rule gives for one cell.
 * @param {Expr} expr
 * @param {number[]} index
 * @param {Operand[]} args
 */
export function evaluate(expr, index, args) {
  return compile(expr, new Scope(index.length))({ slots: [...index], args });
}

/**
 * The number an expression gives where these names have these values.
 * @param {Expr} expr
 * @param {Map<string, number>} names
 * @param {Operand[]} args
 */
export function evaluateIn(expr, names, args) {
  let scope = new Scope(0);
  for (const name of names.keys()) scope = scope.with(name);
  return compile(expr, scope)({ slots: [...names.values()], args });
}

/**
 * How far rounding can move one cell: the running error analysis of glass/bound.py, for one cell.
 * Each step carries its value and a bound of its error in units of the roundoff of the type.
 */

import { BINARY, UNARY } from "./operations.js";
import { evaluateIn } from "./rules.js";

/** @typedef {import("./rules.js").Expr} Expr */
/** @typedef {import("./rules.js").Operand} Operand */
/** @typedef {[value: number, error: number]} Pair */
/** @typedef {Map<string, Pair>} Names */

/** @type {Record<string, number>} */
const UNIT = { float64: 2 ** -53, float32: 2 ** -24, float16: 2 ** -11, bfloat16: 2 ** -8 };
/** @type {Record<string, number>} */
const TINY = { float64: 1e-300, float32: 1e-37, float16: 6e-8, bfloat16: 1e-37 };
/** @type {Record<string, number>} */
const SAFETY = { float64: 2, float32: 1.25, float16: 2, bfloat16: 2 };
const ACCUMULATOR = 2 ** -24;
/** @type {Record<string, number>} */
const OWN = {
  sqrt: 2,
  recip: 2,
  rsqrt: 4,
  exp: 8,
  sin: 8,
  cos: 8,
  sigmoid: 10,
  expm1: 4,
  log: 4,
  log1p: 4,
  log2: 4,
  tan: 4,
  tanh: 4
};
const EXPANDED = new Set([
  "layer_norm",
  "layer_norm_backward",
  "batch_norm",
  "batch_norm_backward",
  "norm_weight_backward",
  "rstd"
]);
const COMPARISONS = new Set(["eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor"]);
const STEPS = new Set(["floor", "ceil", "trunc", "round", "sign", "isnan", "not"]);

/**
 * The largest difference between the number held and the one recomputed that rounding explains.
 * @param {Expr} expr
 * @param {number[]} index
 * @param {Operand[]} args
 * @param {{dtype: string, rule?: string, op?: string}} kind
 */
export function bound(expr, index, args, { dtype, rule = "", op = "" }) {
  if (!(dtype in UNIT)) return 0;
  const names = new Map(index.map((place, axis) => [`i${axis}`, /** @type {Pair} */ ([place, 0])]));
  const [, error] = new Analysis(args, dtype, rule, op).pair(expr, names);
  const limit = SAFETY[dtype] * UNIT[dtype] * error + (error > 0 ? TINY[dtype] : 0);
  return Number.isFinite(limit) ? limit : 0;
}

/** @param {number} factor @param {number} error */
const scaled = (factor, error) => (factor === 0 || error === 0 ? 0 : Math.abs(factor) * error);

/** Whether a term is a condition's choice, so that many may be plain zeros. @param {Expr} expr */
function mayVanish(expr) {
  if (!Array.isArray(expr)) return false;
  return expr[0] === "where" || (expr[0] === "at" && expr.length === 4) || expr.some(mayVanish);
}

class Analysis {
  /** @param {Operand[]} args @param {string} dtype @param {string} rule @param {string} op */
  constructor(args, dtype, rule, op) {
    this.args = args;
    this.dtype = dtype;
    this.unit = UNIT[dtype];
    this.half = this.unit > ACCUMULATOR;
    this.step = this.half && rule !== "scatter" ? ACCUMULATOR / this.unit : 1;
    this.expanded = EXPANDED.has(rule);
    this.blocked = rule === "rstd";
    this.host = op.includes("._fused_");
    this.weight = 4;
  }

  /** @param {Expr} expr @param {Names} names @returns {Pair} */
  pair(expr, names) {
    if (typeof expr === "number") return [expr, this.constant(expr)];
    if (typeof expr === "string") return names.get(expr) ?? [NaN, 0];
    const [head, ...rest] = expr;
    if (head === "at") return [this.cell(expr, names), 0];
    if (this.host && this.single(expr)) {
      const value = this.value(expr, names);
      return [value, Math.abs(value)];
    }
    if (head === "let")
      return this.pair(rest[2], new Map(names).set(rest[0], this.pair(rest[1], names)));
    if (head === "where") return this.choice(rest, names);
    if (["sum", "prod", "max", "min"].includes(head)) return this.folded(head, rest, names);
    if (head === "add" || head === "sub" || head === "mul") {
      const parts = rest.map((part) => this.pair(part, names));
      return head === "mul" ? this.product(parts) : this.total(head, parts);
    }
    if (head in UNARY) return this.one(head, this.pair(rest[0], names));
    if (head in BINARY || COMPARISONS.has(head)) return this.two(head, rest, names, expr);
    return [this.value(expr, names), 0];
  }

  /** @param {any[]} expr @param {Names} names @returns {number} */
  cell([, k, where, ...otherwise], names) {
    const operand = this.args[k];
    let position = operand.offset;
    for (let axis = 0; axis < where.length; axis++) {
      const place = this.pair(where[axis], names)[0];
      if (otherwise.length && (place < 0 || place >= operand.shape[axis]))
        return this.pair(otherwise[0], names)[0];
      position += place * operand.strides[axis];
    }
    return operand.cell(position);
  }

  /** @param {Expr} expr @param {Names} names */
  value(expr, names) {
    return evaluateIn(expr, new Map([...names].map(([name, [value]]) => [name, value])), this.args);
  }

  /** A constant is rounded once, unless the type has it. @param {number} x */
  constant(x) {
    if (this.dtype === "float64" || (Number.isInteger(x) && Math.abs(x) < 128)) return 0;
    return this.dtype === "float32" && Math.fround(x) === x ? 0 : Math.abs(x);
  }

  /** Whether an expression reads single numbers only. @param {Expr} expr @returns {boolean} */
  single(expr) {
    if (typeof expr === "string") return false;
    if (!Array.isArray(expr)) return true;
    if (expr[0] === "at") return this.args[expr[1]].shape.every((size) => size === 1);
    return expr.slice(1).every((part) => this.single(part));
  }

  /** @param {string} head @param {Pair[]} parts @returns {Pair} */
  total(head, parts) {
    let [value, error] = parts[0];
    let size = Math.abs(value);
    for (const [other, its] of parts.slice(1)) {
      value = head === "sub" ? value - other : value + other;
      error += its;
      size += Math.abs(other);
    }
    if (this.whole(value, parts)) return [value, error];
    if (this.expanded) return [value, error + this.weight * size];
    return [value, error + (parts.length === 2 ? Math.abs(value) : (parts.length - 1) * size)];
  }

  /** @param {Pair[]} parts @returns {Pair} */
  product(parts) {
    let [value, error] = parts[0];
    for (const [other, its] of parts.slice(1)) {
      error = scaled(other, error) + scaled(value, its);
      value *= other;
      if (!this.whole(value, parts)) error += Math.abs(value);
    }
    return [value, error];
  }

  /**
   * Whole numbers below 1/u, indices above all, are added and multiplied exactly.
   * @param {number} value
   * @param {Pair[]} parts
   */
  whole(value, parts) {
    return Math.abs(value) * this.unit < 1 && parts.every(([part]) => Number.isInteger(part));
  }

  /** @param {any[]} rest @param {Names} names @returns {Pair} */
  choice(rest, names) {
    const [test, doubt] = this.pair(rest[0], names);
    if (doubt === 0) return this.pair(rest[test !== 0 ? 1 : 2], names);
    const [yes, no] = [this.pair(rest[1], names), this.pair(rest[2], names)];
    const either = Math.max(yes[1], no[1]) + Math.abs(yes[0] - no[0]) / this.unit;
    return [(test !== 0 ? yes : no)[0], either];
  }

  /** @param {string} head @param {Pair} inner @returns {Pair} */
  one(head, [x, error]) {
    const y = UNARY[head](x);
    if (head === "neg" || head === "abs") return [y, error];
    const reach = this.unit * error;
    if (STEPS.has(head))
      return [y, error && Math.abs(UNARY[head](x + reach) - UNARY[head](x - reach)) / this.unit];
    if (head === "erf") return [y, 8 + scaled((2 / Math.sqrt(Math.PI)) * Math.exp(-x * x), error)];
    const own = OWN[head] * Math.abs(y);
    return [y, error === 0 ? own : own + this.grown(head, x, y, error, reach)];
  }

  /**
   * What an error of the argument becomes.
   * @param {string} head
   * @param {number} x
   * @param {number} y
   * @param {number} error
   * @param {number} reach
   */
  grown(head, x, y, error, reach) {
    if (head === "exp") return scaled(y, Math.expm1(Math.min(reach, 700)) / this.unit);
    if (head === "expm1") return scaled(y + 1, Math.expm1(Math.min(reach, 700)) / this.unit);
    if (head === "sqrt") return reach < x ? error / y : Math.sqrt(Math.abs(x) + reach) / this.unit;
    if (["log", "log1p", "log2", "rsqrt", "recip"].includes(head)) {
      let share = scaled(1 / Math.abs(head === "log1p" ? 1 + x : x), error);
      share /= Math.max(1 - this.unit * share, 0);
      if (head === "rsqrt") return scaled(0.5 * y, share);
      if (head === "recip") return scaled(y, share);
      return head === "log2" ? share / Math.LN2 : share;
    }
    /** @type {Record<string, number>} */
    const slopes = {
      tanh: 1 - y * y,
      sigmoid: y * (1 - y),
      sin: Math.cos(x),
      cos: Math.sin(x),
      tan: 1 + y * y
    };
    return scaled(slopes[head], error);
  }

  /**
   * @param {string} head
   * @param {any[]} rest
   * @param {Names} names
   * @param {Expr} expr
   * @returns {Pair}
   */
  two(head, rest, names, expr) {
    const [[a, mine], [b, yours]] = [this.pair(rest[0], names), this.pair(rest[1], names)];
    const both = mine + yours;
    const value = both === 0 ? this.value(expr, names) : (BINARY[head] ?? (() => NaN))(a, b);
    if (head === "div")
      return [value, 2 * Math.abs(value) + scaled(1 / b, mine) + scaled(value / b, yours)];
    if (head === "pow") {
      const own = 4 * Math.abs(value) + scaled((value * b) / a, mine);
      return [value, own + scaled(value * Math.log(Math.abs(a)), yours)];
    }
    if (head === "maximum" || head === "minimum") {
      const close = Math.abs(a - b) <= this.unit * both;
      return [value, close ? Math.max(mine, yours) : value === a ? mine : yours];
    }
    if (head === "atan2") {
      const size = a * a + b * b;
      return [value, 4 * Math.abs(value) + scaled(b / size, mine) + scaled(a / size, yours)];
    }
    if (COMPARISONS.has(head)) {
      const doubt = both > 0 && Math.abs(a - b) <= this.unit * both;
      return [this.value(expr, names), doubt ? 1 / this.unit : 0];
    }
    if (head === "mod" || head === "fmod") {
      const own = Number.isInteger(a) && Number.isInteger(b) ? 0 : 2 * Math.abs(value);
      return [value, own + mine + scaled(Math.trunc(a / b), yours)];
    }
    return [value, both];
  }

  /** @param {string} head @param {any[]} rest @param {Names} names @returns {Pair} */
  folded(head, [ranges, body], names) {
    const terms = this.terms(head, ranges, body, names);
    if (head === "max" || head === "min") {
      const choose = head === "max" ? Math.max : Math.min;
      const best = terms.reduce((found, [value]) => choose(found, value), terms[0][0]);
      let most = 0;
      for (const [value, error] of terms)
        if (Math.abs(value - best) <= 2 * this.unit * error) most = Math.max(most, error);
      return [best, most];
    }
    if (head === "prod") {
      const value = terms.reduce((total, [term]) => total * term, 1);
      const share = terms.reduce((sum, [term, error]) => sum + scaled(1 / term, error), 0);
      return [value, (terms.length - 1) * Math.abs(value) + scaled(value, share)];
    }
    let [value, size, errors, count] = [0, 0, 0, 0];
    for (const [term, error] of terms) {
      value += term;
      size += Math.abs(term);
      errors += error;
      if (term !== 0) count++;
    }
    if (this.whole(size, terms)) return [value, errors];
    let adds = Math.max((mayVanish(body) ? count : terms.length) - 1, 0);
    if (this.blocked) adds = Math.min(adds, 32 + 2 * Math.log2(adds + 1));
    return [value, adds * this.step * size + errors + (this.half ? Math.abs(value) : 0)];
  }

  /**
   * @param {string} head
   * @param {[string, number][]} ranges
   * @param {Expr} body
   * @param {Names} names
   */
  terms(head, ranges, body, names) {
    const weight = this.weight;
    const count = ranges.reduce((product, [, size]) => product * size, 1);
    if (head === "sum" && !this.blocked) this.weight = Math.max(weight, count);
    /** @type {Pair[]} */
    const found = [];
    const inner = new Map(names);
    for (let place = 0; place < count; place++) {
      let rest = place;
      for (let axis = ranges.length - 1; axis >= 0; axis--) {
        inner.set(ranges[axis][0], [rest % ranges[axis][1], 0]);
        rest = Math.floor(rest / ranges[axis][1]);
      }
      found.push(this.pair(body, inner));
    }
    this.weight = weight;
    return found;
  }
}

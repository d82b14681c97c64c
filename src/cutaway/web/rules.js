/**
 * What one cell is made of: the rule language of docs/trace-format.md, evaluated.
 * Knows expressions and operands only; nothing here has heard of pages, tensors on disk or words.
 */

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

/** Half to even, as IEEE rounds. @param {number} x */
function roundEven(x) {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest < 0.5) return low;
  if (rest > 0.5) return low + 1;
  return low % 2 === 0 ? low : low + 1;
}

/**
 * The error function to double precision: a series near zero, a continued fraction far out.
 * @param {number} x
 */
export function erf(x) {
  if (Number.isNaN(x)) return NaN;
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 2.5) {
    let term = a;
    let total = a;
    for (let n = 1; n < 200; n++) {
      term *= (2 * a * a) / (2 * n + 1);
      total += term;
      if (term < total * 1e-17) break;
    }
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a) * total;
  }
  let fraction = 0;
  for (let k = 60; k > 0; k--) fraction = k / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * (a + fraction)));
}

/** @param {number} x @param {number} y */
function power(x, y) {
  return x === 1 || y === 0 ? 1 : Math.pow(x, y);
}

/** @param {string} type @param {number} x */
function castTo(type, x) {
  if (type === "bool") return x !== 0 ? 1 : 0;
  if (type.startsWith("int") || type.startsWith("uint")) return Math.trunc(x);
  if (type === "float32") return Math.fround(x);
  if (type === "float16") return half(x, 11, -14, 65504);
  if (type === "bfloat16") return half(x, 8, -126, 3.3895313892515355e38);
  return x;
}

/**
 * The nearest number of a half type, ties to even.
 * @param {number} x
 * @param {number} digits binary digits of a number
 * @param {number} least exponent of the smallest normal number
 * @param {number} largest
 */
function half(x, digits, least, largest) {
  if (x === 0 || !Number.isFinite(x)) return x;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(x))), least);
  const unit = 2 ** (exponent - digits + 1);
  const below = Math.floor(x / unit);
  const rest = x / unit - below;
  const up = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  const rounded = (below + (up ? 1 : 0)) * unit;
  return Math.abs(rounded) > largest ? Math.sign(x) * Infinity : rounded;
}

/** @type {Record<string, (x: number) => number>} */
export const UNARY = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: (x) => (Number.isNaN(x) ? NaN : Math.sign(x)),
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  log2: Math.log2,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  recip: (x) => 1 / x,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  tanh: Math.tanh,
  sigmoid: (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))),
  erf,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  round: roundEven,
  isnan: (x) => (Number.isNaN(x) ? 1 : 0),
  not: (x) => (x === 0 ? 1 : 0)
};

/** @type {Record<string, (x: number, y: number) => number>} */
export const BINARY = {
  sub: (x, y) => x - y,
  div: (x, y) => x / y,
  pow: power,
  maximum: (x, y) => Math.max(x, y),
  minimum: (x, y) => Math.min(x, y),
  atan2: Math.atan2,
  idiv: (x, y) => Math.floor(x / y),
  mod: (x, y) => x - Math.floor(x / y) * y,
  fmod: (x, y) => x % y,
  eq: (x, y) => +(x === y),
  ne: (x, y) => +(x !== y),
  lt: (x, y) => +(x < y),
  le: (x, y) => +(x <= y),
  gt: (x, y) => +(x > y),
  ge: (x, y) => +(x >= y),
  xor: (x, y) => +((x !== 0) !== (y !== 0)),
  bitand: (x, y) => Number(BigInt(x) & BigInt(y)),
  bitor: (x, y) => Number(BigInt(x) | BigInt(y)),
  bitxor: (x, y) => Number(BigInt(x) ^ BigInt(y))
};

/** @type {Record<string, number>} */
const CONSTANT = { inf: Infinity, "-inf": -Infinity, nan: NaN };

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

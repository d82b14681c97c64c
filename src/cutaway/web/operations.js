/** What the operations of the rule language compute, number by number. */

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
function erf(x) {
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
export function castTo(type, x) {
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
export const CONSTANT = { inf: Infinity, "-inf": -Infinity, nan: NaN };

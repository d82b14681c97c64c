/** Numbers as people read them: sign always shown in cells, full precision in the inspector. */

const MINUS = "−";

/** @param {string} text */
function proper(text) {
  return text
    .replace(/e([+-])0?(\d)/, (_, sign, digits) => `e${sign === "-" ? MINUS : ""}${digits}`)
    .replace("-", MINUS);
}

/** Infinities and NaN have signs of their own. @param {number} x */
function special(x) {
  if (Number.isNaN(x)) return "NaN";
  return x > 0 ? "+∞" : `${MINUS}∞`;
}

/** Three significant digits, sign always. @param {number} x @param {number} digits */
export function short(x, digits = 3) {
  if (!Number.isFinite(x)) return special(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  const sign = x < 0 ? MINUS : "+";
  if (size >= 1e5 || size < 1e-3) return sign + proper(size.toExponential(Math.max(0, digits - 2)));
  if (size >= 10 ** (digits - 1)) return sign + Math.round(size);
  const text = size.toPrecision(digits);
  return sign + (text.includes("e") ? String(Number(text)) : text);
}

/** Inside arithmetic: four significant digits, a sign only when negative. @param {number} x */
export function inline(x) {
  if (!Number.isFinite(x)) return special(x).replace("+", "");
  if (Number.isInteger(x) && Math.abs(x) < 1e7) return proper(String(x));
  const size = Math.abs(x);
  const text =
    size >= 1e5 || size < 1e-4 ? size.toExponential(3) : String(Number(size.toPrecision(5)));
  return (x < 0 ? MINUS : "") + proper(text);
}

/**
 * Every digit that distinguishes this number from its neighbours in its type.
 * @param {number} x
 * @param {string} dtype
 */
export function full(x, dtype = "float64") {
  if (!Number.isFinite(x)) return special(x).replace("+", "");
  if (dtype === "bool") return x ? "true" : "false";
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return proper(String(x));
  let text = String(x);
  if (dtype !== "float64") {
    const most = dtype === "float32" ? 9 : dtype === "float16" ? 5 : 4;
    const close = dtype === "float32" ? Math.fround : (/** @type {number} */ y) => y;
    for (let digits = 1; digits <= most; digits++) {
      text = String(Number(x.toPrecision(digits)));
      if (close(Number(text)) === x) break;
    }
  }
  return proper(text);
}

/** Ten significant digits: enough to see where a recomputation differs. @param {number} x */
export function precise(x) {
  return Number.isFinite(x)
    ? proper(String(Number(x.toPrecision(10))))
    : special(x).replace("+", "");
}

/** A probability as a percentage. @param {number} p @param {string} language */
export function percent(p, language) {
  if (p > 0 && p < 1e-5) return "<0.001%";
  const digits = p > 0.99 && p < 1 ? 2 : p >= 0.1 ? 0 : p >= 0.001 ? 1 : 3;
  return new Intl.NumberFormat(language, {
    style: "percent",
    maximumFractionDigits: digits
  }).format(Math.min(p, p < 1 ? 0.9999 : 1));
}

/** A whole number with separators. @param {number} n @param {string} language */
export function whole(n, language) {
  return new Intl.NumberFormat(language).format(n);
}

/** How far apart, as a person would say it. @param {number} x */
export function difference(x) {
  if (x === 0) return "0";
  return Number.isFinite(x) ? proper(Math.abs(x).toExponential(1)) : special(x);
}

/**
 * Whether value and recomputation are the same, or as near as rounding explains.
 * @param {number} value
 * @param {number} again
 * @param {number} limit
 */
export function agrees(value, again, limit) {
  if (Object.is(value, again) || value === again) return true;
  if (!Number.isFinite(value) || !Number.isFinite(again))
    return Number.isNaN(value) && Number.isNaN(again);
  return Math.abs(value - again) <= limit;
}

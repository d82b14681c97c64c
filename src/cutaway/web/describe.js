/**
 * A rule written down for one cell, as a person would write it: a small tree of notes.
 * A note knows its value and where each number came from; how it looks is the inspector's business.
 */
import { compile, inRanges, Scope, setPlace } from "./rules.js";

/** @typedef {import("./rules.js").Expr} Expr */
/** @typedef {import("./rules.js").Frame} Frame */
/**
 * @typedef {{
 *   kind: string, value: number, name?: string, arg?: number, index?: number[], items?: Note[],
 *   count?: number, places?: Float64Array | number[], terms?: Float64Array | number[],
 *   term?: (n: number) => Note, variables?: string[], aside?: Note[]
 * }} Note
 */
/** @typedef {{lines: {name: string, note: Note}[], note: Note}} Written */

const SYMBOL = /** @type {Record<string, string>} */ ({
  add: "+",
  sub: "−",
  mul: "·",
  eq: "=",
  ne: "≠",
  lt: "<",
  le: "≤",
  gt: ">",
  ge: "≥",
  idiv: "÷",
  mod: "mod",
  fmod: "mod",
  and: "∧",
  or: "∨",
  xor: "⊕",
  bitand: "&",
  bitor: "|",
  bitxor: "^"
});
const CALL = /** @type {Record<string, string>} */ ({
  maximum: "max",
  minimum: "min",
  log: "ln",
  log2: "log₂",
  log1p: "ln1p",
  recip: "1/",
  sigmoid: "σ"
});

/**
 * Writes one rule down for one cell; `lines` collects the named parts in the order they are needed.
 */
class Writer {
  /** @param {Frame} frame */
  constructor(frame) {
    this.frame = frame;
    /** @type {{name: string, note: Note}[]} */
    this.lines = [];
    this.depth = 0;
    /** @type {Map<string, number>} */
    this.named = new Map();
  }

  /** @param {Expr} expr @param {Scope} scope @returns {number} */
  number(expr, scope) {
    return compile(expr, scope)(this.frame);
  }

  /** @param {Expr} expr @param {Scope} scope @returns {Note} */
  write(expr, scope) {
    if (typeof expr === "number") return { kind: "number", value: expr };
    if (typeof expr === "string") {
      const value = this.frame.slots[scope.slot(expr)];
      return this.named.has(expr) ? { kind: "name", name: expr, value } : { kind: "number", value };
    }
    const [head, ...rest] = expr;
    if (head === "inf" || head === "-inf" || head === "nan")
      return { kind: "number", value: this.number(expr, scope) };
    if (head === "at") return this.at(expr, scope);
    if (head === "let") return this.let(rest, scope);
    if (head === "where") {
      const taken = this.number(rest[0], scope) !== 0;
      const note = this.write(rest[taken ? 1 : 2], scope);
      const condition = this.write(rest[0], scope);
      return { kind: "chosen", value: note.value, items: [note], aside: [condition] };
    }
    if (head === "cast") {
      const note = this.write(rest[1], scope);
      return { ...note, value: this.number(expr, scope) };
    }
    if (
      ["sum", "prod", "max", "min"].includes(head) &&
      Array.isArray(rest[0]) &&
      Array.isArray(rest[0][0])
    ) {
      return this.reduction(head, rest[0], rest[1], scope, this.number(expr, scope));
    }
    if (["argmax", "argmin", "kth", "argkth"].includes(head)) {
      const note = this.reduction(head, rest[0], rest[1], scope, this.number(expr, scope));
      return note;
    }
    const items = rest.map((part) => this.write(part, scope));
    const value = this.number(expr, scope);
    if (head === "div") return { kind: "fraction", value, items };
    if (head === "sqrt") return { kind: "root", value, items };
    if (head === "rsqrt")
      return {
        kind: "fraction",
        value,
        items: [
          { kind: "number", value: 1 },
          { kind: "root", value: 1 / value, items }
        ]
      };
    if (head === "recip")
      return { kind: "fraction", value, items: [{ kind: "number", value: 1 }, items[0]] };
    if (head === "neg") return { kind: "minus", value, items };
    if (head === "abs") return { kind: "abs", value, items };
    if (head === "not") return { kind: "call", name: "¬", value, items };
    if (head === "pow") return { kind: "power", value, items };
    if (head in SYMBOL) return { kind: "infix", name: SYMBOL[head], value, items };
    return { kind: "call", name: CALL[head] ?? head, value, items };
  }

  /** @param {any[]} expr @param {Scope} scope @returns {Note} */
  at(expr, scope) {
    const operand = this.frame.args[expr[1]];
    const index = expr[2].map((/** @type {Expr} */ part) => this.number(part, scope));
    const outside = index.some(
      (/** @type {number} */ i, /** @type {number} */ d) => i < 0 || i >= operand.shape[d]
    );
    if (expr.length > 3 && outside) return this.write(expr[3], scope);
    const aside = expr[2]
      .filter((/** @type {Expr} */ part) => reads(part))
      .map((/** @type {Expr} */ part) => this.write(part, scope));
    return { kind: "cell", value: this.number(expr, scope), arg: expr[1], index, aside };
  }

  /** @param {any[]} rest @param {Scope} scope @returns {Note} */
  let(rest, scope) {
    const [name, bound, body] = rest;
    const inner = scope.with(name);
    const value = this.number(bound, scope);
    if (this.depth === 0) {
      const note = this.write(bound, scope);
      this.named.set(name, value);
      this.lines.push({ name, note });
    }
    this.frame.slots[inner.slot(name)] = value;
    return this.write(body, inner);
  }

  /**
   * @param {string} head
   * @param {[string, number][]} ranges
   * @param {Expr} body
   * @param {Scope} scope
   * @param {number} value
   * @returns {Note}
   */
  reduction(head, ranges, body, scope, value) {
    const inner = inRanges(scope, ranges);
    const slots = ranges.map(([name]) => inner.slot(name));
    const total = ranges.reduce((product, [, length]) => product * length, 1);
    const skips = head === "sum" && Array.isArray(body) && body[0] === "where" && body[3] === 0;
    const counts = skips ? compile(/** @type {any[]} */ (body)[1], inner) : () => 1;
    const shown = skips ? /** @type {any[]} */ (body)[2] : body;
    const term = compile(shown, inner);
    /** @type {number[]} */
    const places = [];
    /** @type {number[]} */
    const terms = [];
    for (let place = 0; place < total; place++) {
      setPlace(this.frame, ranges, slots, place);
      if (counts(this.frame) === 0) continue;
      places.push(place);
      terms.push(term(this.frame));
    }
    const saved = [...this.frame.slots];
    const named = new Map(this.named);
    return {
      kind: head,
      value,
      count: places.length,
      places,
      terms,
      variables: ranges.map(([name, length]) => `${name} = 0…${length - 1}`),
      term: (n) => {
        const frame = { slots: [...saved], args: this.frame.args };
        setPlace(frame, ranges, slots, places[n]);
        const writer = new Writer(frame);
        writer.depth = 1;
        writer.named = named;
        return writer.write(shown, inner);
      }
    };
  }
}

/**
 * Whether an index expression itself reads an operand: a lookup.
 * @param {Expr} expr
 * @returns {boolean}
 */
function reads(expr) {
  return Array.isArray(expr) && (expr[0] === "at" || expr.some((part) => reads(part)));
}

/**
 * Which terms of a long sum to show: the largest by magnitude, in order of place.
 * @param {ArrayLike<number>} terms
 * @param {number} most
 */
export function largestTerms(terms, most) {
  const places = Array.from(terms, (_, n) => n);
  if (terms.length <= most + 2) return places;
  const size = (/** @type {number} */ n) =>
    Number.isNaN(terms[n]) ? Infinity : Math.abs(terms[n]);
  return places
    .sort((a, b) => size(b) - size(a) || a - b)
    .slice(0, most)
    .sort((a, b) => a - b);
}

/**
 * Write a rule down for the cell at `index`.
 * @param {Expr} expr
 * @param {number[]} index
 * @param {import("./rules.js").Operand[]} args
 * @returns {Written}
 */
export function describe(expr, index, args) {
  const writer = new Writer({ slots: [...index], args });
  const note = writer.write(expr, new Scope(index.length));
  return { lines: writer.lines, note };
}

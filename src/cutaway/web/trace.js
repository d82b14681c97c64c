/**
 * A trace in the page: values, their numbers when needed, addresses, and the explanation of a cell.
 * Knows the trace format only; where bytes come from is a `Source` (a server, or the page itself).
 */
import { bound } from "./bound.js";
import { Store } from "./buffers.js";
import { describe } from "./describe.js";
import { rangeOf, rowMajor, unravel } from "./layout.js";
import { compile, Scope } from "./rules.js";

/**
 * @typedef {{
 *   address: string, name?: string, op: string, phase: string, module: number, call?: number,
 *   site?: number, shape: number[], dtype: string, rule: number, args: number[], buffer?: number,
 *   offset?: number, strides?: number[], axes?: (string | null)[], grad?: number, of?: number,
 *   forward?: number, before?: number, after?: number
 * }} Value
 */
/** @typedef {import("./buffers.js").Source} Source */
/** @typedef {import("./layout.js").Range} Range */
/** @typedef {{id: number, index: number[]}} Cell */

export class Trace {
  /** @param {any} header @param {Source} source */
  constructor(header, source) {
    if (header.format !== "cutaway-trace" || header.version !== 1)
      throw new Error("not a trace of version 1");
    this.header = header;
    /** @type {Value[]} */
    this.values = header.values;
    for (const value of this.values) value.args ??= [];
    this.source = source;
    /** @type {Store[]} */
    this.stores = header.buffers.map(
      (/** @type {any} */ info, /** @type {number} */ k) => new Store(source, k, info)
    );
    /** @type {Map<string, number>} */
    this.addresses = new Map(this.values.map((value, id) => [value.address, id]));
    for (const [address, id] of Object.entries(header.aliases ?? {})) {
      if (!this.addresses.has(address)) this.addresses.set(address, id);
    }
    /** @type {Map<number, import("./rules.js").Operand>} */
    this.operands = new Map();
    /** @type {Map<number, Range>} */
    this.ranges = new Map();
    /** @type {Map<number, import("./rules.js").Compiled>} */
    this.compiled = new Map();
    /** @type {Map<number, import("./rules.js").Compiled[]>} */
    this.looks = new Map();
    /** @type {number[][] | undefined} */
    this.readers = undefined;
  }

  /** @param {number} id */
  rule(id) {
    return this.header.rules[this.values[id].rule];
  }

  /** @param {number} id */
  path(id) {
    return this.header.modules[this.values[id].module]?.path ?? "";
  }

  /**
   * Value and indices an address names; null if there is no such value.
   * @param {string} address
   * @returns {{id: number, index: number[] | null} | null}
   */
  find(address) {
    const bracket = /^(.*)\[([-\d,\s]*)\]$/.exec(address);
    const name = bracket ? bracket[1] : address;
    const id = this.addresses.get(name);
    if (id === undefined) return null;
    if (!bracket) return { id, index: null };
    const shape = this.values[id].shape;
    const parts = bracket[2].trim() === "" ? [] : bracket[2].split(",").map(Number);
    if (parts.length > shape.length) return null;
    const index = parts.map((i, d) => (i < 0 ? i + shape[d] : i));
    if (index.some((i, d) => !Number.isInteger(i) || i < 0 || i >= shape[d])) return null;
    while (index.length < shape.length) index.push(0);
    return { id, index };
  }

  /** @param {Cell} cell */
  address({ id, index }) {
    return `${this.values[id].address}[${index.join(",")}]`;
  }

  /** @param {number} id @returns {import("./rules.js").Operand} */
  operand(id) {
    let operand = this.operands.get(id);
    if (!operand) {
      const value = this.values[id];
      const store = value.buffer === undefined ? null : this.stores[value.buffer];
      operand = {
        shape: value.shape,
        offset: value.offset ?? 0,
        strides: value.strides ?? rowMajor(value.shape),
        cell: store ? (position) => store.cell(position) : () => NaN
      };
      this.operands.set(id, operand);
    }
    return operand;
  }

  /**
   * Show other numbers in place of a value's own, laid out as these; null shows its own again.
   * Whoever holds the operand sees them at once.
   * @param {number} id
   * @param {ArrayLike<number> | null} numbers
   */
  replace(id, numbers) {
    const operand = this.operand(id);
    const store = this.stores[/** @type {number} */ (this.values[id].buffer)];
    operand.cell = numbers ? (position) => numbers[position] : (position) => store.cell(position);
  }

  /** Whether the numbers of a value were kept. @param {number} id */
  kept(id) {
    return this.values[id].buffer !== undefined;
  }

  /**
   * The number in a cell; 0 and a note in the store if its page is not here yet.
   * @param {number} id
   * @param {number[]} index
   */
  read(id, index) {
    const operand = this.operand(id);
    let position = operand.offset;
    for (let d = 0; d < index.length; d++) position += index[d] * operand.strides[d];
    return operand.cell(position);
  }

  /**
   * Run something that reads cells, fetching pages until nothing is missing.
   * @template T @param {() => T} task @returns {Promise<T>}
   */
  async settled(task) {
    for (;;) {
      for (const store of this.stores) store.forget();
      const result = task();
      const lacking = this.stores.filter((store) => store.missing.size);
      if (!lacking.length) return result;
      await Promise.all(lacking.map((store) => store.fetch()));
    }
  }

  /**
   * Ask for what drawing values needs, in one round trip: their numbers, of large ones their
   * ranges.
   * @param {number[]} ids
   */
  async want(ids) {
    await Promise.all(
      [...new Set(ids)].map((id) => {
        const k = this.values[id].buffer;
        if (k === undefined || this.stores[k].whole || this.ranges.has(id)) return undefined;
        return this.stores[k].small ? this.stores[k].all() : this.measure(id);
      })
    );
  }

  /** The range of a value too large to travel. @param {number} id */
  async measure(id) {
    const [low, high, finite] = new Float64Array(await this.source.load({ value: id }));
    this.ranges.set(id, {
      low,
      high,
      most: Math.max(Math.abs(low), Math.abs(high)),
      finite: finite === 1
    });
  }

  /** Whether all numbers of a value are here. @param {number} id */
  here(id) {
    const k = this.values[id].buffer;
    return k === undefined || Boolean(this.stores[k].whole);
  }

  /**
   * Smallest and largest finite number of a value that was wanted.
   * @param {number} id
   * @returns {Range}
   */
  range(id) {
    let range = this.ranges.get(id);
    if (range) return range;
    const { shape, buffer } = this.values[id];
    const { offset, strides } = this.operand(id);
    const cells = buffer === undefined ? [] : this.stores[buffer].whole;
    if (!cells) throw new Error(`${this.values[id].address} was not asked for`);
    range = rangeOf(cells, { shape, offset, strides });
    this.ranges.set(id, range);
    return range;
  }

  /**
   * The cell a view shows: follows views until something was computed.
   * @param {Cell} cell
   * @returns {Cell[]} from the cell itself to the one behind
   */
  behind(cell) {
    const way = [cell];
    while (this.rule(cell.id).kind === "view") {
      const next = this.throughView(cell);
      if (!next) break;
      way.push(next);
      cell = next;
    }
    return way;
  }

  /** @param {Cell} cell @returns {Cell | null} */
  throughView({ id, index }) {
    const expr = this.rule(id).expr;
    if (!Array.isArray(expr) || expr[0] !== "at") return null;
    let maps = this.looks.get(this.values[id].rule);
    if (!maps) {
      const scope = new Scope(index.length);
      maps = /** @type {import("./rules.js").Compiled[]} */ (
        expr[2].map((/** @type {any} */ part) => compile(part, scope))
      );
      this.looks.set(this.values[id].rule, maps);
    }
    const frame = { slots: [...index], args: [] };
    const inner = maps.map((map) => map(frame));
    const arg = this.values[id].args[expr[1]];
    const { shape } = this.values[arg];
    if (inner.some((/** @type {number} */ i, /** @type {number} */ d) => i < 0 || i >= shape[d]))
      return null;
    return { id: arg, index: inner };
  }

  /**
   * As a reader meets it: through unnamed views to the author's names.
   * @param {Cell} cell
   * @returns {Cell}
   */
  shown(cell) {
    while (this.values[cell.id].name === undefined && this.rule(cell.id).kind === "view") {
      const next = this.throughView(cell);
      if (!next) break;
      cell = next;
    }
    return cell;
  }

  /** The value a reader meets instead of an unnamed view. @param {number} id */
  named(id) {
    while (this.values[id].name === undefined && this.rule(id).kind === "view")
      id = this.values[id].args[0];
    return id;
  }

  /** Whether a value is a mask turned round: true where the mask is false. @param {number} id */
  isNot(id) {
    return /bitwise_not|logical_not/.test(this.values[id].op) && this.values[id].dtype === "bool";
  }

  /** The number the rule gives, computed here and now. @param {Cell} cell */
  recompute({ id, index }) {
    const rule = this.rule(id);
    if (rule.expr === undefined) return this.read(id, index);
    let run = this.compiled.get(this.values[id].rule);
    if (!run) {
      run = compile(rule.expr, new Scope(index.length));
      this.compiled.set(this.values[id].rule, run);
    }
    return run({ slots: [...index], args: this.values[id].args.map((arg) => this.operand(arg)) });
  }

  /** How far rounding may move a cell from what its rule gives. @param {Cell} cell */
  bound({ id, index }) {
    const rule = this.rule(id);
    const { args, dtype, op } = this.values[id];
    if (rule.expr === undefined) return 0;
    const operands = args.map((arg) => this.operand(arg));
    return bound(rule.expr, index, operands, { dtype, rule: rule.name, op });
  }

  /**
   * Everything there is to say about one cell. `inner` is the cell behind a mask that lets this one
   * through: its arithmetic is what a reader asks for.
   * @param {Cell} cell
   */
  async explain(cell) {
    return this.settled(() => {
      const why = this.explained(cell);
      const chosen = why.rule.name === "masked_fill" ? why.written?.note.items?.[0] : null;
      const arg = chosen?.kind === "cell" ? this.values[why.made.id].args[chosen.arg ?? 0] : null;
      const inner =
        arg === null ? null : this.explained({ id: arg, index: chosen?.index ?? cell.index });
      return { ...why, inner };
    });
  }

  /** What `explain` says of one cell, from the numbers that are here. @param {Cell} cell */
  explained(cell) {
    const way = this.behind(cell);
    const made = way[way.length - 1];
    const rule = this.rule(made.id);
    const value = this.read(cell.id, cell.index);
    const ids = this.values[made.id].args;
    const lacking = ids.filter((arg) => !this.kept(arg)); // not in this file or recording
    const known = rule.expr !== undefined && !lacking.length;
    const args = ids.map((arg) => this.operand(arg));
    const recomputed = known ? this.recompute(made) : null;
    const written = known ? describe(rule.expr, made.index, args) : null;
    return { cell, way, made, rule, value, recomputed, written, lacking };
  }

  /**
   * The cells a cell is made of, as a reader meets them, at most `most`.
   * @param {Cell} cell
   * @param {number} most
   * @returns {Cell[]}
   */
  parts(cell, most = 4096) {
    const way = this.behind(cell);
    const made = way[way.length - 1];
    const rule = this.rule(made.id);
    if (rule.expr === undefined) return [];
    /** @type {Cell[]} */
    const found = [];
    const args = this.values[made.id].args.map((arg) => {
      const operand = this.operand(arg);
      return {
        ...operand,
        cell: (/** @type {number} */ position) => {
          if (found.length < most)
            found.push({ id: arg, index: unravel(position - operand.offset, operand) });
          return operand.cell(position);
        }
      };
    });
    compile(rule.expr, new Scope(made.index.length))({ slots: [...made.index], args });
    const seen = new Set();
    return found
      .map((part) => this.shown(part))
      .filter((part) => {
        const key = this.address(part);
        return seen.has(key) ? false : Boolean(seen.add(key));
      });
  }

  /** Values that read this one directly. @param {number} id @returns {number[]} */
  readersOf(id) {
    if (!this.readers) {
      this.readers = this.values.map(() => []);
      this.values.forEach((value, user) => {
        for (const arg of new Set(value.args))
          /** @type {number[][]} */ (this.readers)[arg].push(user);
      });
    }
    return this.readers[id];
  }

  /**
   * Values that read this one, directly or through unnamed views.
   * @param {number} id
   * @returns {number[]}
   */
  users(id) {
    /** @type {number[]} */
    const out = [];
    const visit = (/** @type {number} */ from, /** @type {number} */ depth) => {
      for (const user of this.readersOf(from)) {
        if (this.values[user].name === undefined && this.rule(user).kind === "view" && depth < 6)
          visit(user, depth + 1);
        else if (!out.includes(user)) out.push(user);
      }
    };
    visit(id, 0);
    return out;
  }

  /**
   * Words of an axis, or null.
   * @param {number} id
   * @param {number} dimension
   * @returns {string[] | null}
   */
  words(id, dimension) {
    const axis = this.values[id].axes?.[dimension];
    const words = axis ? this.header.labels?.[axis] : null;
    return words ?? null;
  }
}

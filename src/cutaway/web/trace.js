/**
 * A trace in the page: values, their numbers when needed, addresses, and the explanation of a cell.
 * Knows the trace format only; where bytes come from is a `Source` (a server, or the page itself).
 */
import { compile, Scope } from "./rules.js";
import { describe } from "./describe.js";

/**
 * @typedef {{
 *   address: string, name?: string, op: string, phase: string, module: number, call?: number,
 *   site?: number, shape: number[], dtype: string, rule: number, args: number[], buffer?: number,
 *   offset?: number, strides?: number[], axes?: (string | null)[], grad?: number, of?: number,
 *   forward?: number, before?: number, after?: number
 * }} Value
 */
/**
 * What can be asked of a source: a stretch of a buffer, single cells, a picture of a matrix, the
 * range of a value.
 * @typedef {{
 *   buffer: number, offset: number, strides: number[], shape: number[], size: number[]
 * }} Picture
 * @typedef {{
 *   buffer: number, start: number, stop: number} | {buffer: number,
 *   cells: number[]} | Picture | {value: number
 * }} Part
 */
/**
 * @typedef {{
 *   whole: number, load: (part: Part) => Promise<ArrayBuffer>
 * }} Source `whole`: up to how many elements buffers are to be asked for whole
 */
/** @typedef {{low: number, high: number, most: number, finite: boolean}} Range */
/** @typedef {{id: number, index: number[]}} Cell */

const PAGE = 1 << 14; // elements of a buffer too large to travel whole that travel together
const SCATTERED = 1 << 16; // cells asked for one by one

/** @type {Record<string, number>} */
export const BYTES = {
  float64: 8,
  float32: 4,
  float16: 2,
  bfloat16: 2,
  int64: 8,
  int32: 4,
  int16: 2,
  int8: 1,
  uint8: 1,
  bool: 1
};

/** @param {number} bits */
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

/**
 * Bytes of a buffer as numbers.
 * @param {string} dtype
 * @param {ArrayBuffer} bytes
 * @returns {ArrayLike<number>}
 */
export function decode(dtype, bytes) {
  switch (dtype) {
    case "float64":
      return new Float64Array(bytes);
    case "float32":
      return new Float32Array(bytes);
    case "float16":
      return Float32Array.from(new Uint16Array(bytes), fromHalf);
    case "bfloat16":
      return new Float32Array(Uint32Array.from(new Uint16Array(bytes), (b) => b << 16).buffer);
    case "int64":
      return Float64Array.from(new BigInt64Array(bytes), Number);
    case "int32":
      return new Int32Array(bytes);
    case "int16":
      return new Int16Array(bytes);
    case "int8":
      return new Int8Array(bytes);
    default:
      return new Uint8Array(bytes);
  }
}

/**
 * One buffer, whole or as much as was asked for; notes what it has not got and reads 0 there until
 * it comes.
 */
class Store {
  /** @param {Source} source @param {number} id @param {{dtype: string, length: number}} info */
  constructor(source, id, info) {
    this.source = source;
    this.id = id;
    this.info = info;
    this.small = info.length <= source.whole;
    /** @type {ArrayLike<number> | undefined} */
    this.whole = undefined;
    /** @type {Map<number, ArrayLike<number>>} */
    this.pages = new Map();
    /** @type {Map<number, number>} */
    this.single = new Map();
    /** @type {Map<string, Promise<ArrayLike<number>>>} */
    this.pictures = new Map();
    /** @type {Map<number, Promise<void>>} */
    this.coming = new Map();
    /** @type {Set<number>} */
    this.missingPages = new Set();
    /** @type {Set<number>} */
    this.missing = new Set();
  }

  /** @param {number} position */
  cell(position) {
    if (this.whole) return this.whole[position];
    const page = Math.floor(position / PAGE);
    const found = this.pages.get(page)?.[position - page * PAGE] ?? this.single.get(position);
    if (found !== undefined) return found;
    if (position >= 0 && position < this.info.length) {
      this.missingPages.add(page);
      if (this.missing.size < SCATTERED) this.missing.add(position);
    }
    return 0;
  }

  forget() {
    this.missingPages.clear();
    this.missing.clear();
  }

  /** Fetch what was missing: the stretches it lies in if these are few, else cell by cell. */
  async fetch() {
    if (this.small) return this.all();
    const [pages, cells] = [[...this.missingPages], [...this.missing]];
    if (pages.length <= 4 || cells.length === SCATTERED)
      return void (await Promise.all(
        pages.map((page) =>
          this.once(page, page * PAGE, (page + 1) * PAGE, (numbers) =>
            this.pages.set(page, numbers)
          )
        )
      ));
    const numbers = decode(this.info.dtype, await this.source.load({ buffer: this.id, cells }));
    cells.forEach((position, n) => this.single.set(position, numbers[n]));
  }

  /** Fetch everything. */
  async all() {
    if (!this.whole) await this.once(-1, 0, this.info.length, (numbers) => (this.whole = numbers));
  }

  /** A picture, asked for once. @param {Omit<Picture, "buffer">} about */
  picture(about) {
    const key = JSON.stringify(about);
    const found =
      this.pictures.get(key) ??
      this.source
        .load({ buffer: this.id, ...about })
        .then((bytes) => decode(this.info.dtype, bytes));
    this.pictures.set(key, found);
    found.catch(() => this.pictures.delete(key));
    return found;
  }

  /**
   * A stretch, asked for once.
   * @param {number} key
   * @param {number} start
   * @param {number} stop
   * @param {(numbers: ArrayLike<number>) => void} keep
   */
  once(key, start, stop, keep) {
    let promise = this.coming.get(key);
    if (!promise) {
      promise = this.source
        .load({ buffer: this.id, start, stop: Math.min(stop, this.info.length) })
        .then((bytes) => keep(decode(this.info.dtype, bytes)))
        .finally(() => this.coming.delete(key));
      this.coming.set(key, promise);
    }
    return promise;
  }
}

/** @param {number[]} shape */
export function rowMajor(shape) {
  const strides = new Array(shape.length);
  for (let d = shape.length - 1, step = 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

/** How many cells. @param {number[]} shape */
export function sizeOf(shape) {
  return shape.reduce((product, n) => product * n, 1);
}

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
    const last = shape.length - 1;
    const [width, step] = last < 0 ? [1, 0] : [shape[last], strides[last]];
    const index = new Array(Math.max(0, last)).fill(0);
    let [low, high, finite] = [Infinity, -Infinity, true];
    for (let row = sizeOf(shape) / Math.max(1, width); row > 0; row--) {
      let position = offset;
      for (let d = 0; d < last; d++) position += index[d] * strides[d];
      for (let c = 0; c < width; c++, position += step) {
        const x = cells[position];
        if (x < low && x !== -Infinity) low = x;
        if (x > high && x !== Infinity) high = x;
        if (x - x !== 0) finite = false;
      }
      for (let d = last - 1; d >= 0 && ++index[d] === shape[d]; d--) index[d] = 0;
    }
    if (low > high) [low, high] = [0, 0];
    range = { low, high, most: Math.max(Math.abs(low), Math.abs(high)), finite };
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

  /**
   * Everything there is to say about one cell.
   * @param {Cell} cell
   */
  async explain(cell) {
    return this.settled(() => {
      const way = this.behind(cell);
      const made = way[way.length - 1];
      const rule = this.rule(made.id);
      const value = this.read(cell.id, cell.index);
      const args = this.values[made.id].args.map((arg) => this.operand(arg));
      const recomputed = rule.expr === undefined ? null : this.recompute(made);
      const written = rule.expr === undefined ? null : describe(rule.expr, made.index, args);
      return { cell, way, made, rule, value, recomputed, written };
    });
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

/**
 * Indices of a position, given strides; a stride of 0 gives index 0.
 * @param {number} position
 * @param {{shape: number[], strides: number[]}} layout
 */
export function unravel(position, { shape, strides }) {
  const index = new Array(shape.length).fill(0);
  const order = strides.map((_, d) => d).sort((a, b) => strides[b] - strides[a]);
  for (const d of order) {
    if (strides[d] === 0) continue;
    index[d] = Math.min(shape[d] - 1, Math.floor(position / strides[d]));
    position -= index[d] * strides[d];
  }
  return index;
}

/**
 * A trace from one stream of bytes (the bundle of docs/trace-format.md).
 * @param {ArrayBuffer} bytes
 */
export function fromBundle(bytes) {
  const head = new DataView(bytes);
  if (new TextDecoder().decode(new Uint8Array(bytes, 0, 8)) !== "CUTAWAY1")
    throw new Error("not a cutaway trace");
  const length = Number(head.getBigUint64(8, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 16, length)));
  const base = 16 + length;
  return new Trace(header, {
    whole: Infinity,
    load: async (part) => {
      const { buffer, start, stop } = /** @type {{buffer: number, start: number, stop: number}} */ (
        part
      );
      const place = base + header.buffers[buffer].start;
      const size = BYTES[header.buffers[buffer].dtype];
      return bytes.slice(place + start * size, place + stop * size);
    }
  });
}

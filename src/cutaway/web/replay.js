/**
 * What follows from another number in one cell: every value computed from it, recomputed here by
 * the rules of the trace. The recorded numbers stay; `restore` shows them again.
 */
import { sizeOf } from "./layout.js";
import { compile, REDUCTIONS, Scope } from "./rules.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {import("./rules.js").Operand} Operand */
/** @typedef {{numbers: any, mask: Uint8Array}} Copy numbers of a buffer, and which of them changed */
/** @typedef {{id: number, index: number[], value: number}} Setting */
/**
 * @typedef {{
 *   hoisted: [number, import("./rules.js").Compiled][], body: import("./rules.js").Compiled,
 *   reads: [number, any[]][]
 * }} Program
 */

const BYTES = 32e6; // numbers fetched for a replay, at most
const WORK = 4e8; // terms summed in a replay, at most
const SLICE = 10; // milliseconds before the page may draw

/** @param {any} expr @param {(part: any[]) => void} visit */
function walk(expr, visit) {
  if (!Array.isArray(expr)) return;
  if (typeof expr[0] === "string") visit(expr);
  for (const part of expr) walk(part, visit);
}

/** How many terms the reductions of an expression go through. @param {any} expr */
function termsOf(expr) {
  let terms = 1;
  walk(expr, ([head, ranges]) => {
    if (REDUCTIONS.has(head))
      for (const [, length] of Array.isArray(ranges) ? ranges : []) terms *= length;
  });
  return terms;
}

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
function programOf(expr, rank) {
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

export class Replay {
  /** @param {Trace} trace */
  constructor(trace) {
    this.trace = trace;
    /** @type {Map<number, Program>} */
    this.programs = new Map();
    /** @type {Map<number, Copy>} what is shown instead of the recorded numbers, by value */
    this.copies = new Map();
    this.turn = 0;
  }

  /**
   * Values computed from some, in an order in which each comes after what it is made of.
   * @param {number[]} ids
   */
  downstream(ids) {
    const { trace } = this;
    const reached = new Set(ids);
    const queue = [...ids];
    for (let id = queue.pop(); id !== undefined; id = queue.pop())
      for (const user of trace.readersOf(id))
        if (!reached.has(user)) {
          reached.add(user);
          queue.push(user);
        }
    /** @type {number[]} */
    const order = [];
    const seen = new Set(ids);
    const place = (/** @type {number} */ id) => {
      if (seen.has(id)) return;
      seen.add(id);
      for (const arg of trace.values[id].args) if (reached.has(arg)) place(arg);
      order.push(id);
    };
    for (const id of [...reached].sort((a, b) => a - b)) place(id);
    return order;
  }

  /**
   * What a replay would take: whether every rule is known, bytes to fetch, terms to sum.
   * @param {number[]} ids
   */
  cost(ids) {
    const { trace } = this;
    const order = this.downstream(ids);
    /** @type {Set<number>} */
    const buffers = new Set();
    let [known, work] = [true, 0];
    for (const id of [...ids, ...order]) {
      for (const other of [id, ...trace.values[id].args]) {
        const { buffer } = trace.values[other];
        if (buffer === undefined) known = false;
        else buffers.add(buffer);
      }
      if (ids.includes(id)) continue;
      const { expr, kind } = trace.rule(id);
      if (expr === undefined) known = false;
      work += sizeOf(trace.values[id].shape) * (kind === "contraction" ? termsOf(expr) : 1);
    }
    const bytes = [...buffers].reduce((sum, k) => sum + 4 * trace.stores[k].info.length, 0);
    return { order, buffers, known, bytes, work, possible: known && bytes < BYTES && work < WORK };
  }

  /** Fetch the numbers that a replay from these values reads. @param {number[]} ids */
  async ready(ids) {
    await Promise.all([...this.cost(ids).buffers].map((k) => this.trace.stores[k].all()));
  }

  /**
   * Show what follows from these numbers; false if another replay began meanwhile. Its numbers must
   * be `ready`.
   * @param {Setting[]} settings
   */
  async run(settings) {
    const turn = ++this.turn;
    const copies = await this.compute(settings, () => turn === this.turn);
    if (!copies) return false;
    this.restore();
    this.turn = turn;
    this.copies = copies;
    for (const [id, { numbers }] of copies) this.trace.replace(id, numbers);
    return true;
  }

  /** The recorded numbers again. */
  restore() {
    this.turn += 1;
    for (const id of this.copies.keys()) this.trace.replace(id, null);
    this.copies = new Map();
  }

  /**
   * The values that follow, without showing them.
   * @param {Setting[]} settings
   * @param {() => boolean} wanted
   * @returns {Promise<Map<number, Copy> | null>}
   */
  async compute(settings, wanted = () => true) {
    const { trace } = this;
    /** @type {Map<number, Copy>} */
    const copies = new Map();
    for (const { id, index, value } of settings) {
      const copy = copies.get(id) ?? this.copyOf(id);
      const { offset, strides } = trace.operand(id);
      const position = index.reduce((sum, i, d) => sum + i * strides[d], offset);
      if (!Object.is(copy.numbers[position], value)) copy.mask[position] = 1;
      copy.numbers[position] = value;
      copies.set(id, copy);
    }
    let until = performance.now() + SLICE;
    for (const id of this.downstream([...new Set(settings.map(({ id }) => id))])) {
      for (const _ of this.follow(id, copies)) {
        if (performance.now() < until) continue;
        await new Promise((resolve) => setTimeout(resolve));
        if (!wanted()) return null;
        until = performance.now() + SLICE;
      }
    }
    return copies;
  }

  /** @param {number} id @returns {Copy} */
  copyOf(id) {
    const numbers = /** @type {any} */ (this.recorded(id));
    return { numbers: numbers.slice(), mask: new Uint8Array(numbers.length) };
  }

  /** @param {number} id */
  recorded(id) {
    const { buffer, address } = this.trace.values[id];
    const { whole } = this.trace.stores[/** @type {number} */ (buffer)];
    if (!whole) throw new Error(`${address} was not asked for`);
    return whole;
  }

  /**
   * Recompute the cells of a value that read a changed one; rests after each row.
   * @param {number} id
   * @param {Map<number, Copy>} copies
   */
  *follow(id, copies) {
    const { trace } = this;
    const { args, shape, buffer } = trace.values[id];
    if (!args.some((arg) => copies.has(arg))) return;
    const alias = args.find(
      (arg) =>
        trace.rule(id).kind === "view" && trace.values[arg].buffer === buffer && copies.has(arg)
    );
    if (alias !== undefined) {
      const copy = /** @type {Copy} */ (copies.get(alias));
      const [{ mask }, { offset, strides }] = [copy, trace.operand(id)];
      for (const position of positions(shape, offset, strides))
        if (mask[position]) return void copies.set(id, copy);
      return;
    }
    const program = this.program(id);
    const box = this.box(id, program, copies);
    if (!box) return;
    const copy = this.copyOf(id);
    const operand = trace.operand(id);
    const now = this.frame(args, copies);
    const before = this.frame(args, null);
    const rank = shape.length;
    const rows = rank < 2 ? [[]] : product(box.slice(0, -1));
    const columns = rank ? box[rank - 1] : [0];
    let changed = false;
    for (const row of rows) {
      const start = row.reduce((sum, i, d) => sum + i * operand.strides[d], operand.offset);
      for (const frame of [now, before]) {
        row.forEach((i, d) => (frame.slots[d] = i));
        if (rank) frame.slots[rank - 1] = 0;
        for (const [slot, run] of program.hoisted) frame.slots[slot] = run(frame);
      }
      for (const column of columns) {
        if (rank) now.slots[rank - 1] = before.slots[rank - 1] = column;
        const value = program.body(now);
        // What the same arithmetic gave before: only a real change goes on, rounding does not.
        if (Object.is(value, program.body(before))) continue;
        const position = start + (rank ? column * operand.strides[rank - 1] : 0);
        copy.numbers[position] = value;
        copy.mask[position] = 1;
        changed = true;
      }
      yield;
    }
    if (changed) copies.set(id, copy);
  }

  /** @param {number} id */
  program(id) {
    const { rule, shape } = this.trace.values[id];
    let program = this.programs.get(rule);
    if (!program) {
      program = programOf(this.trace.rule(id).expr, shape.length);
      this.programs.set(rule, program);
    }
    return program;
  }

  /** @param {number[]} args @param {Map<number, Copy> | null} copies */
  frame(args, copies) {
    return {
      slots: /** @type {number[]} */ ([]),
      args: args.map((arg) => {
        const { shape, offset, strides } = this.trace.operand(arg);
        const numbers = copies?.get(arg)?.numbers ?? this.recorded(arg);
        return {
          shape,
          offset,
          strides,
          numbers,
          cell: (/** @type {number} */ position) => numbers[position]
        };
      })
    };
  }

  /**
   * Indices of a value that may read a changed cell, by dimension; null if none does.
   * @param {number} id
   * @param {Program} program
   * @param {Map<number, Copy>} copies
   */
  box(id, { reads }, copies) {
    const { trace } = this;
    const { shape, args } = trace.values[id];
    const flags = shape.map((length) => new Uint8Array(length));
    let any = false;
    for (const [k, indices] of reads) {
      const copy = copies.get(args[k]);
      if (!copy) continue;
      const sets = this.changedIn(args[k], copy);
      const outside = (/** @type {any} */ index, /** @type {number} */ d) =>
        typeof index === "number" && !sets[d][index];
      if (indices.some(outside)) continue;
      any = true;
      flags.forEach((flag, n) => {
        const d = indices.indexOf(`i${n}`);
        for (let i = 0; i < flag.length; i++) if (d < 0 || sets[d][i]) flag[i] = 1;
      });
    }
    return any ? flags.map((flag) => [...flag.keys()].filter((i) => flag[i])) : null;
  }

  /** Which indices of each dimension of a value hold a changed cell. @param {number} id @param {Copy} copy */
  changedIn(id, copy) {
    const { shape } = this.trace.values[id];
    const { offset, strides } = this.trace.operand(id);
    const sets = shape.map((length) => new Uint8Array(length));
    const index = shape.map(() => 0);
    for (const position of positions(shape, offset, strides, index))
      if (copy.mask[position]) index.forEach((i, d) => (sets[d][i] = 1));
    return sets;
  }

  /**
   * The cells of a value that read one cell. Exact where looking takes at most so many terms; else
   * none is left out.
   * @param {Cell} cell
   * @param {number} id
   * @param {number} most
   * @returns {Cell[]}
   */
  readersOf(cell, id, most) {
    const { trace } = this;
    const { expr } = trace.rule(id);
    const { args, shape } = trace.values[id];
    if (expr === undefined) return [];
    const { offset, strides } = trace.operand(cell.id);
    const position = cell.index.reduce((sum, i, d) => sum + i * strides[d], offset);
    const mask = { [position]: 1 };
    const box = this.box(
      id,
      this.program(id),
      new Map([[cell.id, { numbers: [], mask: /** @type {any} */ (mask) }]])
    );
    if (!box) return [];
    const cells = product(box).map((index) => ({ id, index }));
    if (cells.length * termsOf(expr) > most) return cells;
    const run = compile(expr, new Scope(shape.length));
    let read = false;
    const operands = args.map((arg) => {
      const operand = trace.operand(arg);
      return {
        ...operand,
        cell: (/** @type {number} */ place) => {
          if (arg === cell.id && place === position) read = true;
          return operand.cell(place);
        }
      };
    });
    return cells.filter(({ index }) => {
      read = false;
      run({ slots: [...index], args: operands });
      return read;
    });
  }
}

/**
 * Positions of all cells, the last index fastest; `index` follows.
 * @param {number[]} shape
 * @param {number} offset
 * @param {number[]} strides
 * @param {number[]} index
 */
function* positions(shape, offset, strides, index = shape.map(() => 0)) {
  for (let left = sizeOf(shape), position = offset; left > 0; left--) {
    yield position;
    for (let d = shape.length - 1; d >= 0; d--) {
      position += strides[d];
      if (++index[d] < shape[d]) break;
      position -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/** Every combination of the given indices. @param {number[][]} sets @returns {number[][]} */
function product(sets) {
  return sets.reduce(
    (rows, set) => rows.flatMap((row) => set.map((i) => [...row, i])),
    /** @type {number[][]} */ ([[]])
  );
}

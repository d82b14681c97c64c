/**
 * What follows from another number in one cell: every value computed from it, recomputed here by
 * the rules of the trace. The recorded numbers stay; `restore` shows them again.
 */
import { costOf, downstream, termsOf } from "./downstream.js";
import { sizeOf } from "./layout.js";
import { programOf } from "./program.js";
import { compile, Scope } from "./rules.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {{numbers: any, mask: Uint8Array}} Copy numbers of a buffer, and which of them changed */
/** @typedef {{id: number, index: number[], value: number}} Setting */
/** @typedef {import("./program.js").Program} Program */

const SLICE = 10; // milliseconds before the page may draw

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

  /** Fetch the numbers that a replay from these values reads. @param {number[]} ids */
  async ready(ids) {
    await Promise.all([...costOf(this.trace, ids).buffers].map((k) => this.trace.stores[k].all()));
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
    for (const id of downstream(trace, [...new Set(settings.map(({ id }) => id))])) {
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

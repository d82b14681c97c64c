/**
 * A two-dimensional look at a value: which of its cells are the rows and columns on screen,
 * which words stand beside them, which colours they have.
 */
import { colourAt, colourTable } from "./colour.js";
import { hasWords, t } from "./dom.js";

/** @typedef {import("./trace.js").Trace} Trace */

const FINE = 64; // cells of a row or column looked at for one point of a picture
const ATTENTION = new Set(["scores", "scaled", "masked", "softmax", "weights"]);

export class Sheet {
  /**
   * @param {Trace} trace
   * @param {number} id
   * @param {{
   *   lead?: Record<string, number>, fixed?: number[], transposed?: boolean,
   *   until?: Record<string, number>
   * }} [options] lead: index by axis name (head, batch); fixed: leading indices outright;
   *   until: how many places of an axis exist yet
   */
  constructor(trace, id, { lead = {}, fixed, transposed = false, until = {} } = {}) {
    this.trace = trace;
    this.id = id;
    this.value = trace.values[id];
    this.transposed = transposed;
    const { shape } = this.value;
    this.rank = shape.length;
    this.lead = shape.slice(0, Math.max(0, this.rank - 2)).map((length, d) => {
      const wanted = fixed?.[d] ?? lead[this.axis(d) ?? ""] ?? 0;
      return Math.min(Math.max(0, wanted), length - 1);
    });
    this.rowAxis = this.rank > 1 ? this.rank - 2 : -1;
    this.colAxis = this.rank > 0 ? this.rank - 1 : -1;
    if (transposed) [this.rowAxis, this.colAxis] = [this.colAxis, this.rowAxis];
    this.rows = this.length(this.rowAxis, until);
    this.cols = this.length(this.colAxis, until);
    this.operand = trace.operand(id);
    let base = this.operand.offset;
    this.lead.forEach((i, d) => (base += i * this.operand.strides[d]));
    this.base = base;
    this.rowStep = this.rowAxis < 0 ? 0 : this.operand.strides[this.rowAxis];
    this.colStep = this.colAxis < 0 ? 0 : this.operand.strides[this.colAxis];
  }

  /** @param {number} d */
  axis(d) {
    return this.value.axes?.[d] ?? null;
  }

  /** @param {number} d @param {Record<string, number>} until */
  length(d, until) {
    if (d < 0) return 1;
    const length = this.value.shape[d];
    const name = this.axis(d);
    const last = name ? (name.split("*").pop() ?? "") : "";
    return last in until && until[last] <= length ? Math.max(1, until[last]) : length;
  }

  /** @param {number} row @param {number} col */
  read(row, col) {
    return this.operand.cell(this.base + row * this.rowStep + col * this.colStep);
  }

  /**
   * The numbers of a picture of so many rows and columns, of a value whose numbers are not all
   * here.
   * @param {number} rows
   * @param {number} cols
   * @returns {Promise<ArrayLike<number>>}
   */
  async sample(rows, cols) {
    if (rows === this.rows && cols === this.cols)
      return this.trace.settled(() => pooled(this, rows, cols));
    const store = this.trace.stores[/** @type {number} */ (this.value.buffer)];
    return store.picture({
      offset: this.base,
      strides: [this.rowStep, this.colStep],
      shape: [this.rows, this.cols],
      size: [rows, cols]
    });
  }

  /** Indices of the whole tensor for a place on screen. @param {number} row @param {number} col */
  index(row, col) {
    const index = [...this.lead];
    if (this.rowAxis >= 0) index[this.rowAxis] = row;
    if (this.colAxis >= 0) index[this.colAxis] = col;
    return index;
  }

  /** Place on screen of a cell, or null if it lies on another sheet. @param {number[]} index */
  place(index) {
    if (this.lead.some((i, d) => index[d] !== i && this.value.shape[d] > 1)) return null;
    const row = this.rowAxis < 0 ? 0 : index[this.rowAxis];
    const col = this.colAxis < 0 ? 0 : index[this.colAxis];
    return row < this.rows && col < this.cols ? { row, col } : null;
  }

  /** @param {"row" | "col"} which @param {number} i */
  word(which, i) {
    const d = which === "row" ? this.rowAxis : this.colAxis;
    return d < 0 ? null : (this.trace.words(this.id, d)?.[i] ?? null);
  }

  /** Whether an axis has words. @param {"row" | "col"} which */
  worded(which) {
    const d = which === "row" ? this.rowAxis : this.colAxis;
    return d >= 0 && this.trace.words(this.id, d) !== null;
  }

  /** Whether rows are queries and columns keys: a matrix beside the scores it was made from. */
  get isAttention() {
    const { name, address } = this.value;
    if (name === undefined || !ATTENTION.has(name) || this.rank < 2) return false;
    const module = address.slice(0, address.lastIndexOf(".") + 1);
    return this.trace.addresses.has(`${module}scores`);
  }

  /**
   * What an axis is called: query and key for attention, else its own name.
   * @param {"row" | "col"} which
   */
  axisTitle(which) {
    const d = which === "row" ? this.rowAxis : this.colAxis;
    if (d < 0) return "";
    if (this.isAttention) return t(d === this.rank - 2 ? "axis.query" : "axis.key");
    const name = this.axis(d) ?? (d === this.rank - 1 && this.rank > 1 ? "width" : "");
    return hasWords(`axis.${name}`) ? t(`axis.${name}`) : name;
  }

  /** @returns {import("./colour.js").Scale} */
  get scale() {
    if (this.value.dtype === "bool") return "mask";
    if (!this.value.dtype.includes("float")) return "plain";
    const { low, high } = this.trace.range(this.id);
    return isWeight(this.trace, this.id) && low >= 0 && high <= 1.0001 ? "weight" : "signed";
  }

  /** Packed colours of a window of cells. @param {boolean} dark */
  painter(dark) {
    const { scale } = this;
    const colours = colourTable(scale, dark);
    const range = this.trace.range(this.id);
    return (/** @type {number} */ x) => colours[colourAt(x, scale, range)];
  }

  /**
   * Why a cell holds no number of its own: masked because later, because padding, or neither.
   * @param {number} row
   * @param {number} col
   */
  masked(row, col) {
    if (!this.isAttention) return null;
    const { name } = this.value;
    const x = this.read(row, col);
    if (
      name === "masked" ? x !== -Infinity : !(x === 0 && (name === "weights" || name === "softmax"))
    )
      return null;
    const key = this.transposed ? row : col;
    const query = this.transposed ? col : row;
    const word = this.word(this.transposed ? "row" : "col", key);
    if (word === "<pad>") return "padding";
    const same = this.axis(this.rank - 1) === this.axis(this.rank - 2);
    return (same || this.axis(this.rank - 1) === null) && key > query ? "later" : "hidden";
  }
}

/**
 * Weights are what a softmax gave, also after masking or dropout.
 * @param {Trace} trace
 * @param {number} id
 * @param {number} depth
 * @returns {boolean}
 */
export function isWeight(trace, id, depth = 0) {
  const { op, args, name } = trace.values[id];
  if (op.includes("softmax") && !op.includes("log_softmax") && !op.includes("backward"))
    return true;
  if (name === "weights") return true;
  return (
    depth < 4 &&
    args.length > 0 &&
    /masked_fill|view|transpose|expand|clone|slice|select|dropout|unsafe_view/.test(op) &&
    isWeight(trace, args[0], depth + 1)
  );
}

/**
 * A picture of so many rows and columns: of the cells that fall on a point the largest, NaN before
 * all.
 * @param {{rows: number, cols: number, read: (row: number, col: number) => number}} matrix
 * @param {number} rows
 * @param {number} cols
 */
export function pooled(matrix, rows, cols) {
  const out = new Float64Array(rows * cols);
  const [down, across] = [
    Math.ceil(matrix.rows / rows / FINE),
    Math.ceil(matrix.cols / cols / FINE)
  ];
  for (let r = 0, n = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++, n++) {
      let most = -1;
      for (
        let row = Math.floor((r * matrix.rows) / rows);
        row * rows < (r + 1) * matrix.rows;
        row += down
      ) {
        for (
          let col = Math.floor((c * matrix.cols) / cols);
          col * cols < (c + 1) * matrix.cols;
          col += across
        ) {
          const x = matrix.read(row, col);
          const size = Number.isNaN(x) ? Infinity : Math.abs(x);
          if (size > most) [most, out[n]] = [size, x];
        }
      }
    }
  }
  return out;
}

/** The numbers of a trace: bytes decoded, buffers fetched whole or in pages as they are needed. */

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
export class Store {
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

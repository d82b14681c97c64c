/** Where the cells of a tensor lie in its buffer. */

/** @typedef {{low: number, high: number, most: number, finite: boolean}} Range */

/** Strides of a tensor without gaps. @param {number[]} shape */
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
 * Smallest and largest finite number of a tensor.
 * @param {ArrayLike<number>} cells
 * @param {{shape: number[], offset: number, strides: number[]}} layout
 * @returns {Range}
 */
export function rangeOf(cells, { shape, offset, strides }) {
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
  return { low, high, most: Math.max(Math.abs(low), Math.abs(high)), finite };
}

/** Colours of data: blue–orange around zero, cividis for weights, two tones for masks. */

/** @typedef {"signed" | "weight" | "mask" | "plain"} Scale */
/** @typedef {[number, number, number]} Rgb */

/** @type {Rgb[]} */
const CIVIDIS = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 92, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56]
];

/** @param {Rgb[]} stops @param {number} t @returns {Rgb} */
function along(stops, t) {
  const x = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(x));
  const rest = x - k;
  return /** @type {Rgb} */ (stops[k].map((c, d) => Math.round(c + (stops[k + 1][d] - c) * rest)));
}

const SIGNED = {
  light: {
    minus: [
      [252, 252, 250],
      [150, 190, 226],
      [33, 102, 172],
      [8, 48, 107]
    ],
    plus: [
      [252, 252, 250],
      [250, 190, 125],
      [217, 95, 14],
      [127, 39, 4]
    ]
  },
  dark: {
    minus: [
      [24, 25, 28],
      [29, 70, 115],
      [66, 146, 208],
      [185, 222, 250]
    ],
    plus: [
      [24, 25, 28],
      [115, 57, 14],
      [232, 132, 45],
      [255, 217, 170]
    ]
  }
};

/** Tables of 256 colours, so that drawing is a lookup. */
const TABLE_SIZE = 256;

/** @param {(t: number) => Rgb} colour */
function table(colour) {
  const out = new Uint32Array(TABLE_SIZE);
  for (let n = 0; n < TABLE_SIZE; n++) {
    const [r, g, b] = colour(n / (TABLE_SIZE - 1));
    out[n] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return out;
}

/** @type {Map<string, Uint32Array>} */
const TABLES = new Map();

/** @param {Scale} scale @param {boolean} dark */
export function colourTable(scale, dark) {
  const key = scale + dark;
  let found = TABLES.get(key);
  if (!found) {
    const { minus, plus } = /** @type {any} */ (dark ? SIGNED.dark : SIGNED.light);
    if (scale === "weight") found = table((t) => along(CIVIDIS, t));
    else if (scale === "mask")
      found = table((t) =>
        dark
          ? along(
              [
                [40, 41, 45],
                [150, 152, 158]
              ],
              t
            )
          : along(
              [
                [226, 225, 220],
                [120, 120, 116]
              ],
              t
            )
      );
    else found = table((t) => (t < 0.5 ? along(minus, 1 - 2 * t) : along(plus, 2 * t - 1)));
    TABLES.set(key, found);
  }
  return found;
}

/**
 * Which colour a number has: position in the table.
 * @param {number} x
 * @param {Scale} scale
 * @param {{low: number, high: number, most: number}} range
 */
export function colourAt(x, scale, range) {
  if (scale === "weight" || scale === "mask") {
    const top = scale === "mask" ? 1 : Math.max(range.high, 1e-12);
    return Math.round((TABLE_SIZE - 1) * Math.min(1, Math.max(0, x / top)));
  }
  const most = range.most || 1;
  return Math.round((TABLE_SIZE - 1) * (0.5 + 0.5 * Math.min(1, Math.max(-1, x / most))));
}

/** As CSS. @param {number} packed */
export function css(packed) {
  return `rgb(${packed & 255},${(packed >> 8) & 255},${(packed >> 16) & 255})`;
}

/** Ink that can be read on a colour. @param {number} packed */
export function inkOn(packed) {
  const light = [packed & 255, (packed >> 8) & 255, (packed >> 16) & 255].map((c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4
  );
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000" : "#fff";
}

/**
 * A colour for each head, distinguishable without naming it.
 * @param {number} head
 * @param {boolean} dark
 */
export function headColour(head, dark) {
  const hues = [214, 24, 152, 330, 48, 274, 186, 4];
  const light = (dark ? 68 : 40) - 8 * Math.floor((head / hues.length) % 3);
  return `hsl(${hues[head % hues.length]} ${dark ? 70 : 65}% ${light}%)`;
}

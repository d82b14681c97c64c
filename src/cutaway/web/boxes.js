/**
 * The whole model as one picture: boxes in boxes, down to the matrices of each head, with places
 * and sizes. Encoder on the left, decoder on the right, from the bottom up, as on the map.
 */
import { displayName } from "./address.js";
import { middle } from "./camera.js";
import { t } from "./dom.js";
import { placeName } from "./map.js";
import { Sheet } from "./sheet.js";

/** @typedef {import("./structure.js").Structure} Structure */
/**
 * A part of the picture. `key` names it in the address; `path` is its place on the map; its title
 * stands in a strip at its top. A matrix has a sheet and no children.
 * @typedef {{
 *   key: string, name: string, path: string, x: number, y: number, w: number, h: number,
 *   title: number, children: Box[], sheet?: Sheet, parent?: Box
 * }} Box
 */

const TALL = 100; // of a matrix
const FLAT = 4; // a matrix is at most so many times as wide as high, or as high as wide
const GAP = 0.03; // between boxes, of the smaller side of the smallest
const TITLE = 0.05; // of a box's size, at its top
const LOW = [0.2, 4]; // a row is at most so high, of its width: of matrices, of other boxes
const STACKED = 3; // layers above each other; of more, several beside each other

/**
 * @param {string} key
 * @param {string} name
 * @param {string} path
 * @param {Box[]} children placed from (0, 0) on
 * @returns {Box}
 */
function box(key, name, path, children) {
  const [w, h] = [
    Math.max(...children.map((one) => one.x + one.w)),
    Math.max(...children.map((one) => one.y + one.h))
  ];
  const edge = GAP * Math.min(w, h);
  const title = TITLE * Math.sqrt(w * h);
  for (const one of children) move(one, edge, edge + title);
  const made = { key, name, path, x: 0, y: 0, w: w + 2 * edge, h: h + 2 * edge + title, title };
  const whole = { ...made, children };
  for (const one of children) one.parent = whole;
  return whole;
}

/** @param {Box} one @param {number} dx @param {number} dy */
function move(one, dx, dy) {
  one.x += dx;
  one.y += dy;
  for (const child of one.children) move(child, dx, dy);
}

/** Larger or smaller as a whole, from (0, 0). @param {Box} one @param {number} by */
function scale(one, by) {
  for (const side of /** @type {const} */ (["x", "y", "w", "h", "title"])) one[side] *= by;
  for (const child of one.children) scale(child, by);
}

/**
 * Boxes in rows that together are about so many times as wide as high.
 * @param {Box[]} boxes
 * @param {number} aspect
 */
function inRows(boxes, aspect) {
  const gap = 4 * GAP * Math.min(...boxes.map(({ w, h }) => Math.min(w, h)));
  const area = boxes.reduce((sum, { w, h }) => sum + (w + gap) * (h + gap), 0);
  const width = Math.max(Math.sqrt(area * aspect), ...boxes.map(({ w }) => w));
  let [x, y, row] = [0, 0, 0];
  for (const one of boxes) {
    if (x > 0 && x + one.w > width * 1.02) [x, y, row] = [0, y + row + gap, 0];
    move(one, x - one.x, y - one.y);
    x += one.w + gap;
    row = Math.max(row, one.h);
  }
  return boxes;
}

/**
 * Rows of equal width above each other, the first at the bottom; boxes of a row are equally high.
 * @param {Box[][]} rows
 */
function upwards(rows) {
  const filled = rows.filter((row) => row.length);
  const width = Math.max(...filled.flat().map(({ w }) => w));
  const gap = 0.02 * width;
  let y = 0;
  for (const row of filled.reverse()) {
    for (const one of row) scale(one, 1 / one.h);
    const room = width - gap * (row.length - 1);
    const sum = row.reduce((all, { w }) => all + w, 0);
    const by = Math.min(room / sum, LOW[row[0].sheet || row[0].children[0].sheet ? 0 : 1] * width);
    let x = (room - by * sum) / 2;
    for (const one of row) {
      scale(one, by);
      move(one, x - one.x, y - one.y);
      x += one.w + gap;
    }
    y += by + gap;
  }
  return filled.flat();
}

/**
 * A matrix of a value.
 * @param {Structure} structure
 * @param {number} id
 * @param {string} path
 * @param {number} [head]
 * @returns {Box}
 */
function matrix({ trace }, id, path, head) {
  const sheet = new Sheet(trace, id, { lead: head === undefined ? {} : { head } });
  const wide = Math.min(FLAT, Math.max(1 / FLAT, sheet.cols / sheet.rows));
  const [w, h] = [TALL * Math.max(1, wide), TALL * Math.max(1, 1 / wide)];
  // All matrices are equally large, a single row a quarter of that.
  const shrink = Math.sqrt((TALL * TALL) / (w * h)) * (sheet.rows > 1 ? 1 : 0.5);
  const { address } = trace.values[id];
  const key = head === undefined ? address : `${address}#${head}`;
  const name = displayName(trace, id);
  const title = 0.12 * TALL;
  const size = { x: 0, y: 0, w: w * shrink, h: h * shrink + title, title };
  return { key, name, path, ...size, children: [], sheet };
}

/** Matrices of a place that have a name or were learned. @param {Structure} structure @param {string} path */
function valuesOf(structure, path) {
  const { trace } = structure;
  const named = (/** @type {number} */ id) =>
    trace.kept(id) &&
    trace.values[id].shape.length > 0 &&
    trace.values[id].dtype.includes("float") &&
    (trace.values[id].name !== undefined || trace.rule(id).source === "parameter");
  return structure.inside(path).filter(named);
}

/**
 * A place with its matrices; those of attention stand by heads.
 * @param {Structure} structure
 * @param {string} path
 * @param {string} name
 * @param {number[]} ids
 * @returns {Box | null}
 */
function place(structure, path, name, ids) {
  const { trace } = structure;
  const axis = (/** @type {number} */ id) => trace.values[id].axes?.indexOf("head") ?? -1;
  const alone = ids.filter((id) => axis(id) < 0).map((id) => matrix(structure, id, path));
  const headed = ids.filter((id) => axis(id) >= 0);
  const count = Math.max(0, ...headed.map((id) => trace.values[id].shape[axis(id)]));
  const heads = Array.from({ length: count }, (_, head) =>
    box(
      `${path}#${head}`,
      t("head.n", { n: head + 1 }),
      path,
      inRows(
        headed.map((id) => matrix(structure, id, path, head)),
        1.3
      )
    )
  );
  const parts = [...heads, ...alone];
  return parts.length ? box(path, name, path, inRows(parts, heads.length ? 4 : 5)) : null;
}

/**
 * One side of the paper's machine, from its words to its last layer.
 * @param {Structure} structure
 * @param {"encoder" | "decoder"} side
 * @param {string[]} layers
 */
function sideOf(structure, side, layers) {
  const { trace, modules } = structure;
  const [own, other] = side === "encoder" ? ["source", "target"] : ["target", "source"];
  const shared = modules.has("target_embedding") ? "target_embedding" : "embedding";
  const embedding = side === "decoder" ? shared : "embedding";
  const mine = (/** @type {number} */ id) => {
    const axes = trace.values[id].axes ?? [];
    return axes.includes(own) || !(axes.includes(other) || (side === "decoder" && layers.length));
  };
  const probabilities = trace.addresses.get("probabilities");
  const end =
    side === "decoder" || !structure.decoderLayers.length ? valuesOf(structure, "output") : [];
  if (
    end.length &&
    probabilities !== undefined &&
    trace.kept(probabilities) &&
    !end.includes(probabilities)
  )
    end.push(probabilities);
  const at = (
    /** @type {string} */ path,
    /** @type {string} */ name,
    ids = valuesOf(structure, path)
  ) => place(structure, path, name, ids);
  const drawn = layers.map((path) => {
    const parts = structure.sublayers(path).map((sub) => at(sub, placeName(sub)));
    const rows = [0, 2, 4].map((n) => present(parts.slice(n, n + 2))); // with its add & norm each
    return box(path, placeName(path), path, upwards(rows));
  });
  const rows = [
    present([
      at(embedding, t("map.embedding"), valuesOf(structure, embedding).filter(mine)),
      at(`${side}.positions`, t("map.positions"))
    ]),
    ...(drawn.length > STACKED ? [[columns(side, drawn)]] : drawn.map((one) => [one])),
    present([
      modules.has(`${side}.norm`) ? at(`${side}.norm`, t("map.norm")) : null,
      at("output", t("map.linear"), end)
    ])
  ];
  return box(side, t(`map.${side}`), side, upwards(rows));
}

/** Many layers in several columns, from the bottom up. @param {string} side @param {Box[]} layers */
function columns(side, layers) {
  const high = Math.ceil(layers.length / Math.ceil(layers.length / STACKED));
  for (let n = 0, x = 0; n < layers.length; n += high) {
    const column = upwards(layers.slice(n, n + high).map((one) => [one]));
    const foot = Math.max(...column.map((one) => one.y + one.h));
    for (const one of column) move(one, x, -foot);
    x += 1.04 * Math.max(...column.map(({ w }) => w));
  }
  const top = Math.min(...layers.map(({ y }) => y));
  for (const one of layers) move(one, 0, -top);
  return box(`${side}.layers`, t("map.layers"), side, layers);
}

/** @param {(Box | null)[]} boxes @returns {Box[]} */
function present(boxes) {
  return /** @type {Box[]} */ (boxes.filter((one) => one !== null));
}

/** Any model: its modules as they are nested. @param {Structure} structure @param {import("./structure.js").Module} module @returns {Box | null} */
function nested(structure, module) {
  const { trace } = structure;
  const own = valuesOf(structure, module.path).filter((id) => trace.path(id) === module.path);
  const parts = [
    ...own.map((id) => matrix(structure, id, module.path)),
    ...present(module.children.map((child) => nested(structure, child)))
  ];
  const name = module.name || module.class || t("map.model");
  return parts.length ? box(module.path, name, module.path, inRows(parts, 1.6)) : null;
}

/** The whole picture of a run. @param {Structure} structure @returns {Box | null} */
export function boxesOf(structure) {
  if (!structure.isPaper) return nested(structure, /** @type {any} */ (structure.modules.get("")));
  const sides = [
    structure.encoderLayers.length ? sideOf(structure, "encoder", structure.encoderLayers) : null,
    structure.decoderLayers.length ? sideOf(structure, "decoder", structure.decoderLayers) : null
  ].filter((one) => one !== null);
  if (!sides.length) return null;
  const width = sides[0].w;
  sides.forEach((one, n) => {
    scale(one, width / one.w);
    move(one, n * 1.05 * width - one.x, -one.y - one.h); // both stand on the ground
  });
  const top = Math.min(...sides.map(({ y }) => y));
  for (const one of sides) move(one, 0, -top);
  return box("", t("map.model"), "", sides);
}

/** A box and all that it holds. @param {Box} one @returns {Box[]} */
export function all(one) {
  return [one, ...one.children.flatMap(all)];
}

/** From the whole picture to a box. @param {Box} one @returns {Box[]} */
export function wayTo(one) {
  return one.parent ? [...wayTo(one.parent), one] : [one];
}

/**
 * The nearest box on the same level in a direction.
 * @param {Box} root
 * @param {Box} box
 * @param {[number, number]} to
 * @returns {Box | undefined}
 */
export function neighbour(root, box, [dx, dy]) {
  const level = wayTo(box).length;
  const [x, y] = middle(box);
  return all(root)
    .filter((one) => one !== box && wayTo(one).length === level)
    .map((one) => {
      const [u, v] = middle(one);
      const [along, aside] = [(u - x) * dx + (v - y) * dy, Math.abs((u - x) * dy + (v - y) * dx)];
      return { one, along, aside, far: along + 2 * aside };
    })
    .filter(({ along, aside }) => along > aside)
    .sort((a, b) => a.far - b.far)[0]?.one;
}

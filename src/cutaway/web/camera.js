/** Looking at a large picture through a small window: where it is, and the way to elsewhere. */

/**
 * What is in view: the point of the picture in the window's corner, and pixels per unit.
 * @typedef {{x: number, y: number, scale: number}} Camera
 */
/** @typedef {{x: number, y: number, w: number, h: number}} Area */
/** @typedef {{width: number, height: number}} Size of the window, in pixels */

const MARGIN = 1.08;

/** @param {Area} area */
export function middle({ x, y, w, h }) {
  return [x + w / 2, y + h / 2];
}

/** A point in the middle of the window. @param {Size} size @param {number[]} point @param {number} scale @returns {Camera} */
export function centred({ width, height }, [x, y], scale) {
  return { x: x - width / 2 / scale, y: y - height / 2 / scale, scale };
}

/** The point in the middle of the window. @param {Size} size @param {Camera} camera */
export function centre({ width, height }, { x, y, scale }) {
  return [x + width / 2 / scale, y + height / 2 / scale];
}

/** An area that fills the window. @param {Size} size @param {Area} area @returns {Camera} */
export function fitted(size, area, margin = MARGIN) {
  const scale = Math.min(size.width / area.w, size.height / area.h) / margin;
  return centred(size, middle(area), scale);
}

/**
 * The window on its way from one place to another, at a part of it: one point stays where it is
 * while the rest grows or shrinks round it.
 * @param {Size} size
 * @param {Camera} from
 * @param {Camera} to
 * @param {number} part from 0 to 1
 * @returns {Camera}
 */
export function between(size, from, to, part) {
  if (part >= 1) return to;
  const p = part * part * (3 - 2 * part);
  const scale = from.scale * (to.scale / from.scale) ** p;
  const apart = 1 / to.scale - 1 / from.scale;
  const u = Math.abs(apart) * to.scale < 1e-3 ? p : (1 / scale - 1 / from.scale) / apart;
  const [a, b] = [centre(size, from), centre(size, to)];
  return centred(
    size,
    a.map((x, d) => x + (b[d] - x) * u),
    scale
  );
}

/**
 * Nearer or farther, about a point of the window.
 * @param {Camera} camera
 * @param {number} scale the new one
 * @param {number} x
 * @param {number} y in pixels
 * @returns {Camera}
 */
export function scaled(camera, scale, x, y) {
  const grown = (/** @type {number} */ pixels) => pixels / camera.scale - pixels / scale;
  return { x: camera.x + grown(x), y: camera.y + grown(y), scale };
}

/** @param {Area} area @param {number} x @param {number} y */
export function holds(area, x, y) {
  return x >= area.x && y >= area.y && x < area.x + area.w && y < area.y + area.h;
}

/** The point of an area that is nearest to another. @param {Area} area @param {number} u @param {number} v @returns {[number, number]} */
export function clamped({ x, y, w, h }, u, v) {
  const within = (
    /** @type {number} */ at,
    /** @type {number} */ from,
    /** @type {number} */ size
  ) => Math.min(from + size * 0.999, Math.max(from, at));
  return [within(u, x, w), within(v, y, h)];
}

/** The area that is nearest to a point. @template {Area} T @param {T[]} areas @param {number} x @param {number} y */
export function closest(areas, x, y) {
  const far = (/** @type {T} */ area) => {
    const [u, v] = clamped(area, x, y);
    return Math.hypot(u - x, v - y);
  };
  return [...areas].sort((a, b) => far(a) - far(b))[0];
}

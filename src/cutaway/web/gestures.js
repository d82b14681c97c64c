/** Moving about a picture: wheel, drag, two fingers, keys. */

/**
 * @param {HTMLElement} element
 * @param {{
 *   pan: (dx: number, dy: number) => void, zoom: (by: number, x: number, y: number) => void,
 *   pick: (x: number, y: number) => void
 * }} acts in pixels from the element's corner
 */
export function gestures(element, { pan, zoom, pick }) {
  /** @type {Map<number, {x: number, y: number}>} */
  const fingers = new Map();
  let moved = 0;
  const at = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const middle = () => [element.clientWidth / 2, element.clientHeight / 2];
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = at(event);
      zoom(Math.exp(-event.deltaY / (event.ctrlKey ? 120 : 400)), x, y);
    },
    { passive: false }
  );
  element.addEventListener("pointerdown", (event) => {
    if (!fingers.size) moved = 0;
    fingers.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const now = at(event);
    const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const apart = (/** @type {{x: number, y: number}} */ { x, y }) =>
      Math.max(1, Math.hypot(x - other.x, y - other.y));
    if (other) zoom(apart(now) / apart(last), (now.x + other.x) / 2, (now.y + other.y) / 2);
    else pan(now.x - last.x, now.y - last.y);
    moved += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
    fingers.set(event.pointerId, now);
  });
  const up = (/** @type {PointerEvent} */ event) => {
    if (!fingers.delete(event.pointerId)) return;
    const { x, y } = at(event);
    if (moved < 6 && event.type === "pointerup" && !fingers.size) pick(x, y);
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("keydown", (event) => {
    const [x, y] = middle();
    /** @type {Record<string, () => void>} */
    const keys = {
      "+": () => zoom(1.25, x, y),
      "=": () => zoom(1.25, x, y),
      "-": () => zoom(0.8, x, y),
      ArrowLeft: () => pan(60, 0),
      ArrowRight: () => pan(-60, 0),
      ArrowUp: () => pan(0, 60),
      ArrowDown: () => pan(0, -60),
      Enter: () => pick(x, y)
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
}

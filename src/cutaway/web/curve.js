/** Curves on paper: thin lines, few ticks, the numbers beside them. */
import { drawing, h, hint, locale, svg } from "./dom.js";
import { inline, whole } from "./numbers.js";

/** @typedef {{name: string, points: [number, number][], colour?: string}} Line */

/**
 * @param {Line[]} lines
 * @param {{width?: number, height?: number, label: string, x?: string, y?: string}} options
 */
export function curve(lines, { width = 640, height = 220, label, x = "", y = "" }) {
  const points = lines.flatMap((line) => line.points).filter(([, v]) => Number.isFinite(v));
  if (!points.length) return hint("–");
  const [x0, x1] = [Math.min(...points.map((p) => p[0])), Math.max(...points.map((p) => p[0]))];
  const [y0, y1] = [Math.min(...points.map((p) => p[1])), Math.max(...points.map((p) => p[1]))];
  const left = 56;
  const bottom = 28;
  const px = (/** @type {number} */ v) => left + ((v - x0) / (x1 - x0 || 1)) * (width - left - 24);
  const py = (/** @type {number} */ v) =>
    10 + (1 - (v - y0) / (y1 - y0 || 1)) * (height - bottom - 16);
  const ticks = (/** @type {number} */ a, /** @type {number} */ b) => {
    const rough = (b - a) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough * 0.999) ?? rough;
    const first = Math.ceil(a / step - 1e-6);
    return Array.from(
      { length: Math.floor(b / step + 1e-6) - first + 1 },
      (_, n) => (first + n) * step
    );
  };
  const tick = (/** @type {number} */ v) => {
    const rounded = Number(v.toPrecision(6));
    return Number.isInteger(rounded) && rounded >= 1000
      ? whole(rounded, locale())
      : inline(rounded);
  };
  return drawing(
    "curve",
    [width, height],
    label,
    ticks(y0, y1).map((v) => [
      svg("line", { class: "grid", x1: left, x2: width - 24, y1: py(v), y2: py(v) }),
      svg("text", { class: "tick", x: left - 6, y: py(v) + 3, "text-anchor": "end" }, tick(v))
    ]),
    ticks(x0, x1).map((v) =>
      svg(
        "text",
        { class: "tick", x: px(v), y: height - bottom + 14, "text-anchor": "middle" },
        tick(v)
      )
    ),
    lines.map((line) =>
      svg("path", {
        class: "line",
        d: line.points
          .filter(([, v]) => Number.isFinite(v))
          .map(([a, b], n) => `${n ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`)
          .join(""),
        stroke: line.colour ?? "currentColor"
      })
    ),
    svg("text", { class: "axis", x: width - 12, y: height - 2, "text-anchor": "end" }, x),
    svg("text", { class: "axis", x: 2, y: 8 }, y)
  );
}

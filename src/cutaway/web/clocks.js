/** Positions as clock hands: each pair of columns of the table is a hand, turning at its own pace. */
import { drawing, fill, h, svg, t } from "./dom.js";
import { range } from "./heat.js";
import { short } from "./numbers.js";
import { go } from "./state.js";
import { waveOf } from "./waves.js";

const CLOCKS = 16;
const SIZE = 92;

/**
 * Hands of a position: sine and cosine of the table, and after how many positions they return.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id the table
 * @param {number} position
 */
export function handsOf(trace, id, position) {
  const [, width] = trace.values[id].shape;
  const pairs = Math.floor(width / 2);
  const count = Math.min(CLOCKS, pairs);
  return range(count).map((n) => {
    const even = 2 * Math.floor((n * pairs) / count);
    const [sine, cosine] = [even, even + 1].map((column) => trace.read(id, [position, column]));
    return { even, sine, cosine, period: 2 * Math.PI * 10000 ** (even / width) };
  });
}

/**
 * Clocks of one position; a slider moves through the positions. Null where the table is not the
 * paper's.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id the table, its numbers here
 */
export function clocks(trace, id) {
  const [length] = trace.values[id].shape;
  if (!waveOf(trace, { id, index: [1, 0] }, trace.read(id, [1, 0]))) return null;
  const faces = h("div", { class: "clocks" });
  const out = h("output", { translate: "no" });
  const slider = h("input", {
    type: "range",
    id: "clock-position",
    min: "0",
    max: String(Math.min(length - 1, 100)),
    value: "1",
    oninput: () => draw()
  });
  const face = (/** @type {ReturnType<typeof handsOf>[0]} */ { even, sine, cosine, period }) => {
    const [middle, radius] = [SIZE / 2, SIZE / 2 - 8];
    const name = t("clocks.label", {
      columns: `${even}, ${even + 1}`,
      n: period < 100 ? period.toFixed(1) : String(Math.round(period))
    });
    const open = () =>
      go({
        view: "look",
        place: "",
        at: trace.address({ id, index: [Number(slider.value), even] })
      });
    return h(
      "figure",
      {},
      h(
        "button",
        { type: "button", class: "clock", onclick: open, "aria-label": name },
        drawing(
          "clock-face",
          [SIZE, SIZE],
          name,
          svg("circle", { cx: middle, cy: middle, r: radius }),
          svg("line", {
            class: "hand",
            "data-sine": sine,
            "data-cosine": cosine,
            x1: middle,
            y1: middle,
            x2: middle + radius * cosine,
            y2: middle - radius * sine
          })
        )
      ),
      h(
        "figcaption",
        {},
        name,
        h("br"),
        h("code", { translate: "no" }, `${short(sine)} ${short(cosine)}`)
      )
    );
  };
  const draw = () => {
    out.textContent = slider.value;
    fill(faces, handsOf(trace, id, Number(slider.value)).map(face));
  };
  draw();
  return h(
    "section",
    { class: "clock-room" },
    h("label", { class: "slider" }, h("span", {}, t("axis.position")), slider, out),
    h("p", { class: "hint" }, t("clocks.text")),
    faces
  );
}

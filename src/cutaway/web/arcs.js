/** Attention as arcs: from the word being predicted to the words it looks at. */
import { headColour } from "./colour.js";
import { data, drawing, h, isDark, locale, svg, t } from "./dom.js";
import { range, shown } from "./heat.js";
import { percent } from "./numbers.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */

/**
 * Addresses of the cross-attention weights, or of the self-attention of a one-sided model.
 * @param {Trace} trace
 */
export function attentionLayers(trace) {
  const found = (/** @type {string} */ kind) =>
    range(64)
      .map((n) => trace.addresses.get(`${kind.replace("#", String(n))}.weights`))
      .filter((id) => id !== undefined && trace.kept(/** @type {number} */ (id)));
  const cross = found("decoder.layers.#.cross_attention");
  if (cross.length) return { ids: /** @type {number[]} */ (cross), side: "source" };
  const own = found("decoder.layers.#.self_attention");
  return {
    ids: /** @type {number[]} */ (own.length ? own : found("encoder.layers.#.self_attention")),
    side: own.length ? "target" : "source"
  };
}

const CELL = 64;
const HEIGHT = 112;

/**
 * @param {Trace} trace
 * @param {{pieces: string[], source: string[]}} translation
 * @param {number} step
 */
export function arcs(trace, translation, step) {
  const { ids, side } = attentionLayers(trace);
  if (!ids.length) return h("p", { class: "hint" }, t("arcs.none"));
  const layer = Math.min(
    ids.length - 1,
    where().arclayer ? Number(where().arclayer) : ids.length - 1
  );
  const id = ids[layer];
  const heads = trace.values[id].shape[1];
  const one = where().archead ?? "all";
  const box = h("div", { class: "arcs" });
  const source = trace.header.labels?.[side] ?? translation.source;
  const controls = h(
    "div",
    { class: "buttons" },
    h(
      "label",
      { class: "select" },
      h("span", {}, t("bar.layer")),
      h(
        "select",
        {
          id: "arc-layer",
          onchange: (/** @type {any} */ event) =>
            go({ arclayer: event.target.value }, { replace: true })
        },
        ids.map((_, n) => h("option", { value: String(n), selected: n === layer }, String(n + 1)))
      )
    ),
    h(
      "label",
      { class: "select" },
      h("span", {}, t("bar.head")),
      h(
        "select",
        {
          id: "arc-head",
          onchange: (/** @type {any} */ event) =>
            go(
              { archead: event.target.value === "all" ? "" : event.target.value },
              { replace: true }
            )
        },
        h("option", { value: "all", selected: one === "all" || one === "" }, t("heads.mean")),
        range(heads).map((n) =>
          h("option", { value: String(n), selected: one === String(n) }, String(n + 1))
        )
      )
    )
  );
  const only = one === "all" || one === "" ? range(heads) : [Number(one)];
  const [, , rows, cols] = trace.values[id].shape;
  const row = Math.min(step, rows - 1);
  void trace
    .settled(() =>
      range(cols).map(
        (key) =>
          only.reduce((sum, head) => sum + trace.read(id, [0, head, row, key]), 0) / only.length
      )
    )
    .then((weights) => {
      const width = Math.max(cols, 3) * CELL;
      const from = width / 2;
      const dark = isDark();
      const picture = drawing(
        "arc-picture",
        [width, HEIGHT + 40],
        t("arcs.label", {
          word: shown(translation.pieces[step] ?? ""),
          best: shown(source[weights.indexOf(Math.max(...weights))] ?? "")
        }),
        weights.flatMap((w, key) => {
          const x = (key + 0.5) * CELL;
          const single = only.length === 1;
          return w < 0.004
            ? []
            : [
                svg("path", {
                  d: `M${x} 34C${x} ${HEIGHT * 0.7} ${from} ${HEIGHT * 0.5} ${from} ${HEIGHT + 12}`,
                  fill: "none",
                  stroke: single ? headColour(only[0], dark) : "currentColor",
                  "stroke-width": 0.5 + 9 * w,
                  "stroke-opacity": 0.25 + 0.75 * w
                })
              ];
        }),
        weights.map((w, key) =>
          svg(
            "g",
            {
              class: "arc-word",
              tabindex: 0,
              role: "button",
              "aria-label": `${shown(source[key] ?? "")} ${percent(w, locale())}`,
              onclick: () => open(key),
              onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && open(key)
            },
            svg("rect", { x: key * CELL + 2, y: 0, width: CELL - 4, height: 34, class: "hit" }),
            svg(
              "text",
              { x: (key + 0.5) * CELL, y: 14, "text-anchor": "middle" },
              clipWord(shown(source[key] ?? ""))
            ),
            svg(
              "text",
              { class: "score", x: (key + 0.5) * CELL, y: 28, "text-anchor": "middle" },
              percent(w, locale())
            )
          )
        ),
        svg(
          "text",
          { class: "arc-target", x: from, y: HEIGHT + 30, "text-anchor": "middle" },
          shown(translation.pieces[step] ?? "")
        )
      );
      const open = (/** @type {number} */ key) =>
        go({
          at: trace.address({ id, index: [0, only[0], row, key] }),
          view: "look",
          head: String(only[0])
        });
      box.replaceChildren(
        h("div", { class: "scroll-x" }, picture),
        data("p", { class: "hint" }, trace.values[id].address)
      );
    });
  return h("div", {}, controls, box);
}

/** @param {string} text */
function clipWord(text) {
  return text.length > 8 ? `${text.slice(0, 7)}…` : text;
}

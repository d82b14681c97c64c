/**
 * `<cut-walk>`: the thirteen steps on the reader's own sentence; a narrow reading column beside the
 * stage.
 */
import { fill, h, press, t } from "./dom.js";
import { range } from "./heat.js";
import { LookElement } from "./look.js";
import { go, where } from "./state.js";

/**
 * Where each step happens: the first address that exists is shown, at a cell worth looking at.
 * @type {{place: string, show: string[]}[]}
 */
export const WALK = [
  { place: "embedding", show: ["source", "ids"] },
  { place: "embedding", show: ["embedding.scaled", "embedding.tokens"] },
  { place: "encoder.positions", show: ["encoder.positions.positions"] },
  { place: "encoder.positions", show: ["encoder.states"] },
  { place: "encoder.layers.0.self_attention", show: ["encoder.layers.0.self_attention.query"] },
  { place: "encoder.layers.0.self_attention", show: ["encoder.layers.0.self_attention.scaled"] },
  { place: "encoder.layers.0.self_attention", show: ["encoder.layers.0.self_attention.weights"] },
  { place: "encoder.layers.0.self_attention", show: ["encoder.layers.0.self_attention.context"] },
  {
    place: "encoder.layers.0.self_attention_add_norm",
    show: ["encoder.layers.0.self_attention_add_norm.normed"]
  },
  { place: "encoder.layers.0.feed_forward", show: ["encoder.layers.0.feed_forward.hidden"] },
  {
    place: "decoder.layers.0.self_attention",
    show: ["decoder.layers.0.self_attention.masked", "decoder.layers.0.self_attention.weights"]
  },
  { place: "decoder.layers.0.cross_attention", show: ["decoder.layers.0.cross_attention.weights"] },
  { place: "output", show: ["probabilities", "output.logits"] }
];

/**
 * The cell a step looks at: the last row is the newest word.
 * @param {import("./trace.js").Trace} trace
 * @param {string[]} addresses
 */
function cellOf(trace, addresses) {
  for (const address of addresses) {
    const id = trace.addresses.get(address);
    if (id === undefined) continue;
    const { shape } = trace.values[id];
    const row = shape.length > 1 ? Math.min(1, shape[shape.length - 2] - 1) : 0;
    return trace.address({ id, index: shape.map((_, d) => (d === shape.length - 2 ? row : 0)) });
  }
  return "";
}

export class WalkElement extends HTMLElement {
  /**
   * @param {{
   *   trace: import("./trace.js").Trace, structure: import("./structure.js").Structure,
   *   translation: any
   * }} session
   * @param {any} options
   */
  async show(session, options) {
    const last = WALK.length;
    const n = Math.min(last, Math.max(1, Number(where().walk || 1)));
    this.n = n;
    const { place, show } = WALK[n - 1];
    this.look = /** @type {LookElement} */ (document.createElement("cut-look"));
    const reading = h("article", { class: "reading" });
    fill(this, h("div", { class: "walk" }, reading, this.look));
    const to = (/** @type {number} */ step) =>
      go({ walk: String(step), at: "", place: "", step: "" });
    const revealed = Boolean(where().at);
    fill(
      reading,
      h("p", { class: "count" }, t("walk.count", { n, of: last })),
      h("h1", {}, t(`walk.${n}.title`)),
      t(`walk.${n}.text`)
        .split("\n")
        .map((text) => h("p", {}, text)),
      h(
        "section",
        { class: "question" },
        h("h2", {}, t("walk.question")),
        h("p", {}, t(`walk.${n}.ask`)),
        revealed
          ? h("p", { class: "answer" }, t(`walk.${n}.answer`))
          : press(
              { id: "reveal", onclick: () => go({ at: cellOf(session.trace, show), place }) },
              t("walk.reveal")
            )
      ),
      h(
        "div",
        { class: "buttons" },
        press({ id: "back", disabled: n === 1, onclick: () => to(n - 1) }, t("step.back")),
        press(
          { id: "next", disabled: n === last, class: "primary", onclick: () => to(n + 1) },
          t("step.next")
        )
      ),
      h(
        "ol",
        { class: "walk-list" },
        range(last).map((k) =>
          h(
            "li",
            { class: k + 1 === n ? "here" : "" },
            press(
              { "aria-current": k + 1 === n ? "step" : undefined, onclick: () => to(k + 1) },
              t(`walk.${k + 1}.title`)
            )
          )
        )
      )
    );
    await this.look.show(session.structure, {
      ...options,
      place: session.structure.modules.has(options.place || place) ? options.place || place : ""
    });
  }

  /** @param {any} focus */
  async turnTo(focus) {
    const reveal = this.querySelector("#reveal");
    if (reveal && focus)
      reveal.replaceWith(h("p", { class: "answer" }, t(`walk.${this.n}.answer`)));
    await this.look?.turnTo(focus);
  }
}

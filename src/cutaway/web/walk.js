/**
 * `<cut-walk>`: the thirteen steps on the reader's own sentence; a narrow reading column beside the
 * stage.
 */
import { fill, h, hasWords, press, t } from "./dom.js";
import { range } from "./heat.js";
import { LookElement } from "./look.js";
import { go, where } from "./state.js";

/** @typedef {import("./session.js").Session} Session */
/**
 * Where a step happens and the cell it opens: a value, and which of its cells (the first column of
 * the second row unless said otherwise).
 * @typedef {{
 *   place: string, show: string[], pre?: string, cell?: (shape: number[], session: Session) => number[]
 * }} WalkStep `show`: the first of these values that exists; `pre`: instead, in a pre-norm model
 */

const SELF = "encoder.layers.0.self_attention";
const NORM = "encoder.layers.0.self_attention_add_norm";
const MASKED = "decoder.layers.0.self_attention";
const CROSS = "decoder.layers.0.cross_attention";

/** @param {number[]} shape @param {number} row @param {number} column */
const cellAt = (shape, row, column) => [...shape.slice(2).map(() => 0), row, column];
/** @param {number} size */
const second = (size) => Math.min(1, size - 1);

/** @type {WalkStep[]} */
export const WALK = [
  { place: "embedding", show: ["source", "ids"] },
  { place: "embedding", show: ["embedding.scaled", "embedding.tokens"] },
  { place: "encoder.positions", show: ["encoder.positions.positions"] },
  { place: "encoder.positions", show: ["encoder.states"] },
  { place: SELF, show: [`${SELF}.query`] },
  { place: SELF, show: [`${SELF}.scores`] },
  { place: SELF, show: [`${SELF}.softmax`, `${SELF}.weights`] },
  { place: SELF, show: [`${SELF}.context`] },
  { place: NORM, show: [`${NORM}.normed`], pre: `${NORM}.added` },
  { place: "encoder.layers.0.feed_forward", show: ["encoder.layers.0.feed_forward.hidden"] },
  {
    place: MASKED,
    show: [`${MASKED}.masked`, `${MASKED}.weights`],
    // A key that comes after its query.
    cell: (shape) => cellAt(shape, second(shape.at(-2) ?? 1), (shape.at(-1) ?? 1) - 1)
  },
  { place: CROSS, show: [`${CROSS}.weights`] },
  {
    place: "output",
    show: ["probabilities", "output.logits"],
    // The word that was taken.
    cell: (shape, { translation }) => {
      const row = second(shape.at(-2) ?? 1);
      return cellAt(shape, row, translation?.ids[row] ?? 0);
    }
  }
];

/** The address that a step opens. @param {WalkStep} step @param {Session} session */
function opened({ show, pre, cell }, session) {
  const { trace, structure } = session;
  for (const address of pre && structure.norm === "pre" ? [pre, ...show] : show) {
    const id = trace.addresses.get(address);
    if (id === undefined) continue;
    const { shape } = trace.values[id];
    const index = cell
      ? cell(shape, session)
      : shape.map((size, d) => (d === shape.length - 2 ? second(size) : 0));
    return trace.address({ id, index });
  }
  return "";
}

/** A text of a step; some differ where the model normalizes first. @param {Session} session */
const textsOf =
  ({ structure }) =>
  (/** @type {number} */ n, /** @type {string} */ part) => {
    const key = `walk.${n}.${structure.norm}.${part}`;
    return t(hasWords(key) ? key : `walk.${n}.${part}`);
  };

export class WalkElement extends HTMLElement {
  /** @param {Session} session @param {any} options */
  async show(session, options) {
    const last = WALK.length;
    const n = Math.min(last, Math.max(1, Number(where().walk || 1)));
    this.n = n;
    const { place } = WALK[n - 1];
    const words = (this.words = textsOf(session));
    this.look = /** @type {LookElement} */ (document.createElement("cut-look"));
    const reading = h("article", { class: "reading" });
    fill(this, h("div", { class: "walk" }, reading, this.look));
    const to = (/** @type {number} */ step) =>
      go({ walk: String(step), at: "", place: "", step: "" });
    const revealed = Boolean(where().at);
    fill(
      reading,
      h("p", { class: "count" }, t("walk.count", { n, of: last })),
      h("h1", {}, words(n, "title")),
      words(n, "text")
        .split("\n")
        .map((text) => h("p", {}, text)),
      h(
        "section",
        { class: "question" },
        h("h2", {}, t("walk.question")),
        h("p", {}, words(n, "ask")),
        revealed
          ? h("p", { class: "answer" }, words(n, "answer"))
          : press(
              { id: "reveal", onclick: () => go({ at: opened(WALK[n - 1], session), place }) },
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
              words(k + 1, "title")
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
      reveal.replaceWith(h("p", { class: "answer" }, this.words?.(this.n ?? 1, "answer")));
    await this.look?.turnTo(focus);
  }
}

customElements.define("cut-walk", WalkElement);

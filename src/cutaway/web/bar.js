/** `<cut-bar>`: scrubbers for the decoding step, the layer, the head and the training snapshot. */
import { fill, h, locale, press, t } from "./dom.js";
import { range, shown } from "./heat.js";
import { whole } from "./numbers.js";
import { go } from "./state.js";

/**
 * @typedef {{
 *   pieces: string[], step: number | null, layers: number, layer: number, heads: number,
 *   head: number, snapshots: {name: string, step: number}[], snapshot: string,
 *   setLayer: (layer: number) => void, setHead: (head: number) => void
 * }} BarOptions
 */

export class BarElement extends HTMLElement {
  /** @param {BarOptions} options */
  show(options) {
    this.options = options;
    fill(
      this,
      options.pieces.length ? this.steps(options) : null,
      options.layers > 1
        ? this.numbers("layer", options.layers, options.layer, (n) => options.setLayer(n))
        : null,
      options.heads > 1
        ? this.numbers("head", options.heads, options.head, (n) => options.setHead(n))
        : null,
      options.snapshots.length > 1 ? this.snapshots(options) : null
    );
  }

  /**
   * A run has left more snapshots behind; whoever is at the bar is not disturbed.
   * @param {BarOptions["snapshots"]} snapshots
   */
  grown(snapshots) {
    const { options } = this;
    if (!options || options.snapshots.length === snapshots.length) return;
    if (!this.contains(document.activeElement)) this.show({ ...options, snapshots });
  }

  /** @param {BarOptions} options */
  steps({ pieces, step }) {
    const at = step ?? pieces.length - 1;
    const to = (/** @type {number} */ n) =>
      go({ step: String(Math.max(0, Math.min(pieces.length - 1, n))) });
    return h(
      "div",
      { class: "scrub steps", role: "group", "aria-label": t("bar.step") },
      h("span", { class: "label" }, t("bar.step")),
      press(
        {
          class: "turn",
          "aria-label": t("step.back"),
          disabled: at === 0,
          onclick: () => to(at - 1)
        },
        "◀"
      ),
      h(
        "div",
        { class: "dots" },
        pieces.map((piece, n) =>
          press(
            {
              translate: "no",
              class: n === at ? "here" : n > at ? "future" : "",
              "aria-current": n === at ? "step" : undefined,
              onclick: () => to(n)
            },
            shown(piece)
          )
        )
      ),
      press(
        {
          class: "turn",
          "aria-label": t("step.next"),
          disabled: at >= pieces.length - 1,
          onclick: () => to(at + 1)
        },
        "▶"
      )
    );
  }

  /**
   * @param {string} kind
   * @param {number} count
   * @param {number} at
   * @param {(n: number) => void} set
   */
  numbers(kind, count, at, set) {
    return h(
      "div",
      { class: "scrub", role: "group", "aria-label": t(`bar.${kind}`) },
      h("span", { class: "label" }, t(`bar.${kind}`)),
      h(
        "div",
        { class: "dots" },
        range(count).map((n) =>
          press(
            {
              class: n === at ? "here" : "",
              "aria-pressed": String(n === at),
              "aria-label": `${t(`bar.${kind}`)} ${n + 1}`,
              onclick: () => set(n)
            },
            String(n + 1)
          )
        )
      )
    );
  }

  /** @param {BarOptions} options */
  snapshots({ snapshots, snapshot }) {
    const at = Math.max(
      0,
      snapshot ? snapshots.findIndex(({ name }) => name === snapshot) : snapshots.length - 1
    );
    const label = h("output", { translate: "no" }, whole(snapshots[at].step, locale()));
    return h(
      "label",
      { class: "scrub snapshot" },
      h("span", { class: "label" }, t("bar.snapshot")),
      h("input", {
        type: "range",
        min: "0",
        max: String(snapshots.length - 1),
        value: String(at),
        "aria-valuetext": String(snapshots[at].step),
        oninput: (/** @type {any} */ event) => {
          label.textContent = whole(snapshots[Number(event.target.value)].step, locale());
        },
        onchange: (/** @type {any} */ event) =>
          go({
            snapshot:
              Number(event.target.value) === snapshots.length - 1
                ? ""
                : snapshots[Number(event.target.value)].name
          })
      }),
      label
    );
  }
}

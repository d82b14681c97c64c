/** `<cut-bar>`: scrubbers for the decoding step, the layer, the head and the training snapshot. */
import { fill, h, locale, press, t } from "./dom.js";
import { headsOf, moveHead } from "./heads.js";
import { range, shown } from "./heat.js";
import { whole } from "./numbers.js";
import { go, where } from "./state.js";
import { viewOf } from "./views.js";

/**
 * @typedef {{
 *   pieces: string[], step: number | null, layers: number, layer: number, heads: number,
 *   head: number, snapshots: {name: string, step: number}[], snapshot: string,
 *   setLayer: (layer: number) => void, setHead: (head: number) => void
 * }} BarOptions
 */

const SCRUB = 60; // milliseconds that a slider rests before a snapshot is fetched

export class BarElement extends HTMLElement {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  pause;

  /**
   * The scrubbers of a run, at the reader's place.
   * @param {import("./session.js").Session | null} session
   * @param {Record<string, string>} place
   * @param {{
   *   layer: number, step: number | null, head: number, training: boolean,
   *   snapshots: BarOptions["snapshots"]
   * }} at
   */
  showRun(session, place, { layer, step, head, training, snapshots }) {
    const structure = session?.structure;
    const layers = [structure?.encoderLayers, structure?.decoderLayers];
    const own = place.view === "translate"; // which has words, layers and heads of its own to choose
    const view = viewOf(place.view);
    const heads = session && !own && !view.showsPlaces && !view.showsAll; // those show every head
    this.show({
      pieces: training || own ? [] : (session?.translation?.pieces ?? []),
      step,
      layers: own ? 1 : Math.max(...layers.map((paths) => paths?.length ?? 0)),
      layer,
      heads: heads ? headsOf(session.trace) : 1,
      head,
      snapshots,
      snapshot: place.snapshot ?? "",
      setHead: (n) =>
        go({ head: String(n), at: structure ? moveHead(structure, where().at, n) : "" }),
      setLayer: (n) => {
        const { place, at } = where();
        const moved = (/** @type {string} */ path) =>
          path.replace(/^((?:en|de)coder\.layers\.)\d+/, `$1${n}`);
        go({
          layer: String(n),
          place: structure?.modules.has(moved(place)) ? moved(place) : place,
          at: at && session?.trace.find(moved(at)) ? moved(at) : at
        });
      }
    });
  }

  /** @param {BarOptions} options */
  show(options) {
    this.options = options;
    const parts = [
      options.pieces.length ? this.steps(options) : null,
      options.layers > 1
        ? this.numbers("layer", options.layers, options.layer, (n) => options.setLayer(n))
        : null,
      options.heads > 1
        ? this.numbers("head", options.heads, options.head, (n) => options.setHead(n))
        : null
    ];
    const held = this.querySelector(".snapshot");
    if (!held?.contains(document.activeElement))
      return fill(this, parts, options.snapshots.length > 1 ? this.snapshots(options) : null);
    // The snapshot is being scrubbed: its slider stays in the hand.
    for (const child of [...this.children]) if (child !== held) child.remove();
    return held.before(...parts.filter((part) => part !== null));
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
        oninput: (event) => {
          const chosen = Number(event.target.value);
          label.textContent = whole(snapshots[chosen].step, locale());
          clearTimeout(this.pause);
          this.pause = setTimeout(
            () => go({ snapshot: chosen === snapshots.length - 1 ? "" : snapshots[chosen].name }),
            SCRUB
          );
        }
      }),
      label
    );
  }
}

customElements.define("cut-bar", BarElement);

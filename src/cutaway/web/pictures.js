/**
 * `<cut-pictures>`: heat maps of every head, positional encoding, embeddings, the
 * entropy of the output.
 */
import { attentionLayers } from "./arcs.js";
import { chancesAt, logitsOf } from "./chances.js";
import { clocks } from "./clocks.js";
import { headColour } from "./colour.js";
import { curve } from "./curve.js";
import { data, fill, h, hint, isDark, locale, press, t } from "./dom.js";
import { heat, range, shown } from "./heat.js";
import { lens } from "./lens.js";
import { percent, short } from "./numbers.js";
import { Sheet } from "./sheet.js";
import { go, where } from "./state.js";
import { vocabularyMap } from "./vocabulary.js";

const PICTURES = ["heads", "lens", "vocabulary", "positions", "certainty"];

export class PicturesElement extends HTMLElement {
  /** @param {any} session */
  async show(session) {
    const name = PICTURES.includes(where().picture) ? where().picture : "heads";
    const body = h("div", { class: "picture-body" });
    fill(
      this,
      h(
        "div",
        { class: "phases", role: "group", "aria-label": t("view.pictures") },
        PICTURES.map((key) =>
          press(
            { "aria-pressed": String(key === name), onclick: () => go({ picture: key }) },
            t(`picture.${key}`)
          )
        )
      ),
      hint(t(`picture.${name}.text`)),
      body
    );
    const pictures = /** @type {Record<string, (session: any) => Promise<any>>} */ ({
      heads: (s) => this.heads(s),
      lens,
      vocabulary: vocabularyMap,
      positions: (s) => this.positions(s),
      certainty: (s) => this.certainty(s)
    });
    fill(body, await pictures[name](session));
  }

  /** Every head of every layer of one kind of attention. @param {any} session */
  async heads({ trace, structure }) {
    const kinds = /** @type {[string, string[]][]} */ ([
      ["cross_attention", structure.decoderLayers],
      ["decoder.self_attention", structure.decoderLayers],
      ["encoder.self_attention", structure.encoderLayers]
    ]);
    const rows = kinds.flatMap(([kind, layers]) => {
      const ids = layers
        .map((/** @type {string} */ layer) =>
          trace.addresses.get(`${layer}.${kind.split(".").pop()}.weights`)
        )
        .filter((/** @type {any} */ id) => id !== undefined && trace.kept(id));
      return ids.length ? [{ kind, ids }] : [];
    });
    const all = rows.length ? rows : [{ kind: "cross_attention", ids: attentionLayers(trace).ids }];
    await trace.want(all.flatMap(({ ids }) => ids));
    const said = h("output", { class: "head-said", translate: "no" });
    const cellText = (/** @type {number} */ id, /** @type {number[]} */ index) => {
      const [query, key] = [2, 3].map((d) => shown(trace.words(id, d)?.[index[d]] ?? ""));
      return `${query} → ${key} ${percent(trace.read(id, index), locale())}`;
    };
    const one = (
      /** @type {number} */ id,
      /** @type {number} */ layer,
      /** @type {number} */ head
    ) => {
      const name = [t("map.layer", { n: layer + 1 }), t("head.n", { n: head + 1 })].join(" · ");
      return h(
        "figure",
        { class: "head" },
        heat({
          sheet: new Sheet(trace, id, { fixed: [0, head] }),
          small: true,
          cell: 13,
          width: 128,
          height: 128,
          words: false,
          label: name,
          pick: (index) =>
            go({ view: "look", head: String(head), at: trace.address({ id, index }), place: "" }),
          hover: (index) => (said.textContent = index ? `${name}: ${cellText(id, index)}` : "")
        }),
        h("figcaption", {}, t("head.n", { n: head + 1 }))
      );
    };
    const sections = all.map(({ kind, ids }) =>
      h(
        "section",
        { class: "head-grid" },
        h("h2", {}, t(`picture.${kind}`)),
        ids.map((/** @type {number} */ id, /** @type {number} */ layer) =>
          h(
            "div",
            { class: "head-row" },
            h("span", { class: "label" }, t("map.layer", { n: layer + 1 })),
            range(trace.values[id].shape[1]).map((head) => one(id, layer, head))
          )
        )
      )
    );
    return [said, h("div", { class: "head-sheet" }, sections)];
  }

  /** Curves of chosen dimensions over positions, and the whole table. @param {any} session */
  async positions({ trace }) {
    const id =
      trace.addresses.get("encoder.positions.table") ??
      trace.addresses.get("decoder.positions.table");
    if (id === undefined || !trace.kept(id)) return hint(t("picture.positions.none"));
    const [length, width] = trace.values[id].shape;
    const dims = (where().dims || "4,5,6,7")
      .split(",")
      .map(Number)
      .filter((d) => Number.isInteger(d) && d >= 0 && d < width);
    const places = Math.min(length, 101);
    await trace.settled(() => {
      for (let p = 0; p < places; p++) for (const d of dims) trace.read(id, [p, d]);
    });
    await trace.want([id]);
    const dark = isDark();
    const lines = dims.map((d, n) => ({
      name: String(d),
      colour: headColour(n, dark),
      points: range(places).map(
        (p) => /** @type {[number, number]} */ ([p, trace.read(id, [p, d])])
      )
    }));
    const form = h(
      "form",
      {
        class: "inline-form",
        onsubmit: (event) => {
          event.preventDefault();
          go({ dims: event.target.elements.dims.value.replace(/\s/g, "") });
        }
      },
      h(
        "label",
        {},
        h("span", {}, t("picture.dims")),
        h("input", { name: "dims", value: dims.join(","), size: "16" })
      ),
      h("button", { type: "submit" }, t("picture.draw"))
    );
    const table = heat({
      sheet: new Sheet(trace, id),
      width: Math.min(640, width * 3),
      height: 260,
      words: false,
      pick: (index) => go({ view: "look", at: trace.address({ id, index }), place: "" })
    });
    return [
      trace.here(id) ? clocks(trace, id) : null,
      form,
      h(
        "div",
        { class: "scroll-x" },
        curve(lines, { label: t("picture.positions"), x: t("axis.position"), y: "PE" })
      ),
      h(
        "p",
        { class: "key", translate: "no" },
        lines.map((line) =>
          h("span", {}, h("i", { style: { background: line.colour } }), ` ${line.name}`)
        )
      ),
      h("div", { class: "scroll-x" }, table)
    ];
  }

  /** How sure the model was, word by word. @param {any} session */
  async certainty({ trace, translation }) {
    const logits = logitsOf(trace);
    if (logits === undefined || !translation) return hint(t("picture.certainty.none"));
    const rows = await trace.settled(() =>
      translation.ids.map((/** @type {number} */ id, /** @type {number} */ n) => ({
        n,
        id,
        ...chancesAt(trace, logits, n, 1, 1)
      }))
    );
    return h(
      "table",
      { class: "plain certainty" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["word", "p", "bits"].map((key) => h("th", { scope: "col" }, t(`certainty.${key}`)))
        )
      ),
      h(
        "tbody",
        {},
        rows.map((/** @type {any} */ row) =>
          h(
            "tr",
            {},
            data("th", { scope: "row" }, shown(translation.pieces[row.n])),
            h(
              "td",
              {},
              h("span", { class: "bar" }, h("i", { style: { width: `${100 * row.of(row.id)}%` } })),
              data("span", {}, row.of(row.id).toFixed(3))
            ),
            data("td", {}, short(row.entropy, 3).replace("+", ""))
          )
        )
      )
    );
  }
}

customElements.define("cut-pictures", PicturesElement);

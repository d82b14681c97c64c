/**
 * `<cut-pictures>`: heat maps of every head, positional encoding, embeddings in two dimensions, the
 * entropy of the output.
 */
import { attentionLayers } from "./arcs.js";
import { chancesAt, logitsOf } from "./chances.js";
import { headColour } from "./colour.js";
import { curve } from "./curve.js";
import { data, drawing, fill, h, isDark, press, svg, t } from "./dom.js";
import { HeatElement, range, shown } from "./heat.js";
import { short } from "./numbers.js";
import { Sheet } from "./sheet.js";
import { go, where } from "./state.js";

const PICTURES = ["heads", "positions", "embeddings", "certainty"];

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
      h("p", { class: "hint" }, t(`picture.${name}.text`)),
      body
    );
    const pictures = /** @type {Record<string, (session: any) => Promise<any>>} */ ({
      heads: (s) => this.heads(s),
      positions: (s) => this.positions(s),
      embeddings: (s) => this.embeddings(s),
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
    return all.map(({ kind, ids }) =>
      h(
        "section",
        { class: "head-grid" },
        h("h2", {}, t(`picture.${kind}`)),
        ids.map((/** @type {number} */ id, /** @type {number} */ layer) =>
          h(
            "div",
            { class: "head-row" },
            h("span", { class: "label" }, t("map.layer", { n: layer + 1 })),
            range(trace.values[id].shape[1]).map((head) => {
              const heat = /** @type {HeatElement} */ (document.createElement("cut-heat"));
              const button = press(
                {
                  class: "head",
                  "aria-label": [
                    t("map.layer", { n: layer + 1 }),
                    t("head.n", { n: head + 1 })
                  ].join(" "),
                  onclick: () =>
                    go({
                      view: "look",
                      head: String(head),
                      at: trace.address({ id, index: [0, head, 0, 0] }),
                      place: ""
                    })
                },
                heat
              );
              heat.show({
                sheet: new Sheet(trace, id, { fixed: [0, head] }),
                small: true,
                cell: 13,
                width: 128,
                height: 128,
                words: false
              });
              return button;
            })
          )
        )
      )
    );
  }

  /** Curves of chosen dimensions over positions, and the whole table. @param {any} session */
  async positions({ trace }) {
    const id =
      trace.addresses.get("encoder.positions.table") ??
      trace.addresses.get("decoder.positions.table");
    if (id === undefined || !trace.kept(id))
      return h("p", { class: "hint" }, t("picture.positions.none"));
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
        onsubmit: (/** @type {any} */ event) => {
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
    const heat = /** @type {HeatElement} */ (document.createElement("cut-heat"));
    heat.show({
      sheet: new Sheet(trace, id),
      width: Math.min(640, width * 3),
      height: 260,
      words: false,
      pick: (index) => go({ view: "look", at: trace.address({ id, index }), place: "" })
    });
    return [
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
      h("div", { class: "scroll-x" }, heat)
    ];
  }

  /** The sentence's embeddings on their two widest directions. @param {any} session */
  async embeddings({ trace }) {
    const found = ["embedding.scaled", "embedding.tokens", "embedding.output"]
      .map((address) => trace.addresses.get(address))
      .find((id) => id !== undefined && trace.kept(id));
    const id =
      found ??
      trace.values.findIndex(
        (/** @type {any} */ value) => /embedding/.test(value.op) && value.phase === "forward"
      );
    if (id === undefined || id < 0) return h("p", { class: "hint" }, t("picture.embeddings.none"));
    const { shape } = trace.values[id];
    const [rows, width] = shape.slice(-2);
    const lead = shape.slice(0, -2).map(() => 0);
    const words = trace.words(id, shape.length - 2) ?? trace.header.labels?.source ?? [];
    const matrix = await trace.settled(() =>
      range(rows).map((r) => range(width).map((c) => trace.read(id, [...lead, r, c])))
    );
    const { points, share } = twoDimensions(matrix);
    const size = 420;
    const most = Math.max(1e-9, ...points.flat().map(Math.abs));
    const at = (/** @type {number} */ v) => size / 2 + (v / most) * (size / 2 - 50);
    return [
      drawing(
        "cloud",
        [size, size],
        t("picture.embeddings"),
        svg("line", { class: "grid", x1: 0, x2: size, y1: size / 2, y2: size / 2 }),
        svg("line", { class: "grid", y1: 0, y2: size, x1: size / 2, x2: size / 2 }),
        points.map(([x, y], n) =>
          svg(
            "g",
            { transform: `translate(${at(x)} ${size - at(y)})` },
            svg("circle", { r: 3 }),
            svg("text", { x: 6, y: 4 }, shown(words[n] ?? String(n)))
          )
        )
      ),
      h(
        "p",
        { class: "hint" },
        t("picture.share", { percent: Math.round(100 * share) }),
        " ",
        data("span", {}, trace.values[id].address)
      )
    ];
  }

  /** How sure the model was, word by word. @param {any} session */
  async certainty({ trace, translation }) {
    const logits = logitsOf(trace);
    if (logits === undefined || !translation)
      return h("p", { class: "hint" }, t("picture.certainty.none"));
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

/**
 * Principal components by repeated multiplication: the two directions in which the rows differ
 * most.
 * @param {number[][]} matrix
 */
export function twoDimensions(matrix) {
  const width = matrix[0].length;
  const mean = range(width).map(
    (c) => matrix.reduce((sum, row) => sum + row[c], 0) / matrix.length
  );
  const centred = matrix.map((row) => row.map((x, c) => x - mean[c]));
  const total = centred.flat().reduce((sum, x) => sum + x * x, 0) || 1;
  /** @type {number[][]} */
  const axes = [];
  let kept = 0;
  for (let k = 0; k < 2; k++) {
    let axis = range(width).map((c) => Math.cos(c * (k + 1) + 1));
    for (let round = 0; round < 120; round++) {
      const scores = centred.map((row) => row.reduce((sum, x, c) => sum + x * axis[c], 0));
      axis = range(width).map((c) => centred.reduce((sum, row, r) => sum + row[c] * scores[r], 0));
      for (const other of axes) {
        const along = axis.reduce((sum, x, c) => sum + x * other[c], 0);
        axis = axis.map((x, c) => x - along * other[c]);
      }
      const size = Math.hypot(...axis) || 1;
      axis = axis.map((x) => x / size);
    }
    axes.push(axis);
    kept += centred.reduce((sum, row) => sum + row.reduce((s, x, c) => s + x * axis[c], 0) ** 2, 0);
  }
  return {
    points: centred.map((row) =>
      axes.map((axis) => row.reduce((sum, x, c) => sum + x * axis[c], 0))
    ),
    share: kept / total
  };
}

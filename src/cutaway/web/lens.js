/**
 * The logit lens: what the model would say after each layer, if that layer were the last. The
 * layer's states take the place of the last layer's, and what follows is computed by its rules.
 */
import { chancesOf, logitsOf } from "./chances.js";
import { colourAt, colourTable, css, inkOn } from "./colour.js";
import { data, h, hint, isDark, locale, press, t } from "./dom.js";
import { costOf } from "./downstream.js";
import { range, shown } from "./heat.js";
import { percent } from "./numbers.js";
import { Replay } from "./replay.js";
import { go } from "./state.js";

/** @typedef {import("./structure.js").Structure} Structure */

/**
 * The states a decoder begins with and those that each of its layers puts out.
 * @param {Structure} structure
 */
export function levelsOf(structure) {
  const layers = structure.decoderLayers.length ? structure.decoderLayers : [];
  const first = structure.trace.addresses.get("decoder.states");
  return [first, ...layers.map((path) => structure.output(path))].filter(
    (id) => id !== undefined && structure.trace.kept(/** @type {number} */ (id))
  );
}

/**
 * Of every level and step: the most probable word and the probability of the word that was said.
 * @param {Structure} structure
 * @param {{ids: number[]}} translation
 */
export async function lensOf(structure, translation) {
  const { trace } = structure;
  const logits = logitsOf(trace);
  const levels = /** @type {number[]} */ (levelsOf(structure));
  const last = levels.at(-1);
  if (logits === undefined || last === undefined || levels.length < 2) return null;
  const replay = new Replay(trace);
  if (!costOf(trace, [last]).possible) return null;
  await Promise.all([replay.ready([last]), trace.want(levels)]);
  const { shape } = trace.values[last];
  const cells = range(shape[1] * shape[2]).map((n) => [0, Math.floor(n / shape[2]), n % shape[2]]);
  const rows = [];
  for (const id of levels) {
    const settings = cells.map((index) => ({ id: last, index, value: trace.read(id, index) }));
    const numbers = (await replay.compute(settings))?.get(logits)?.numbers;
    const { offset, strides, cell } = trace.operand(logits);
    const width = /** @type {number} */ (trace.values[logits].shape.at(-1));
    rows.push({
      id,
      steps: translation.ids.map((word, n) => {
        const start = offset + n * strides[strides.length - 2];
        const row = Float64Array.from({ length: width }, (_, v) =>
          numbers ? numbers[start + v] : cell(start + v)
        );
        const { top, of } = chancesOf(trace, row, 1);
        return { ...top[0], said: of(word) };
      })
    });
  }
  return rows;
}

/** The lens as a table: a row for each layer, a column for each word. @param {any} session */
export async function lens({ trace, structure, translation }) {
  const rows = translation ? await lensOf(structure, translation) : null;
  if (!rows) return hint(t("picture.lens.none"));
  const dark = isDark();
  const colours = colourTable("weight", dark);
  const word = (
    /** @type {any} */ { piece, p, said, id },
    /** @type {number} */ n,
    /** @type {number} */ level
  ) => {
    const packed = colours[colourAt(p, "weight", { low: 0, high: 1, most: 1 })];
    return h(
      "td",
      {},
      press(
        {
          translate: "no",
          class: id === translation.ids[n] ? "said" : "",
          style: { background: css(packed), color: inkOn(packed) },
          "data-id": id,
          "data-p": p,
          title: t("picture.lens.said", {
            word: shown(translation.pieces[n]),
            percent: percent(said, locale())
          }),
          onclick: () =>
            go({
              view: "look",
              place: "",
              at: trace.address({ id: rows[level].id, index: [0, n, 0] })
            })
        },
        h("b", {}, shown(piece)),
        h("small", {}, percent(p, locale()))
      )
    );
  };
  return h(
    "div",
    { class: "scroll-x" },
    h(
      "table",
      { class: "lens" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }),
          translation.pieces.map((/** @type {string} */ piece) =>
            data("th", { scope: "col" }, shown(piece))
          )
        )
      ),
      h(
        "tbody",
        {},
        rows.map(({ steps }, level) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              level ? t("map.layer", { n: level }) : t("picture.lens.begin")
            ),
            steps.map((step, n) => word(step, n, level))
          )
        )
      )
    )
  );
}

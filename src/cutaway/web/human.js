/** A cell as a person names it: where it is in the model, and the words it belongs to. */
import { displayName } from "./address.js";
import { hasWords, t } from "./dom.js";
import { shown } from "./heat.js";
import { placeName } from "./map.js";
import { Sheet } from "./sheet.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */

/**
 * A place in words: "Decoder 2 · cross-attention".
 * @param {string} path
 */
export function placeInWords(path) {
  const [, side, layer, rest] = /^(encoder|decoder)\.layers\.(\d+)\.?(.*)$/.exec(path) ?? [];
  if (side === undefined) return path ? path.split(".").map(partName).join(" · ") : "";
  const whole = `${t(`map.${side}`)} ${Number(layer) + 1}`;
  if (!rest) return whole;
  const [sublayer, ...inner] = rest.split(".");
  const name = placeName(`${side}.layers.${layer}.${sublayer}`);
  return [whole, name, ...inner.map(partName)].join(" · ");
}

/** @param {string} name */
function partName(name) {
  return placeName(name);
}

/**
 * The words of a cell: "chat → cat" where a query looks at a key, else each of them.
 * @param {Trace} trace
 * @param {Cell} cell
 */
export function wordsOf(trace, cell) {
  const words = cell.index
    .map((i, d) => trace.words(cell.id, d)?.[i])
    .filter((word) => word !== undefined)
    .map((word) => shown(/** @type {string} */ (word)));
  const { isAttention } = new Sheet(trace, cell.id, { fixed: cell.index });
  return words.join(isAttention ? " → " : " · ");
}

/**
 * "Decoder 2 · cross-attention · head 3 · weights: chat → cat", in two parts.
 * @param {Trace} trace
 * @param {Cell} cell
 */
export function inWords(trace, cell) {
  const { axes, address } = trace.values[cell.id];
  const head = axes?.indexOf("head") ?? -1;
  const given = displayName(trace, cell.id);
  const name = hasWords(`human.${given}`) ? t(`human.${given}`) : given;
  const parts = [
    placeInWords(trace.path(cell.id)),
    head >= 0 ? t("head.n", { n: cell.index[head] + 1 }) : "",
    name
  ];
  return { place: parts.filter(Boolean).join(" · ") || address, words: wordsOf(trace, cell) };
}

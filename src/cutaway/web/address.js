/** Addresses and names as a reader meets them: split, shortened, with the words of a cell. */
import { h, hasWords, t } from "./dom.js";
import { shown } from "./heat.js";
import { symbolOf } from "./symbols.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */

/** What the recorder writes after the name of a value that another belongs to, in each phase. */
const SUFFIXES = {
  backward: /\.(grad|backward)\b.*$/,
  update: /\.(grad|after|exp_avg|exp_avg_sq|step|update)\b.*$/
};

/**
 * An address in parts. A variable of the forward pass may be called `update` or `step` too: what is
 * a suffix depends on the phase.
 * @param {string} address
 * @param {string} phase
 */
export function splitAddress(address, phase) {
  const found = /^(.*?)(\[[^\]]*\])?$/.exec(address);
  const name = found?.[1] ?? address;
  const suffixes = SUFFIXES[/** @type {keyof typeof SUFFIXES} */ (phase)];
  const cut = suffixes?.exec(name)?.index ?? name.length;
  const dot = name.slice(0, cut).lastIndexOf(".");
  return { path: name.slice(0, dot + 1), name: name.slice(dot + 1), index: found?.[2] ?? "" };
}

/**
 * An address that fits a narrow column: the way shortened, the name whole.
 * @param {string} address
 */
export function shortAddress(address) {
  return address
    .replace("encoder.layers.", "enc.")
    .replace("decoder.layers.", "dec.")
    .replace("self_attention", "self")
    .replace("cross_attention", "cross")
    .replace("feed_forward", "ffn");
}

/**
 * An address or name on the page: a line may end after a dot of it, never within its index.
 * @param {string} text
 */
export function breakable(text) {
  const [, name, index] = /** @type {string[]} */ (/^(.*?)(\[[^\]]*\])?$/.exec(text));
  const parts = name.split(".").map((part, n) => (n ? [".", h("wbr"), part] : part));
  return [parts, index ? h("span", { class: "index" }, index) : null];
}

/** The words of a cell's rows and columns. @param {Trace} trace @param {Cell} cell */
export function labelOf(trace, cell) {
  return cell.index
    .map((i, d) => trace.words(cell.id, d)?.[i])
    .filter((word) => word !== undefined)
    .map((word) => `'${shown(/** @type {string} */ (word))}'`)
    .join(" · ");
}

/**
 * What a formula calls a value: its name, or ¬ and the name of a mask turned round.
 * @param {Trace} trace
 * @param {number} id
 * @returns {string}
 */
export function nameOf(trace, id) {
  const named = trace.named(id);
  const { name, args } = trace.values[named];
  if (name === undefined && trace.isNot(named)) return `¬${nameOf(trace, args[0])}`;
  return name ?? displayName(trace, named);
}

/**
 * What a learner reads for a value: its name without the marks by which the recorder tells values
 * apart. `scaled@2` is the second call of the code that says `scaled`, `query:randn~2` an
 * intermediate result on the way to `query`.
 * @param {Trace} trace
 * @param {number} id
 */
export function displayName(trace, id) {
  const { address, name, op, phase } = trace.values[id];
  const own = splitAddress(address, phase).name;
  const given = name === "output" ? (aliasOf(trace, id) ?? own) : own;
  const [, base, part, call] = /^([^:@~]*)(?::([^~@]*))?(?:[~@](\d+))?/.exec(given) ?? [];
  if (part !== undefined) {
    if (hasWords(`name.${part}`)) return t(`name.${part}`, { name: base });
    const symbol = symbolOf(op);
    if (hasWords(`op.${symbol}`)) return `${base} · ${t(`op.${symbol}`)}`;
    return t("name.part", { name: base });
  }
  if (/^(weight|bias)\b/.test(base)) {
    const owner = address
      .slice(0, -given.length - 1)
      .split(".")
      .pop();
    return owner ? `${owner}.${base}` : base;
  }
  return call === undefined ? base : t("name.call", { name: base, n: call });
}

/**
 * A value or cell as it is listed: its name and index, and the place it comes from unless that is
 * `path`, where the reader is.
 * @param {Trace} trace
 * @param {string} address
 * @param {string} [path]
 */
export function placeName(trace, address, path) {
  const found = trace.find(address);
  if (!found) return breakable(shortAddress(address));
  const from = trace.path(found.id);
  const place = from === path || from === "" ? "" : `${shortAddress(from)} · `;
  const { index } = splitAddress(address, trace.values[found.id].phase);
  return breakable(`${place}${displayName(trace, found.id)}${index}`);
}

/**
 * The name that the calling module gave to a module's output: `query` for `W_Q.output`.
 * @param {Trace} trace
 * @param {number} id
 */
function aliasOf(trace, id) {
  const { address: own, phase } = trace.values[id];
  const caller = own.split(".").slice(0, -2).join(".");
  for (const [address, other] of Object.entries(trace.header.aliases ?? {})) {
    const { path, name } = splitAddress(address, phase);
    if (other === id && name !== "output" && path === (caller && `${caller}.`)) return name;
  }
  return undefined;
}

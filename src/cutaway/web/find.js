/** Find any word, number or matrix of a run. */
import { displayName, labelOf, shortAddress } from "./address.js";
import { fill, h, hint, inSlices, locale, press, t } from "./dom.js";
import { shown } from "./heat.js";
import { sizeOf, unravel } from "./layout.js";
import { inline, whole } from "./numbers.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {{name: string, label: string, place: Record<string, string>}} Hit */

const MOST = 40; // hits shown of a kind
const BYTES = 48e6; // numbers looked through

/**
 * Matrices whose name or address holds every word of the question, the shortest first.
 * @param {Trace} trace
 * @param {string} text
 * @returns {Hit[]}
 */
export function findMatrices(trace, text) {
  const asked = text.toLowerCase().split(/\s+/);
  return trace.values
    .flatMap((value, id) => {
      if (value.name === undefined && trace.rule(id).kind !== "source") return [];
      const name = displayName(trace, id);
      const all = `${value.address} ${name} ${value.shape.join("×")}`.toLowerCase();
      if (!asked.every((word) => all.includes(word))) return [];
      const label = `${name} ${value.shape.join("×")}`;
      return [{ name: shortAddress(value.address), label, place: { at: value.address } }];
    })
    .sort((a, b) => a.name.length - b.name.length);
}

/**
 * Words of the sentence and of the vocabulary that begin with the question, or are it.
 * @param {Trace} trace
 * @param {string} text
 * @returns {Hit[]}
 */
export function findWords(trace, text) {
  const asked = text.toLowerCase();
  /** @type {(Hit & {exact: boolean})[]} */
  const hits = [];
  for (const side of ["source", "target"])
    (trace.header.labels?.[side] ?? []).forEach(
      (/** @type {string} */ piece, /** @type {number} */ n) => {
        if (!shown(piece).toLowerCase().startsWith(asked)) return;
        const id = trace.addresses.get(side === "source" ? "encoder.states" : "decoder.states");
        if (id === undefined) return;
        hits.push({
          exact: true,
          name: shown(piece),
          label: t(`find.${side}`, { n: n + 1 }),
          place: { at: trace.address({ id, index: [0, n, 0] }) }
        });
      }
    );
  const table = trace.addresses.get("embedding.weight");
  (trace.header.labels?.vocabulary ?? []).forEach(
    (/** @type {string} */ piece, /** @type {number} */ row) => {
      const word = shown(piece).toLowerCase();
      if (!word.startsWith(asked) || table === undefined || row >= trace.values[table].shape[0])
        return;
      hits.push({
        exact: word === asked,
        name: shown(piece),
        label: t("find.vocabulary", { n: whole(row, locale()) }),
        place: { at: trace.address({ id: table, index: [row, 0] }) }
      });
    }
  );
  return hits.sort((a, b) => Number(b.exact) - Number(a.exact));
}

/** A number as it was typed, and how far another may lie from it. @param {string} text */
export function numberIn(text) {
  const found = /^[+-]?(\d+)?(?:[.,](\d+))?(?:e([+-]?\d+))?$/i.exec(text.replace("−", "-").trim());
  if (!found || (found[1] === undefined && found[2] === undefined)) return null;
  const value = Number(text.replace("−", "-").replace(",", "."));
  return { value, within: 0.5000001 * 10 ** (Number(found[3] ?? 0) - (found[2]?.length ?? 0)) };
}

/**
 * Cells that hold a number, as far as it was typed.
 * @param {Trace} trace
 * @param {{value: number, within: number}} asked
 * @param {() => boolean} wanted
 */
export async function findNumbers(trace, { value, within }, wanted) {
  /** @type {Map<number, number>} a buffer, and the value whose cells it holds */
  const owners = new Map();
  trace.values.forEach(({ buffer, name, dtype }, id) => {
    if (buffer === undefined || !dtype.includes("float")) return;
    const before = owners.get(buffer);
    if (before === undefined || (trace.values[before].name === undefined && name !== undefined))
      owners.set(buffer, id);
  });
  let bytes = 0;
  const source = (/** @type {number} */ id) => Number(trace.rule(id).kind === "source");
  const order = [...owners].sort(([, a], [, b]) => source(a) - source(b) || a - b); // weights last
  const taken = order.filter(([k]) => (bytes += 4 * trace.stores[k].info.length) < BYTES);
  await Promise.all(taken.map(([k]) => trace.stores[k].all()));
  /** @type {Hit[]} */
  const hits = [];
  let count = 0;
  await inSlices(
    taken,
    ([k, id]) => {
      const numbers = /** @type {ArrayLike<number>} */ (trace.stores[k].whole);
      const operand = trace.operand(id);
      for (let n = 0; n < numbers.length; n++) {
        if (!(Math.abs(numbers[n] - value) <= within)) continue;
        count += 1;
        if (hits.length >= MOST || sizeOf(operand.shape) !== numbers.length) continue;
        const cell = { id, index: unravel(n - operand.offset, operand) };
        hits.push({
          name: `${inline(numbers[n])}  ${shortAddress(trace.address(cell))}`,
          label: labelOf(trace, cell),
          place: { at: trace.address(cell) }
        });
      }
    },
    wanted
  );
  return { hits, count, all: taken.length === owners.size };
}

/** The box in which one searches. @param {any} app */
export function openFind(app) {
  document.querySelector("dialog.find")?.remove();
  const results = h("div", { class: "found", "aria-live": "polite" });
  let turn = 0;
  const group = (
    /** @type {string} */ title,
    /** @type {Hit[]} */ hits,
    /** @type {number} */ count
  ) =>
    hits.length
      ? [
          h("h2", {}, t(title), " ", h("small", {}, whole(count, locale()))),
          h(
            "ul",
            { class: "operands" },
            hits.slice(0, MOST).map(({ name, label, place }) =>
              h(
                "li",
                {},
                press(
                  {
                    translate: "no",
                    class: "link",
                    "data-address": place.at,
                    onclick: () => {
                      dialog.close();
                      const view = where().view === "training" ? "training" : "look";
                      go({ view, place: "", ...place });
                    }
                  },
                  h("span", {}, name),
                  h("small", {}, label)
                )
              )
            )
          )
        ]
      : [];
  const search = async () => {
    const mine = ++turn;
    const text = input.value.trim();
    const trace = app.session?.trace;
    if (!text || !trace) return fill(results, hint(t(trace ? "find.hint" : "look.first")));
    const [words, matrices] = [findWords(trace, text), findMatrices(trace, text)];
    const asked = numberIn(text);
    const draw = (/** @type {any} */ numbers) =>
      fill(
        results,
        group("find.words", words, words.length),
        group("find.matrices", matrices, matrices.length),
        numbers ? group("find.numbers", numbers.hits, numbers.count) : null,
        numbers && !numbers.all ? hint(t("find.part")) : null,
        !words.length && !matrices.length && !numbers?.hits.length && (numbers || !asked)
          ? hint(t("find.none", { text }))
          : null
      );
    draw(null);
    if (!asked) return undefined;
    const numbers = await findNumbers(trace, asked, () => mine === turn);
    return mine === turn ? draw(numbers) : undefined;
  };
  const input = h("input", {
    type: "search",
    id: "find-text",
    "aria-label": t("find.label"),
    placeholder: t("find.label"),
    oninput: () => void search()
  });
  const dialog = h("dialog", { class: "find", "aria-label": t("find.button") }, input, results);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const stops = [input, ...results.querySelectorAll("button")];
    stops[Math.max(0, stops.indexOf(document.activeElement) + step)]?.focus();
  });
  document.body.append(dialog);
  void search();
  dialog.showModal();
}

/**
 * A written-down rule on the page: every number that came from somewhere is a link to that place.
 */
import { data, h, locale, press, t } from "./dom.js";
import { largestTerms } from "./describe.js";
import { inline, whole } from "./numbers.js";

/** @typedef {import("./describe.js").Note} Note */
/**
 * @typedef {{
 *   address: (arg: number, index: number[]) => {address: string, label: string},
 *   open: (address: string) => void,
 *   operands: Map<string, {label: string, value: number, aside: boolean}>
 * }} Context
 */

const FOLD = 6; // sums of more terms than this are folded
const KEEP = 4; // and show this many
const ROWS = 200; // terms written out at a time

/**
 * How tightly a note binds: what needs parentheses inside a product or a power.
 * @param {Note} note
 */
function strength(note) {
  if (note.kind === "infix")
    return note.name === "·" ? 2 : note.name === "+" || note.name === "−" ? 1 : 0;
  if (note.kind === "sum") return (note.count ?? 0) > 1 ? 1 : 3;
  if (note.kind === "prod" || note.kind === "minus") return 2;
  if (note.kind === "chosen") return strength(/** @type {Note[]} */ (note.items)[0]);
  if ((note.kind === "number" || note.kind === "cell") && note.value < 0) return 2;
  return 4;
}

/** @param {any} content @param {boolean} needed */
function bracketed(content, needed) {
  return needed ? ["(", content, ")"] : content;
}

/**
 * A number that is a cell: a link.
 * @param {Note} note
 * @param {Context} context
 * @param {boolean} aside
 */
function cellLink(note, context, aside) {
  const { address, label } = context.address(
    /** @type {number} */ (note.arg),
    /** @type {number[]} */ (note.index)
  );
  if (!context.operands.has(address))
    context.operands.set(address, { label, value: note.value, aside });
  for (const part of note.aside ?? []) writeNote(part, context, true);
  return press(
    {
      translate: "no",
      class: "num",
      title: label,
      "data-address": address,
      onclick: () => context.open(address)
    },
    inline(note.value)
  );
}

/** @param {Note} note @param {Context} context @param {boolean} aside @returns {any} */
export function writeNote(note, context, aside = false) {
  const items = note.items ?? [];
  const inner = (/** @type {Note} */ item, /** @type {number} */ least) =>
    bracketed(writeNote(item, context, aside), strength(item) < least);
  switch (note.kind) {
    case "number":
      return data("span", { class: "const" }, inline(note.value));
    case "name":
      return data("var", { title: inline(note.value) }, /** @type {string} */ (note.name));
    case "cell":
      return cellLink(note, context, aside);
    case "infix": {
      const least = note.name === "·" ? 2 : note.name === "−" ? 2 : note.name === "+" ? 1 : 3;
      return h(
        "span",
        { class: "infix" },
        items.map((item, n) => [
          n ? ` ${note.name} ` : "",
          inner(
            item,
            n ? Math.max(least, item.value < 0 && item.kind !== "name" ? 3 : least) : least
          )
        ])
      );
    }
    case "minus":
      return ["−", inner(items[0], 3)];
    case "abs":
      return ["|", writeNote(items[0], context, aside), "|"];
    case "fraction":
      return h(
        "span",
        { class: "frac" },
        h("span", {}, writeNote(items[0], context, aside)),
        h("span", {}, writeNote(items[1], context, aside))
      );
    case "root":
      return h("span", { class: "root" }, "√", h("span", {}, writeNote(items[0], context, aside)));
    case "power":
      return [inner(items[0], 4), h("sup", {}, writeNote(items[1], context, aside))];
    case "chosen": {
      const out = writeNote(items[0], context, aside);
      for (const condition of note.aside ?? []) writeNote(condition, context, true);
      return out;
    }
    case "call":
      return [
        data("span", { class: "fn" }, /** @type {string} */ (note.name)),
        "(",
        items.map((item, n) => [n ? ", " : "", writeNote(item, context, aside)]),
        ")"
      ];
    default:
      return reduction(note, context, aside);
  }
}

/**
 * A sum, product, largest or smallest: its largest terms, and a way to all of them.
 * @param {Note} note
 * @param {Context} context
 * @param {boolean} aside
 */
function reduction(note, context, aside) {
  const count = note.count ?? 0;
  const joined = note.kind === "sum" ? " + " : note.kind === "prod" ? " · " : ", ";
  const wrap = joined === ", ";
  const span = h("span", { class: "reduction" });
  const terms = /** @type {number[]} */ (note.terms);
  const term = /** @type {(n: number) => Note} */ (note.term);
  if (count === 0) return data("span", { class: "const" }, note.kind === "prod" ? "1" : "0");
  const chosen = count > FOLD ? largestTerms(terms, KEEP) : largestTerms(terms, count);
  const written = chosen.map((n, k) => {
    const one = term(n);
    return [
      k ? joined : "",
      bracketed(
        writeNote(one, context, aside),
        !wrap && k > 0 && one.value < 0 && one.kind !== "infix"
      )
    ];
  });
  const rest = count - chosen.length;
  const more =
    rest > 0
      ? [
          joined,
          press(
            {
              class: "more",
              onclick: (event) => unfold(event, note, context)
            },
            t("sum.more", { n: whole(rest, locale()) })
          )
        ]
      : null;
  span.append(
    ...[
      wrap
        ? data(
            "span",
            { class: "fn" },
            { argmax: "argmax", argmin: "argmin", max: "max", min: "min" }[note.kind] ?? note.kind
          )
        : "",
      wrap ? "(" : ""
    ]
  );
  for (const part of [written, more, wrap ? ")" : ""].flat(Infinity)) if (part) span.append(part);
  return span;
}

/** All terms as a list. @param {Event} event @param {Note} note @param {Context} context */
function unfold(event, note, context) {
  const button = /** @type {HTMLElement} */ (event.currentTarget);
  const block = /** @type {HTMLElement} */ (button.closest(".arithmetic"));
  block.querySelector(".terms")?.remove();
  const terms = /** @type {number[]} */ (note.terms);
  const list = h("ol", { class: "terms", start: "0" });
  const total = h("p", { class: "sum-line" });
  let written = 0;
  const step = () => {
    const last = Math.min(terms.length, written + ROWS);
    for (; written < last; written++) {
      list.append(
        h(
          "li",
          { value: written },
          writeNote(/** @type {any} */ (note.term)(written), context),
          data("span", { class: "is" }, ` = ${inline(terms[written])}`)
        )
      );
    }
    if (written < terms.length)
      total.replaceChildren(
        press(
          { class: "more", onclick: step },
          t("sum.all", {
            n: whole(terms.length, locale()),
            m: whole(terms.length - written, locale())
          })
        )
      );
    else
      total.replaceChildren(
        t("sum.total", { n: whole(terms.length, locale()), value: inline(note.value) })
      );
  };
  step();
  block.append(h("div", { class: "terms-box" }, list, total));
  button.remove();
}

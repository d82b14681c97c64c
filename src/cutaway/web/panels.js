/** What the inspector says of a cell: its arithmetic, its formula, its words. */
import { breakable, labelOf, nameOf, placeName } from "./address.js";
import { writeNote } from "./arithmetic.js";
import { currentLanguage, data, h, hint, inLanguage, locale, press, t } from "./dom.js";
import { mathOf } from "./formula.js";
import { inline, whole } from "./numbers.js";
import { productSum, summed, sumTable } from "./sums.js";
import { waveOf } from "./waves.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {ReturnType<Trace["explained"]>} Why */
/** @typedef {(address: string) => void} Open */
/** @typedef {import("./waves.js").Wave} Wave */

const OPERANDS = 14; // listed under "made of"

/**
 * The arithmetic of a cell; of one that a mask lets through, that of the cell behind the mask.
 * @param {Trace} trace
 * @param {Why & {inner?: Why | null}} why
 * @param {Open} open
 * @returns {HTMLElement}
 */
export function numbersPanel(trace, why, open) {
  const block = h("div", { class: "arithmetic" });
  if (why.inner) {
    const inner = numbersPanel(trace, why.inner, open);
    inner.prepend(h("p", { class: "because" }, t("cell.unmasked")));
    return inner;
  }
  const { made, rule, written, way } = why;
  if (way.length > 1) {
    const seen = trace.shown(way[1]);
    block.append(
      h(
        "p",
        { class: "view-note" },
        t("cell.view"),
        " ",
        cellLink(trace, made.id === seen.id ? made : way[way.length - 1], open)
      )
    );
  }
  if (rule.kind === "source") {
    const wave = waveOf(trace, made, why.value);
    block.append(
      wave
        ? waveLine(wave, why.value)
        : h("p", { class: "source" }, t(`source.${rule.source ?? "input"}`))
    );
    return block;
  }
  if (!written) {
    const left = rule.expr !== undefined;
    block.append(
      h(
        "p",
        { class: "source" },
        left ? t("cell.lacking") : t("cell.opaque", { op: trace.values[made.id].op })
      )
    );
    block.append(
      h(
        "ul",
        { class: "operands" },
        trace.values[made.id].args.map((arg) =>
          h(
            "li",
            {},
            press(
              {
                translate: "no",
                class: "link",
                onclick: () => open(trace.values[arg].address)
              },
              breakable(trace.values[arg].address)
            )
          )
        )
      )
    );
    return block;
  }
  /** @type {import("./arithmetic.js").Context} */
  const context = {
    operands: new Map(),
    open,
    address: (arg, index) => {
      const part = trace.shown({ id: trace.values[made.id].args[arg], index });
      return { address: trace.address(part), label: labelOf(trace, part) };
    }
  };
  for (const { name, note } of written.lines) {
    block.append(
      h(
        "p",
        { class: "line" },
        data("var", {}, name),
        " = ",
        writeNote(note, context),
        data("span", { class: "is" }, ` = ${inline(note.value)}`)
      )
    );
  }
  const sum = productSum(written.note);
  const note = sum ? summed(written.note) : written.note;
  const condition = written.note.kind === "chosen" ? written.note.aside?.[0] : null;
  block.append(
    h(
      "p",
      { class: "line" },
      data("span", { class: "is" }, `${inline(why.value)} = `),
      sum && note.kind === "number"
        ? t("sum.of", { n: whole(sum.count ?? 0, locale()) })
        : writeNote(note, context)
    )
  );
  if (condition && condition.kind === "cell") {
    const mask = trace.values[made.id].args[/** @type {number} */ (condition.arg)];
    block.append(
      h(
        "p",
        { class: "because" },
        t("cell.because"),
        " ",
        data("span", {}, `${nameOf(trace, mask)} = `),
        writeNote(condition, context)
      )
    );
  }
  const operands = [...context.operands];
  const listed = operands.slice(0, OPERANDS);
  const count = Math.max(operands.length, trace.parts(made, Infinity).length);
  block.append(
    h("h3", {}, t("operands"), " ", h("small", {}, whole(count, locale()))),
    ...(sum ? sumTable(trace, made, sum, open) : []),
    h(
      "ul",
      { class: "operands" },
      listed.map(([address, operand]) =>
        h(
          "li",
          { class: operand.aside ? "aside" : "" },
          press(
            {
              translate: "no",
              class: "link",
              "data-address": address,
              onclick: () => open(address)
            },
            data("b", {}, inline(operand.value)),
            h("span", { title: address }, placeName(trace, address, trace.path(made.id))),
            h("small", {}, operand.label)
          )
        )
      )
    ),
    count > listed.length && !sum
      ? hint(t("operands.more", { n: whole(count - listed.length, locale()) }))
      : ""
  );
  return block;
}

/** A cell of the table of positions, as the paper computes it. @param {Wave} wave @param {number} value */
function waveLine({ name, position, even, width }, value) {
  return data(
    "p",
    { class: "line" },
    `${inline(value)} = ${name}(${position} / 10000`,
    h("sup", {}, `${even}/${width}`),
    ")"
  );
}

/** @param {Trace} trace @param {Why} why @param {Open} open */
export function formulaPanel(trace, why, open) {
  const { made, rule } = why;
  const value = trace.values[made.id];
  const name = (/** @type {number} */ id) => nameOf(trace, id);
  const math = mathOf(rule.formula ?? "", name(made.id), value.args.map(name));
  return h(
    "div",
    { class: "formula" },
    math ?? hint(t("formula.none")),
    h(
      "dl",
      { class: "facts" },
      [made.id, ...new Set(value.args)].map((id) =>
        h(
          "div",
          {},
          data("dt", {}, name(id)),
          data(
            "dd",
            {},
            valueLink(trace, trace.named(id), open),
            " ",
            h("small", {}, trace.values[trace.named(id)].shape.join("×"))
          )
        )
      )
    ),
    data("p", { class: "op", title: value.op }, `PyTorch · ${operationName(value.op)}`)
  );
}

/** `aten._unsafe_view.default` → `view`. @param {string} op */
function operationName(op) {
  return (op.split(".")[1] ?? op).replace(/^_(unsafe_)?/, "");
}

/** @param {Trace} trace @param {Why} why */
export function wordsPanel(trace, why) {
  const { made, rule } = why;
  const texts = rule.name === "masked_fill" ? null : trace.header.words?.[rule.name];
  const names = trace.values[made.id].args.map((id) => nameOf(trace, id));
  const own = nameOf(trace, made.id);
  const plain =
    rule.name === "masked_fill"
      ? t("words.masked", { fill: inline(fillOf(rule.expr)) })
      : inLanguage(texts ?? undefined) || t(`source.${rule.source ?? "input"}`);
  const text = plain.replace(/\{(\w+)\}/g, (all, key) =>
    key === "out" ? own : key === "n" ? String(termsOf(rule.expr)) : (names[Number(key)] ?? all)
  );
  const about = trace.values[made.id].name ? `about.${trace.values[made.id].name}` : "";
  return h(
    "div",
    { class: "words" },
    h("p", { lang: currentLanguage() }, translateSafe(text)),
    about && t(about) !== about ? h("p", {}, t(about)) : null
  );
}

/** @param {Trace} trace @param {Cell} cell @param {Open} open */
export function cellLink(trace, cell, open) {
  return press(
    {
      translate: "no",
      class: "link",
      "data-address": trace.address(cell),
      onclick: () => open(trace.address(cell))
    },
    placeName(trace, trace.address(cell))
  );
}

/** @param {Trace} trace @param {number} id @param {Open} open */
function valueLink(trace, id, open) {
  return press(
    { translate: "no", class: "link", onclick: () => open(trace.values[id].address) },
    placeName(trace, trace.values[id].address)
  );
}

/** Text whose sentences come in the reader's language already. @param {string} text */
function translateSafe(text) {
  return currentLanguage() === "xx" ? `⟦${text}⟧` : text;
}

/** What a mask puts where it forbids. @param {any} expr */
function fillOf([, , fill]) {
  return Array.isArray(fill) ? Number(fill[0].replace("inf", "Infinity")) : fill;
}

/** How many places the first reduction of a rule runs over. @param {any} expr @returns {number} */
function termsOf(expr) {
  if (!Array.isArray(expr)) return 0;
  if (
    Array.isArray(expr[1]) &&
    Array.isArray(expr[1][0]) &&
    typeof expr[1][0][1] === "number" &&
    expr[0] !== "at"
  )
    return expr[1].reduce((/** @type {number} */ n, /** @type {any} */ range) => n * range[1], 1);
  for (const part of expr) {
    const found = termsOf(part);
    if (found) return found;
  }
  return 0;
}

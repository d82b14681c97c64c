/**
 * `<cut-inspector>`: one cell — its arithmetic, formula, line of code and words, always recomputed.
 */
import { noteScale, writeNote } from "./arithmetic.js";
import { announce, currentLanguage, data, fill, h, inLanguage, locale, press, t } from "./dom.js";
import { shown } from "./heat.js";
import { agrees, difference, full, inline, precise, whole } from "./numbers.js";
import { Sheet } from "./sheet.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */

export const TABS = ["numbers", "formula", "code", "words"];
const USERS = 12;
const OPERANDS = 14;

export class InspectorElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Trace | null} */
    this.trace = null;
    /** @type {(address: string) => void} */
    this.open = (address) => go({ at: address });
    /** @type {((cell: Cell) => Node | null) | null} */
    this.tools = null;
    this.turn = 0;
  }

  /** Nothing is chosen yet. @param {string} [hint] */
  empty(hint = t("inspector.empty")) {
    this.turn += 1;
    this.classList.add("idle");
    fill(this, h("p", { class: "hint" }, hint));
  }

  /** @param {Trace} trace @param {Cell} cell */
  async show(trace, cell) {
    const turn = ++this.turn;
    this.trace = trace;
    const why = await trace.explain(cell);
    if (turn !== this.turn) return;
    this.classList.remove("idle");
    const value = trace.values[cell.id];
    const tab = TABS.includes(where().tab) ? where().tab : "numbers";
    const panel = h("div", {
      role: "tabpanel",
      id: "panel",
      "aria-labelledby": `tab-${tab}`,
      tabindex: "-1"
    });
    fill(
      this,
      this.tabs(tab),
      this.heading(trace, cell, why),
      panel,
      this.verdict(why, trace),
      this.links(trace, cell),
      this.tools?.(cell)
    );
    const panels = /** @type {Record<string, () => any>} */ ({
      numbers: () => this.numbers(trace, why),
      formula: () => this.formula(trace, why),
      code: () => codeOf(trace, why.made.id),
      words: () => this.words(trace, why)
    });
    fill(panel, panels[tab]());
    this.dataset.address = trace.address(cell);
    this.dataset.value = String(why.value);
    this.dataset.recomputed = String(why.recomputed ?? why.value);
    this.dataset.rule = why.rule.kind;
    announce(`${value.name ?? value.op} ${full(why.value, value.dtype)}`);
  }

  /** @param {string} tab */
  tabs(tab) {
    const list = h(
      "div",
      { role: "tablist", "aria-label": t("inspector.title") },
      TABS.map((name) =>
        press(
          {
            role: "tab",
            id: `tab-${name}`,
            "aria-selected": String(name === tab),
            "aria-controls": "panel",
            tabindex: name === tab ? "0" : "-1",
            onclick: () => go({ tab: name }, { replace: true })
          },
          t(`tab.${name}`)
        )
      )
    );
    list.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!step) return;
      const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
      go({ tab: next }, { replace: true });
      setTimeout(() => document.getElementById(`tab-${next}`)?.focus());
    });
    return list;
  }

  /** @param {Trace} trace @param {Cell} cell @param {any} why */
  heading(trace, cell, why) {
    const value = trace.values[cell.id];
    const sheet = new Sheet(trace, cell.id, { fixed: cell.index });
    const facts = cell.index.map((i, d) => {
      const axis = value.axes?.[d];
      if ((axis === "batch" || axis === null || axis === undefined) && value.shape[d] === 1)
        return null;
      const title =
        d === sheet.rowAxis
          ? sheet.axisTitle("row")
          : d === sheet.colAxis
            ? sheet.axisTitle("col")
            : axisName(axis);
      const word = trace.words(cell.id, d)?.[i];
      return h(
        "div",
        {},
        h(
          "dt",
          {},
          title || t(d === value.shape.length - 1 ? "axis.width" : "axis.place", { n: d })
        ),
        data(
          "dd",
          {},
          axis === "head" && d < sheet.rank - 2
            ? [String(i + 1), h("small", {}, ` [${i}]`)]
            : word === undefined
              ? String(i)
              : [h("q", {}, shown(word)), h("small", {}, ` ${i}`)]
        )
      );
    });
    const parts = splitAddress(trace.address(cell));
    return h(
      "header",
      {},
      data(
        "h2",
        {},
        h("span", { class: "path" }, parts.path),
        parts.name,
        h("span", { class: "index" }, parts.index)
      ),
      h("dl", { class: "facts" }, facts),
      data(
        "p",
        { class: "result", id: "cell-value" },
        "= ",
        h("b", {}, full(why.value, value.dtype))
      )
    );
  }

  /** @param {Trace} trace @param {any} why */
  numbers(trace, why) {
    const block = h("div", { class: "arithmetic" });
    const { made, rule, written, way } = why;
    if (way.length > 1) {
      const seen = trace.shown(way[1]);
      block.append(
        h(
          "p",
          { class: "view-note" },
          t("cell.view"),
          " ",
          this.link(trace, made.id === seen.id ? made : way[way.length - 1])
        )
      );
    }
    if (rule.kind === "source") {
      block.append(h("p", { class: "source" }, t(`source.${rule.source ?? "input"}`)));
      return block;
    }
    if (!written) {
      block.append(h("p", { class: "source" }, t("cell.opaque", { op: trace.values[made.id].op })));
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
                  onclick: () => this.open(trace.values[arg].address)
                },
                trace.values[arg].address
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
      open: (address) => this.open(address),
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
    const condition = written.note.kind === "chosen" ? written.note.aside?.[0] : null;
    block.append(
      h(
        "p",
        { class: "line" },
        data("span", { class: "is" }, `${inline(why.value)} = `),
        writeNote(written.note, context)
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
    block.append(
      h("h3", {}, t("operands"), " ", h("small", {}, whole(operands.length, locale()))),
      h(
        "ul",
        { class: "operands" },
        operands.slice(0, OPERANDS).map(([address, operand]) =>
          h(
            "li",
            { class: operand.aside ? "aside" : "" },
            press(
              {
                translate: "no",
                class: "link",
                "data-address": address,
                onclick: () => this.open(address)
              },
              data("b", {}, inline(operand.value)),
              h("span", { title: address }, withinPath(address, trace.path(made.id))),
              h("small", {}, operand.label)
            )
          )
        )
      ),
      operands.length > OPERANDS
        ? h(
            "p",
            { class: "hint" },
            t("operands.more", { n: whole(operands.length - OPERANDS, locale()) })
          )
        : ""
    );
    return block;
  }

  /** @param {any} why @param {Trace} trace */
  verdict(why, trace) {
    const { dtype } = trace.values[why.made.id];
    if (why.recomputed === null)
      return h(
        "p",
        { class: "verdict plain" },
        why.rule.kind === "source" ? t("verdict.source") : t("verdict.opaque")
      );
    const scale = Math.max(
      noteScale(why.written.note),
      ...why.written.lines.map((/** @type {any} */ line) => noteScale(line.note))
    );
    const good = agrees(why.value, why.recomputed, dtype, scale);
    const apart =
      why.value === why.recomputed || (Number.isNaN(why.value) && Number.isNaN(why.recomputed))
        ? 0
        : why.recomputed - why.value;
    return h(
      "p",
      {
        class: good ? "verdict good" : "verdict bad",
        "data-good": String(good),
        "data-difference": String(apart)
      },
      h("span", {}, t("verdict.recomputed")),
      " ",
      data("b", { id: "recomputed" }, precise(why.recomputed)),
      " ",
      good ? "✓" : "✗",
      h("br"),
      h("span", {}, t("verdict.difference")),
      " ",
      data("b", {}, difference(apart))
    );
  }

  /** @param {Trace} trace @param {any} why */
  formula(trace, why) {
    const { made, rule } = why;
    const value = trace.values[made.id];
    const name = (/** @type {number} */ id) => nameOf(trace, id);
    const math = mathOf(rule.formula ?? "", name(made.id), value.args.map(name));
    return h(
      "div",
      { class: "formula" },
      math ?? h("p", { class: "hint" }, t("formula.none")),
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
              this.valueLink(trace, trace.named(id)),
              " ",
              h("small", {}, trace.values[trace.named(id)].shape.join("×"))
            )
          )
        )
      ),
      data("p", { class: "op" }, value.op)
    );
  }

  /** @param {Trace} trace @param {any} why */
  words(trace, why) {
    const { made, rule } = why;
    const texts = trace.header.words?.[rule.name];
    const names = trace.values[made.id].args.map((id) => nameOf(trace, id));
    const own = trace.values[made.id].name ?? lastName(trace.values[made.id].address);
    const text = (inLanguage(texts) || t(`source.${rule.source ?? "input"}`)).replace(
      /\{(\w+)\}/g,
      (all, key) =>
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

  /**
   * Where the number goes next, and its relatives in training.
   * @param {Trace} trace
   * @param {Cell} cell
   */
  links(trace, cell) {
    const value = trace.values[cell.id];
    const users = trace.users(cell.id);
    const relatives = /** @type {[string, number | undefined][]} */ ([
      ["grad", value.grad],
      ["of", value.of],
      ["forward", value.forward],
      ["before", value.before],
      ["after", value.after]
    ]);
    const same = (/** @type {number} */ id) =>
      trace.values[id].shape.join() === value.shape.join()
        ? trace.address({ id, index: cell.index })
        : trace.values[id].address;
    return h(
      "div",
      { class: "relatives" },
      relatives
        .filter(([, id]) => id !== undefined)
        .map(([kind, id]) =>
          h(
            "p",
            {},
            t(`relative.${kind}`),
            " ",
            press(
              {
                translate: "no",
                class: "link",
                "data-relative": kind,
                onclick: () => this.open(same(/** @type {number} */ (id)))
              },
              shortAddress(trace.values[/** @type {number} */ (id)].address)
            )
          )
        ),
      users.length
        ? h(
            "details",
            {},
            h("summary", {}, t("users", { n: users.length })),
            h(
              "ul",
              { class: "operands" },
              users.slice(0, USERS).map((id) => h("li", {}, this.valueLink(trace, id)))
            )
          )
        : null
    );
  }

  /** @param {Trace} trace @param {Cell} cell */
  link(trace, cell) {
    return press(
      {
        translate: "no",
        class: "link",
        "data-address": trace.address(cell),
        onclick: () => this.open(trace.address(cell))
      },
      shortAddress(trace.address(cell))
    );
  }

  /** @param {Trace} trace @param {number} id */
  valueLink(trace, id) {
    return press(
      { translate: "no", class: "link", onclick: () => this.open(trace.values[id].address) },
      shortAddress(trace.values[id].address)
    );
  }
}

/** Text whose sentences come in the reader's language already. @param {string} text */
function translateSafe(text) {
  return currentLanguage() === "xx" ? `⟦${text}⟧` : text;
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

/** @param {string | null | undefined} axis */
function axisName(axis) {
  return axis ? (t(`axis.${axis}`) === `axis.${axis}` ? axis : t(`axis.${axis}`)) : "";
}

/** @param {string} address */
export function splitAddress(address) {
  const found = /^(.*?)(\[[^\]]*\])?$/.exec(address);
  const name = found?.[1] ?? address;
  const cut =
    /\.(grad|after|exp_avg|exp_avg_sq|step|backward|update)\b.*$/.exec(name)?.index ?? name.length;
  const dot = name.slice(0, cut).lastIndexOf(".");
  return { path: name.slice(0, dot + 1), name: name.slice(dot + 1), index: found?.[2] ?? "" };
}

/** The last name of an address. @param {string} address */
export function lastName(address) {
  return splitAddress(address).name;
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

/** Seen from a module of its own: the name alone. @param {string} address @param {string} path */
function withinPath(address, path) {
  return path && address.startsWith(`${path}.`)
    ? address.slice(path.length + 1)
    : shortAddress(address);
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
 * What a formula calls a value: its name, ¬ and the name of a mask turned round, or its address.
 * @param {Trace} trace
 * @param {number} id
 * @returns {string}
 */
function nameOf(trace, id) {
  const named = trace.named(id);
  const { name, args, address } = trace.values[named];
  if (name === undefined && trace.isNot(named)) return `¬${nameOf(trace, args[0])}`;
  return name ?? lastName(address);
}

const MATH = new Set(
  (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msup msub msubsup " +
    "munder mover munderover mtable mtr mtd mstyle mpadded mphantom"
  ).split(" ")
);

/**
 * MathML from a trace, names filled in; only mathematics is let through.
 * @param {string} formula
 * @param {string} out
 * @param {string[]} names
 */
export function mathOf(formula, out, names) {
  if (!formula) return null;
  const filled = formula.replace(/\{(out|\d+)\}/g, (_, key) =>
    escapeXml(key === "out" ? out : (names[Number(key)] ?? "·"))
  );
  const inner = filled.replace(/^<math[^>]*>|<\/math>$/g, "");
  const text = new DOMParser().parseFromString(
    `<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">${inner}</math>`,
    "application/xml"
  );
  const clean = (/** @type {Node} */ node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.textContent ?? "");
    if (!(node instanceof Element) || !MATH.has(node.localName)) return document.createTextNode("");
    const copy = document.createElementNS("http://www.w3.org/1998/Math/MathML", node.localName);
    for (const name of ["display", "stretchy", "accent", "mathvariant"])
      if (node.hasAttribute(name)) copy.setAttribute(name, node.getAttribute(name) ?? "");
    for (const child of node.childNodes) copy.append(clean(child));
    return copy;
  };
  if (text.querySelector("parsererror")) return null;
  const math = clean(text.documentElement);
  /** @type {Element} */ (math).setAttribute("translate", "no");
  return math;
}

/** @param {string} text */
function escapeXml(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}

const AROUND = 5;

/**
 * The lines around the one that computed a value, that line lit.
 * @param {Trace} trace
 * @param {number} id
 */
export function codeOf(trace, id) {
  const value = trace.values[id];
  const site = value.site === undefined ? null : trace.header.sites[value.site];
  if (!site) return h("p", { class: "hint" }, t("code.none"));
  const { file, name, first, text } = trace.header.functions[site.function];
  const lines = text.replace(/\n$/, "").split("\n");
  const from = Math.max(0, site.line - first - AROUND);
  const to = Math.min(lines.length, (site.end ?? site.line) - first + 1 + AROUND);
  const block = data("pre", { class: "code", tabindex: "0" });
  const write = (/** @type {number} */ start, /** @type {number} */ stop) =>
    fill(
      block,
      lines.slice(start, stop).map((/** @type {string} */ line, /** @type {number} */ n) => {
        const number = first + start + n;
        return h(
          "span",
          {
            class:
              number >= site.line && number <= (site.end ?? site.line)
                ? "code-line lit"
                : "code-line"
          },
          h("i", {}, String(number)),
          line || " "
        );
      })
    );
  write(from, to);
  return h(
    "div",
    { class: "code-box" },
    data("p", { class: "file" }, `${file}:${site.line}`, h("span", {}, ` ${name}()`)),
    block,
    lines.length > to - from
      ? press(
          {
            class: "more",
            onclick: (/** @type {Event} */ event) => {
              write(0, lines.length);
              /** @type {Element} */ (event.currentTarget).remove();
            }
          },
          t("code.whole", { n: lines.length })
        )
      : null
  );
}

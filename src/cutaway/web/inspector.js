/**
 * `<cut-inspector>`: one cell — its arithmetic, formula, line of code and words, always recomputed.
 */
import { breakable, placeName } from "./address.js";
import { codeOf } from "./code.js";
import { announce, data, fill, h, hint, locale, press, t } from "./dom.js";
import { shown } from "./heat.js";
import { inWords } from "./human.js";
import { agrees, difference, full, precise, percent, whole } from "./numbers.js";
import { cellLink, formulaPanel, numbersPanel, wordsPanel } from "./panels.js";
import { isWeight, Sheet } from "./sheet.js";
import { waveOf } from "./waves.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */

export const TABS = ["numbers", "formula", "code", "words"];
const USERS = 12;
const PLAYED = new Set(["contraction", "rowwise", "pointwise", "reduction"]); // rules with a film

export class InspectorElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Trace | null} */
    this.trace = null;
    /** @type {(address: string) => void} */
    this.open = (address) => go({ at: address });
    /** @type {((cell: Cell) => Node | null) | null} */
    this.tools = null;
    /** @type {(address: string) => void} */
    this.play = () => {};
    /** @type {((cell: Cell) => Node | null) | null} */
    this.live = null;
    this.turn = 0;
  }

  /** Nothing is chosen yet. @param {string} [text] */
  empty(text = t("inspector.empty")) {
    this.turn += 1;
    this.classList.add("idle");
    delete this.dataset.value; // the number of the cell shown before
    fill(this, hint(text));
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
    const again = this.dataset.address === trace.address(cell);
    const unfolded = again && this.querySelector("details.goes-into[open]") !== null;
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
      this.live?.(cell),
      panel,
      verdict(trace, why.inner ?? why),
      where().view === "lessons" ? null : pathButtons(trace, cell),
      this.links(trace, cell, unfolded),
      this.tools?.(cell)
    );
    const panels = /** @type {Record<string, () => any>} */ ({
      numbers: () => numbersPanel(trace, why, this.open),
      formula: () => formulaPanel(trace, why, this.open),
      code: () => codeOf(trace, why.made.id),
      words: () => wordsPanel(trace, why)
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
      // A row of the decoder is the word it has read; what it is computed for is the one after.
      const next = axis === "target" ? trace.header.labels?.target?.[i + 1] : undefined;
      const fact = h(
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
      if (next === undefined) return fact;
      return [
        fact,
        h("div", {}, h("dt", {}, t("axis.next")), data("dd", {}, h("q", {}, shown(next))))
      ];
    });
    const { place, words } = inWords(trace, cell);
    return h(
      "header",
      {},
      data(
        "h2",
        {},
        h("span", {}, place),
        words ? h("b", {}, words) : null,
        h("small", { class: "path" }, breakable(trace.address(cell)))
      ),
      h("dl", { class: "facts" }, facts),
      why.written !== null && PLAYED.has(why.rule.kind)
        ? press({ id: "play", onclick: () => this.play(trace.address(cell)) }, t("play.play"))
        : null,
      data(
        "p",
        { class: "result", id: "cell-value" },
        "= ",
        h("b", {}, full(why.value, value.dtype)),
        isShare(trace, cell.id) ? h("small", {}, ` ${percent(why.value, locale())}`) : null
      )
    );
  }

  /**
   * The cells that read this one, once they are asked for.
   * @param {HTMLElement} details
   * @param {Trace} trace
   * @param {Cell} cell
   */
  async readers(details, trace, cell) {
    const list = /** @type {HTMLElement} */ (details.querySelector("ul"));
    if (list.childElementCount) return;
    const { goesInto } = await import("./path.js");
    const found = await trace.settled(() => {
      const into = goesInto(trace, cell).slice(0, USERS);
      for (const { cells } of into) trace.read(cells[0].id, cells[0].index);
      return into;
    });
    fill(
      list,
      found.map(({ cells }) =>
        h(
          "li",
          { "data-count": cells.length },
          cellLink(trace, cells[0], this.open),
          cells.length > 1
            ? h("small", {}, t("users.more", { n: whole(cells.length - 1, locale()) }))
            : null
        )
      )
    );
  }

  /**
   * Where the number goes next, and its relatives in training.
   * @param {Trace} trace
   * @param {Cell} cell
   * @param {boolean} unfolded  whether its readers were shown already
   */
  links(trace, cell, unfolded) {
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
              placeName(trace, trace.values[/** @type {number} */ (id)].address)
            )
          )
        ),
      users.length
        ? h(
            "details",
            {
              class: "goes-into",
              open: unfolded,
              ontoggle: (event) => void this.readers(event.target, trace, cell)
            },
            h("summary", {}, t("users", { n: users.length })),
            h("ul", { class: "operands" })
          )
        : null
    );
  }
}

customElements.define("cut-inspector", InspectorElement);

/**
 * The two buttons of a cell: down to its origin, up to the probability.
 * @param {Trace} trace
 * @param {Cell} cell
 */
function pathButtons(trace, cell) {
  const box = h("div", { class: "buttons path-buttons" });
  const follow = (/** @type {string} */ name, /** @type {"downFrom" | "upFrom"} */ way) =>
    press(
      {
        class: "more",
        id: `path-${name}`,
        onclick: async () => {
          const path = await (await import("./path.js"))[way](trace, cell);
          if (path)
            go({ path: path.map((one) => trace.address(one)).join(";"), at: trace.address(cell) });
          else box.append(h("small", {}, t("path.server")));
        }
      },
      t(`path.${name}`)
    );
  box.append(follow("down", "downFrom"));
  if (trace.values[cell.id].phase === "forward" && trace.addresses.has("probabilities"))
    box.append(follow("up", "upFrom"));
  return box;
}

/** Whether a value is a share of a whole: a probability or an attention weight. @param {Trace} trace @param {number} id */
function isShare(trace, id) {
  return trace.values[id].phase === "forward" && isWeight(trace, id);
}

/** @param {string | null | undefined} axis */
function axisName(axis) {
  return axis ? (t(`axis.${axis}`) === `axis.${axis}` ? axis : t(`axis.${axis}`)) : "";
}

/** A sine of a large angle, computed in the type: how far it may lie from the exact one. */
/** @type {Record<string, number>} */
const WAVE = { float64: 1e-9, float32: 1e-5, float16: 5e-3, bfloat16: 4e-2 };

/**
 * Whether the arithmetic shown gives the number of the trace.
 * @param {Trace} trace
 * @param {any} why
 */
function verdict(trace, why) {
  const { dtype } = trace.values[why.made.id];
  const wave = waveOf(trace, why.made, why.value);
  if (wave) return agreement(why.value, wave.value, WAVE[dtype] ?? 0);
  if (why.recomputed === null)
    return h(
      "p",
      { class: "verdict plain" },
      why.rule.kind === "source"
        ? t("verdict.source")
        : t(why.lacking.length ? "verdict.lacking" : "verdict.opaque")
    );
  return agreement(why.value, why.recomputed, trace.bound(why.made));
}

/**
 * @param {number} value
 * @param {number} again
 * @param {number} limit how far rounding may move it
 */
function agreement(value, again, limit) {
  const good = agrees(value, again, limit);
  const apart = value === again || (Number.isNaN(value) && Number.isNaN(again)) ? 0 : again - value;
  return h(
    "p",
    {
      class: good ? "verdict good" : "verdict bad",
      "data-good": String(good),
      "data-difference": String(apart)
    },
    h("span", {}, t("verdict.recomputed")),
    " ",
    data("b", { id: "recomputed" }, precise(again)),
    " ",
    good ? "✓" : "✗",
    h("br"),
    h("span", {}, t("verdict.difference")),
    " ",
    data("b", {}, difference(apart))
  );
}

/**
 * `<cut-equation>`: a module's matrices in reading order with their operators, wrapping like a
 * sentence.
 */
import { data, fill, h, inSlices, press, stays, t } from "./dom.js";
import { heat, range } from "./heat.js";
import { displayName } from "./address.js";
import { placeName } from "./map.js";
import { inline } from "./numbers.js";
import { isWeight, Sheet } from "./sheet.js";
import { copiesBehind, stepsOf } from "./steps.js";

/** @typedef {import("./structure.js").Structure} Structure */
/** @typedef {import("./heat.js").HeatElement} HeatElement */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {import("./steps.js").Part} Part */
/** @typedef {import("./steps.js").Step} Step */
/**
 * @typedef {{
 *   place: string, head: number, batch: number, until: Record<string, number>, focus: Cell | null,
 *   phases: string[], changed: Set<string>, open: (address: string) => void,
 *   openPlace: (place: string) => void, setHead: (head: number) => void
 * }} EquationOptions
 */

const MOST_STEPS = 44; // a module with more than this is shown by its parts

export class EquationElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Map<number, {picture: HeatElement, sheet: Sheet}[]>} */
    this.tiles = new Map();
  }

  /** @param {Structure} structure @param {EquationOptions} options */
  async show(structure, options) {
    this.structure = structure;
    this.options = options;
    this.tiles.clear();
    const steps = stepsOf(structure, options.place, options.phases);
    const summary = steps.length > MOST_STEPS || steps.length === 0 || options.place === "";
    /** @type {[HTMLElement, Part][]} */
    this.waiting = [];
    const body = summary ? this.summary(steps) : [this.heads(steps), this.lines(steps)];
    fill(this, body);
    const { trace } = structure;
    const ids = [
      ...new Set(this.waiting.map(([, part]) => part.id).filter((id) => trace.kept(id)))
    ];
    const turn = (this.turn = (this.turn ?? 0) + 1);
    await trace.want(ids);
    if (turn !== this.turn) return;
    const focused = (/** @type {[HTMLElement, Part]} */ [, part]) =>
      Number(part.id !== options.focus?.id);
    const order = [...this.waiting].sort((a, b) => focused(a) - focused(b));
    await inSlices(
      order,
      ([element, part]) => this.draw(element, part),
      () => turn === this.turn && stays(this)
    );
    if (turn === this.turn) await this.light(this.options.focus);
  }

  /** @param {Step[]} steps */
  lines(steps) {
    /** @type {any[]} */
    const rows = [];
    /** @type {any[]} */
    let row = [];
    let phase = "";
    for (const step of steps) {
      if (!step.chained || step.phase !== phase) {
        if (row.length) rows.push(h("div", { class: "sentence" }, row));
        row = [];
        phase = step.phase;
      }
      row.push(...this.phrase(step));
    }
    if (row.length) rows.push(h("div", { class: "sentence" }, row));
    return h("div", { class: "equations" }, rows);
  }

  /** Operands, operator, result. @param {Step} step */
  phrase(step) {
    const sign = (/** @type {string} */ text) => data("span", { class: "sign" }, text);
    const name = (/** @type {string} */ text) =>
      h(
        "span",
        { class: "sign word" },
        t(`op.${text}`) === `op.${text}` ? data("span", {}, text) : t(`op.${text}`)
      );
    const infix = ["×", "+", "−", "⊙", "÷"].includes(step.symbol);
    const parts = step.chained ? step.parts.slice(1) : step.parts;
    const tiles = parts.map((part) => this.tile(part));
    const constant =
      step.constant === null ? null : data("span", { class: "constant" }, rootOf(step.constant));
    const out = [];
    if (infix) {
      if (step.chained) out.push(sign(step.symbol));
      tiles.forEach((tile, n) => {
        if (n)
          out.push(
            sign(n === 1 && !step.chained ? step.symbol : step.symbol === "×" ? "+" : step.symbol)
          );
        else if (step.chained && n) out.push(sign(step.symbol));
        out.push(tile);
      });
      if (constant) {
        if (!step.chained) out.push(sign(step.symbol));
        out.push(constant);
      }
      out.push(sign("="));
    } else {
      if (!step.chained && tiles.length) out.push(tiles.shift());
      out.push(
        sign("→"),
        name(step.symbol),
        ...(tiles.length ? [h("span", { class: "with" }, tiles)] : []),
        sign("→")
      );
    }
    out.push(this.tile({ id: step.id, transposed: false }, true));
    return [h("span", { class: "phrase" }, out)];
  }

  /** @param {Part} part @param {boolean} result */
  tile(part, result = false) {
    const { trace } = /** @type {Structure} */ (this.structure);
    const { options } = /** @type {{options: EquationOptions}} */ (/** @type {unknown} */ (this));
    const value = trace.values[part.id];
    const here = options.focus?.id === part.id;
    const changed = options.changed.has(value.address);
    const holder = h("span", {
      class: `tile${result ? " result" : ""}${here ? " here" : ""}${changed ? " changed" : ""}`,
      "data-value": value.address
    });
    this.waiting?.push([holder, part]);
    const shape = value.shape.slice(-2);
    holder.style.setProperty(
      "min-height",
      `${Math.min(120, 14 * (shape.length > 1 ? shape[0] : 1)) + 32}px`
    );
    return holder;
  }

  /** @param {HTMLElement} holder @param {Part} part */
  draw(holder, { id, transposed }) {
    const { trace } = /** @type {Structure} */ (this.structure);
    const options = /** @type {EquationOptions} */ (this.options);
    const value = trace.values[id];
    const name = displayName(trace, id);
    const title = press(
      {
        translate: "no",
        class: "tile-name",
        title: value.address,
        onclick: () => options.open(value.address)
      },
      name,
      transposed ? h("sup", {}, "T") : null
    );
    if (!trace.kept(id)) {
      fill(holder, title, h("small", { class: "hint" }, t("value.dropped")));
      return;
    }
    const sheet = new Sheet(trace, id, {
      lead: { head: options.head, batch: options.batch },
      until: options.until,
      transposed,
      fixed: options.focus?.id === id ? options.focus.index : undefined
    });
    const picture = heat({
      sheet,
      title,
      label: `${name} ${value.shape.join("×")}`,
      focus: options.focus?.id === id ? sheet.place(options.focus.index) : null,
      pick: (index) => options.open(trace.address({ id, index })),
      hover: (index) => this.hover(index === null ? null : { id, index })
    });
    fill(holder, picture);
    this.tiles.set(id, [...(this.tiles.get(id) ?? []), { picture, sheet }]);
  }

  /** @param {Cell | null} cell */
  hover(cell) {
    this.pointed = cell;
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(
      () =>
        void this.light(this.pointed ?? this.options?.focus ?? null).finally(
          () => (this.planned = false)
        )
    );
  }

  /**
   * Light the cells that a cell is made of, in every matrix on screen.
   * @param {Cell | null} cell
   */
  async light(cell) {
    const { trace } = /** @type {Structure} */ (this.structure);
    /** @type {Map<number, number[][]>} */
    const lit = new Map();
    const turn = (this.lighting = (this.lighting ?? 0) + 1);
    if (cell && trace.kept(cell.id)) {
      const parts = await trace.settled(() => [
        ...trace.behind(cell).slice(1),
        ...trace.parts(cell, 2048)
      ]);
      if (turn !== this.lighting) return;
      for (const part of parts) {
        for (const step of [part, ...copiesBehind(trace, part)])
          lit.set(step.id, [...(lit.get(step.id) ?? []), step.index]);
      }
    }
    for (const [id, tiles] of this.tiles) {
      for (const { picture, sheet } of tiles) {
        const cells = (lit.get(id) ?? [])
          .map((index) => sheet.place(index))
          .filter((place) => place !== null);
        const focus = cell?.id === id ? sheet.place(cell.index) : null;
        picture.mark(focus, /** @type {any[]} */ (cells));
        picture.closest(".tile")?.classList.toggle("lit-tile", cells.length > 0 || focus !== null);
      }
    }
    this.classList.toggle("dimmed", cell !== null);
  }

  /** All heads at a glance. @param {Step[]} steps */
  heads(steps) {
    const { trace } = /** @type {Structure} */ (this.structure);
    const options = /** @type {EquationOptions} */ (this.options);
    const found = [...steps]
      .reverse()
      .find(
        (step) =>
          trace.values[step.id].shape.length === 4 &&
          trace.values[step.id].shape[1] > 1 &&
          isWeight(trace, step.id)
      );
    if (!found) return null;
    const count = trace.values[found.id].shape[1];
    const strip = h("div", { class: "heads", role: "group", "aria-label": t("heads.all") });
    void trace.want([found.id]).then(() => {
      strip.append(
        h("span", { class: "label" }, t("heads.all")),
        ...range(count).map((head) => {
          const picture = heat({
            sheet: new Sheet(trace, found.id, {
              lead: { head, batch: options.batch },
              fixed: [options.batch, head],
              until: options.until
            }),
            small: true,
            width: 56,
            height: 40,
            words: false
          });
          return press(
            {
              class: head === options.head ? "head here" : "head",
              "aria-pressed": String(head === options.head),
              onclick: () => options.setHead(head)
            },
            picture,
            h("small", {}, t("head.n", { n: head + 1 }))
          );
        })
      );
    });
    return strip;
  }

  /** A large module by its parts: what each puts out, in order. @param {Step[]} steps */
  summary(steps) {
    const structure = /** @type {Structure} */ (this.structure);
    const options = /** @type {EquationOptions} */ (this.options);
    const module = structure.modules.get(options.place);
    const own = steps
      .filter((step) => structure.trace.path(step.made) === options.place)
      .slice(0, MOST_STEPS);
    const rows = (module?.children ?? []).map((child) => {
      const id = structure.output(
        child.path,
        options.phases.includes("backward") ? "forward" : options.phases[0]
      );
      if (id === undefined && !child.children.length) return null;
      const shown =
        id !== undefined && options.phases.includes("backward")
          ? (structure.trace.values[id].grad ?? id)
          : id;
      const name = structure.isPaper ? placeName(child.path) : `${child.name} · ${child.class}`;
      return h(
        "li",
        {},
        press(
          {
            class: "part-name",
            translate: structure.isPaper ? undefined : "no",
            onclick: () => options.openPlace(child.path)
          },
          name,
          " ›"
        ),
        shown === undefined ? null : this.tile({ id: shown, transposed: false }, true)
      );
    });
    return h(
      "div",
      { class: "summary" },
      h("ol", { class: "parts" }, rows),
      own.length ? this.lines(own) : null
    );
  }
}

customElements.define("cut-equation", EquationElement);

/** √32 rather than 5.657 where that is what it is. @param {number} x */
function rootOf(x) {
  const square = Math.round(x * x);
  return !Number.isInteger(x) &&
    square > 1 &&
    square < 1e5 &&
    Math.abs(Math.sqrt(square) - x) < 1e-9
    ? `√${square}`
    : inline(x);
}

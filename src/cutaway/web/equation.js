/**
 * `<cut-equation>`: a module's matrices in reading order with their operators, wrapping like a
 * sentence.
 */
import { data, fill, h, inSlices, press, stays, t } from "./dom.js";
import { HeatElement, range } from "./heat.js";
import { lastName } from "./inspector.js";
import { placeName } from "./map.js";
import { inline } from "./numbers.js";
import { isWeight, Sheet } from "./sheet.js";

/** @typedef {import("./structure.js").Structure} Structure */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {{id: number, transposed: boolean}} Part a value as it stands in an equation */
/**
 * @typedef {{
 *   id: number, made: number, parts: Part[], symbol: string, constant: number | null,
 *   chained: boolean, phase: string
 * }} Step
 */
/**
 * @typedef {{
 *   place: string, head: number, batch: number, until: Record<string, number>, focus: Cell | null,
 *   phases: string[], changed: Set<string>, open: (address: string) => void,
 *   openPlace: (place: string) => void, setHead: (head: number) => void
 * }} EquationOptions
 */

const MOST_STEPS = 44; // a module with more than this is shown by its parts
const COPIES = /aten\.(clone|contiguous|_to_copy|detach|lift_fresh|copy|alias|_reshape_copy)\b/;

/**
 * Whether an operation only hands its input on.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id
 */
function handsOn(trace, id) {
  return (
    trace.rule(id).kind === "view" ||
    (COPIES.test(trace.values[id].op) && trace.values[id].args.length > 0)
  );
}

/**
 * The value a reader meets for an operand: through unnamed views and copies.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id
 */
function met(trace, id) {
  while (trace.values[id].name === undefined && (handsOn(trace, id) || trace.isNot(id)))
    id = trace.values[id].args[0];
  return id;
}

/**
 * The name given to what an operation computed, if it was given to a view of it: the last such name
 * of the same place.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id
 */
function namedResult(trace, id) {
  const own = trace.path(id);
  let best = id;
  const better = (/** @type {number} */ other) =>
    trace.values[other].name !== undefined &&
    (trace.values[best].name === undefined || trace.values[best].name === "output");
  const near = (/** @type {string} */ path) =>
    path === own || path.startsWith(`${own}.`) || own.startsWith(`${path}.`);
  const visit = (/** @type {number} */ from, /** @type {number} */ depth) => {
    for (const user of trace.readersOf(from)) {
      if (
        depth > 6 ||
        trace.rule(user).kind !== "view" ||
        trace.values[user].phase !== trace.values[id].phase ||
        !near(trace.path(user))
      )
        continue;
      if (
        better(user) &&
        (trace.values[user].name !== "output" || trace.values[best].name === undefined)
      )
        best = user;
      if (trace.values[best].name === undefined || trace.values[best].name === "output")
        visit(user, depth + 1);
    }
  };
  if (trace.values[id].name === undefined) visit(id, 0);
  return best;
}

/**
 * Whether an operand stands transposed: its last two axes are those of the value behind it,
 * swapped.
 * @param {import("./trace.js").Trace} trace
 * @param {number} arg
 * @param {number} id
 */
function isTransposed(trace, arg, id) {
  const [a, b] = [trace.values[arg], trace.values[id]];
  if (arg === id || a.shape.length < 2 || b.shape.length < 2) return false;
  const [sa, sb] = [trace.operand(arg).strides, trace.operand(id).strides];
  const [m, n] = [a.shape.length, b.shape.length];
  return (
    a.shape[m - 1] === b.shape[n - 2] &&
    a.shape[m - 2] === b.shape[n - 1] &&
    sa[m - 1] === sb[n - 2] &&
    sa[m - 2] === sb[n - 1] &&
    a.shape[m - 1] * a.shape[m - 2] > 1
  );
}

/** @type {[RegExp, string][]} */
const SYMBOLS = [
  [/softmax_backward|_backward/, "′"],
  [/\.(bmm|mm|addmm|baddbmm|matmul|linear|mv|dot|addmv)\b/, "×"],
  [/_log_softmax|log_softmax/, "log softmax"],
  [/softmax/, "softmax"],
  [/layer_norm/, "norm"],
  [/\.(add|add_)\b/, "+"],
  [/\.(sub|rsub)/, "−"],
  [/\.(mul|mul_)\b/, "⊙"],
  [/\.(div|div_)\b/, "÷"],
  [/masked_fill|where/, "mask"],
  [/embedding|index_select|gather/, "look up"],
  [/relu/, "ReLU"],
  [/gelu/, "GELU"],
  [/silu/, "SiLU"],
  [/tanh/, "tanh"],
  [/sigmoid/, "σ"],
  [/\.cat\b/, "join"],
  [/dropout|bernoulli/, "dropout"],
  [/\.sum\b/, "Σ"],
  [/\.mean\b/, "mean"],
  [/nll_loss/, "−log P"],
  [/bitwise_not|logical_not/, "not"]
];

/** @param {string} op @param {string} [rule] */
export function symbolOf(op, rule = "") {
  if (rule === "mean" || rule === "rstd") return rule;
  return (
    SYMBOLS.find(([pattern]) => pattern.test(op))?.[1] ??
    op.replace(/^aten\./, "").replace(/\.\w+$/, "")
  );
}

/**
 * A plain number in a pointwise rule: the √d_k of a division.
 * @param {any} expr
 * @returns {number | null}
 */
function constantOf(expr) {
  if (!Array.isArray(expr) || !["div", "mul", "add", "sub"].includes(expr[0])) return null;
  const numbers = expr.slice(1).filter((part) => typeof part === "number");
  return numbers.length === 1 && expr.length === 3 ? numbers[0] : null;
}

/**
 * The steps of a place, one a computed value.
 * @param {Structure} structure
 * @param {string} place
 * @param {string[]} phases
 * @returns {Step[]}
 */
export function stepsOf(structure, place, phases) {
  const { trace } = structure;
  /** @type {Step[]} */
  const steps = [];
  const results = new Set();
  const done = new Set();
  const ids = structure.inside(place, phases);
  const mine = new Set(ids);
  let last = -1;
  const view = (/** @type {number} */ made) => {
    const value = trace.values[made];
    const from = met(trace, value.args[0]);
    const apart =
      value.name !== undefined &&
      value.name !== "output" &&
      value.name !== "grad" &&
      value.dtype.includes("float") &&
      !results.has(made) &&
      from !== made &&
      trace.values[from].shape.join() !== value.shape.join();
    if (!apart) return;
    steps.push({
      id: made,
      made,
      parts: [{ id: from, transposed: false }],
      symbol: value.op.includes("slice") ? "rows of" : "rearrange",
      constant: null,
      chained: from === last,
      phase: value.phase
    });
    last = made;
  };
  const add = (/** @type {number} */ made) => {
    if (done.has(made)) return;
    done.add(made);
    const value = trace.values[made];
    if (trace.rule(made).kind === "source") return;
    if (trace.rule(made).kind === "view") return view(made);
    // Of several results of one operation, one may be made of the others.
    for (const arg of value.args) if (arg > made && mine.has(arg)) add(arg);
    if (COPIES.test(value.op) && namedResult(trace, made) === made && value.name === undefined)
      return;
    if (!value.dtype.includes("float") && value.name === undefined) return;
    const id = namedResult(trace, made);
    results.add(id);
    const args = [...value.args];
    if (/masked_fill|where/.test(value.op))
      args.sort(
        (a, b) =>
          Number(trace.values[a].dtype === "bool") - Number(trace.values[b].dtype === "bool")
      );
    const parts = args
      .map((arg) => ({
        id: met(trace, arg),
        transposed: isTransposed(trace, arg, met(trace, arg))
      }))
      .filter(
        (part, n, all) =>
          (trace.values[part.id].shape.length > 0 ||
            trace.values[part.id].dtype.includes("float")) &&
          all.findIndex((other) => other.id === part.id && other.transposed === part.transposed) ===
            n
      );
    const chained = parts.length > 0 && parts[0].id === last && !parts[0].transposed;
    steps.push({
      id,
      made,
      parts,
      symbol: symbolOf(value.op, trace.rule(made).name),
      constant: constantOf(trace.rule(made).expr),
      chained,
      phase: value.phase
    });
    last = id;
  };
  ids.forEach(add);
  return steps;
}

export class EquationElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Map<number, {heat: HeatElement, sheet: Sheet}[]>} */
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
    const name = titleOf(trace, id);
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
    const heat = /** @type {HeatElement} */ (document.createElement("cut-heat"));
    fill(holder, heat);
    heat.show({
      sheet,
      title,
      label: `${name} ${value.shape.join("×")}`,
      focus: options.focus?.id === id ? sheet.place(options.focus.index) : null,
      pick: (index) => options.open(trace.address({ id, index })),
      hover: (index) => this.hover(index === null ? null : { id, index })
    });
    this.tiles.set(id, [...(this.tiles.get(id) ?? []), { heat, sheet }]);
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
      for (const { heat, sheet } of tiles) {
        const cells = (lit.get(id) ?? [])
          .map((index) => sheet.place(index))
          .filter((place) => place !== null);
        const focus = cell?.id === id ? sheet.place(cell.index) : null;
        heat.mark(focus, /** @type {any[]} */ (cells));
        heat.closest(".tile")?.classList.toggle("lit-tile", cells.length > 0 || focus !== null);
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
          const heat = /** @type {HeatElement} */ (document.createElement("cut-heat"));
          const button = press(
            {
              class: head === options.head ? "head here" : "head",
              "aria-pressed": String(head === options.head),
              onclick: () => options.setHead(head)
            },
            heat,
            h("small", {}, t("head.n", { n: head + 1 }))
          );
          heat.show({
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
          return button;
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

/**
 * Copies hand a cell on unchanged at the same place.
 * @param {import("./trace.js").Trace} trace
 * @param {Cell} cell
 * @returns {Cell[]}
 */
function copiesBehind(trace, cell) {
  /** @type {Cell[]} */
  const out = [];
  for (let n = 0; n < 6; n++) {
    if (trace.values[cell.id].name !== undefined || !handsOn(trace, cell.id)) break;
    const next =
      trace.rule(cell.id).kind === "view"
        ? trace.throughView(cell)
        : { id: trace.values[cell.id].args[0], index: cell.index };
    if (!next) break;
    out.push(next);
    cell = next;
  }
  return out;
}

/**
 * What a matrix is called on its tile: a weight with the name of its layer.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id
 */
function titleOf(trace, id) {
  const { address, name } = trace.values[id];
  const last = lastName(address);
  if (name === "weight" || name === "bias" || /^(weight|bias)\./.test(last))
    return `${address
      .slice(0, -last.length - 1)
      .split(".")
      .pop()}.${last}`;
  return last;
}

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

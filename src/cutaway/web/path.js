/**
 * `<cut-path>`: a path through a run, cell by cell: down to the weight or token a number is made
 * of, or up to the probability it goes into. Written in the URL, so that it can be sent.
 */
import { displayName, labelOf, shortAddress, splitAddress } from "./address.js";
import { fill, h, press, t } from "./dom.js";
import { costOf } from "./downstream.js";
import { unravel } from "./layout.js";
import { inline } from "./numbers.js";
import { Replay } from "./replay.js";
import { compile, Scope } from "./rules.js";
import { go, readPath } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */

const MOST = 80; // cells of a path
const WEIGHED = 96; // operands of a cell that are tried
const LOOKED = 3e6; // terms looked through to say exactly which cells read one

/**
 * How much each operand of a cell does: the difference to the number if it were 0. Largest first;
 * of equals those that were computed before weights.
 * @param {Trace} trace
 * @param {Cell} cell
 */
export function weighed(trace, cell) {
  const made = /** @type {Cell} */ (trace.behind(cell).at(-1));
  const rule = trace.rule(made.id);
  if (rule.expr === undefined || trace.values[made.id].args.some((arg) => !trace.kept(arg)))
    return [];
  const run = compile(rule.expr, new Scope(made.index.length));
  /** @type {Map<string, {arg: number, position: number, id: number}>} */
  const reads = new Map();
  const ids = trace.values[made.id].args;
  const operands = ids.map((id) => trace.operand(id));
  const evaluate = (/** @type {(arg: number, position: number) => number} */ read) =>
    run({
      slots: [...made.index],
      args: operands.map((operand, arg) => ({
        ...operand,
        cell: (/** @type {number} */ position) => read(arg, position)
      }))
    });
  const whole = evaluate((arg, position) => {
    reads.set(`${arg}:${position}`, { arg, position, id: ids[arg] });
    return operands[arg].cell(position);
  });
  const lookup = rule.kind === "lookup";
  return [...reads.values()]
    .filter(({ id }) => !lookup || trace.values[id].dtype.includes("float"))
    .sort(
      (a, b) =>
        Math.abs(operands[b.arg].cell(b.position)) - Math.abs(operands[a.arg].cell(a.position))
    )
    .slice(0, WEIGHED)
    .map((part) => {
      const without = evaluate((arg, position) =>
        arg === part.arg && position === part.position ? 0 : operands[arg].cell(position)
      );
      const change = whole - without;
      const operand = operands[part.arg];
      const shown = trace.shown({
        id: part.id,
        index: unravel(part.position - operand.offset, operand)
      });
      const source =
        trace.rule(/** @type {Cell} */ (trace.behind(shown).at(-1)).id).kind === "source";
      return { cell: shown, does: Number.isFinite(change) ? Math.abs(change) : Infinity, source };
    })
    .sort((a, b) => b.does - a.does || Number(a.source) - Number(b.source));
}

/**
 * From a cell along the operand that does most, down to a weight, a token or a constant.
 * @param {Trace} trace
 * @param {Cell} cell
 */
export async function downFrom(trace, cell) {
  const path = [cell];
  while (path.length < MOST) {
    const here = /** @type {Cell} */ (path.at(-1));
    const [most] = await trace.settled(() => weighed(trace, here));
    if (!most || path.some((one) => trace.address(one) === trace.address(most.cell))) break;
    path.push(most.cell);
  }
  return path;
}

/**
 * The cells that read a cell directly, by value; through unnamed views, as a reader meets them.
 * @param {Trace} trace
 * @param {Cell} cell
 * @returns {{id: number, cells: Cell[]}[]}
 */
export function goesInto(trace, cell) {
  const replay = new Replay(trace);
  /** @type {Map<number, Cell[]>} */
  const found = new Map();
  const visit = (/** @type {Cell} */ from, /** @type {number} */ depth) => {
    for (const id of trace.readersOf(from.id))
      for (const reader of replay.readersOf(from, id, LOOKED)) {
        const view = trace.values[id].name === undefined && trace.rule(id).kind === "view";
        if (view && depth < 8) visit(reader, depth + 1);
        else found.set(id, [...(found.get(id) ?? []), reader]);
      }
  };
  visit(cell, 0);
  return [...found].map(([id, cells]) => ({ id, cells }));
}

/**
 * From a cell up to the probability that it moves most: at each step the reader's cell that would
 * change most if the first cell were 0. Null if that cannot be computed in the page.
 * @param {Trace} trace
 * @param {Cell} cell
 */
export async function upFrom(trace, cell) {
  const replay = new Replay(trace);
  if (!costOf(trace, [cell.id]).possible) return null;
  await replay.ready([cell.id]);
  const now = trace.read(cell.id, cell.index);
  const copies = await replay.compute([{ ...cell, value: now === 0 ? 1 : 0 }]);
  if (!copies) return null;
  const change = (/** @type {Cell} */ { id, index }) => {
    const { offset, strides } = trace.operand(id);
    const position = index.reduce((sum, i, d) => sum + i * strides[d], offset);
    const copy = copies.get(id);
    return copy ? Math.abs(copy.numbers[position] - trace.read(id, index)) : 0;
  };
  const goal = trace.addresses.get("probabilities") ?? trace.values.length - 1;
  const far = distances(trace, goal);
  const path = [cell];
  while (path.length < MOST) {
    const here = /** @type {Cell} */ (path.at(-1));
    const next = goesInto(trace, here)
      .filter(({ id }) => far.has(id))
      .flatMap(({ cells }) => cells)
      .map((one) => ({ one, moved: change(one), far: far.get(one.id) ?? 0 }))
      .filter(({ moved }) => moved > 0);
    if (!next.length) break;
    // Readers stand on different scales: the way that is nearest to the end, then what moves most.
    next.sort((a, b) => a.far - b.far || b.moved - a.moved);
    path.push(next[0].one);
  }
  // A result that is only named by the view that follows it is shown there.
  return path.filter(
    ({ id }, n) =>
      n === 0 ||
      n === path.length - 1 ||
      trace.values[id].name !== undefined ||
      trace.rule(path[n + 1].id).kind !== "view"
  );
}

/** Steps from each value to the goal. @param {Trace} trace @param {number} goal */
function distances(trace, goal) {
  const far = new Map([[goal, 0]]);
  const queue = [goal];
  for (let id = queue.shift(); id !== undefined; id = queue.shift())
    for (const arg of trace.values[id].args)
      if (!far.has(arg)) {
        far.set(arg, /** @type {number} */ (far.get(id)) + 1);
        queue.push(arg);
      }
  return far;
}

export class PathElement extends HTMLElement {
  /** @param {Trace | null} trace @param {Record<string, string>} place */
  async show(trace, place) {
    const cells = readPath(place)
      .map((address) => ({ address, found: trace?.find(address) }))
      .filter(({ found }) => found?.index);
    this.hidden = cells.length < 2 || !trace;
    if (this.hidden || !trace) return void fill(this);
    const numbers = await trace.settled(() =>
      cells.map(({ found }) => trace.read(/** @type {Cell} */ (found).id, found?.index ?? []))
    );
    const at = cells.findIndex(({ address }) => address === place.at);
    const to = (/** @type {number} */ n) => {
      const next = cells[Math.max(0, Math.min(cells.length - 1, n))];
      go({ at: next.address, place: "", view: place.view === "training" ? "training" : "look" });
    };
    const card = (/** @type {typeof cells[0]} */ { address, found }, /** @type {number} */ n) => {
      const cell = /** @type {Cell} */ (found);
      const { path, index } = splitAddress(address, trace.values[cell.id].phase);
      return h(
        "li",
        {},
        press(
          {
            translate: "no",
            class: n === at ? "card here" : "card",
            "aria-current": n === at ? "step" : undefined,
            "data-address": address,
            title: address,
            onclick: () => to(n)
          },
          h("b", {}, inline(numbers[n])),
          h("span", {}, `${displayName(trace, cell.id)}${index}`),
          h("small", {}, shortAddress(path).replace(/\.$/, "")),
          h("small", {}, labelOf(trace, cell))
        )
      );
    };
    const slider = h("input", {
      type: "range",
      min: "0",
      max: String(cells.length - 1),
      value: String(Math.max(0, at)),
      "aria-label": t("path.scrub"),
      oninput: () => to(Number(slider.value))
    });
    const held = this.contains(document.activeElement) && document.activeElement?.matches("input");
    fill(
      this,
      h(
        "header",
        {},
        h("b", {}, t("path.title", { n: cells.length })),
        slider,
        press(
          { onclick: () => void navigator.clipboard?.writeText(location.href) },
          t("save.link")
        ),
        press({ class: "print", onclick: () => print() }, t("path.print")),
        press({ "aria-label": t("path.close"), onclick: () => go({ path: "" }) }, "×")
      ),
      h("ol", { class: "cards" }, cells.map(card))
    );
    if (held) slider.focus();
    this.querySelector(".here")?.scrollIntoView({ block: "nearest", inline: "center" });
  }
}

customElements.define("cut-path", PathElement);

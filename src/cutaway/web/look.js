/** The stage of a place: the way to it, its equation, and the matrix in focus as a table. */
import { data, fill, h, hint, locale, painted, press, stays, t } from "./dom.js";
import { breakable, displayName } from "./address.js";
import { changeBanner } from "./change.js";
import { EquationElement } from "./equation.js";
import { headOf, moveHead } from "./heads.js";
import { crumbs } from "./map.js";
import { sizeOf } from "./layout.js";
import { difference, short, whole } from "./numbers.js";
import { Sheet } from "./sheet.js";
import { go, where } from "./state.js";
import { TableElement } from "./table.js";

/** @typedef {import("./structure.js").Structure} Structure */
/** @typedef {import("./trace.js").Cell} Cell */
/**
 * @typedef {{
 *   place: string, until: Record<string, number>, phases: string[], changed: Set<string>,
 *   focus: {id: number, index: number[] | null} | null,
 *   extra?: (structure: Structure, place: string) => any
 * }} LookOptions
 */

const CHECK = 40000; // cells recomputed without asking twice

export class LookElement extends HTMLElement {
  /** @type {number | undefined} the matrix that the equation was last scrolled to */
  followed;

  /** @param {Structure} structure @param {LookOptions} options */
  async show(structure, options) {
    const { focus } = options;
    const head = headOf(structure, focus);
    this.structure = structure;
    this.options = options;
    const equation = /** @type {EquationElement} */ (document.createElement("cut-equation"));
    this.equation = equation;
    this.matrix = h("section", { class: "matrix" });
    fill(
      this,
      this.way(structure, options.place),
      changeBanner(),
      options.extra?.(structure, options.place),
      equation,
      this.matrix
    );
    this.wanted = focus; // the reader may walk on while this is drawn
    // The matrix asked for first, its surroundings after.
    if (focus) await this.table(structure, focus).then(painted);
    if (!stays(this)) return;
    const cell = this.wanted?.index ? { id: this.wanted.id, index: this.wanted.index } : null;
    await equation.show(structure, {
      place: options.place,
      head,
      batch: Number(where().batch || 0),
      until: options.until,
      focus: cell,
      phases: options.phases,
      changed: options.changed,
      open: (address) => go({ at: address, place: options.place }),
      openPlace: (place) => go({ place, at: "" }),
      setHead: (n) => go({ head: String(n), at: moveHead(structure, where().at, n) })
    });
    await this.turnTo(this.wanted);
    this.reveal();
  }

  /**
   * Another cell or matrix of the same place.
   * @param {{id: number, index: number[] | null} | null} focus
   */
  async turnTo(focus) {
    const structure = /** @type {Structure} */ (this.structure);
    this.wanted = focus;
    const cell = focus?.index ? { id: focus.id, index: focus.index } : null;
    const equation = /** @type {EquationElement} */ (this.equation);
    if (equation.options) equation.options.focus = cell;
    for (const tile of equation.querySelectorAll(".tile.here")) tile.classList.remove("here");
    if (focus)
      for (const tile of equation.querySelectorAll(
        `[data-value="${CSS.escape(structure.trace.values[focus.id].address)}"]`
      ))
        tile.classList.add("here");
    if (equation.structure) void equation.light(cell);
    if (focus && focus.id !== this.followed) this.reveal();
    this.followed = focus?.id;
    if (focus) await this.table(structure, focus);
    else fill(this.matrix, hint(t("matrix.hint")));
  }

  /** Bring the matrix in focus into the free part of the stage, above the table. */
  reveal() {
    const tile =
      this.querySelector("cut-equation .tile.here.result") ??
      this.querySelector("cut-equation .tile.here");
    const stage = document.getElementById("stage");
    if (!tile || !stage || getComputedStyle(stage).overflowY !== "auto") return;
    const [box, frame] = [tile.getBoundingClientRect(), stage.getBoundingClientRect()];
    const floor = Math.min(frame.bottom, this.matrix.getBoundingClientRect().top);
    if (box.top < frame.top || box.bottom > floor)
      stage.scrollTop += box.top - frame.top - Math.max(8, (floor - frame.top - box.height) / 2);
  }

  /** @param {Structure} structure @param {string} place */
  way(structure, place) {
    const steps = crumbs(structure, place);
    return h(
      "nav",
      { class: "crumbs", "aria-label": t("crumbs") },
      steps.map(({ path, name }, n) => [
        n ? h("span", { "aria-hidden": "true" }, " › ") : "",
        press(
          {
            "aria-current": n === steps.length - 1 ? "location" : undefined,
            translate: structure.isPaper ? undefined : "no",
            onclick: () => go({ place: path, at: "" })
          },
          name
        )
      ])
    );
  }

  /** @param {Structure} structure @param {{id: number, index: number[] | null}} focus */
  async table(structure, { id, index }) {
    const { trace } = structure;
    const value = trace.values[id];
    if (!trace.kept(id)) {
      fill(this.matrix, hint(t("value.dropped")));
      return;
    }
    const options = /** @type {LookOptions} */ (this.options);
    const { sheet, place } = await prepare(structure, { id, index }, options.until);
    if (
      this.shown === `${id}:${sheet.lead}:${sheet.rows}` &&
      this.grid?.isConnected &&
      index &&
      place
    ) {
      if (this.grid.row !== place.row || this.grid.col !== place.col) {
        this.grid.row = place.row;
        this.grid.col = place.col;
        this.grid.reveal();
        this.grid.draw();
      }
      return;
    }
    const { low, high } = trace.range(id);
    const facts = h(
      "p",
      { class: "hint", translate: "no" },
      [value.shape.join(" × ") || "1", value.dtype, `${short(low)} … ${short(high)}`].join(" · ")
    );
    const axes = h(
      "p",
      { class: "axes" },
      sheet.axisTitle("row") && h("span", {}, t("matrix.rows", { name: sheet.axisTitle("row") })),
      sheet.axisTitle("col") && h("span", {}, t("matrix.cols", { name: sheet.axisTitle("col") }))
    );
    this.grid = /** @type {TableElement} */ (document.createElement("cut-table"));
    this.shown = `${id}:${sheet.lead}:${sheet.rows}`;
    fill(
      this.matrix,
      h(
        "header",
        {},
        data(
          "h2",
          {},
          h("b", {}, displayName(trace, id)),
          " ",
          h(
            "small",
            {},
            breakable(value.address + (sheet.lead.length ? `[${sheet.lead.join(",")},:,:]` : ""))
          )
        ),
        this.check(trace, id)
      ),
      facts,
      axes,
      this.grid
    );
    this.grid.show(sheet, place, (at, how) =>
      go(
        { at: trace.address({ id, index: at }), place: options.place },
        { replace: how === "walk" }
      )
    );
    this.grid.addEventListener("dive", () =>
      /** @type {HTMLElement | null} */ (
        document.querySelector("cut-inspector .operands button")
      )?.focus()
    );
  }

  /**
   * Recompute a whole matrix here, in the page.
   * @param {import("./trace.js").Trace} trace
   * @param {number} id
   */
  check(trace, id) {
    const out = h("output", { class: "check-result" });
    const rule = trace.rule(id);
    if (rule.expr === undefined) return null;
    return h(
      "div",
      { class: "buttons" },
      press(
        {
          class: "more",
          id: "check-all",
          onclick: async () => {
            out.textContent = "…";
            const result = await checkAll(trace, id);
            out.textContent = t("check.done", {
              n: whole(result.cells, locale()),
              difference: difference(result.worst)
            });
            out.dataset.worst = String(result.worst);
          }
        },
        t("check.button", { n: whole(Math.min(CHECK, sizeOf(trace.values[id].shape)), locale()) })
      ),
      out
    );
  }
}

customElements.define("cut-look", LookElement);

/**
 * Bring here what opening a matrix shows first: its range, the cells about the one in focus, that
 * one's arithmetic.
 * @param {Structure} structure
 * @param {{id: number, index: number[] | null}} focus
 * @param {Record<string, number>} until
 */
export async function prepare(structure, focus, until) {
  const { trace } = structure;
  const { id, index } = focus;
  const lead = { head: headOf(structure, focus), batch: Number(where().batch || 0) };
  let sheet = new Sheet(trace, id, { until, lead, fixed: index ?? undefined });
  if (index && !sheet.place(index)) sheet = new Sheet(trace, id, { fixed: index });
  const place = index ? sheet.place(index) : { row: 0, col: 0 };
  if (trace.kept(id))
    await Promise.all([
      trace.want([id]),
      trace.settled(() => TableElement.touch(sheet, place ?? { row: 0, col: 0 })),
      index ? trace.explain({ id, index }) : null
    ]);
  return { sheet, place };
}

/**
 * Recompute up to CHECK cells of a value, a slice of time at a time.
 * @param {import("./trace.js").Trace} trace
 * @param {number} id
 */
export async function checkAll(trace, id) {
  const { shape } = trace.values[id];
  const total = Math.min(CHECK, sizeOf(shape));
  let worst = 0;
  let done = 0;
  while (done < total) {
    const from = done;
    const reached = await trace.settled(() => {
      const until = performance.now() + 25;
      let n = from;
      let most = 0;
      do {
        const index = new Array(shape.length);
        for (let d = shape.length - 1, rest = n; d >= 0; d--) {
          index[d] = rest % shape[d];
          rest = Math.floor(rest / shape[d]);
        }
        const [x, y] = [trace.read(id, index), trace.recompute({ id, index })];
        if (x !== y && !(Number.isNaN(x) && Number.isNaN(y)))
          most = Math.max(most, Number.isFinite(x - y) ? Math.abs(x - y) : Infinity);
        n += 1;
      } while (n < total && performance.now() < until);
      return { n, most };
    });
    done = reached.n;
    worst = Math.max(worst, reached.most);
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { cells: total, worst };
}

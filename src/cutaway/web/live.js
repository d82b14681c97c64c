/**
 * Dragging a number: everything that follows from it is recomputed in the page while the finger
 * moves. When it is let go the model itself translates with the changed number.
 */
import { chancesAt, logitsOf, pieceOf } from "./chances.js";
import { data, fill, h, hint, inSlices, locale, t } from "./dom.js";
import { costOf } from "./downstream.js";
import { range, shown } from "./heat.js";
import { inline, percent, whole } from "./numbers.js";
import { isWeight } from "./sheet.js";
import { where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {{id: number, p: number, best: number}[]} Outcome of each step: its word, and the best one */

const STEPS = 1000; // places of a slider

/** @typedef {import("./replay.js").Replay} Replay */
/** @type {WeakMap<Trace, Replay>} */
const REPLAYS = new WeakMap();

/** The replay of a trace, loaded when a number is first changed. @param {Trace} trace */
export async function replayOf(trace) {
  const { Replay } = await import("./replay.js");
  let replay = REPLAYS.get(trace);
  if (!replay) REPLAYS.set(trace, (replay = new Replay(trace)));
  return replay;
}

/** The replay of a trace of which a number was changed already. @param {Trace} trace */
export function knownReplay(trace) {
  return REPLAYS.get(trace);
}

/**
 * Draw again what shows numbers that were replaced, or were until now.
 * @param {Trace} trace
 * @param {Set<number>} ids
 */
export async function follow(trace, ids) {
  const shows = (/** @type {any} */ element) => {
    const sheet = element.sheet ?? element.options?.sheet;
    return sheet?.trace === trace && ids.has(sheet.id);
  };
  /** @type {any} */ (document.getElementById("stage")?.firstElementChild)?.follow?.(trace);
  const parts = [...document.querySelectorAll("cut-table, cut-heat")].filter(shows);
  await inSlices(
    parts,
    (/** @type {any} */ part) => part.repaint(),
    () => true
  );
}

/**
 * The probability of each word of a translation, and the most probable one instead.
 * @param {Trace} trace
 * @param {{ids: number[]}} translation
 * @returns {Outcome | null}
 */
function outcomeOf(trace, { ids }) {
  const logits = logitsOf(trace);
  if (logits === undefined) return null;
  return ids.map((id, n) => {
    const { top, of } = chancesAt(trace, logits, n, 1, 1);
    return { id, p: of(id), best: top[0].id };
  });
}

/**
 * The words of the translation with their probabilities before and now.
 * @param {Trace} trace
 * @param {Outcome} before
 * @param {Outcome} now
 */
function outcome(trace, before, now) {
  const step = Number(where().step || -1);
  return data(
    "ol",
    { class: "outcome" },
    now.map(({ id, p, best }, n) =>
      h(
        "li",
        { class: n === step ? "here" : "", "data-p": p, "data-best": best },
        h("span", { class: "piece" }, shown(pieceOf(trace, id))),
        h(
          "span",
          { class: "bar", "aria-hidden": "true" },
          h("i", { style: { width: `${100 * p}%` } }),
          h("b", { style: { left: `${100 * before[n].p}%` } })
        ),
        h("span", { class: "p" }, percent(p, locale())),
        best === id ? null : h("em", {}, `→ ${shown(pieceOf(trace, best))}`)
      )
    )
  );
}

/**
 * A slider for one cell, and what its number does to the translation.
 * @param {Trace} trace
 * @param {Cell} cell
 * @param {{translation: any, keep: (value: string) => void}} about keep: what becomes of the number
 *   when it is let go
 */
export function liveControl(trace, cell, { translation, keep }) {
  const { possible, known, bytes } = costOf(trace, [cell.id]);
  if (!known) return null; // numbers that follow were not kept
  const recorded = trace.read(cell.id, cell.index);
  const box = h("div", { class: "live-outcome", "aria-live": "off" });
  if (!possible || !Number.isFinite(recorded))
    return h(
      "div",
      { class: "live" },
      hint(t("live.server", { mb: whole(Math.ceil(bytes / 1e6), locale()) }))
    );
  const [low, high] = reach(trace, cell, recorded);
  const number = data("output", {}, inline(recorded));
  const began = async () => {
    const replay = await replayOf(trace);
    await replay.ready([cell.id]);
    return { replay, before: translation ? outcomeOf(trace, translation) : null };
  };
  /** @type {ReturnType<typeof began> | null} */
  let ready = null;
  const prepare = () => (ready ??= began());
  const slider = h("input", {
    type: "range",
    class: "live-slider",
    "aria-label": t("live.drag"),
    min: "0",
    max: String(STEPS),
    step: "1",
    onpointerdown: () => void prepare(),
    onfocus: () => void prepare(),
    oninput: () => void drag(),
    onchange: () => {
      if (valueAt() !== recorded) keep(inline(valueAt()).replace("−", "-"));
    }
  });
  slider.value = String(Math.round(((recorded - low) / (high - low)) * STEPS));
  const start = slider.value;
  const valueAt = () =>
    slider.value === start
      ? recorded
      : rounded(low + ((high - low) * Number(slider.value)) / STEPS);
  let [busy, moved] = [false, false];
  const drag = async () => {
    number.textContent = inline(valueAt());
    moved = true;
    if (busy) return;
    busy = true;
    const { replay, before } = await prepare();
    while (moved && slider.isConnected) {
      moved = false;
      const value = valueAt();
      const shown = new Set(replay.copies.keys());
      if (value === recorded) replay.restore();
      else if (!(await replay.run([{ ...cell, value }]))) continue;
      if (!slider.isConnected) replay.restore();
      for (const id of replay.copies.keys()) shown.add(id);
      await follow(trace, shown);
      const now = translation ? outcomeOf(trace, translation) : null;
      if (before && now) fill(box, outcome(trace, before, now), hint(t("live.held")));
      box.dataset.value = String(value);
    }
    busy = false;
  };
  return h(
    "div",
    { class: "live" },
    h("label", {}, h("span", {}, t("live.drag")), slider, number),
    box
  );
}

/** As many digits as are shown. @param {number} x */
function rounded(x) {
  return Number(x.toPrecision(4));
}

/**
 * Between which numbers a cell can be dragged: those of its matrix and half as much again.
 * @param {Trace} trace
 * @param {Cell} cell
 * @param {number} value
 */
function reach(trace, cell, value) {
  if (isWeight(trace, cell.id)) return [0, 1];
  const found = trace.ranges.get(cell.id) ?? (trace.here(cell.id) ? trace.range(cell.id) : null);
  const most = 1.5 * Math.max(found?.most ?? 0, Math.abs(value), 0.1);
  return range(2).map((n) => (n ? most : -most));
}

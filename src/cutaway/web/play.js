/**
 * `<cut-play>`: the film of one cell. It stands still until asked, can be stopped at any moment,
 * moved by hand and stepped; where motion is not wanted, and on paper, its frames stand in a strip.
 */
import { displayName, labelOf } from "./address.js";
import { writeNote } from "./arithmetic.js";
import { data, fill, h, hint, locale, press, t } from "./dom.js";
import { filmOf } from "./film.js";
import { inWords } from "./human.js";
import { full, inline, percent, whole } from "./numbers.js";
import { Lit, Scene, sceneOf, sourceOf } from "./scene.js";
import { isWeight } from "./sheet.js";
import { go } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./trace.js").Cell} Cell */
/** @typedef {import("./film.js").Act} Act */
/** @typedef {import("./film.js").Stage} Stage */
/** @typedef {{act: Act, stage: Stage, n: number}} Frame `n`: which stage of its act */

/** What the number under a frame is; else the cell itself. @type {Record<string, string>} */
const NUMBER = { product: "sum", term: "sum", others: "sum", z: "sum", mean: "mean" };

/** Whether things may move. */
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class PlayElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Frame[]} */
    this.frames = [];
    this.at = 0; // frames that have passed, and the part of the next
    this.running = false;
    this.key = ""; // address of the cell that is shown
    /** @type {Scene | Lit | null} */
    this.scene = null;
    /** @type {Frame | null} */
    this.drawn = null;
    this.turn = 0;
    this.addEventListener("keydown", (event) => this.onKey(event));
  }

  /**
   * Open the film of a cell at a frame; it stands still unless a button asked for it.
   * @param {Trace} trace
   * @param {Cell} cell
   * @param {number} frame
   * @param {boolean} begins
   */
  async show(trace, cell, frame, begins) {
    const key = trace.address(cell);
    if (this.key === key && this.trace === trace) {
      if (!this.running && Math.ceil(this.at) !== frame) this.seek(frame);
      return;
    }
    const turn = ++this.turn;
    this.stop();
    const acts = await filmOf(trace, cell);
    const ids = [
      ...new Set(acts.flatMap(({ items }) => items[0]?.parts ?? []).map(({ id }) => id))
    ];
    await trace.want([cell.id, ...ids].filter((id) => trace.kept(id)));
    if (turn !== this.turn) return;
    this.trace = trace;
    this.cell = cell;
    this.key = key;
    this.drawn = null;
    this.frames = acts.flatMap((act) => act.stages.map((stage, n) => ({ act, stage, n })));
    this.hidden = false;
    document.body.classList.add("has-film");
    this.build();
    this.seek(frame);
    this.button.focus({ preventScroll: true });
    if (begins) this.play();
  }

  /** Put the film away. */
  close() {
    this.turn += 1;
    this.stop();
    this.hidden = true;
    this.key = "";
    document.body.classList.remove("has-film");
    fill(this);
  }

  build() {
    const { trace, cell } = /** @type {{trace: Trace, cell: Cell}} */ (
      /** @type {unknown} */ (this)
    );
    const { place, words } = inWords(trace, cell);
    const last = this.frames.length;
    this.button = press(
      { id: "play-toggle", class: "primary", onclick: () => this.toggle() },
      t("play.play")
    );
    this.slider = h("input", {
      type: "range",
      id: "play-at",
      min: "0",
      max: String(last),
      step: "0.01",
      "aria-label": t("play.position"),
      oninput: (event) => {
        this.stop();
        this.seek(Number(event.target.value));
      },
      onchange: () => this.remember()
    });
    this.count = data("output", { class: "play-count" });
    this.stageBox = h("div", { class: "play-stage" });
    this.caption = h("div", { class: "play-caption", "aria-live": "polite" });
    const strip = h("details", {
      class: "play-strip",
      open: still(),
      ontoggle: (event) => event.target.open && this.strip(event.target)
    });
    fill(strip, h("summary", {}, t("play.strip")));
    fill(
      this,
      h(
        "header",
        {},
        h("h1", {}, data("span", {}, place), words ? data("b", {}, words) : null),
        press({ id: "play-close", onclick: () => go({ play: "" }) }, t("play.close"))
      ),
      this.stageBox,
      this.caption,
      h(
        "div",
        { class: "play-controls" },
        press({ id: "play-back", onclick: () => this.step(-1) }, t("step.back")),
        this.button,
        press({ id: "play-next", onclick: () => this.step(1) }, t("step.next")),
        this.slider,
        this.count
      ),
      strip
    );
    if (strip.open) this.strip(strip);
  }

  get width() {
    return Math.max(300, Math.min(980, this.clientWidth - 48));
  }

  /** Go to a moment. @param {number} at */
  seek(at) {
    const last = this.frames.length;
    if (!last) return;
    this.at = Math.max(0, Math.min(last, at));
    const n = Math.min(last - 1, Math.max(0, Math.ceil(this.at) - 1));
    const frame = this.frames[n];
    if (this.drawn?.act !== frame.act) this.scene = this.stageFor(frame.act);
    if (this.drawn !== frame) this.tell(frame, n);
    this.drawn = frame;
    this.scene?.draw(frame.n, Math.max(0, this.at - n));
    if (this.slider.value !== String(this.at)) this.slider.value = String(this.at);
    this.dataset.frame = String(n);
    this.dataset.at = String(this.at);
  }

  /** The picture of an act, with the matrices it takes its rows from. @param {Act} act */
  stageFor(act) {
    const trace = /** @type {Trace} */ (this.trace);
    const scene = sceneOf(trace, act, this.width);
    const matrices = act.kind === "dot" ? [0, 1].map((k) => sourceOf(trace, act, k)) : [];
    fill(
      this.stageBox,
      matrices.length ? h("div", { class: "play-sources" }, matrices) : null,
      scene.element
    );
    return scene;
  }

  /** What happens in a frame, with its numbers. @param {Frame} frame @param {number} n */
  tell(frame, n) {
    const trace = /** @type {Trace} */ (this.trace);
    fill(this.caption, told(trace, frame));
    this.count.textContent = `${n + 1} / ${this.frames.length}`;
    this.dataset.total = String(frame.stage.total ?? "");
    this.dataset.say = frame.stage.say;
    this.dataset.kind = frame.act.kind;
  }

  /** Every frame at its end, one below the other. @param {Element} box */
  strip(box) {
    const trace = /** @type {Trace} */ (this.trace);
    const width = Math.min(520, this.width);
    if (box.querySelector("figure")) return;
    box.append(
      ...this.frames.map((frame) => {
        const scene = sceneOf(trace, frame.act, width);
        scene.draw(frame.n, 1);
        return h("figure", {}, scene.element, h("figcaption", {}, told(trace, frame)));
      })
    );
  }

  toggle() {
    if (this.running) {
      this.stop();
      this.remember();
    } else this.play();
  }

  play() {
    if (this.at >= this.frames.length) this.seek(0);
    this.running = true;
    this.button.textContent = t("play.pause");
    let last = performance.now();
    const tick = (/** @type {number} */ now) => {
      if (!this.running || !this.isConnected) return;
      const frame = this.frames[Math.min(this.frames.length - 1, Math.floor(this.at))];
      this.seek(this.at + Math.min(50, now - last) / frame.stage.time);
      last = now;
      if (this.at < this.frames.length) return void requestAnimationFrame(tick);
      this.stop();
      this.remember();
    };
    if (still()) this.step(1);
    else requestAnimationFrame(tick);
    if (still()) this.stop();
  }

  stop() {
    this.running = false;
    if (this.button) this.button.textContent = t("play.play");
  }

  /** One frame forward or back, to its end. @param {number} by */
  step(by) {
    this.stop();
    this.seek(by > 0 ? Math.floor(this.at + 1e-6) + 1 : Math.ceil(this.at - 1e-6) - 1);
    this.remember();
  }

  /** The moment stands in the address, so that it can be sent. */
  remember() {
    go({ play: String(Math.max(0, Math.ceil(this.at))) }, { replace: true });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const inside = /** @type {HTMLElement} */ (event.target).closest("button, summary, input");
    if (event.key === "ArrowRight") this.step(1);
    else if (event.key === "ArrowLeft") this.step(-1);
    else if (event.key === " " && (!inside || inside === this.slider)) this.toggle();
    else if (event.key === "Escape") go({ play: "" });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

customElements.define("cut-play", PlayElement);

/** Words and numbers of a frame. @param {Trace} trace @param {Frame} frame */
function told(trace, { act, stage }) {
  /** @type {import("./arithmetic.js").Context} */
  const context = {
    operands: new Map(),
    open: (address) => go({ at: address, play: "" }),
    address: (arg, index) => {
      const part = trace.shown({ id: trace.values[act.made.id].args[arg], index });
      return { address: trace.address(part), label: labelOf(trace, part) };
    }
  };
  const { a, b, ...rest } = stage.words;
  const name = (/** @type {any} */ row) =>
    row ? [displayName(trace, row.id), row.words].filter(Boolean).join(" ") : "";
  const words = Object.fromEntries(
    Object.entries(rest).map(([key, x]) => [
      key,
      Number.isInteger(x) ? whole(x, locale()) : inline(x)
    ])
  );
  const { made, items } = act;
  const n = act.stages[0].words.of ?? act.stages[0].words.n ?? 0; // terms, drawn or not
  const value = act.kind === "lit" ? trace.read(made.id, made.index) : stage.total;
  const share = act.kind === "lit" ? isWeight(trace, made.id) : stage.say === "share";
  return [
    h("p", {}, t(`play.say.${stage.say}`, { a: name(a), b: name(b), ...words })),
    stage.note
      ? h(
          "div",
          { class: "arithmetic" },
          h(
            "p",
            { class: "line" },
            writeNote(stage.note, context),
            data("span", { class: "is" }, ` = ${inline(stage.note.value)}`)
          )
        )
      : null,
    value === null
      ? null
      : h(
          "p",
          { class: "play-number" },
          h("span", {}, t(`play.is.${NUMBER[stage.say] ?? "cell"}`)),
          data(
            "b",
            {},
            act.kind === "lit" ? full(value, trace.values[made.id].dtype) : inline(value)
          ),
          share ? data("small", {}, percent(value, locale())) : null
        ),
    items.length && n > items.length
      ? hint(t("play.drawn", { k: whole(items.length, locale()), n: whole(n, locale()) }))
      : null
  ];
}

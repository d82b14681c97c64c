/**
 * `<cut-lessons>`: a list of lessons and a reading column with the stage beside it; lessons are
 * data.
 */
import { controlOf } from "./controls.js";
import { fill, h, hint, press, t } from "./dom.js";
import { matrixTable, pictured, said } from "./figures.js";
import { LookElement } from "./look.js";
import { go, where } from "./state.js";
import { Structure } from "./structure.js";

/** @typedef {import("./figures.js").Matrix} Matrix */
/** @typedef {import("./figures.js").Picture} Picture */
/**
 * @typedef {{
 *   title: Record<string, string>, text: Record<string, string>, matrices: Matrix[],
 *   pictures: Picture[], claims: {said: Record<string, string>, holds: boolean}[], controls: any[],
 *   question: {ask: Record<string, string>, answer: Record<string, string>} | null,
 *   trace: string | null, show: string
 * }} LessonStep
 */

const seen = new Set(); // questions whose answer was opened
// Pixels of letters, where figures have the stage alone; below 13 the pictures alone grow smaller.
const SIZES = [36, 31, 27, 23, 20, 17.5, 15, 13, 11, 8];
const PICTURE = 46; // widths of a picture in such sizes, as the style sheet has it

export class LessonsElement extends HTMLElement {
  /** @param {any} app */
  async show(app) {
    this.app = app;
    const [id, at = "1"] = (where().lesson ?? "").split("/");
    if (!id) {
      const entries = app.info.lessons.map((/** @type {any} */ lesson) =>
        h("li", {}, entry(lesson))
      );
      return void fill(
        this,
        h("h1", {}, t("view.lessons")),
        h("ol", { class: "lesson-list" }, entries)
      );
    }
    fill(this, hint(t("lesson.loading")));
    const lesson = await app.backend.answer(`api/lessons/${encodeURIComponent(id)}`, {
      choices: JSON.parse(where().choices || "{}")
    });
    if (!this.isConnected) return;
    /** @type {LessonStep[]} */
    const steps = lesson.steps;
    const n = Math.min(steps.length, Math.max(1, Number(at)));
    const step = steps[n - 1];
    const to = (/** @type {number} */ k) => go({ lesson: `${id}/${k}`, at: "" });
    // Figures stand there from the beginning; before the answer they cannot be read.
    const stage = h(
      "div",
      { class: step.trace ? "lesson-stage" : "lesson-stage alone" },
      step.matrices.map(matrixTable),
      step.pictures.map(pictured)
    );
    const after = h("div", {}); // what a question must come before
    const asked = `${id}/${n}`;
    const open = !step.question || seen.has(asked) || Boolean(where().at);
    if (!open) stage.toggleAttribute("inert", true);
    const reveal = () => {
      seen.add(asked);
      if (stage.inert) app.open(() => this.reveal(step, after, stage));
    };
    fill(
      this,
      h(
        "div",
        { class: "walk" },
        h(
          "article",
          { class: "reading" },
          h(
            "p",
            { class: "count" },
            press(
              { class: "link", onclick: () => go({ lesson: "", at: "", choices: "" }) },
              said(lesson.title)
            ),
            " · ",
            t("walk.count", { n, of: steps.length })
          ),
          h("h1", {}, said(step.title)),
          said(step.text)
            .split("\n")
            .map((text) => h("p", {}, text)),
          step.question
            ? h(
                "section",
                { class: "question" },
                h("h2", {}, t("walk.question")),
                h("p", {}, said(step.question.ask)),
                h(
                  "details",
                  { open, ontoggle: (event) => event.target.open && reveal() },
                  h("summary", {}, t("lesson.answer")),
                  h("p", { class: "answer" }, said(step.question.answer))
                )
              )
            : null,
          after,
          h(
            "div",
            { class: "buttons" },
            press({ id: "back", disabled: n === 1, onclick: () => to(n - 1) }, t("step.back")),
            press(
              {
                id: "next",
                class: "primary",
                disabled: n === steps.length,
                onclick: () => to(n + 1)
              },
              t("step.next")
            )
          ),
          h(
            "ol",
            { class: "walk-list" },
            steps.map((other, k) =>
              h(
                "li",
                { class: k + 1 === n ? "here" : "" },
                press({ onclick: () => to(k + 1) }, said(other.title))
              )
            )
          )
        ),
        stage
      )
    );
    app.inspector.empty();
    this.fits?.disconnect();
    this.fits = new ResizeObserver(() => step.trace || fit(stage));
    this.fits.observe(app.stage);
    if (open) await this.reveal(step, after, stage);
  }

  /**
   * The numbers of a step, its claims, and the run they come from.
   * @param {LessonStep} step
   * @param {Element} after
   * @param {HTMLElement} stage
   */
  async reveal(step, after, stage) {
    stage.inert = false;
    fill(
      after,
      step.claims.map((claim) =>
        h(
          "p",
          { class: claim.holds ? "claim" : "claim broken" },
          claim.holds ? "✓ " : "✗ ",
          said(claim.said)
        )
      ),
      step.controls.map(controlOf)
    );
    if (!step.trace) return;
    const trace = await this.app.backend.trace(step.trace);
    const structure = new Structure(trace);
    const focus = trace.find(where().at || step.show || "");
    this.look = /** @type {LookElement} */ (document.createElement("cut-look"));
    stage.append(this.look);
    this.trace = trace;
    const place = focus
      ? structure.placeOf(trace.path(focus.id), trace.values[focus.id].address)
      : "";
    await this.look.show(structure, {
      place,
      until: {},
      phases: ["forward", "loss"],
      changed: new Set(),
      focus
    });
    if (!where().at) this.app.stage.scrollTop = 0; // the lesson's own tables come first
    this.inspect(focus);
  }

  /** @param {{id: number, index: number[] | null} | null} focus */
  inspect(focus) {
    document.body.classList.toggle("has-cell", Boolean(focus?.index));
    if (focus?.index && this.trace)
      void this.app.during(
        this.app.inspector.show(this.trace, { id: focus.id, index: focus.index })
      );
    this.app.play(where(), this.trace, focus);
  }

  /** Another cell of the run that the lesson shows. */
  async turnTo() {
    const found = this.trace && where().at ? this.trace.find(where().at) : null;
    if (found && this.look) await this.look.turnTo(found);
    this.inspect(found);
  }
}

customElements.define("cut-lessons", LessonsElement);

/**
 * Figures as large as they can be: each no wider than the stage, all of them seen at once.
 * @param {HTMLElement} stage that has the height of the screen, at least
 */
function fit(stage) {
  const figures = /** @type {HTMLElement[]} */ ([...stage.children]);
  if (!figures.length) return;
  const set = (/** @type {HTMLElement} */ figure, /** @type {number} */ size) =>
    figure.style.setProperty("--figure", `${size}px`);
  const drawn = stage.querySelector(".lesson-picture");
  const sizes = SIZES.filter((size) => !drawn || size * PICTURE <= stage.clientWidth);
  const widest = figures.map((figure) => {
    const frame = /** @type {HTMLElement} */ (figure.querySelector(".scroll-x"));
    const fits = (/** @type {number} */ size) => {
      set(figure, size);
      return frame.scrollWidth <= frame.clientWidth;
    };
    return sizes.find(fits) ?? SIZES[SIZES.length - 1];
  });
  const seen = (/** @type {number} */ size) => {
    figures.forEach((figure, n) => set(figure, Math.min(size, widest[n])));
    return stage.offsetHeight <= Math.ceil(parseFloat(getComputedStyle(stage).minHeight));
  };
  sizes.find(seen);
}

/** A lesson in the list. @param {any} lesson */
function entry({ id, title, about }) {
  return press(
    { "data-lesson": id, onclick: () => go({ lesson: `${id}/1`, at: "" }) },
    h("b", {}, said(title)),
    h("span", {}, said(about))
  );
}

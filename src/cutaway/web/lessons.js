/**
 * `<cut-lessons>`: a list of lessons and a reading column with the stage beside it; lessons are
 * data.
 */
import { headColour } from "./colour.js";
import { curve } from "./curve.js";
import {
  currentLanguage,
  data,
  drawing,
  fill,
  h,
  inLanguage,
  isDark,
  press,
  svg,
  t
} from "./dom.js";
import { range } from "./heat.js";
import { LookElement } from "./look.js";
import { inline } from "./numbers.js";
import { go, where } from "./state.js";
import { Structure } from "./structure.js";

/** @typedef {string | Record<string, string>} Name a symbol, or a word in every language */
/**
 * @typedef {{
 *   name: Name, values: any[][], rows: Name[], columns: Name[], printed: any[][] | null,
 *   slips: [number, number][], note: Record<string, string> | null, digits: number
 * }} Matrix
 */
/**
 * @typedef {{
 *   title: Record<string, string>, kind: string, x: Name, y: Name,
 *   series: {name: Name, x: number[], y: number[], labels: Name[]}[]
 * }} Picture
 */
/**
 * @typedef {{
 *   title: Record<string, string>, text: Record<string, string>, matrices: Matrix[],
 *   pictures: Picture[], claims: {said: Record<string, string>, holds: boolean}[], controls: any[],
 *   question: {ask: Record<string, string>, answer: Record<string, string>} | null,
 *   trace: string | null, show: string
 * }} LessonStep
 */

const seen = new Set(); // questions whose answer was opened

export class LessonsElement extends HTMLElement {
  /** @param {any} app */
  async show(app) {
    this.app = app;
    const [id, at = "1"] = (where().lesson ?? "").split("/");
    if (!id) {
      fill(
        this,
        h("h1", {}, t("view.lessons")),
        h(
          "ol",
          { class: "lesson-list" },
          (app.info.lessons ?? []).map((/** @type {any} */ lesson) =>
            h(
              "li",
              {},
              press(
                {
                  "data-lesson": lesson.id,
                  onclick: () => go({ lesson: `${lesson.id}/1`, at: "" })
                },
                h("b", {}, said(lesson.title)),
                h("span", {}, said(lesson.about))
              )
            )
          )
        )
      );
      return;
    }
    fill(this, h("p", { class: "hint" }, t("lesson.loading")));
    const lesson = await app.backend.answer(`api/lessons/${encodeURIComponent(id)}`, {
      choices: JSON.parse(where().choices || "{}")
    });
    if (!this.isConnected) return;
    /** @type {LessonStep[]} */
    const steps = lesson.steps;
    const n = Math.min(steps.length, Math.max(1, Number(at)));
    const step = steps[n - 1];
    const to = (/** @type {number} */ k) => go({ lesson: `${id}/${k}`, at: "" });
    const stage = h("div", { class: "lesson-stage" });
    const after = h("div", {}); // what a question must come before
    const asked = `${id}/${n}`;
    const open = !step.question || seen.has(asked) || Boolean(where().at);
    const reveal = () => {
      seen.add(asked);
      if (!stage.childElementCount) void this.reveal(step, after, stage);
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
                  { open, ontoggle: (/** @type {any} */ event) => event.target.open && reveal() },
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
    if (open) await this.reveal(step, after, stage);
  }

  /**
   * The numbers of a step, its claims, and the run they come from.
   * @param {LessonStep} step
   * @param {Element} after
   * @param {Element} stage
   */
  async reveal(step, after, stage) {
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
      step.controls.map((control) => this.control(control))
    );
    append(stage, step);
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
      void this.app.inspector.show(this.trace, { id: focus.id, index: focus.index });
  }

  /** Something the learner can change; the lesson is told again. @param {any} control */
  control(control) {
    const set = (/** @type {any} */ value) =>
      go({
        choices: JSON.stringify({ ...JSON.parse(where().choices || "{}"), [control.name]: value })
      });
    const label = h("span", {}, said(control.label));
    if (control.kind === "slider") {
      const [least, most, step] = control.options;
      const out = data("output", {}, String(control.value));
      return h(
        "label",
        { class: "slider" },
        label,
        h("input", {
          type: "range",
          min: least,
          max: most,
          step,
          value: String(control.value),
          oninput: (/** @type {any} */ event) => {
            out.textContent = event.target.value;
          },
          onchange: (/** @type {any} */ event) => set(Number(event.target.value))
        }),
        out
      );
    }
    if (control.kind === "option")
      return h(
        "label",
        { class: "select" },
        label,
        data(
          "select",
          {
            onchange: (/** @type {any} */ event) => set(control.options[Number(event.target.value)])
          },
          control.options.map((/** @type {any} */ option, /** @type {number} */ n) =>
            h("option", { value: String(n), selected: option === control.value }, String(option))
          )
        )
      );
    if (control.kind === "order") {
      const words = [...control.value];
      const move = (/** @type {number} */ n) =>
        set(words.map((word, k) => (k === n ? words[n + 1] : k === n + 1 ? words[n] : word)));
      const drop = (/** @type {any} */ event, /** @type {number} */ to) => {
        event.preventDefault();
        const [word] = words.splice(Number(event.dataTransfer.getData("text/plain")), 1);
        words.splice(to, 0, word);
        set(words);
      };
      return h(
        "div",
        { class: "order" },
        label,
        words.map((word, n) => [
          data(
            "span",
            {
              class: "piece",
              draggable: "true",
              ondragstart: (/** @type {any} */ event) =>
                event.dataTransfer.setData("text/plain", String(n)),
              ondragover: (/** @type {any} */ event) => event.preventDefault(),
              ondrop: (/** @type {any} */ event) => drop(event, n)
            },
            word
          ),
          n < words.length - 1
            ? press({ "aria-label": t("lesson.swap"), onclick: () => move(n) }, "⇄")
            : null
        ])
      );
    }
    return h(
      "form",
      {
        class: "inline-form",
        onsubmit: (/** @type {any} */ event) => {
          event.preventDefault();
          set(event.target.elements.text.value);
        }
      },
      h("label", {}, label, data("input", { name: "text", value: String(control.value) })),
      h("button", { type: "submit" }, t("picture.draw"))
    );
  }

  /** @param {any} focus */
  async turnTo(focus) {
    const found = this.trace && where().at ? this.trace.find(where().at) : null;
    if (found && this.look) await this.look.turnTo(found);
    this.inspect(found);
    void focus;
  }
}

/**
 * A sentence of lesson data; it carries its own translations.
 * @param {Name | null | undefined} texts
 */
function said(texts) {
  const text = typeof texts === "string" ? texts : inLanguage(texts ?? undefined);
  return currentLanguage() === "xx" && text ? `⟦${text}⟧` : text;
}

/** @param {Element} stage @param {LessonStep} step */
function append(stage, step) {
  for (const matrix of step.matrices) stage.append(matrixTable(matrix));
  for (const picture of step.pictures) stage.append(pictured(picture));
}

/**
 * A matrix of the lesson; a wrong printed figure stands struck through beside the right one.
 * @param {Matrix} matrix
 */
function matrixTable(matrix) {
  const slips = new Set(matrix.slips.map(([row, col]) => `${row},${col}`));
  const number = (/** @type {any} */ x) =>
    typeof x === "number"
      ? (x !== 0 && Math.abs(x) < 10 ** -matrix.digits
          ? x.toExponential(1)
          : Number(x.toFixed(matrix.digits)).toString()
        ).replace("-", "−")
      : String(x).replace("-", "−").replace("inf", "∞");
  return h(
    "figure",
    { class: "lesson-matrix" },
    h(
      "figcaption",
      {},
      typeof matrix.name === "string" ? data("b", {}, matrix.name) : h("b", {}, said(matrix.name)),
      data("small", {}, ` ${matrix.values.length}×${matrix.values[0]?.length ?? 0}`)
    ),
    h(
      "div",
      { class: "scroll-x" },
      h(
        "table",
        { class: "plain numbers" },
        matrix.columns.length
          ? h(
              "thead",
              {},
              h(
                "tr",
                {},
                matrix.rows.length ? h("th", {}) : null,
                matrix.columns.map((name) =>
                  h(
                    "th",
                    { scope: "col", translate: typeof name === "string" ? "no" : undefined },
                    said(name)
                  )
                )
              )
            )
          : null,
        h(
          "tbody",
          {},
          matrix.values.map((row, r) =>
            h(
              "tr",
              {},
              matrix.rows.length
                ? h(
                    "th",
                    {
                      scope: "row",
                      translate: typeof matrix.rows[r] === "string" ? "no" : undefined
                    },
                    said(matrix.rows[r])
                  )
                : null,
              row.map((x, c) =>
                data(
                  "td",
                  { class: slips.has(`${r},${c}`) ? "slip" : "" },
                  number(x),
                  matrix.printed && slips.has(`${r},${c}`)
                    ? h("s", { title: t("lesson.printed") }, number(matrix.printed[r][c]))
                    : null
                )
              )
            )
          )
        )
      )
    ),
    matrix.slips.length
      ? h(
          "p",
          { class: "hint" },
          h("s", { translate: "no" }, "1.23"),
          " ",
          t("lesson.slips", { n: matrix.slips.length })
        )
      : null,
    matrix.note ? h("p", { class: "hint" }, said(matrix.note)) : null
  );
}

/** Curves, points or bars. @param {Picture} picture */
function pictured(picture) {
  const dark = isDark();
  const title = said(picture.title);
  const key =
    picture.series.length > 1
      ? h(
          "p",
          { class: "key" },
          picture.series.map((one, n) =>
            h(
              "span",
              { translate: typeof one.name === "string" ? "no" : undefined },
              h("i", { style: { background: headColour(n, dark) } }),
              " ",
              said(one.name)
            )
          )
        )
      : null;
  /** @type {any} */
  let body;
  if (picture.kind === "curves")
    body = curve(
      picture.series.map((one, n) => ({
        name: "",
        colour: headColour(n, dark),
        points: one.x.map((x, k) => /** @type {[number, number]} */ ([x, one.y[k]]))
      })),
      { label: title, x: said(picture.x), y: said(picture.y) }
    );
  else if (picture.kind === "points") body = cloud(picture, title, dark);
  else {
    const most = Math.max(...picture.series.flatMap((one) => one.y.map(Math.abs))) || 1;
    body = h(
      "div",
      { class: "bars" },
      picture.series.map((one, n) =>
        one.y.map((y, k) =>
          h(
            "div",
            {},
            h("span", { class: "label", translate: "no" }, said(one.labels[k] ?? String(one.x[k]))),
            h(
              "span",
              { class: "bar" },
              h("i", {
                style: {
                  width: `${(100 * Math.abs(y)) / most}%`,
                  background: headColour(n, dark)
                }
              })
            ),
            data("span", { class: "p" }, inline(y))
          )
        )
      )
    );
  }
  return h(
    "figure",
    { class: "lesson-picture" },
    h("figcaption", {}, h("b", {}, title)),
    h("div", { class: "scroll-x" }, body),
    key
  );
}

/**
 * Named points in the plane.
 * @param {Picture} picture
 * @param {string} title
 * @param {boolean} dark
 */
function cloud(picture, title, dark) {
  const [width, height] = [460, 320];
  const scale = (/** @type {number[]} */ all, /** @type {number} */ size) => {
    const [least, most] = [Math.min(...all), Math.max(...all)];
    return (/** @type {number} */ v) => 40 + ((v - least) / (most - least || 1)) * (size - 110);
  };
  const px = scale(
    picture.series.flatMap((one) => one.x),
    width
  );
  const py = scale(
    picture.series.flatMap((one) => one.y),
    height
  );
  return drawing(
    "cloud",
    [width, height],
    title,
    picture.series.map((one, n) =>
      range(one.x.length).map((k) =>
        svg(
          "g",
          { transform: `translate(${px(one.x[k])} ${height - py(one.y[k])})` },
          svg("circle", { r: 3.5, style: { fill: headColour(n, dark) } }),
          svg(
            "text",
            px(one.x[k]) > width * 0.7 ? { x: -6, y: 4, "text-anchor": "end" } : { x: 6, y: 4 },
            said(one.labels[k] ?? "")
          )
        )
      )
    ),
    svg(
      "text",
      { class: "axis", x: width - 8, y: height - 6, "text-anchor": "end" },
      said(picture.x)
    ),
    svg("text", { class: "axis", x: 4, y: 14 }, said(picture.y))
  );
}

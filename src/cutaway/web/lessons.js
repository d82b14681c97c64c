/** `<cut-lessons>`: a list of lessons and a reading column with the stage beside it; lessons are data. */
import { ask } from "./backend.js";
import { data, fill, h, inLanguage, t } from "./dom.js";
import { LookElement } from "./look.js";
import { short } from "./numbers.js";
import { go, where } from "./state.js";
import { Structure } from "./structure.js";

/**
 * @typedef {{title: Record<string, string>, text: Record<string, string>, show?: string, trace?: string, question?: Record<string, string>, answer?: Record<string, string>,
 *   table?: {title?: Record<string, string>, rows: {name: string, printed: number | string | null, right: number | string | null, note?: Record<string, string>}[]}}} LessonStep
 */
/** @typedef {{id: string, title: Record<string, string>, about: Record<string, string>, steps: LessonStep[]}} Lesson */

export class LessonsElement extends HTMLElement {
  /** @param {any} app */
  async show(app) {
    this.app = app;
    const list = app.info.lessons ?? [];
    const [id, at = "1"] = (where().lesson ?? "").split("/");
    if (!id) {
      fill(this, h("h1", {}, t("view.lessons")), h("ol", { class: "lesson-list" }, list.map((/** @type {any} */ lesson) => h("li", {}, h("button", { type: "button", onclick: () => go({ lesson: `${lesson.id}/1` }) }, h("b", {}, said(lesson.title)), h("span", {}, said(lesson.about)))))));
      return;
    }
    const lesson = /** @type {Lesson} */ (await (await ask(`api/lessons/${encodeURIComponent(id)}`)).json());
    const n = Math.min(lesson.steps.length, Math.max(1, Number(at)));
    const step = lesson.steps[n - 1];
    const to = (/** @type {number} */ k) => go({ lesson: `${id}/${k}`, at: "" });
    const stage = h("div", { class: "lesson-stage" });
    const answer = step.answer ? h("details", {}, h("summary", {}, t("walk.reveal")), h("p", { class: "answer" }, said(step.answer))) : null;
    fill(this, h("div", { class: "walk" }, h("article", { class: "reading" },
      h("p", { class: "count" }, h("button", { type: "button", class: "link", onclick: () => go({ lesson: "" }) }, t("view.lessons")), " · ", t("walk.count", { n, of: lesson.steps.length })),
      h("h1", {}, said(step.title)), said(step.text).split("\n").map((text) => h("p", {}, text)),
      step.question ? h("section", { class: "question" }, h("h2", {}, t("walk.question")), h("p", {}, said(step.question)), answer) : null,
      step.table ? printed(step.table) : null,
      h("div", { class: "buttons" }, h("button", { type: "button", id: "back", disabled: n === 1, onclick: () => to(n - 1) }, t("step.back")), h("button", { type: "button", id: "next", class: "primary", disabled: n === lesson.steps.length, onclick: () => to(n + 1) }, t("step.next")))), stage));
    if (!step.trace) return;
    const trace = await app.backend.trace(step.trace);
    const structure = new Structure(trace);
    const focus = trace.find(where().at || step.show || "");
    const look = /** @type {LookElement} */ (document.createElement("cut-look"));
    fill(stage, look);
    await look.show(structure, { place: focus ? structure.placeOf(trace.path(focus.id)) : "", until: {}, phases: ["forward", "loss"], changed: new Set(), focus });
    if (focus?.index) void app.inspector.show(trace, { id: focus.id, index: focus.index });
  }
}

/** A sentence of lesson data; it carries its own translations. @param {Record<string, string> | undefined} texts */
function said(texts) {
  const text = inLanguage(texts);
  return document.documentElement.lang === "xx" ? `⟦${text}⟧` : text;
}

/** What was printed beside what is right. @param {NonNullable<LessonStep["table"]>} table */
function printed(table) {
  const show = (/** @type {any} */ x) => (typeof x === "number" ? short(x, 5) : x ?? "–");
  return h("table", { class: "plain printed" }, h("caption", {}, said(table.title)), h("thead", {}, h("tr", {}, h("th", {}), h("th", { scope: "col" }, t("lesson.printed")), h("th", { scope: "col" }, t("lesson.right")), h("th", {}))),
    h("tbody", {}, table.rows.map((row) => h("tr", { class: row.printed === row.right ? "" : "differs" }, data("th", { scope: "row" }, row.name), data("td", {}, show(row.printed)), data("td", {}, show(row.right)), h("td", {}, said(row.note))))));
}

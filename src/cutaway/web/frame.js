/** The frame round the views: sentence, language, theme, links to the views, keys, one message. */
import {
  fill,
  h,
  languageName,
  languageTag,
  mark,
  nextLanguage,
  press,
  setLanguage,
  t
} from "./dom.js";
import { onKey, present, showKeys } from "./keys.js";
import { go, where, writeHash } from "./state.js";

/** @typedef {Record<string, string>} Place */

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/**
 * Listen to the header, to keys, and to the size of the window.
 * @param {{
 *   translate: (text: string) => void, save: () => void, find: () => void, redraw: () => void
 * }} page
 */
export function listen({ translate, save, find, redraw }) {
  byId("sentence").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    translate(byId("text").value.trim());
  });
  byId("language").addEventListener("click", () => go({ lang: nextLanguage() }));
  byId("theme").addEventListener("click", () => {
    const { theme } = where();
    const next = theme === "dark" ? "light" : theme === "light" ? "" : "dark";
    go({ theme: next }, { replace: true });
  });
  byId("save").addEventListener("click", save);
  byId("present").addEventListener("click", present);
  byId("keys").addEventListener("click", showKeys);
  byId("find").addEventListener("click", find);
  byId("close-sheet").addEventListener("click", () => go({ at: "" }));
  document.addEventListener("keydown", onKey);
  const narrow = matchMedia("(max-width: 900px)");
  const fold = () => (byId("map-fold").open = !narrow.matches);
  fold();
  narrow.addEventListener("change", fold);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (Math.abs(innerWidth - width) < 40) return;
    width = innerWidth;
    redraw();
  });
}

/** Language and theme of the whole page. @param {Place} place */
export function dress(place) {
  setLanguage(place.lang);
  mark(document.documentElement, "data-theme", place.theme);
  document.body.classList.toggle("present", Boolean(place.present));
}

/** A link to another model of the same server, with the sentence. @param {string} name @param {Place} place */
function sibling(name, { lang, theme, text }) {
  const hash = writeHash({ view: "translate", lang, theme, text });
  return h("a", { class: "sibling", href: `../${name}/${hash}` }, name.replace("-", "→"));
}

/**
 * Header and links to the views.
 * @param {Place} place
 * @param {import("./backend.js").Info} info
 * @param {string[]} views
 */
export function drawFrame(place, info, views) {
  for (const element of document.querySelectorAll("[data-words]"))
    element.textContent = t(/** @type {HTMLElement} */ (element).dataset.words ?? "");
  const next = nextLanguage();
  byId("text").placeholder = t("sentence.placeholder");
  byId("language").textContent = languageName(next);
  byId("language").lang = languageTag(next);
  for (const id of ["theme", "present", "keys"]) {
    byId(id).setAttribute("aria-label", t(`button.${id}`));
    byId(id).title = t(`button.${id}`);
  }
  fill(
    byId("model-name"),
    info.name ?? "",
    ...(info.siblings ?? []).map((name) => sibling(name, place))
  );
  byId("sentence").hidden = !info.served || !info.translates;
  const link = (/** @type {string} */ view) =>
    h(
      "a",
      {
        href: "#",
        "aria-current": view === place.view ? "page" : undefined,
        "data-view": view,
        onclick: (event) => {
          event.preventDefault();
          go({ view, at: view === "translate" ? "" : where().at });
        }
      },
      t(`view.${view}`)
    );
  fill(byId("views"), views.map(link));
  byId("views").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  byId("views").setAttribute("aria-label", t("views"));
}

/** One line to the reader; an empty one takes it away. @param {string} text */
export function say(text) {
  const box = byId("message");
  box.hidden = !text;
  if (!text) return fill(box);
  return fill(box, text, press({ "aria-label": t("message.close"), onclick: () => say("") }, "×"));
}

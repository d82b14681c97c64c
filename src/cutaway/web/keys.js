/** The keys of the page: what each does, and a list of them. */
import { data, fill, h, press, t } from "./dom.js";
import { go, goBack, where } from "./state.js";

/** Keys that work everywhere, and what they press. @type {Record<string, string>} */
const PRESSES = { "[": "back", "]": "next", p: "play", "/": "text" };
/** In the order of the list; the last ones belong to a matrix or a film. */
const LISTED = ["/", "[ ]", "p", "f", "Backspace", "Esc", "?", "← ↑ → ↓", "Enter", "← →", "Space"];

/** @param {KeyboardEvent} event */
export function onKey(event) {
  const typing = /** @type {HTMLElement} */ (event.target).closest(
    "input, textarea, select, [contenteditable]"
  );
  const open = document.querySelector(".menu, .keys");
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))
    document.getElementById("find")?.click();
  else if (event.key === "Escape" && open) open.remove();
  else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === "Backspace") goBack();
  else if (event.key === "?") showKeys();
  else if (event.key === "f") present();
  else if (event.key in PRESSES) {
    const element = document.getElementById(PRESSES[event.key]);
    if (event.key === "/") element?.focus();
    else element?.click();
  } else if (event.key === "Escape" && where().present) present();
  else if (event.key === "Escape" && where().at) go({ at: "" });
  else return;
  event.preventDefault();
}

/** Large type for a projector, on or off. */
export function present() {
  go({ present: where().present ? "" : "1" }, { replace: true });
}

/** The list of keys, over the page. */
export function showKeys() {
  document.querySelector(".keys")?.remove();
  const box = h("div", { class: "keys", role: "dialog", "aria-label": t("keys.title") });
  const close = press({ onclick: () => box.remove() }, t("play.close"));
  fill(
    box,
    h("header", {}, h("h1", {}, t("keys.title")), close),
    h(
      "dl",
      {},
      LISTED.map((key, n) =>
        h("div", {}, h("dt", {}, data("kbd", {}, key)), h("dd", {}, t(`keys.${n + 1}`)))
      )
    )
  );
  document.body.append(box);
  close.focus();
}

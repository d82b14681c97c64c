/** Controls of a lesson: a slider, a choice, an order of words, a text. The lesson is then retold. */
import { choice, data, h, press, t } from "./dom.js";
import { said } from "./figures.js";
import { go, where } from "./state.js";

/**
 * @typedef {{
 *   name: string, label: import("./figures.js").Name, kind: string, value: any, options: any[]
 * }} Control
 */
/** @typedef {(value: any) => void} Set */

/** A control as it is drawn. @param {Control} control */
export function controlOf(control) {
  const choices = JSON.parse(where().choices || "{}");
  const set = (/** @type {any} */ value) =>
    go({ choices: JSON.stringify({ ...choices, [control.name]: value }) });
  const kinds = /** @type {Record<string, (control: Control, set: Set) => any>} */ ({
    slider,
    option,
    order
  });
  return (kinds[control.kind] ?? text)(control, set);
}

/** @param {Control} control @param {Set} set */
function slider({ label, value, options: [min, max, step] }, set) {
  const out = data("output", {}, String(value));
  const input = h("input", {
    type: "range",
    min,
    max,
    step,
    value: String(value),
    oninput: (event) => (out.textContent = event.target.value),
    onchange: (event) => set(Number(event.target.value))
  });
  return h("label", { class: "slider" }, h("span", {}, said(label)), input, out);
}

/** @param {Control} control @param {Set} set */
function option({ label, value, options }, set) {
  return choice(
    said(label),
    { translate: "no", onchange: (event) => set(options[Number(event.target.value)]) },
    options.map((one, n) => [String(n), String(one)]),
    String(options.indexOf(value))
  );
}

/** Words that can be dragged, or swapped with the next one. @param {Control} control @param {Set} set */
function order({ label, value }, set) {
  /** @type {string[]} */
  const words = [...value];
  const moved = (/** @type {number} */ from, /** @type {number} */ to) => {
    const others = words.filter((_, n) => n !== from);
    set([...others.slice(0, to), words[from], ...others.slice(to)]);
  };
  const piece = (/** @type {string} */ word, /** @type {number} */ n) =>
    data(
      "span",
      {
        class: "piece",
        draggable: "true",
        ondragstart: (event) => event.dataTransfer.setData("text/plain", String(n)),
        ondragover: (event) => event.preventDefault(),
        ondrop: (event) => {
          event.preventDefault();
          moved(Number(event.dataTransfer.getData("text/plain")), n);
        }
      },
      word
    );
  const swap = (/** @type {number} */ n) =>
    press({ "aria-label": t("lesson.swap"), onclick: () => moved(n, n + 1) }, "⇄");
  return h(
    "div",
    { class: "order" },
    h("span", {}, said(label)),
    words.map((word, n) => [piece(word, n), n < words.length - 1 ? swap(n) : null])
  );
}

/** @param {Control} control @param {Set} set */
function text({ label, value }, set) {
  return h(
    "form",
    {
      class: "inline-form",
      onsubmit: (event) => {
        event.preventDefault();
        set(event.target.elements.text.value);
      }
    },
    h(
      "label",
      {},
      h("span", {}, said(label)),
      data("input", { name: "text", value: String(value) })
    ),
    h("button", { type: "submit" }, t("picture.draw"))
  );
}

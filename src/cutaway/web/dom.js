/** Small helpers for building the page, and the words of its language. */

/**
 * Attributes of an element by name; the event of a listener is not typed.
 * @typedef {Record<string, any> & {
 *   onclick?: (event: any) => any, onchange?: (event: any) => any, oninput?: (event: any) => any,
 *   onsubmit?: (event: any) => any, ontoggle?: (event: any) => any, onkeydown?: (event: any) => any,
 *   ondragstart?: (event: any) => any, ondragover?: (event: any) => any,
 *   ondrop?: (event: any) => any
 * }} Attributes
 */

/**
 * An element. Attributes by name; `on…` are listeners; `text` and children are appended as text,
 * never as markup.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string | number | null | undefined | false | any[])} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, attributes);
  append(element, children);
  return element;
}

/** A button. @param {Attributes} attributes @param {...any} children */
export function press(attributes, ...children) {
  return h("button", { type: "button", ...attributes }, ...children);
}

/** A remark in small type. @param {...any} children */
export function hint(...children) {
  return h("p", { class: "hint" }, ...children);
}

/**
 * A labelled choice.
 * @param {string} label
 * @param {Attributes} attributes of the select
 * @param {[string, string][]} options value and text of each
 * @param {string} chosen
 */
export function choice(label, attributes, options, chosen) {
  const entries = options.map(([value, text]) =>
    h("option", { value, selected: value === chosen }, text)
  );
  return h("label", { class: "select" }, h("span", {}, label), h("select", attributes, entries));
}

/**
 * An element of SVG.
 * @param {string} tag
 * @param {Attributes} attributes
 * @param {...any} children
 * @returns {any}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(element, attributes);
  append(element, children);
  return element;
}

/**
 * A drawing in SVG that a screen reader meets as one picture.
 * @param {string} kind
 * @param {[number, number]} size
 * @param {string} label
 * @param {...any} children
 */
export function drawing(kind, [width, height], label, ...children) {
  const viewBox = `0 0 ${width} ${height}`;
  return svg(
    "svg",
    { class: kind, width, height, viewBox, role: "img", "aria-label": label, translate: "no" },
    ...children
  );
}

/** @param {Element} element @param {Record<string, any>} attributes */
function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style")
      for (const [property, v] of Object.entries(value))
        /** @type {any} */ (element).style.setProperty(property, v);
    else if (name === "value" || name === "checked" || name === "indeterminate")
      /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Element} element @param {any[]} children */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * Set an attribute that styles hang on, if it is another: setting it again would style the whole
 * page anew.
 * @param {Element} element
 * @param {string} name
 * @param {string} value
 */
export function mark(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Replace what an element holds. @param {Element} element @param {...any} children */
export function fill(element, ...children) {
  element.textContent = "";
  return append(element, children);
}

/**
 * Words that are data, not language: tokens, addresses, code, numbers.
 * @param {string} tag
 * @param {Attributes} attributes
 * @param {...any} children
 */
export function data(tag, attributes, ...children) {
  return h(tag, { translate: "no", ...attributes }, ...children);
}

/** @type {Record<string, Record<string, string>>} */
const CATALOGUES = {};
let language = "en";

export const BRACKETS = "xx"; // a language for tests: what has no brackets was never translated

/** @param {string} code @param {Record<string, string>} words the first given are kept */
export function addLanguage(code, words) {
  CATALOGUES[code] ??= words;
}

/** The language of a browser ("zh-CN") where it exists, else English. @param {string} asked */
export function preferredLanguage(asked = "en") {
  const [code] = asked.split("-");
  return CATALOGUES[code] ? code : "en";
}

/** The language after the current one, for a button that goes through all. */
export function nextLanguage() {
  const codes = Object.keys(CATALOGUES).filter((code) => code !== BRACKETS);
  return codes[(codes.indexOf(language) + 1) % codes.length];
}

/** A language's name in itself: 中文. @param {string} code */
export function languageName(code) {
  return new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code;
}

/** A language's code as HTML and number formats take it. @param {string} code */
export function languageTag(code) {
  return code === "zh" ? "zh-CN" : code;
}

/** @param {string} code */
export function setLanguage(code) {
  language = CATALOGUES[code] ? code : "en";
  mark(document.documentElement, "lang", languageTag(language));
}

export function currentLanguage() {
  return language;
}

/** For number formatting. */
export function locale() {
  return language === BRACKETS ? "en" : languageTag(language);
}

/**
 * A sentence of the page in the reader's language; `{name}` stands for a parameter.
 * @param {string} key @param {Record<string, any>} [parameters]
 */
export function t(key, parameters = {}) {
  // A language of brackets: what has none was never translated.
  if (language === "xx") return `⟦${key}⟧`;
  const text = CATALOGUES[language]?.[key] ?? CATALOGUES.en?.[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (all, name) =>
    name in parameters ? String(parameters[name]) : all
  );
}

/** Whether a key exists. @param {string} key */
export function hasWords(key) {
  return key in (CATALOGUES.en ?? {});
}

/** A choice of texts {en, zh} from data. @param {Record<string, string> | undefined} texts */
export function inLanguage(texts) {
  if (!texts) return "";
  return texts[language] ?? texts.en ?? "";
}

/** The page asked to be dark. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "dark" || chosen === "light") return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Wrap what a screen reader should hear when it changes. @param {string} text */
export function announce(text) {
  const region = document.getElementById("live");
  if (region) region.textContent = text;
}

/** Whether an element is on the page and not about to leave it. @param {Element} element */
export function stays(element) {
  return element.isConnected && !element.closest("[data-left]");
}

/**
 * Once what stands there now has been painted: when the frame after the next begins.
 * @returns {Promise<void>}
 */
export function painted() {
  return new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))
  );
}

/**
 * Do many small things without holding up the page: a few milliseconds a frame, until done or no
 * longer wanted.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => void} work
 * @param {() => boolean} wanted
 */
export async function inSlices(items, work, wanted) {
  let place = 0;
  while (place < items.length && wanted()) {
    const until = performance.now() + 12;
    do work(items[place++]);
    while (place < items.length && performance.now() < until);
    if (place < items.length) await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

/** The source lines round the one that computed a value. */
import { data, fill, h, hint, press, t } from "./dom.js";

/** @typedef {import("./trace.js").Trace} Trace */

const AROUND = 5;

/**
 * The lines around the one that computed a value, that line lit.
 * @param {Trace} trace
 * @param {number} id
 */
export function codeOf(trace, id) {
  const value = trace.values[id];
  const site = value.site === undefined ? null : trace.header.sites[value.site];
  if (!site) return hint(t("code.none"));
  const { file, name, first, text } = trace.header.functions[site.function];
  const lines = text.replace(/\n$/, "").split("\n");
  const from = Math.max(0, site.line - first - AROUND);
  const to = Math.min(lines.length, (site.end ?? site.line) - first + 1 + AROUND);
  const block = data("pre", { class: "code", tabindex: "0" });
  const write = (/** @type {number} */ start, /** @type {number} */ stop) =>
    fill(
      block,
      lines.slice(start, stop).map((/** @type {string} */ line, /** @type {number} */ n) => {
        const number = first + start + n;
        return h(
          "span",
          {
            class:
              number >= site.line && number <= (site.end ?? site.line)
                ? "code-line lit"
                : "code-line"
          },
          h("i", {}, String(number)),
          line || " "
        );
      })
    );
  write(from, to);
  return h(
    "div",
    { class: "code-box" },
    data("p", { class: "file" }, `${file}:${site.line}`, h("span", {}, ` ${name}()`)),
    block,
    lines.length > to - from
      ? press(
          {
            class: "more",
            onclick: (event) => {
              write(0, lines.length);
              /** @type {Element} */ (event.currentTarget).remove();
            }
          },
          t("code.whole", { n: lines.length })
        )
      : null
  );
}

/** The matrices and pictures of a lesson: tables with their slips, curves, points and bars. */
import { headColour } from "./colour.js";
import { curve } from "./curve.js";
import { currentLanguage, data, drawing, h, hint, inLanguage, isDark, svg, t } from "./dom.js";
import { range } from "./heat.js";
import { inline } from "./numbers.js";

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

const WIDE = { width: 640, height: 300 };
const SQUARE = { width: 400, height: 364 };

/**
 * A sentence of lesson data; it carries its own translations.
 * @param {Name | null | undefined} texts
 */
export function said(texts) {
  const text = typeof texts === "string" ? texts : inLanguage(texts ?? undefined);
  return currentLanguage() === "xx" && text ? `⟦${text}⟧` : text;
}

/**
 * A matrix of the lesson; a wrong printed figure stands struck through beside the right one.
 * @param {Matrix} matrix
 */
export function matrixTable(matrix) {
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
    matrix.note ? hint(said(matrix.note)) : null
  );
}

/** Curves, points or bars. @param {Picture} picture */
export function pictured(picture) {
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
  // A curve that turns back is a figure in the plane, not a function: its axes have one scale.
  const turns = picture.series.some(({ x }) => x.some((v, k) => k > 0 && v < x[k - 1]));
  /** @type {any} */
  let body;
  if (picture.kind === "curves")
    body = curve(
      picture.series.map((one, n) => ({
        name: "",
        colour: headColour(n, dark),
        points: one.x.map((x, k) => /** @type {[number, number]} */ ([x, one.y[k]]))
      })),
      { label: title, x: said(picture.x), y: said(picture.y), ...(turns ? SQUARE : WIDE) }
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

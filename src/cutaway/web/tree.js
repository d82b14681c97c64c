/** The beam as a tree: what was kept, pruned, finished, and the path that won. */
import { data, drawing, fill, h, press, svg, t } from "./dom.js";
import { shown } from "./heat.js";
import { short } from "./numbers.js";

/**
 * @typedef {{
 *   number: number, parent: number | null, step: number, token: number, piece: string,
 *   log_probability: number, total: number, score: number, fate: string
 * }} Node
 */

const COLUMN = 92;
const ROW = 30;

/**
 * @param {{nodes: Node[], best: number, beam: number}} tree
 * @param {{
 *   open: (step: number, token: number) => void, take: ((tokens: number[]) => void) | null
 * }} acts open the numbers of a word that was said; let the model go on from a path
 */
export function beamTree(tree, acts) {
  const winning = new Set();
  for (let n = /** @type {number | null} */ (tree.best); n !== null; n = tree.nodes[n].parent)
    winning.add(n);
  /** @type {Map<number, Node[]>} */
  const children = new Map();
  for (const node of tree.nodes)
    if (node.parent !== null)
      children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  const rows = new Map();
  let next = 0;
  const place = (/** @type {Node} */ node) => {
    const below = (children.get(node.number) ?? []).sort(
      (a, b) => Number(winning.has(b.number)) - Number(winning.has(a.number)) || b.total - a.total
    );
    if (!below.length) rows.set(node.number, next++);
    else {
      below.forEach(place);
      rows.set(node.number, rows.get(below[0].number));
    }
  };
  place(tree.nodes[0]);
  const depth = Math.max(...tree.nodes.map((node) => node.step));
  const [width, height] = [(depth + 1) * COLUMN + 40, next * ROW + 20];
  const x = (/** @type {Node} */ node) => 8 + node.step * COLUMN;
  const y = (/** @type {Node} */ node) => 16 + rows.get(node.number) * ROW;
  const lines = tree.nodes
    .filter((node) => node.parent !== null)
    .map((node) => {
      const parent = tree.nodes[/** @type {number} */ (node.parent)];
      const [x0, y0, x1, y1] = [x(parent) + COLUMN - 22, y(parent), x(node) - 6, y(node)];
      return svg("path", {
        class: `edge ${winning.has(node.number) ? "won" : node.fate}`,
        d: `M${x0} ${y0}C${x0 + 12} ${y0} ${x1 - 12} ${y1} ${x1} ${y1}`
      });
    });
  const words = tree.nodes.map((node) =>
    svg(
      "g",
      {
        class: `node ${winning.has(node.number) ? "won" : node.fate}`,
        transform: `translate(${x(node)} ${y(node)})`,
        ...(node.step
          ? {
              role: "button",
              tabindex: 0,
              "data-node": node.number,
              "aria-label": `${pathOf(tree, node).join(" ")} Σ ${short(node.total)}`,
              onclick: () => tell(node),
              onkeydown: (/** @type {KeyboardEvent} */ event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                tell(node);
              }
            }
          : {})
      },
      svg("rect", { class: "hit", x: -4, y: -14, width: COLUMN - 14, height: ROW - 3 }),
      svg(
        "title",
        {},
        [
          shown(node.piece),
          t(`fate.${winning.has(node.number) ? "won" : node.fate}`),
          `log P ${short(node.log_probability)}`,
          `Σ ${short(node.total)}`
        ].join("  ")
      ),
      svg("text", { y: -1 }, clip(shown(node.piece))),
      svg("text", { class: "score", y: 10 }, node.step ? short(node.total) : "")
    )
  );
  const card = h("div", { class: "beam-card", role: "status" });
  const tell = (/** @type {Node} */ node) => fill(card, cardOf(tree, node, winning, acts));
  const label = t("beam.label", { n: tree.nodes.length, beam: tree.beam });
  return h(
    "div",
    { class: "scroll-x" },
    card,
    drawing("beam-tree", [width, height], label, lines, words),
    h(
      "p",
      { class: "key" },
      ["won", "kept", "finished", "pruned"].map((fate) =>
        h("span", { class: `fate ${fate}` }, t(`fate.${fate}`))
      )
    ),
    h(
      "details",
      { class: "as-table" },
      h("summary", {}, t("beam.table")),
      data(
        "table",
        { class: "plain" },
        h(
          "tbody",
          {},
          tree.nodes
            .slice(1)
            .map((node) =>
              h(
                "tr",
                {},
                h("td", {}, String(node.step)),
                h("td", {}, pathOf(tree, node).join(" ")),
                h("td", {}, short(node.log_probability)),
                h("td", {}, short(node.total)),
                h("td", {}, short(node.score)),
                h("td", {}, t(`fate.${winning.has(node.number) ? "won" : node.fate}`))
              )
            )
        )
      )
    )
  );
}

/** The nodes from the first word to one. @param {{nodes: Node[]}} tree @param {Node} node */
function wayTo(tree, node) {
  const way = [];
  for (
    let at = /** @type {Node | null} */ (node);
    at && at.parent !== null;
    at = tree.nodes[at.parent]
  )
    way.unshift(at);
  return way;
}

/** @param {{nodes: Node[]}} tree @param {Node} node */
function pathOf(tree, node) {
  return wayTo(tree, node).map(({ piece }) => shown(piece));
}

/**
 * One path: its words with their log-probabilities, their sum, and what became of it.
 * @param {{nodes: Node[]}} tree
 * @param {Node} node
 * @param {Set<number>} winning
 * @param {Parameters<typeof beamTree>[1]} acts
 */
function cardOf(tree, node, winning, { open, take }) {
  const way = wayTo(tree, node);
  const won = winning.has(node.number);
  return [
    data(
      "p",
      { class: "line" },
      way.map(({ piece, log_probability: log }, n) => [
        n ? " + " : "",
        h("b", {}, shown(piece)),
        ` ${short(log)}`
      ]),
      ` = ${short(node.total)}`
    ),
    h(
      "p",
      {},
      t(`fate.${won ? "won" : node.fate}`),
      data("small", {}, ` score ${short(node.score)}`)
    ),
    h(
      "div",
      { class: "buttons" },
      won
        ? press(
            { id: "node-open", onclick: () => open(node.step - 1, node.token) },
            t("choice.why")
          )
        : take
          ? press(
              { id: "node-take", onclick: () => take(way.map(({ token }) => token)) },
              t("beam.take")
            )
          : null
    )
  ];
}

/** @param {string} text */
function clip(text) {
  return text.length > 9 ? `${text.slice(0, 8)}…` : text;
}

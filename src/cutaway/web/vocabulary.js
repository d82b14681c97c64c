/** The embeddings of the vocabulary as a map: search a word, see its nearest neighbours. */
import { data, fill, h, hint, inSlices, locale, press, t } from "./dom.js";
import { gestures } from "./gestures.js";
import { range, shown } from "./heat.js";
import { whole } from "./numbers.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */

const MOST = 4e6; // numbers of a table that are fetched
const SAMPLE = 2000; // rows that the directions are computed from
const NEAR = 12;
const ROUNDS = 80;

/**
 * The table of embeddings, or its first rows if it is large.
 * @param {Trace} trace
 */
async function tableOf(trace) {
  const id = ["target_embedding.weight", "embedding.weight"]
    .map((address) => trace.addresses.get(address))
    .find((found) => found !== undefined && trace.kept(found));
  if (id === undefined) return null;
  const [all, width] = trace.values[id].shape;
  const rows = Math.min(all, Math.floor(MOST / width));
  const { offset, strides } = trace.operand(id);
  const store = trace.stores[/** @type {number} */ (trace.values[id].buffer)];
  if (rows === all) await store.all();
  else await trace.settled(() => range(rows).forEach((r) => trace.read(id, [r, 0])));
  const numbers = new Float32Array(rows * width);
  await trace.settled(() => {
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < width; c++)
        numbers[r * width + c] = store.cell(offset + r * strides[0] + c * strides[1]);
  });
  return { id, numbers, rows, all, width };
}

/** @typedef {NonNullable<Awaited<ReturnType<typeof tableOf>>>} Table */

/** @param {Table} table @param {number} row */
export function rowOf({ numbers, width }, row) {
  return numbers.subarray(row * width, (row + 1) * width);
}

/** @param {ArrayLike<number>} x @param {ArrayLike<number>} y */
function dot(x, y) {
  let sum = 0;
  for (let n = 0; n < x.length; n++) sum += x[n] * y[n];
  return sum;
}

/**
 * The rows that point most nearly in the direction of one: by cosine.
 * @param {Table} table
 * @param {number} row
 */
export function neighbours(table, row) {
  const own = rowOf(table, row);
  const size = Math.sqrt(dot(own, own));
  return range(table.rows)
    .filter((other) => other !== row)
    .map((other) => {
      const its = rowOf(table, other);
      return { row: other, cosine: dot(own, its) / (size * Math.sqrt(dot(its, its)) || 1) };
    })
    .sort((a, b) => b.cosine - a.cosine)
    .slice(0, NEAR);
}

/**
 * The rows on the two directions in which they differ most, and the share of the differences that
 * these hold.
 * @param {Table} table
 */
async function flatten(table) {
  const { rows, width } = table;
  const step = Math.max(1, Math.ceil(rows / SAMPLE));
  const sample = range(Math.ceil(rows / step)).map((n) => n * step);
  const mean = new Float64Array(width);
  for (const r of sample) rowOf(table, r).forEach((x, c) => (mean[c] += x / sample.length));
  const spread = range(width).map(() => new Float64Array(width));
  const centred = new Float64Array(width);
  const add = (/** @type {number} */ r) => {
    rowOf(table, r).forEach((x, c) => (centred[c] = x - mean[c]));
    for (let a = 0; a < width; a++) {
      const [line, x] = [spread[a], centred[a]];
      for (let b = 0; b < width; b++) line[b] += x * centred[b];
    }
  };
  await inSlices(sample, add, () => true);
  /** @type {Float64Array[]} */
  const axes = [];
  let kept = 0;
  for (let k = 0; k < 2; k++) {
    let axis = Float64Array.from({ length: width }, (_, c) => Math.cos(c * (k + 1) + 1));
    await inSlices(
      range(ROUNDS),
      () => {
        axis = Float64Array.from(spread, (line) => dot(line, axis));
        for (const other of axes) {
          const along = dot(axis, other);
          axis = axis.map((x, c) => x - along * other[c]);
        }
        const size = Math.sqrt(dot(axis, axis)) || 1;
        axis = axis.map((x) => x / size);
      },
      () => true
    );
    axes.push(axis);
    kept += dot(
      axis,
      Float64Array.from(spread, (line) => dot(line, axis))
    );
  }
  const total = spread.reduce((sum, line, c) => sum + line[c], 0) || 1;
  const middle = axes.map((axis) => dot(axis, mean));
  const points = range(rows).map((r) =>
    axes.map((axis, k) => dot(axis, rowOf(table, r)) - middle[k])
  );
  return { points, share: kept / total };
}

/** Left, right, lowest and highest of points. @param {number[][]} points */
function bounds(points) {
  const [xs, ys] = [0, 1].map((k) => points.map((point) => point[k]).sort((a, b) => a - b));
  const last = points.length - 1;
  return [xs[0], xs[last], ys[0], ys[last]];
}

/**
 * The map with its search box and list of neighbours.
 * @param {any} session
 */
export async function vocabularyMap({ trace, translation }) {
  const table = await tableOf(trace);
  const pieces = /** @type {string[] | undefined} */ (trace.header.labels?.vocabulary);
  if (!table || !pieces) return hint(t("picture.vocabulary.none"));
  const { points, share } = await flatten(table);
  const spoken = new Set([...(translation?.source ?? []), ...(translation?.pieces ?? [])]);
  const named = range(table.rows).filter((row) => spoken.has(pieces[row]));
  const canvas = h("canvas", {
    class: "cloud-map",
    tabindex: "0",
    role: "application",
    "aria-label": t("picture.vocabulary.label")
  });
  const list = h("div", { class: "near" });
  const options = h("datalist", { id: "pieces" });
  for (const row of range(Math.min(table.rows, 4000)))
    options.append(h("option", { value: shown(pieces[row]) }));
  const find = () => {
    const wanted = search.value.trim();
    const exact = range(table.rows).filter((row) => shown(pieces[row]) === wanted);
    const found = exact.find((row) => pieces[row].startsWith("▁")) ?? exact[0];
    if (found === undefined) fill(list, hint(t("find.none", { text: wanted })));
    else choose(found);
  };
  const search = h("input", {
    type: "search",
    id: "vocabulary-search",
    list: "pieces",
    placeholder: t("picture.vocabulary.search"),
    "aria-label": t("picture.vocabulary.search"),
    onchange: () => find(),
    // Where a list of proposals is open, some browsers keep Enter for it and tell of no change.
    onkeydown: (event) => event.key === "Enter" && find()
  });
  const [left, right, low, high] = bounds(points);
  const view = { scale: 1, x: 0, y: 0 };
  const best = pieces.indexOf(translation?.pieces[Math.min(1, translation.pieces.length - 1)]);
  let chosen =
    where().word && Number(where().word) < table.rows
      ? Number(where().word)
      : best >= 0 && best < table.rows
        ? best
        : named[0];
  let near = chosen === undefined ? [] : neighbours(table, chosen);
  const place = (/** @type {number} */ row) => {
    const unit = view.scale * fit();
    const [x, y] = points[row];
    return [
      canvas.clientWidth / 2 + (x - (left + right) / 2 + view.x) * unit,
      canvas.clientHeight / 2 - (y - (low + high) / 2 + view.y) * unit
    ];
  };
  /** Pixels for a unit of the map at which all of it is seen. */
  const fit = () =>
    Math.min(
      (canvas.clientWidth - 96) / (right - left || 1),
      (canvas.clientHeight - 40) / (high - low || 1)
    );
  const draw = () => {
    const ratio = Math.min(2, devicePixelRatio || 1);
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    // Colours of the theme, as the style sheet gives them to properties that a canvas does not use.
    const style = getComputedStyle(canvas);
    const [ink, soft, focus] = [style.color, style.columnRuleColor, style.caretColor];
    context.fillStyle = soft;
    context.globalAlpha = 0.5;
    for (const row of points.keys()) {
      const [x, y] = place(row);
      context.fillRect(x - 1, y - 1, 2, 2);
    }
    context.globalAlpha = 1;
    context.font = "12px system-ui, sans-serif";
    /** @type {[number, number, number][]} */
    const written = [];
    const write = (/** @type {number} */ row, /** @type {string} */ colour) => {
      const [x, y] = place(row);
      context.fillStyle = colour;
      context.beginPath();
      context.arc(x, y, 3, 0, 7);
      context.fill();
      const text = shown(pieces[row]);
      const wide = context.measureText(text).width;
      if (written.some(([a, b, w]) => Math.abs(b - y) < 13 && x < a + w + 4 && a < x + wide + 4))
        return;
      written.push([x, y, wide]);
      context.fillText(text, x + 6, y + 4);
    };
    if (chosen !== undefined) {
      const [x0, y0] = place(chosen);
      context.strokeStyle = focus;
      context.globalAlpha = 0.4;
      for (const { row } of near) {
        const [x, y] = place(row);
        context.beginPath();
        context.moveTo(x0, y0);
        context.lineTo(x, y);
        context.stroke();
      }
      context.globalAlpha = 1;
      write(chosen, focus);
      for (const { row } of near) write(row, ink);
    }
    for (const row of named) write(row, ink);
    if (view.scale > 3)
      for (const row of points.keys()) {
        const [x, y] = place(row);
        if (
          x > 0 &&
          y > 0 &&
          x < canvas.clientWidth &&
          y < canvas.clientHeight &&
          written.length < 150
        )
          write(row, soft);
      }
  };
  const choose = (/** @type {number} */ row) => {
    chosen = row;
    near = neighbours(table, row);
    go({ word: String(row) }, { replace: true });
    tell();
    draw();
  };
  const tell = () => {
    if (chosen === undefined) return;
    const at = (/** @type {number} */ row) =>
      go({ view: "look", place: "", at: trace.address({ id: table.id, index: [row, 0] }) });
    fill(
      list,
      h("h2", {}, t("picture.vocabulary.near", { word: shown(pieces[chosen]) })),
      h(
        "ol",
        {},
        near.map(({ row, cosine }) =>
          h(
            "li",
            {},
            press(
              { translate: "no", "data-row": row, onclick: () => choose(row) },
              shown(pieces[row])
            ),
            h(
              "span",
              { class: "bar" },
              h("i", { style: { width: `${100 * Math.max(0, cosine)}%` } })
            ),
            data("span", { "data-cosine": cosine }, cosine.toFixed(2))
          )
        )
      ),
      press(
        { class: "more", onclick: () => at(/** @type {number} */ (chosen)) },
        t("picture.vocabulary.open")
      )
    );
  };
  let planned = false;
  const later = () => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => {
      planned = false;
      draw();
    });
  };
  const pan = (/** @type {number} */ dx, /** @type {number} */ dy) => {
    view.x += dx / (fit() * view.scale);
    view.y -= dy / (fit() * view.scale);
    later();
  };
  const zoom = (/** @type {number} */ by, /** @type {number} */ x, /** @type {number} */ y) => {
    const [dx, dy] = [x - canvas.clientWidth / 2, y - canvas.clientHeight / 2];
    pan(-dx, -dy);
    view.scale = Math.min(40, Math.max(0.7, view.scale * by));
    pan(dx, dy);
  };
  const pick = (/** @type {number} */ x, /** @type {number} */ y) => {
    const [best] = [...points.keys()]
      .map((row) => ({ row, far: Math.hypot(place(row)[0] - x, place(row)[1] - y) }))
      .sort((a, b) => a.far - b.far);
    if (best && best.far < 24) choose(best.row);
  };
  gestures(canvas, { pan, zoom, pick });
  tell();
  requestAnimationFrame(draw);
  return [
    h("div", { class: "inline-form" }, search, options),
    h("div", { class: "vocabulary" }, canvas, list),
    hint(
      t("picture.share", { percent: Math.round(100 * share) }),
      " ",
      table.rows < table.all
        ? t("picture.vocabulary.part", {
            n: whole(table.rows, locale()),
            all: whole(table.all, locale())
          })
        : "",
      " ",
      data("span", {}, trace.values[table.id].address)
    )
  ];
}

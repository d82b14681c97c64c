/** Taking the view along: one HTML file, a picture, or the numbers. */
import { css } from "./colour.js";
import { data, h, isDark, press, t } from "./dom.js";
import { range, shown } from "./heat.js";
import { Sheet } from "./sheet.js";
import { where } from "./state.js";

/** @param {string} name @param {Blob} blob */
function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A sheet as SVG, words and all: rectangles anyone can edit. @param {Sheet} sheet */
export function sheetSvg(sheet) {
  const [rows, cols] = [Math.min(sheet.rows, 200), Math.min(sheet.cols, 200)];
  const cell = Math.max(3, Math.min(22, Math.floor(880 / Math.max(rows, cols))));
  const colour = sheet.painter(isDark());
  const [left, top] = [sheet.worded("row") ? 90 : 8, sheet.worded("col") ? 90 : 30];
  const escape = (/** @type {string} */ text) =>
    text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
  const ink = isDark() ? "#e8e6e1" : "#1c1d1f";
  const boxes = range(rows).flatMap((r) =>
    range(cols).map((c) => {
      const x = sheet.read(r, c);
      const at = `x="${left + c * cell}" y="${top + r * cell}" width="${cell}" height="${cell}"`;
      const paint = Number.isFinite(x) ? css(colour(x)) : "none";
      return `<rect ${at} fill="${paint}"><title>${escape(String(x))}</title></rect>`;
    })
  );
  const write = (/** @type {string} */ place, /** @type {string} */ text) =>
    `<text ${place}>${escape(text)}</text>`;
  const words = (/** @type {"row" | "col"} */ axis, /** @type {(n: number) => string} */ place) =>
    sheet.worded(axis)
      ? range(axis === "row" ? rows : cols).map((n) => write(place(n), shown(sheet.word(axis, n))))
      : [];
  const middle = (/** @type {number} */ n) => (n + 0.7) * cell;
  const size = Math.min(12, Math.max(8, cell - 2));
  const [width, height] = [left + cols * cell + 8, top + rows * cell + 24];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" fill="${ink}" `,
    `font-family="system-ui, sans-serif" font-size="${size}">`,
    `<rect width="100%" height="100%" fill="${isDark() ? "#18191c" : "#fdfdfb"}"/>`,
    ...boxes,
    ...words("row", (r) => `x="${left - 6}" y="${top + middle(r)}" text-anchor="end"`),
    ...words("col", (c) => `transform="translate(${left + middle(c)} ${top - 6}) rotate(-60)"`),
    write(`x="${left}" y="${height - 8}"`, sheet.value.address),
    "</svg>"
  ].join("");
}

/** An SVG text as PNG. @param {string} text @returns {Promise<Blob>} */
async function png(text) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png")
  );
}

/** The picture in view: the curve or tree on stage, else the matrix in focus. @param {any} app */
async function pictureOf(app) {
  const found = where().at && app.session ? app.session.trace.find(where().at) : null;
  if (found) {
    const { trace } = app.session;
    await trace.want([found.id]);
    return trace.settled(() =>
      sheetSvg(
        new Sheet(trace, found.id, {
          fixed: found.index ?? undefined,
          lead: { head: Number(where().head || 0) }
        })
      )
    );
  }
  const drawn = document.querySelector(
    "#stage svg.curve, #stage svg.cloud, #stage svg.beam-tree, #stage svg.arc-picture"
  );
  if (!drawn) return null;
  const copy = /** @type {SVGElement} */ (drawn.cloneNode(true));
  const originals = drawn.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, n) => {
    const style = getComputedStyle(originals[n]);
    for (const name of ["fill", "stroke", "font-size", "font-family", "opacity", "stroke-width"])
      element.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

/** Value, arithmetic and operands of the focus; else the whole header. @param {any} app */
async function numbersOf(app) {
  const { trace } = app.session;
  const found = where().at ? trace.find(where().at) : null;
  if (!found)
    return {
      translation: app.session.translation,
      modules: trace.header.modules,
      values: trace.values
    };
  const value = trace.values[found.id];
  if (!found.index) {
    const sheet = new Sheet(trace, found.id);
    return {
      address: value.address,
      shape: value.shape,
      axes: value.axes,
      rows: await trace.settled(() =>
        range(sheet.rows).map((r) => range(sheet.cols).map((c) => sheet.read(r, c)))
      )
    };
  }
  const why = await trace.explain({ id: found.id, index: found.index });
  const parts = trace.parts({ id: found.id, index: found.index });
  return {
    address: where().at,
    value: why.value,
    recomputed: why.recomputed,
    rule: why.rule,
    operands: parts.map((/** @type {any} */ part) => ({
      address: trace.address(part),
      value: trace.read(part.id, part.index)
    }))
  };
}

/** @param {any} app */
export async function openSaveMenu(app) {
  const picture = await pictureOf(app);
  document.querySelector(".menu")?.remove();
  const close = () => menu.remove();
  const item = (/** @type {string} */ key, /** @type {() => any} */ act, enabled = true) =>
    press(
      {
        role: "menuitem",
        "data-save": key,
        disabled: !enabled,
        onclick: async () => {
          close();
          try {
            await act();
          } catch (error) {
            app.fail(error);
          }
        }
      },
      t(`save.${key}`)
    );
  const menu = h(
    "div",
    { class: "menu", role: "menu", "aria-label": t("save.button") },
    item(
      "html",
      () => {
        const { at, lang } = where();
        const key = encodeURIComponent(app.session.key);
        location.href = `glass/${key}/page.html?${new URLSearchParams({ at, lang })}`;
      },
      Boolean(app.session) && app.info.served
    ),
    item(
      "svg",
      () =>
        download(
          "cutaway.svg",
          new Blob([/** @type {string} */ (picture)], { type: "image/svg+xml" })
        ),
      picture !== null
    ),
    item(
      "png",
      async () => download("cutaway.png", await png(/** @type {string} */ (picture))),
      picture !== null
    ),
    item(
      "json",
      async () =>
        download(
          "cutaway.json",
          new Blob([JSON.stringify(await numbersOf(app), null, 1)], { type: "application/json" })
        ),
      Boolean(app.session)
    ),
    item("link", () => navigator.clipboard?.writeText(location.href)),
    data("span", {}, "")
  );
  document.getElementById("save")?.after(menu);
  menu.querySelector("button:not([disabled])")?.focus();
  menu.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const items = [...menu.querySelectorAll("button:not([disabled])")];
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step)
      /** @type {HTMLElement} */ (
        items[
          (items.indexOf(/** @type {any} */ (document.activeElement)) + step + items.length) %
            items.length
        ]
      ).focus();
  });
  setTimeout(() => document.addEventListener("click", close, { once: true }));
}

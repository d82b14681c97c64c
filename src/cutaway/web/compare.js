/** `<cut-compare>`: the same place of two runs side by side, and their difference. */
import { addChange, changeList } from "./change.js";
import { chancesAt, logitsOf } from "./chances.js";
import { css } from "./colour.js";
import { data, fill, h, hint, isDark, locale, press, t } from "./dom.js";
import { heat, range, shown } from "./heat.js";
import { percent, short } from "./numbers.js";
import { pooled, Sheet } from "./sheet.js";
import { questionOf } from "./session.js";
import { go, where } from "./state.js";

/**
 * @typedef {{
 *   trace: import("./trace.js").Trace, structure: import("./structure.js").Structure,
 *   translation: any, name?: string, fed?: boolean
 * }} Session
 */

export class CompareElement extends HTMLElement {
  /** @param {any} app @param {Session | null} session */
  async show(app, session) {
    const place = where();
    const form = this.form(app, place);
    if (!session) {
      fill(this, h("h1", {}, t("view.compare")), form, hint(t("look.first")));
      return;
    }
    fill(this, h("h1", {}, t("view.compare")), form, changeList(), hint("…"));
    const other = await this.other(app, place);
    this.pair = { left: session, right: other };
    this.body = h("div", { class: "compare-body" });
    fill(
      this,
      h("h1", {}, t("view.compare")),
      form,
      changeList(),
      other ? this.outputs(session, other) : hint(t("compare.choose")),
      other?.fed ? hint(t("compare.fed")) : null,
      this.body
    );
    await this.turnTo(place.at ? session.trace.find(place.at) : null);
  }

  /**
   * The second run: another sentence, snapshot or model, or the same without the changes.
   * @param {any} app
   * @param {Record<string, string>} place
   * @returns {Promise<Session | null>}
   */
  async other(app, place) {
    if (!app.info.served) {
      const second = app.info.traces.find(
        (/** @type {any} */ item) => item.key !== app.session?.key
      );
      if (!second) return null;
      const trace = await app.backend.trace(second.key);
      return {
        trace,
        structure: app.session.structure,
        translation: trace.header.meta?.translation ?? null
      };
    }
    const base = questionOf(place, app.info, "translation");
    const model = place.othermodel ?? "";
    const question = {
      ...base,
      text: place.other || base.text,
      model,
      snapshot: model ? "" : (place.othersnapshot ?? base.snapshot),
      change: "",
      prefix: place.other || model ? [] : base.prefix,
      sample: 0,
      temperature: 1
    };
    if (JSON.stringify(question) === JSON.stringify({ ...base, model: "" })) return null;
    const { structure, translation } = app.session;
    const record = (/** @type {any} */ asked) => app.backend.answer("api/translate", asked);
    const answer = await record(question);
    // The same sentence in other words: given the words of this run, place answers to place.
    const fed = !place.other && answer.output !== translation.output;
    const run = fed ? await record({ ...question, target: translation.output }) : answer;
    const trace = await app.backend.trace(run.key);
    return { trace, structure, translation: { ...run, output: answer.output }, name: model, fed };
  }

  /** @param {any} app @param {Record<string, string>} place */
  form(app, place) {
    if (!app.info.served) return null;
    const snapshots = app.info.snapshots ?? [];
    const compared = app.info.compared ?? [];
    const choice = (
      /** @type {string} */ name,
      /** @type {string} */ label,
      /** @type {any[]} */ options
    ) => h("label", {}, h("span", {}, t(label)), h("select", { name }, options));
    return h(
      "form",
      {
        class: "pair",
        onsubmit: (event) => {
          event.preventDefault();
          const { other, snapshot, model } = event.target.elements;
          go({
            other: other.value.trim() === place.text ? "" : other.value.trim(),
            othersnapshot: snapshot ? snapshot.value : "",
            othermodel: model ? model.value : ""
          });
        }
      },
      h(
        "label",
        {},
        h("span", {}, t("compare.with")),
        h("input", {
          name: "other",
          translate: "no",
          value: place.other ?? "",
          placeholder: place.text
        })
      ),
      snapshots.length > 1
        ? choice("snapshot", "bar.snapshot", [
            h("option", { value: "" }, t("compare.latest")),
            snapshots.map((/** @type {any} */ item) =>
              h(
                "option",
                { value: item.name, selected: item.name === place.othersnapshot },
                String(item.step)
              )
            )
          ])
        : null,
      compared.length
        ? choice(
            "model",
            "compare.model",
            ["", ...compared].map((/** @type {string} */ name) =>
              data(
                "option",
                { value: name, selected: name === (place.othermodel ?? "") },
                name || app.info.name
              )
            )
          )
        : null,
      h("button", { type: "submit" }, t("compare.go")),
      this.orders(app)
    );
  }

  /** The same words in another order. @param {any} app */
  orders(app) {
    const count = (app.session?.translation?.source.length ?? 1) - 1;
    if (count < 2 || where().change) return null;
    const reversed = range(count).reverse();
    const shuffled = range(count)
      .map((k) => ({ k, key: Math.random() }))
      .sort((a, b) => a.key - b.key)
      .map(({ k }) => k);
    return [
      ["reverse", reversed],
      ["shuffle", shuffled]
    ].map(([name, order]) =>
      press(
        {
          "data-order": name,
          onclick: () =>
            addChange({
              kind: "order",
              address: "",
              value: /** @type {number[]} */ (order).join(",")
            })
        },
        t(`change.${name}`)
      )
    );
  }

  /** @param {Session} left @param {Session} right */
  outputs(left, right) {
    const column = (/** @type {Session} */ session, /** @type {string} */ name) =>
      h(
        "div",
        { class: "column" },
        h("h2", {}, t(name), session.name ? data("small", {}, ` ${session.name}`) : null),
        data("p", { class: "source-text" }, session.translation?.text ?? ""),
        data("p", { class: "target-text" }, session.translation?.output ?? ""),
        this.next(session)
      );
    return h(
      "div",
      { class: "two" },
      column(left, where().change ? "compare.changed" : "compare.first"),
      column(right, where().change ? "compare.before" : "compare.second")
    );
  }

  /** The next word's chances at the current step. @param {Session} session */
  next({ trace, translation }) {
    const logits = logitsOf(trace);
    if (logits === undefined || !translation) return null;
    const list = h("ol", { class: "choices small" });
    const step = Math.min(translation.ids.length - 1, Number(where().step || 0));
    void trace
      .settled(() => chancesAt(trace, logits, step, 1, 5))
      .then(({ top }) =>
        fill(
          list,
          top.map((chance) =>
            h(
              "li",
              {},
              data("span", { class: "piece" }, shown(chance.piece)),
              h("span", { class: "bar" }, h("i", { style: { width: `${100 * chance.p}%` } })),
              data("span", { class: "p" }, percent(chance.p, locale()))
            )
          )
        )
      );
    return list;
  }

  /** @param {{id: number, index: number[] | null} | null} focus */
  async turnTo(focus) {
    const { left, right } = /** @type {{left: Session, right: Session | null}} */ (this.pair ?? {});
    if (!this.body || !left || !right) return;
    const fallback =
      left.trace.addresses.get(`${left.structure.decoderLayers.at(-1)}.cross_attention.weights`) ??
      logitsOf(left.trace);
    const place = where().place ? left.structure.output(where().place) : undefined;
    const id = focus?.id ?? place ?? fallback;
    if (id === undefined) return;
    const address = left.trace.values[id].address;
    const twin = right.trace.addresses.get(address);
    if (twin === undefined || !left.trace.kept(id) || !right.trace.kept(twin)) {
      fill(this.body, hint(t("compare.none", { address })));
      return;
    }
    await Promise.all([left.trace.want([id]), right.trace.want([twin])]);
    const lead = { head: Number(where().head || 0) };
    const fixed = focus?.index ?? undefined;
    const one = new Sheet(left.trace, id, { lead, fixed });
    const two = new Sheet(right.trace, twin, { lead, fixed });
    const tile = (/** @type {Sheet} */ sheet, /** @type {string} */ key) =>
      heat({
        sheet,
        title: t(key),
        width: 320,
        height: 240,
        focus: fixed ? sheet.place(fixed) : null,
        pick: (index) => go({ at: `${address}[${index.join(",")}]` }, { replace: true })
      });
    const apart = await this.difference(one, two);
    const cell = fixed && one.place(fixed) && two.place(fixed) ? one.place(fixed) : null;
    const [a, b] = cell ? [one, two].map((sheet) => sheet.read(cell.row, cell.col)) : [];
    fill(
      this.body,
      data(
        "h2",
        {},
        address,
        one.lead.length ? h("small", {}, ` [${one.lead.join(",")},:,:]`) : null
      ),
      h(
        "div",
        { class: "two" },
        tile(one, where().change ? "compare.changed" : "compare.first"),
        tile(two, where().change ? "compare.before" : "compare.second"),
        apart
      ),
      cell
        ? data("p", { class: "result" }, `${short(a, 5)}  −  ${short(b, 5)}  =  ${short(a - b, 5)}`)
        : hint(t("compare.hint"))
    );
  }

  /** @param {Sheet} one @param {Sheet} two */
  async difference(one, two) {
    if (one.rows !== two.rows || one.cols !== two.cols)
      return h(
        "p",
        { class: "hint" },
        t("compare.shapes", { a: `${one.rows}×${one.cols}`, b: `${two.rows}×${two.cols}` })
      );
    await Promise.all(
      [one, two].map((sheet) =>
        sheet.trace.settled(() =>
          range(sheet.rows).forEach((r) => range(sheet.cols).forEach((c) => sheet.read(r, c)))
        )
      )
    );
    const [width, height] = [Math.min(1024, one.cols), Math.min(1024, one.rows)];
    const canvas = h("canvas", {
      class: "difference",
      width,
      height,
      role: "img",
      "aria-label": t("compare.difference")
    });
    const context = canvas.getContext("2d");
    let most = 0;
    for (const r of range(one.rows))
      for (const c of range(one.cols))
        most = Math.max(most, Math.abs(finite(one.read(r, c) - two.read(r, c))));
    const colour = (/** @type {number} */ x) => {
      const size = Math.min(1, Math.abs(x) / (most || 1));
      const ground = isDark() ? [24, 25, 28] : [252, 252, 250];
      const end = x < 0 ? [33, 102, 172] : [217, 95, 14];
      return ground
        .map((g, k) => Math.round(g + (end[k] - g) * size))
        .reduce((sum, part, k) => sum + part * 256 ** k, 0);
    };
    const apart = {
      rows: one.rows,
      cols: one.cols,
      read: (/** @type {number} */ row, /** @type {number} */ col) =>
        finite(one.read(row, col) - two.read(row, col))
    };
    pooled(apart, height, width).forEach((x, n) => {
      context.fillStyle = css(colour(x));
      context.fillRect(n % width, Math.floor(n / width), 1, 1);
    });
    canvas.style.width = `${Math.min(320, one.cols * 15)}px`;
    canvas.style.height = `${Math.min(240, one.rows * 15)}px`;
    return h(
      "div",
      { class: "heat" },
      h("div", { class: "heat-title" }, t("compare.difference")),
      canvas,
      data("div", { class: "legend" }, `± ${short(most).replace("+", "")}`)
    );
  }
}

customElements.define("cut-compare", CompareElement);

/** @param {number} x */
function finite(x) {
  return Number.isFinite(x) ? x : 0;
}

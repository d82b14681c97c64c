/**
 * `<cut-learn>`: the run as it learns: loss, sample translations, one head sharpening snapshot by
 * snapshot.
 */
import { curve } from "./curve.js";
import { ask } from "./backend.js";
import { headColour } from "./colour.js";
import { data, fill, h, hint, isDark, locale, t } from "./dom.js";
import { heat, range } from "./heat.js";
import { short, whole } from "./numbers.js";
import { Sheet } from "./sheet.js";
import { go, where } from "./state.js";

const EVERY = 5000; // milliseconds between looks at a running training

export class LearnElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Map<string, HTMLElement>} */
    this.frames = new Map();
    /** @type {Map<HTMLElement, string>} */
    this.filled = new Map();
    this.about = "";
  }

  /**
   * Fill a box, unless it shows the same already.
   * @param {HTMLElement} box
   * @param {string} about
   * @param {() => any} make
   */
  renew(box, about, make) {
    if (this.filled.get(box) !== about) fill(box, make());
    this.filled.set(box, about);
  }

  /** @param {any} app */
  async show(app) {
    this.app = app;
    this.curveBox = h("div", { class: "curves" });
    this.samples = h("div", { class: "samples" });
    this.heads = h("div", { class: "film" });
    this.state = h("p", { class: "hint", "aria-live": "polite" });
    fill(
      this,
      h("h1", {}, t("view.learn")),
      this.state,
      this.curveBox,
      h("h2", {}, t("learn.head")),
      this.heads,
      h("h2", {}, t("learn.samples")),
      this.samples
    );
    await this.look();
  }

  /**
   * Look at the run; again soon while it runs, or when nobody answers: after a run its server makes
   * way for another.
   */
  async look() {
    try {
      if (document.hidden || (await this.told())) this.again();
    } catch (error) {
      if (/** @type {Error} */ (error).message !== "error.gone") this.app.fail(error);
      this.again();
    }
  }

  again() {
    setTimeout(() => {
      if (this.isConnected) void this.look();
    }, EVERY);
  }

  /** Show what the run has told so far; whether it goes on. */
  async told() {
    const run = await this.app.backend.progress();
    if (!this.isConnected) return false;
    if (this.seen !== run.step) this.app.backend.forget(); // better weights, other answers
    this.seen = run.step;
    const { info } = this.app;
    if (run.translates && !info.translates) {
      Object.assign(info, await (await ask("api/info")).json());
      this.app.chrome(where());
    }
    info.snapshots = run.snapshots;
    this.app.bar.grown(run.snapshots ?? []);
    this.toggleAttribute("data-mute", run.step > 0 && !run.translates);
    const begun = run.running ? "learn.running" : "learn.done";
    const key = run.translates || run.step ? begun : "learn.preparing";
    fill(
      this.state,
      t(run.teacher ? "learn.teacher" : key, {
        name: run.teacher,
        step: whole(run.step ?? 0, locale())
      })
    );
    this.curves(run.curves ?? {});
    this.sentences(run.samples ?? []);
    await this.film(run);
    return run.running;
  }

  /** Loss over the updates, and BLEU once there are two. @param {Record<string, any>} curves */
  curves({ bleu, ...losses }) {
    const wide = { width: Math.min(480, this.clientWidth), x: t("learn.step") };
    const lines = Object.entries(losses).map(([name, points], n) => ({
      name,
      points,
      colour: headColour(n, isDark())
    }));
    const key = lines.map(({ name, points, colour }) => {
      const said = t(`learn.${name}`);
      return h(
        "span",
        {},
        h("i", { style: { background: colour } }),
        " ",
        said === `learn.${name}` ? data("span", {}, name) : said,
        data(
          "b",
          {},
          points.length ? ` ${short(points[points.length - 1][1]).replace("+", "")}` : ""
        )
      );
    });
    const options = { ...wide, label: t("learn.curve"), y: t("learn.loss") };
    fill(
      this.curveBox,
      lines.some((line) => line.points.length)
        ? h("div", {}, curve(lines, options), h("p", { class: "key" }, key))
        : hint(t("learn.waiting")),
      bleu?.length > 1
        ? curve([{ name: "bleu", points: bleu }], { ...wide, label: "BLEU", y: "BLEU" })
        : null
    );
  }

  /** Each sentence with what became of it, the newest first. @param {any[]} samples */
  sentences(samples) {
    /** @type {Record<string, any[]>} */
    const found = {};
    for (const sample of samples) (found[sample.source] ??= []).unshift(sample);
    this.renew(this.samples, `${samples.length}`, () =>
      samples.length
        ? Object.values(found).map((rows) =>
            data(
              "table",
              { class: "plain" },
              h("caption", {}, rows[0].source, hint(rows[0].reference)),
              rows.map(({ step, output }) =>
                h("tr", {}, h("td", {}, whole(step, locale())), h("td", {}, output))
              )
            )
          )
        : hint(t("learn.waiting"))
    );
  }

  /** The chosen head at each snapshot. @param {any} run */
  async film(run) {
    const snapshots = run.snapshots ?? [];
    const text = where().text || this.app.info.examples?.[0] || run.samples?.[0]?.source;
    if (!snapshots.length || !text || !this.app.info.translates) {
      return this.renew(this.heads, "", () =>
        hint(t(run.running && !run.step ? "learn.waiting" : "learn.snapshots"))
      );
    }
    // Every so many, so many doubling as they grow, and what was recorded stays: a run under way
    // has better things to do.
    const every = 2 ** Math.ceil(Math.log2(Math.max(1, snapshots.length / (run.running ? 4 : 8))));
    const head = Number(where().head || 0);
    const about = [text, head, where().layer, where().at].join("|");
    if (this.about !== about) this.frames.clear();
    this.about = about;
    const chosen = snapshots.filter(
      (/** @type {any} */ item, /** @type {number} */ n) =>
        n % every === 0 ||
        this.frames.has(item.name) ||
        (!run.running && n === snapshots.length - 1)
    );
    const frame = (/** @type {any} */ item) =>
      this.frames.get(item.name) ?? h("div", { class: "frame" });
    this.renew(this.heads, `${about}|${chosen.map((/** @type {any} */ item) => item.name)}`, () =>
      chosen.map((/** @type {any} */ item) =>
        h("figure", {}, frame(item), h("figcaption", {}, whole(item.step, locale())))
      )
    );
    const reference =
      run.samples?.find((/** @type {any} */ sample) => sample.source === text)?.reference ??
      run.references?.[text];
    const record = (/** @type {any} */ more) =>
      this.app.backend.answer("api/translate", {
        kind: "translate",
        text,
        prefix: [],
        beam: 0,
        change: "",
        ...more
      });
    let target = reference;
    for (const [n, item] of chosen.entries()) {
      if (this.frames.has(item.name)) continue;
      if (!this.isConnected) return;
      target ??= (await record({ snapshot: "" })).output;
      const { key } = await record({ snapshot: item.name, target });
      const trace = await this.app.backend.trace(key);
      const layers = range(64)
        .map((k) => trace.addresses.get(`decoder.layers.${k}.cross_attention.weights`))
        .filter((id) => id !== undefined);
      const id = where().at
        ? (trace.find(where().at)?.id ?? layers[layers.length - 1])
        : layers[Math.min(layers.length - 1, Number(where().layer || layers.length - 1))];
      if (id === undefined) continue;
      await trace.want([id]);
      const picture = heat({
        sheet: new Sheet(trace, id, { lead: { head } }),
        width: 150,
        height: 150,
        legend: false,
        pick: (index) =>
          go({
            view: "look",
            snapshot: item.name,
            text,
            at: trace.address({ id, index }),
            place: ""
          })
      });
      const box = h("div", { class: "frame" }, picture);
      this.frames.set(item.name, box);
      this.heads.children[n]?.firstElementChild?.replaceWith(box);
      if (run.running) return; // one at a look
    }
  }
}

customElements.define("cut-learn", LearnElement);

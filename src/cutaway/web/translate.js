/**
 * The first view: a sentence, its translation word by word, what else could have been said, and
 * why.
 */
import { arcs, strongest } from "./arcs.js";
import { changeBanner } from "./change.js";
import { chancesAt, logitsOf, marked } from "./chances.js";
import { choice, data, fill, h, hint, locale, press, t } from "./dom.js";
import { shown } from "./heat.js";
import { percent, short } from "./numbers.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/**
 * @typedef {{
 *   text: string, output: string, ids: number[], pieces: string[], source: string[], score: number,
 *   prefix: number[], tree: any, alternatives: {text: string, score: number}[], warnings: string[],
 *   options: any, whole?: {text: string, output: string, sentences: string[]}
 * }} Translation
 */
/** @typedef {import("./app.js").App} App */

const RUNNERS = 2;
const CHOICES = 8;

export class TranslateElement extends HTMLElement {
  /** @type {((trace: Trace) => void) | undefined} */
  follow;
  /** @type {(() => void) | undefined} */
  turnTo;

  /** Nothing translated yet: sentences worth trying. @param {App} app */
  welcome(app) {
    fill(
      this,
      h(
        "div",
        { class: "welcome" },
        h("h1", {}, t("welcome.title")),
        h("p", {}, t("welcome.text")),
        app.info.examples.length
          ? h(
              "div",
              { class: "examples" },
              h("h2", {}, t("welcome.try")),
              app.info.examples.map((text) =>
                press(
                  { translate: "no", class: "example", onclick: () => app.translate(text) },
                  text
                )
              )
            )
          : null
      )
    );
  }

  /** @param {Trace} trace @param {Translation} translation @param {App} app */
  async show(trace, translation, app) {
    const logits = logitsOf(trace);
    const last = translation.ids.length - 1;
    const chosen = where().step ? Math.min(last, Math.max(0, Number(where().step))) : null;
    const step = chosen ?? 0;
    const written = () => {
      const temperature = Math.max(0.05, Number(where().temperature || 1));
      return logits === undefined
        ? [null, null]
        : [
            this.strip(trace, logits, translation, chosen, temperature),
            this.choice(trace, logits, translation, step, temperature, app)
          ];
    };
    let [strip, choices] = await trace.settled(written);
    // Numbers or temperature are being dragged: the words follow, the slider stays in the hand.
    this.follow = (/** @type {Trace} */ changed) => {
      const [words, choice] = changed === trace ? written() : [];
      if (!words) return;
      strip.replaceWith(words);
      strip = words;
      for (const part of [".choices", "output", "header > small"])
        choices.querySelector(part).replaceWith(choice.querySelector(part));
    };
    this.turnTo = () => this.follow?.(trace);
    const word = shown(translation.pieces[step] ?? "");
    const asked = h("div", { class: "ask-play" });
    fill(
      this,
      this.whole(translation, app),
      h(
        "section",
        { class: "output", "aria-label": t("translate.result") },
        data("p", { class: "source-text", dir: "auto" }, translation.text),
        data("p", { class: "target-text", id: "translation", dir: "auto" }, translation.output),
        translation.warnings.map((kind) => h("p", { class: "warning" }, t(`warning.${kind}`))),
        changeBanner()
      ),
      h(
        "section",
        { class: "attention-arcs" },
        h(
          "header",
          {},
          h("h2", {}, chosen === null ? t("arcs.all") : t("arcs.title", { word })),
          this.turns(step, last)
        ),
        arcs(trace, translation, chosen, strip),
        asked
      ),
      choices,
      this.beam(translation, app)
    );
    const cell = await strongest(trace, chosen);
    if (cell) fill(asked, this.question(trace, translation, cell, app));
  }

  /**
   * A text of several sentences: all of it, and each to be opened.
   * @param {Translation} translation @param {App} app
   */
  whole({ whole, text }, app) {
    if (!whole) return null;
    return h(
      "section",
      { class: "whole", "aria-label": t("translate.whole") },
      data("p", { class: "source-text", dir: "auto" }, whole.text),
      data("p", { class: "whole-text", dir: "auto" }, whole.output),
      h("h2", {}, t("translate.sentence", { n: whole.sentences.length })),
      h(
        "div",
        { class: "examples" },
        whole.sentences.map((sentence) =>
          press(
            {
              translate: "no",
              class: "example",
              "aria-pressed": String(sentence === text),
              onclick: () => app.translate(sentence)
            },
            sentence
          )
        )
      )
    );
  }

  /** One word back or on. @param {number} step @param {number} last */
  turns(step, last) {
    const turn = (/** @type {string} */ id, /** @type {number} */ by) =>
      press(
        {
          id,
          disabled: step + by < 0 || step + by > last,
          onclick: () => go({ step: String(step + by) })
        },
        t(`step.${id}`)
      );
    return h("div", { class: "buttons" }, turn("back", -1), turn("next", 1));
  }

  /**
   * A button that plays how the strongest weight came about.
   * @param {Trace} trace
   * @param {Translation} translation
   * @param {import("./trace.js").Cell} cell
   * @param {App} app
   */
  question(trace, translation, cell, app) {
    const [row, key] = cell.index.slice(-2);
    const words = {
      a: shown(translation.pieces[row] ?? ""),
      b: shown(translation.source[key] ?? "")
    };
    const weight = percent(trace.read(cell.id, cell.index), locale());
    return press(
      { id: "ask-play", onclick: () => app.inspector.play(trace.address(cell)) },
      t("play.ask", { ...words, weight })
    );
  }

  /**
   * The translation word by word: under each its probability and the runners-up.
   * @param {Trace} trace
   * @param {number} logits
   * @param {Translation} translation
   * @param {number | null} step
   * @param {number} temperature
   */
  strip(trace, logits, translation, step, temperature) {
    const columns = translation.ids.map((id, n) => {
      const { top, of } = chancesAt(trace, logits, n, temperature, RUNNERS + 1);
      const others = top.filter((chance) => chance.id !== id).slice(0, RUNNERS);
      const forced = n < translation.prefix.length;
      return h(
        "li",
        { class: `${n === step ? "here" : ""}${forced ? " forced" : ""}` },
        press(
          {
            "data-step": n,
            "aria-current": n === step ? "step" : undefined,
            onclick: () => go({ step: String(n) })
          },
          data("span", { class: "piece" }, shown(translation.pieces[n])),
          data("span", { class: "p" }, percent(of(id), locale()))
        ),
        h(
          "div",
          { class: "runners", "aria-hidden": "true", translate: "no" },
          others.map((chance) =>
            h("span", { title: percent(chance.p, locale()) }, marked(chance.piece))
          )
        )
      );
    });
    return h("ol", { class: "words-strip", "aria-label": t("translate.steps") }, columns);
  }

  /**
   * The next word: every candidate with its probability, each one can be chosen.
   * @param {Trace} trace
   * @param {number} logits
   * @param {Translation} translation
   * @param {number} step
   * @param {number} temperature
   * @param {App} app
   */
  choice(trace, logits, translation, step, temperature, app) {
    const { top, entropy } = chancesAt(trace, logits, step, temperature, CHOICES);
    const before = translation.pieces
      .slice(0, step)
      .map((piece) => shown(piece))
      .join(" ");
    const target = translation.ids[step];
    const address = (/** @type {number} */ id) => {
      const place =
        trace.values[logits].shape.length === 3 ? `[0,${step},${id}]` : `[${step},${id}]`;
      const probabilities = trace.addresses.get("probabilities");
      return `${trace.values[probabilities ?? logits].address}${place}`;
    };
    const pick = (/** @type {number} */ id) =>
      go({ prefix: [...translation.ids.slice(0, step), id].join(","), step: String(step) });
    return h(
      "section",
      { class: "choice" },
      h(
        "header",
        {},
        h("h2", {}, t("choice.title")),
        data("p", { class: "so-far" }, h("span", {}, "<start>"), " ", before, h("mark", {}, "?")),
        this.slider(temperature),
        app.info.served
          ? press(
              {
                class: "more",
                id: "draw",
                onclick: () => go({ sample: String(Number(where().sample || 0) + 1), prefix: "" })
              },
              t("choice.draw")
            )
          : null,
        h("small", {}, t("choice.entropy", { bits: entropy.toFixed(2) }))
      ),
      h(
        "ol",
        { class: "choices" },
        top.map((chance) =>
          h(
            "li",
            { class: chance.id === target ? "chosen" : "" },
            marked(chance.piece),
            h(
              "span",
              { class: "bar", "aria-hidden": "true" },
              h("i", { style: { width: `${100 * chance.p}%` } })
            ),
            press(
              {
                translate: "no",
                class: "link p",
                title: t("choice.why"),
                "aria-label": [
                  shown(chance.piece),
                  percent(chance.p, locale()),
                  t("choice.why")
                ].join(" "),
                onclick: () => go({ at: address(chance.id) })
              },
              percent(chance.p, locale())
            ),
            chance.id === target
              ? h("small", {}, t("choice.taken"))
              : app.info.served
                ? press(
                    { class: "pick", "data-id": chance.id, onclick: () => pick(chance.id) },
                    t("choice.pick")
                  )
                : null
          )
        )
      ),
      translation.prefix.length || where().sample
        ? press(
            {
              class: "more",
              id: "own-choice",
              onclick: () => go({ prefix: "", step: "0", sample: "" })
            },
            t("choice.restore")
          )
        : null
    );
  }

  /** @param {number} temperature */
  slider(temperature) {
    return h(
      "label",
      { class: "slider" },
      h("span", {}, t("choice.temperature")),
      h("input", {
        type: "range",
        id: "temperature",
        min: "0.1",
        max: "3",
        step: "0.05",
        value: String(temperature),
        oninput: (event) =>
          go(
            {
              temperature: event.target.value === "1" ? "" : event.target.value
            },
            { replace: true }
          )
      }),
      data("output", {}, temperature.toFixed(2))
    );
  }

  /** The hypotheses of the beam, drawn once the module for it is here. @param {any} tree @param {App} app */
  tree(tree, app) {
    const box = h("div");
    app.open(async () => {
      const { beamTree } = await import("./tree.js");
      const drawn = beamTree(tree, {
        open: (step, token) => go({ step: String(step), at: `probabilities[0,${step},${token}]` }),
        take: app.info.served
          ? (tokens) => go({ prefix: tokens.join(","), step: String(tokens.length - 1) })
          : null
      });
      fill(box, drawn);
    });
    return box;
  }

  /** @param {Translation} translation @param {App} app */
  beam(translation, app) {
    const width = Number(where().beam || translation.options?.beam || 1);
    const choose = choice(
      t("beam.width"),
      {
        id: "beam",
        disabled: !app.info.served,
        onchange: (event) => go({ beam: event.target.value, step: "" })
      },
      ["1", "2", "3", "4", "5", "8"].map((n) => [n, n]),
      String(width)
    );
    return h(
      "details",
      { class: "beam", open: Boolean(where().beam) },
      h("summary", {}, h("h2", {}, t("beam.title"))),
      choose,
      translation.tree && width > 1 ? this.tree(translation.tree, app) : hint(t("beam.greedy")),
      translation.alternatives.length
        ? h(
            "ol",
            { class: "alternatives" },
            translation.alternatives.map(({ text, score }) =>
              data("li", {}, text, " ", h("small", {}, short(score)))
            )
          )
        : null
    );
  }
}

customElements.define("cut-translate", TranslateElement);

/**
 * The first view: a sentence, its translation word by word, what else could have been said, and
 * why.
 */
import { arcs } from "./arcs.js";
import { changeList } from "./change.js";
import { beamTree } from "./tree.js";
import { chancesAt, logitsOf } from "./chances.js";
import { data, fill, h, locale, press, t } from "./dom.js";
import { shown } from "./heat.js";
import { percent, short } from "./numbers.js";
import { go, where } from "./state.js";

/** @typedef {import("./trace.js").Trace} Trace */
/**
 * @typedef {{
 *   text: string, output: string, ids: number[], pieces: string[], source: string[], score: number,
 *   prefix: number[], tree: any, alternatives: {text: string, score: number}[], warnings: string[],
 *   options: any
 * }} Translation
 */
/**
 * @typedef {{
 *   served: boolean, examples: string[], translate: (text: string) => void
 * }} TranslateOptions
 */

const RUNNERS = 4;
const CHOICES = 8;

export class TranslateElement extends HTMLElement {
  /** Nothing translated yet: sentences worth trying. @param {TranslateOptions} options */
  welcome(options) {
    fill(
      this,
      h(
        "div",
        { class: "welcome" },
        h("h1", {}, t("welcome.title")),
        h("p", {}, t("welcome.text")),
        options.examples.length
          ? h(
              "div",
              { class: "examples" },
              h("h2", {}, t("welcome.try")),
              options.examples.map((text) =>
                press(
                  { translate: "no", class: "example", onclick: () => options.translate(text) },
                  text
                )
              )
            )
          : null
      )
    );
  }

  /** @param {Trace} trace @param {Translation} translation @param {TranslateOptions} options */
  async show(trace, translation, options) {
    const logits = logitsOf(trace);
    const last = translation.ids.length - 1;
    const step = Math.min(last, Math.max(0, Number(where().step || 0)));
    const temperature = Math.max(0.05, Number(where().temperature || 1));
    const words =
      logits === undefined
        ? null
        : await trace.settled(() => [
            this.strip(trace, logits, translation, step, temperature),
            this.choice(trace, logits, translation, step, temperature, options)
          ]);
    fill(
      this,
      h(
        "section",
        { class: "output", "aria-label": t("translate.result") },
        data("p", { class: "source-text" }, translation.text),
        data("p", { class: "target-text", id: "translation" }, translation.output),
        translation.warnings.map((kind) => h("p", { class: "warning" }, t(`warning.${kind}`))),
        where().change
          ? [changeList(), press({ onclick: () => go({ view: "compare" }) }, t("change.compare"))]
          : null
      ),
      words,
      h(
        "section",
        { class: "attention-arcs" },
        h("h2", {}, t("arcs.title", { word: shown(translation.pieces[step] ?? "") })),
        arcs(trace, translation, step)
      ),
      this.beam(translation, options)
    );
  }

  /**
   * The words so far, under each its probability and the runners-up.
   * @param {Trace} trace
   * @param {number} logits
   * @param {Translation} translation
   * @param {number} step
   * @param {number} temperature
   */
  strip(trace, logits, translation, step, temperature) {
    const columns = translation.ids.map((id, n) => {
      const { top, of } = chancesAt(trace, logits, n, temperature, RUNNERS);
      const forced = n < translation.prefix.length;
      return h(
        "li",
        { class: `${n === step ? "here" : n > step ? "future" : ""}${forced ? " forced" : ""}` },
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
          top.map((chance) =>
            h(
              "span",
              { class: chance.id === id ? "chosen" : "" },
              h("i", { style: { width: `${Math.max(1, 100 * chance.p)}%` } }),
              h("em", {}, shown(chance.piece))
            )
          )
        )
      );
    });
    return h(
      "section",
      { class: "strip" },
      h(
        "header",
        {},
        h("h2", {}, t("translate.steps")),
        h(
          "div",
          { class: "buttons" },
          press(
            { id: "back", disabled: step === 0, onclick: () => go({ step: String(step - 1) }) },
            t("step.back")
          ),
          press(
            {
              id: "next",
              disabled: step >= translation.ids.length - 1,
              onclick: () => go({ step: String(step + 1) })
            },
            t("step.next")
          )
        )
      ),
      h("ol", { class: "words-strip" }, columns)
    );
  }

  /**
   * The next word: every candidate with its probability, each one can be chosen.
   * @param {Trace} trace
   * @param {number} logits
   * @param {Translation} translation
   * @param {number} step
   * @param {number} temperature
   * @param {TranslateOptions} options
   */
  choice(trace, logits, translation, step, temperature, options) {
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
        options.served
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
            data("span", { class: "piece" }, shown(chance.piece)),
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
              : options.served
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
        step: "0.1",
        value: String(temperature),
        onchange: (/** @type {Event} */ event) =>
          go(
            {
              temperature:
                /** @type {HTMLInputElement} */ (event.target).value === "1"
                  ? ""
                  : /** @type {HTMLInputElement} */ (event.target).value
            },
            { replace: true }
          )
      }),
      data("output", {}, temperature.toFixed(1))
    );
  }

  /** @param {Translation} translation @param {TranslateOptions} options */
  beam(translation, options) {
    const width = Number(where().beam || translation.options?.beam || 1);
    const choose = h(
      "label",
      { class: "select" },
      h("span", {}, t("beam.width")),
      h(
        "select",
        {
          id: "beam",
          disabled: !options.served,
          onchange: (/** @type {Event} */ event) =>
            go({ beam: /** @type {HTMLSelectElement} */ (event.target).value, step: "" })
        },
        [1, 2, 3, 4, 5, 8].map((n) =>
          h("option", { value: String(n), selected: n === width }, String(n))
        )
      )
    );
    return h(
      "section",
      { class: "beam" },
      h("header", {}, h("h2", {}, t("beam.title")), choose),
      translation.tree && width > 1
        ? beamTree(translation.tree, (steps) => go({ step: String(steps) }))
        : h("p", { class: "hint" }, t("beam.greedy")),
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

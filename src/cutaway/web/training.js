/**
 * `<cut-training>`: a training step — loss, gradients, update — on the same map with the arrows
 * reversed: an update of the run, or a step on one sentence.
 */
import { data, fill, h, hint, press, t } from "./dom.js";
import { LookElement } from "./look.js";
import { full, inline } from "./numbers.js";
import { go, where } from "./state.js";
import { chooseUpdate, updateFacts } from "./update.js";

export const PHASES = ["forward", "backward", "update"];

/** What a step on one sentence is, and is not. @param {any} training */
function alone(training) {
  if (!training) return null;
  const loss = inline(training.loss);
  return hint(t("training.alone", { rate: inline(training.facts?.learning_rate), loss }));
}

export class TrainingElement extends HTMLElement {
  /** @param {any} session @param {any} options @param {any} app */
  async show(session, options, app) {
    const phase = where().phase || "backward";
    this.look = /** @type {LookElement} */ (document.createElement("cut-look"));
    if (!session) {
      fill(this, chooseUpdate(app), this.pair(app, null));
      return;
    }
    const { trace, training } = session;
    const replayed = training?.update !== undefined;
    const loss = trace.addresses.get("loss");
    const facts = Object.entries(training?.facts ?? {}).map(([name, value]) =>
      h(
        "div",
        {},
        h(
          "dt",
          {},
          t(`training.${name}`) === `training.${name}`
            ? data("span", {}, name)
            : t(`training.${name}`)
        ),
        data("dd", {}, typeof value === "number" ? inline(value) : String(value))
      )
    );
    fill(
      this,
      chooseUpdate(app),
      replayed ? updateFacts(session) : [this.pair(app, training), alone(training)],
      h(
        "div",
        { class: "phases", role: "group", "aria-label": t("training.phases") },
        PHASES.map((name) =>
          press(
            {
              "aria-pressed": String(name === phase),
              "data-phase": name,
              onclick: () => go({ phase: name, at: "" })
            },
            t(`phase.${name}`)
          )
        ),
        loss === undefined || replayed
          ? null
          : press(
              {
                translate: "no",
                class: "link",
                id: "open-loss",
                onclick: () =>
                  go({
                    at: trace.address({ id: loss, index: trace.values[loss].shape.map(() => 0) }),
                    phase: "forward",
                    place: ""
                  })
              },
              "loss = ",
              h(
                "b",
                {},
                await trace.settled(() =>
                  full(
                    trace.read(
                      loss,
                      trace.values[loss].shape.map(() => 0)
                    ),
                    "float32"
                  )
                )
              )
            ),
        h("dl", { class: "facts inline" }, facts)
      ),
      hint(t(`phase.${phase}.text`)),
      this.look
    );
    await this.look.show(session.structure, {
      ...options,
      extra: (/** @type {any} */ structure, /** @type {string} */ place) =>
        this.weights(structure, place)
    });
  }

  /**
   * The weights of a place: before, gradient, after.
   * @param {import("./structure.js").Structure} structure
   * @param {string} place
   */
  weights(structure, place) {
    const { trace } = structure;
    const within = (/** @type {string} */ address) =>
      place !== "" && (address === place || address.startsWith(`${place}.`));
    const found = trace.values
      .map((value, id) => ({ value, id }))
      .filter(
        ({ value, id }) =>
          value.op === "source" &&
          trace.rule(id).source === "parameter" &&
          value.grad !== undefined &&
          value.before === undefined &&
          within(value.address)
      );
    if (!found.length) return null;
    const cell = (/** @type {number | undefined} */ id, /** @type {string} */ text) =>
      h(
        "td",
        {},
        id === undefined
          ? "–"
          : press(
              {
                translate: "no",
                class: "link",
                onclick: () =>
                  go({
                    at: trace.address({ id, index: trace.values[id].shape.map(() => 0) }),
                    place
                  })
              },
              text
            )
      );
    return h(
      "details",
      { class: "weights", open: true },
      h("summary", {}, t("training.weights", { n: found.length })),
      h(
        "table",
        { class: "plain" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["weight", "before", "gradient", "after"].map((name) =>
              h("th", { scope: "col" }, t(`training.${name}`))
            )
          )
        ),
        h(
          "tbody",
          {},
          found.map(({ value, id }) =>
            h(
              "tr",
              {},
              data(
                "th",
                { scope: "row" },
                value.address.slice(place.length + 1),
                " ",
                h("small", {}, value.shape.join("×"))
              ),
              cell(id, t("training.before")),
              cell(value.grad, t("training.gradient")),
              cell(value.after, t("training.after"))
            )
          )
        )
      )
    );
  }

  /** The pair the step learns from. @param {any} app @param {any} training */
  pair(app, training) {
    if (!app.info.served)
      return training
        ? data("p", { class: "pair" }, `${training.source} → ${training.target}`)
        : null;
    return h(
      "form",
      {
        class: "pair",
        onsubmit: (event) => {
          event.preventDefault();
          go({
            text: event.target.elements.source.value,
            target: event.target.elements.target.value,
            update: "",
            trace: "",
            at: ""
          });
        }
      },
      h(
        "label",
        {},
        h("span", {}, t("training.source")),
        h("input", { name: "source", value: training?.source ?? where().text })
      ),
      h(
        "label",
        {},
        h("span", {}, t("training.target")),
        h("input", { name: "target", value: training?.target ?? where().target ?? "" })
      ),
      h("button", { type: "submit" }, t("training.run"))
    );
  }

  /** @param {any} focus */
  async turnTo(focus) {
    await this.look?.turnTo(focus);
  }
}

customElements.define("cut-training", TrainingElement);

/** An update of the training run: which one, how far it is, what it was, how it compares. */
import { ask } from "./backend.js";
import { data, fill, h, hint, locale, press, t } from "./dom.js";
import { difference, inline, whole } from "./numbers.js";
import { go, where } from "./state.js";

const PAUSE = 200; // milliseconds after the last change of the slider before the plan is asked for

/** The facts of an update that are values of its trace, by address. */
const VALUES = ["norm", "shortened", "rate"];

/**
 * Choose an update of the run: a slider and a number over its range, and how far the chosen one is.
 * @param {import("./app.js").App} app
 */
export function chooseUpdate(app) {
  const last = app.info.updates;
  if (!app.info.served || !last) return null;
  const chosen = Number(where().update || last);
  const plan = h("p", { class: "plan hint", role: "status" });
  let asked = 0;
  const tell = async (/** @type {number} */ update) => {
    const mine = ++asked;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    if (mine !== asked || !plan.isConnected) return;
    const answer = await ask(`api/update?update=${update}`)
      .then((response) => response.json())
      .then(planText, (error) => error.message);
    if (mine === asked) fill(plan, answer);
  };
  const slider = h("input", {
    type: "range",
    name: "slider",
    min: 1,
    max: last,
    value: chosen,
    "aria-label": t("update.number"),
    oninput: () => {
      number.value = slider.value;
      void tell(Number(slider.value));
    }
  });
  const number = h("input", {
    type: "number",
    name: "update",
    min: 1,
    max: last,
    value: chosen,
    required: true,
    oninput: () => {
      slider.value = number.value;
      void tell(Number(number.value));
    }
  });
  void tell(chosen);
  return h(
    "form",
    {
      class: "update",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        go({ update: number.value, trace: "", at: "" });
      }
    },
    h("label", {}, h("span", {}, t("update.number")), number),
    slider,
    h("span", { class: "hint" }, t("update.of", { last: whole(last, locale()) })),
    h("button", { type: "submit" }, t("update.run")),
    plan
  );
}

/** How far an update is, in words. @param {any} plan */
function planText({ start, source, distance, seconds }) {
  if (source === "recorded") return t("update.recorded");
  const from = t(`update.from.${source}`, { start: whole(start, locale()) });
  const far = t(distance ? "update.far" : "update.near", {
    distance: whole(distance, locale()),
    from
  });
  if (!distance || seconds === null) return far;
  const time =
    seconds < 90
      ? t("update.seconds", { n: whole(Math.max(1, Math.round(seconds)), locale()) })
      : t("update.minutes", { n: whole(Math.round(seconds / 60), locale()) });
  return `${far} ${time}`;
}

/**
 * What an update was: loss, norm, clipping, rate, its sentences, and the comparison with the run.
 * @param {import("./session.js").Session} session
 */
export function updateFacts({ trace, training }) {
  const open = (/** @type {string} */ address, /** @type {string} */ text) =>
    press(
      {
        translate: "no",
        class: "link",
        "data-open": address,
        onclick: () =>
          go({
            at: trace.address({ id: Number(trace.addresses.get(address)), index: [] }),
            place: "",
            phase: "forward"
          })
      },
      text
    );
  const fact = (/** @type {string} */ name, /** @type {any} */ value) =>
    h("div", {}, h("dt", {}, t(`update.${name}`)), h("dd", {}, value));
  const count = training.batches.reduce(
    (/** @type {number} */ sum, /** @type {any[]} */ batch) => sum + batch.length,
    0
  );
  return h(
    "section",
    { class: "update-facts" },
    h(
      "h2",
      {},
      t("update.heading", {
        update: whole(training.update, locale()),
        updates: whole(training.updates, locale()),
        epoch: whole(training.epoch + 1, locale())
      })
    ),
    h(
      "dl",
      { class: "facts inline" },
      fact("loss", open("total", inline(training.loss))),
      VALUES.filter((name) => trace.addresses.has(name)).map((name) =>
        fact(name, open(name, inline(training[name])))
      ),
      fact("tokens", open("answers", whole(training.tokens, locale()))),
      ["clip", "smoothing", "dropout", "ema"].map((name) =>
        fact(name, data("span", {}, inline(training[name])))
      )
    ),
    compared(training),
    h(
      "details",
      {},
      h("summary", {}, t("update.sentences", { n: whole(count, locale()) })),
      training.batches.map((/** @type {string[][]} */ batch) =>
        data(
          "ol",
          { class: "batch", start: 0 },
          batch.map(([source, target]) => h("li", {}, source ? `${source} → ${target}` : target))
        )
      )
    )
  );
}

/** How the update made again compares with the run's own. @param {any} training */
function compared({ agreement, drift, environment }) {
  const lines = [];
  if (agreement.lines)
    lines.push(
      t("update.log", {
        same: whole(agreement.same, locale()),
        lines: whole(agreement.lines, locale())
      })
    );
  if (agreement.state !== null)
    lines.push(
      t(agreement.identical ? "update.identical" : "update.apart", {
        state: whole(agreement.state, locale()),
        largest: difference(agreement.largest)
      })
    );
  if (!lines.length) lines.push(t("update.nothing"));
  if (environment.length) lines.push(t("update.environment", { changes: environment.join("; ") }));
  lines.push(
    t("update.drift", {
      largest: difference(drift.largest),
      keys: difference(drift.key_biases)
    })
  );
  return hint(lines.join(" "));
}

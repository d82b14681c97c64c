/**
 * Changing something and seeing what follows: silence a head, edit a number, lift a mask, reorder
 * the words.
 */
import { data, h, press, t } from "./dom.js";
import { follow, knownReplay, liveControl, replayOf } from "./live.js";
import { go, where } from "./state.js";

/**
 * A change in the URL: `set:ADDRESS=VALUE`, `silence:ATTENTION:HEAD`, `unmask:ATTENTION`,
 * `shift:ATTENTION:WORDS`, `order:2,0,1`; several joined by `;`.
 * @typedef {{kind: string, address: string, value: string}} Change
 */

const ATTENDING =
  /^(.*(?:self|cross)_attention)\.(query|key|value|scores|scaled|masked|softmax|weights|context)$/;

/** @param {string | undefined} text @returns {Change[]} */
export function readChanges(text) {
  return (text ?? "")
    .split(";")
    .filter(Boolean)
    .map((part) => {
      const [kind, ...rest] = part.split(":");
      const body = rest.join(":");
      if (kind === "set") {
        const cut = body.lastIndexOf("=");
        return { kind, address: body.slice(0, cut), value: body.slice(cut + 1) };
      }
      if (kind === "silence" || kind === "shift")
        return {
          kind,
          address: body.slice(0, body.lastIndexOf(":")),
          value: body.slice(body.lastIndexOf(":") + 1)
        };
      return { kind, address: kind === "order" ? "" : body, value: kind === "order" ? body : "" };
    });
}

/** @param {Change[]} changes */
export function writeChanges(changes) {
  return changes
    .map(({ kind, address, value }) =>
      kind === "set"
        ? `set:${address}=${value}`
        : kind === "silence" || kind === "shift"
          ? `${kind}:${address}:${value}`
          : kind === "order"
            ? `order:${value}`
            : `${kind}:${address}`
    )
    .join(";");
}

/** Addresses that wear a mark. @param {Record<string, string>} place @returns {Set<string>} */
export function changedAddresses(place) {
  return new Set(
    readChanges(place.change).flatMap(({ kind, address }) =>
      kind === "set"
        ? [address.replace(/\[.*$/, "")]
        : kind === "silence"
          ? [`${address}.context`]
          : kind === "unmask" || kind === "shift"
            ? [`${address}.masked`, `${address}.weights`]
            : []
    )
  );
}

/** One more change; the same thing changed twice keeps the last. @param {Change} change */
export function addChange(change) {
  const others = readChanges(where().change).filter(
    (other) =>
      !(
        other.kind === change.kind &&
        other.address === change.address &&
        (change.kind !== "silence" || other.value === change.value)
      )
  );
  const kept = change.kind === "shift" && change.value === "0" ? [] : [change];
  go({ change: writeChanges([...others, ...kept]) });
}

/** The list of changes in force, each with a way to take it back. */
export function changeList() {
  const changes = readChanges(where().change);
  if (!changes.length) return null;
  return h(
    "section",
    { class: "changes" },
    h("h2", {}, t("change.title")),
    h(
      "ul",
      {},
      changes.map((change, n) =>
        h(
          "li",
          {},
          h("span", { class: "mark", "aria-hidden": "true" }, "✎ "),
          t(`changed.${change.kind}`),
          " ",
          data(
            "code",
            {},
            change.kind === "silence"
              ? `${change.address} · ${Number(change.value) + 1}`
              : change.kind === "set"
                ? `${change.address} = ${change.value}`
                : change.kind === "shift"
                  ? `${change.address} ${change.value.replace(/^-?/, (s) => (s ? "← " : "→ "))}`
                  : change.address || change.value
          ),
          " ",
          press(
            {
              class: "more",
              "aria-label": t("change.undo"),
              onclick: () => go({ change: writeChanges(changes.filter((_, k) => k !== n)) })
            },
            "×"
          )
        )
      )
    ),
    press({ id: "restore", onclick: () => go({ change: "" }) }, t("change.restore"))
  );
}

/** What was changed, with the ways back: to restore it, or to compare with before. */
export function changeBanner() {
  const list = changeList();
  list?.append(press({ onclick: () => go({ view: "compare" }) }, t("change.compare")));
  return list;
}

/**
 * The numbers of a run as a place asks for them: recorded ones, and in a page without a server what
 * its changes make of them. What was dragged elsewhere is let go.
 * @param {any} app
 * @param {Record<string, string>} place
 */
export async function settleChanges(app, place) {
  const trace = app.session?.trace;
  for (const other of app.dragged) if (other !== trace) knownReplay(other)?.restore();
  app.dragged.clear();
  if (!trace) return;
  app.dragged.add(trace);
  const settings = (app.info.served ? [] : readChanges(place.change)).flatMap(
    ({ address, value }) => {
      const cell = trace.find(address);
      return cell?.index ? [{ id: cell.id, index: cell.index, value: Number(value) }] : [];
    }
  );
  const replay = settings.length ? await replayOf(trace) : knownReplay(trace);
  if (!replay) return;
  const shown = new Set(replay.copies.keys());
  if (settings.length) {
    await replay.ready(settings.map(({ id }) => id));
    await replay.run(settings);
  } else if (shown.size) replay.restore();
  for (const id of replay.copies.keys()) shown.add(id);
  if (shown.size) await follow(trace, shown);
}

/**
 * What can be changed of a cell: nothing in a run that is not the translation's.
 * @param {any} app
 * @param {import("./trace.js").Cell} cell
 */
function changeable(app, cell) {
  const { session } = app;
  if (!session?.translation || ["training", "lessons"].includes(where().view)) return null;
  const { trace } = session;
  const value = trace.values[cell.id];
  const computed =
    value.phase === "forward" &&
    (value.name !== undefined || trace.rule(cell.id).source === "parameter") &&
    value.dtype.includes("float");
  const attention = ATTENDING.exec(value.address);
  const address = trace.address(cell);
  const set = (/** @type {string} */ number) => addChange({ kind: "set", address, value: number });
  return { session, trace, computed, attention, set };
}

/** The slider of the inspector. @param {any} app @param {import("./trace.js").Cell} cell */
export function attachLive(app, cell) {
  const about = changeable(app, cell);
  if (!about?.computed) return null;
  const { trace, session, set } = about;
  return liveControl(trace, cell, { translation: session.translation, keep: set });
}

/** The pencil of the inspector. @param {any} app @param {import("./trace.js").Cell} cell */
export function attachChange(app, cell) {
  const about = app.info.served ? changeable(app, cell) : null;
  if (!about?.computed && !about?.attention) return null;
  const { trace, computed, attention, set } = about;
  const input = h("input", {
    type: "number",
    step: "any",
    name: "number",
    "aria-label": t("change.number"),
    value: "0"
  });
  const shifted = Number(
    readChanges(where().change).find(
      ({ kind, address }) => kind === "shift" && address === attention?.[1]
    )?.value ?? 0
  );
  const move = (/** @type {number} */ by) =>
    press(
      {
        id: by > 0 ? "mask-right" : "mask-left",
        onclick: () =>
          addChange({ kind: "shift", address: attention?.[1] ?? "", value: String(shifted + by) })
      },
      t(by > 0 ? "change.right" : "change.left")
    );
  const masked = attention && trace.addresses.has(`${attention[1]}.masked`);
  return h(
    "details",
    { class: "change" },
    h("summary", {}, "✎ ", t("change.open")),
    computed
      ? h(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              set(input.value);
            }
          },
          input,
          " ",
          h("button", { type: "submit", id: "set-number" }, t("change.set"))
        )
      : null,
    attention
      ? press(
          {
            id: "silence",
            onclick: () =>
              addChange({ kind: "silence", address: attention[1], value: String(cell.index[1]) })
          },
          t("change.silence", { n: cell.index[1] + 1 })
        )
      : null,
    masked
      ? press(
          {
            id: "unmask",
            onclick: () => addChange({ kind: "unmask", address: attention[1], value: "" })
          },
          t("change.unmask")
        )
      : null,
    masked ? [move(1), move(-1)] : null
  );
}

/**
 * The page: reads where the reader is, fetches the run that place needs, and draws the parts that
 * changed: map, view, inspector and bar.
 */
import { strongest } from "./arcs.js";
import { Carried, PageError, Served } from "./backend.js";
import { BarElement } from "./bar.js";
import { attachChange, attachLive, changedAddresses, settleChanges } from "./change.js";
import {
  addLanguage,
  BRACKETS,
  fill,
  h,
  hasWords,
  hint,
  mark,
  painted,
  preferredLanguage,
  t
} from "./dom.js";
import { byId, drawFrame, dress, listen, say } from "./frame.js";
import { headOf } from "./heads.js";
import { InspectorElement } from "./inspector.js";
import { MapElement } from "./map.js";
import { largestIn, openSession, questionOf } from "./session.js";
import { go, grow, onMove, startState, where } from "./state.js";
import { layerOf } from "./structure.js";
import { offeredViews, viewOf, VIEWS } from "./views.js";

/** @typedef {import("./session.js").Session} Session */
/** @typedef {Record<string, string>} Place */
/** @typedef {{id: number, index: number[] | null}} Focus a matrix, or one of its cells */

/** Values of the training step that each of its phases shows. @type {Record<string, string[]>} */
const SHOWN = { forward: ["forward", "loss"], backward: ["backward"], update: ["update"] };

/** JSON in a data block of the page. @param {string} id */
function block(id) {
  return JSON.parse(byId(id)?.textContent || "{}");
}

export class App {
  constructor() {
    /** @type {import("./backend.js").Info} */
    this.info = block("boot");
    this.backend = this.info.served ? new Served() : new Carried();
    /** @type {Session | null} */
    this.session = null;
    /** @type {Set<import("./trace.js").Trace>} */
    this.dragged = new Set(); // runs of which a number may have been dragged
    this.sessionKey = ""; // the question that `session` answers
    /** @type {Map<string, string>} */
    this.drawn = new Map(); // what each part of the page was last drawn from
    this.inspector = /** @type {InspectorElement} */ (document.querySelector("cut-inspector"));
    this.map = /** @type {MapElement} */ (document.querySelector("cut-map"));
    this.bar = /** @type {BarElement} */ (document.querySelector("cut-bar"));
    this.film = /** @type {import("./play.js").PlayElement} */ (document.querySelector("cut-play"));
    this.way = /** @type {import("./path.js").PathElement} */ (document.querySelector("cut-path"));
    this.begins = false; // a button asked for a film: it plays once it is open
    this.stage = byId("stage");
    this.turn = 0;
    this.works = 0; // under way
  }

  start() {
    for (const { id } of document.querySelectorAll("script[id^=locale-]"))
      addLanguage(id.replace("locale-", ""), block(id));
    for (const code of this.info.languages ?? []) addLanguage(code, {}); // lessons alone
    addLanguage(BRACKETS, {});
    // A page that is opened without an address begins with a finished translation.
    const text = this.info.translates ? (this.info.examples?.[0] ?? "") : "";
    startState(preferredLanguage(navigator.language), { text, ...this.info.start });
    onMove((place, before) => void this.during(this.render(place, before)));
    listen({
      translate: (text) => this.translate(text),
      find: () => this.open(async () => (await import("./find.js")).openFind(this)),
      save: () => this.open(async () => (await import("./save.js")).openSaveMenu(this)),
      redraw: () => this.redraw()
    });
    this.inspector.open = (address) => {
      const view = viewOf(where().view).opensCells ? where().view : "look";
      go({ at: address, place: "", play: "", view, path: grow(where(), address) });
      this.wantsFocus = true;
    };
    this.inspector.play = (address) => {
      this.begins = true;
      go({ at: address, play: "0" });
    };
    this.inspector.tools = (cell) => attachChange(this, cell);
    this.inspector.live = (cell) => attachLive(this, cell);
    this.stage.addEventListener("entertable", () => (this.wantsFocus = true));
    addEventListener("unhandledrejection", (event) => {
      if (!(event.reason instanceof PageError)) return;
      event.preventDefault(); // numbers asked for while drawing did not come
      this.fail(event.reason);
    });
    void this.during(this.render(where(), where()));
  }

  /**
   * Say, to readers that cannot see it, that something is still being fetched or drawn.
   * @param {Promise<any>} work
   */
  async during(work) {
    const columns = byId("columns");
    this.works += 1;
    mark(columns, "aria-busy", "true");
    try {
      await work;
    } finally {
      this.works -= 1;
      if (!this.works) mark(columns, "aria-busy", "false");
    }
  }

  /** @param {string} text */
  translate(text) {
    const fresh = { step: "", at: "", prefix: "", change: "", trace: "", sample: "" };
    if (!text) return void say(t("sentence.empty"));
    go({ view: "translate", text, ...fresh });
  }

  /** Sentences worth trying, where there is nothing else to show. */
  async welcome() {
    await VIEWS.translate.load();
    const element = h("cut-translate");
    fill(this.stage, element);
    element.welcome(this);
  }

  /** Open something whose module may still have to come. @param {() => Promise<any>} show */
  open(show) {
    void this.during(show().catch((error) => this.fail(error)));
  }

  redraw() {
    this.drawn.clear();
    void this.during(this.render(where(), where()));
  }

  /** The run that a place asks for, from memory if it is the one before. @param {Place} place */
  async run(place) {
    const view = viewOf(place.view);
    if (view.run === "own") return this.session;
    const question = questionOf(place, this.info, view.run);
    const key = JSON.stringify(question);
    if (question.kind === "none") return null;
    if (key === this.sessionKey && this.session) return this.session;
    document.body.classList.add("busy");
    this.session = await openSession(this.backend, question);
    this.sessionKey = key;
    return this.session;
  }

  /** @param {Place} place @param {Place} before */
  async render(place, before) {
    const views = offeredViews(this.info);
    if (!views.includes(place.view))
      return go({ view: this.info.start?.view ?? views[0] }, { replace: true });
    const turn = ++this.turn;
    this.chrome(place);
    let session = null;
    try {
      [session] = await Promise.all([this.run(place), viewOf(place.view).load()]);
      if (turn === this.turn) await settleChanges(this, place);
      say("");
    } catch (error) {
      if (turn === this.turn) this.fail(error);
      return;
    } finally {
      document.body.classList.remove("busy");
    }
    if (turn !== this.turn) return;
    mark(document.body, "data-view", place.view);
    document.body.classList.toggle("has-trace", session !== null || place.view === "lessons");
    const focus = session && place.at ? session.trace.find(place.at) : null;
    if (place.at && session && !focus && place.view !== "lessons")
      say(t("error.address", { address: place.at }));
    document.body.classList.toggle("has-cell", Boolean(focus?.index));
    try {
      await this.draw(place, session, focus, before);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Draw every part of the page that depends on something that changed.
   * @param {Place} place
   * @param {Session | null} session
   * @param {Focus | null} focus
   * @param {Place} before
   */
  async draw(place, session, focus, before) {
    const view = viewOf(place.view);
    const at =
      place.place ||
      (session && focus
        ? session.structure.placeOf(
            session.trace.path(focus.id),
            session.trace.values[focus.id].address
          )
        : "");
    const layer = layerOf(at) ?? Number(place.layer || 0);
    const step = place.step === "" ? null : Number(place.step);
    const training = view.run === "training";
    const phase = training ? place.phase || "backward" : "forward";
    /** @type {Record<string, number>} */
    const until = step === null || training || !session?.translation ? {} : { target: step + 1 };
    const head = session ? headOf(session.structure, focus) : 0;
    const common = [session?.key, place.lang, place.theme, step, head, place.batch];
    const key = [
      ...(view.showsAll ? common.slice(0, 3) : common),
      place.view,
      view.showsPlaces ? at : "",
      ...view.keys.map((name) => place[name])
    ].join("|");
    if (session && focus && view.showsPlaces) {
      const { turn } = this;
      if (this.drawn.get("stage") !== key) {
        this.drawn.delete("stage");
        this.stage.firstElementChild?.toggleAttribute("data-left", true);
      }
      // The matrix appears in one piece, in place of the one before.
      const { prepare } = await import("./look.js");
      await prepare(session.structure, focus, until);
      if (turn !== this.turn) return;
    }
    const open = (/** @type {string} */ path) => this.openPlace(path);
    if (session)
      this.drawLater("map", [...common, at, layer, phase], () =>
        this.map.show(session.structure, { place: at, layer, until, head, phase, open })
      );
    if (
      this.changed("path", [session?.key, place.lang, place.path, place.at, place.change].join("|"))
    )
      this.open(() => this.walkPath(place, session));
    const snapshots = this.info.snapshots ?? [];
    this.drawLater("bar", [...common, place.view, layer, place.snapshot, snapshots.length], () =>
      this.bar.showRun(session, place, { layer, step, head, training, snapshots })
    );
    if (place.view !== "lessons") this.inspect(session, focus, at); // a lesson inspects its own runs
    if (place.view !== "lessons") this.play(place, session?.trace, focus);
    const options = {
      place: at,
      until,
      focus,
      changed: changedAddresses(place),
      phases: SHOWN[phase] ?? SHOWN.forward
    };
    if (this.changed("stage", key)) {
      const element = document.createElement(`cut-${place.view}`);
      fill(this.stage, element);
      if (before.view !== place.view) this.stage.scrollTop = 0;
      if (view.needsRun && !session) fill(element, hint(t("look.first")));
      else await view.draw(element, { app: this, session, options });
    } else await /** @type {any} */ (this.stage.firstElementChild).turnTo?.(focus);
    if (this.wantsFocus) {
      this.wantsFocus = false;
      /** @type {any} */ (document.querySelector("cut-table"))?.focusCell?.();
      document.querySelector(".matrix")?.scrollIntoView({ block: "nearest" });
    }
  }

  /**
   * The film of the cell in focus, in place of the stage while it is open.
   * @param {Place} place
   * @param {import("./trace.js").Trace | undefined} trace
   * @param {Focus | null} focus
   */
  play(place, trace, focus) {
    if (!place.play || !trace || !focus?.index) {
      if (!this.film.hidden) this.film.close();
      return;
    }
    const [{ turn }, cell] = [this, { id: focus.id, index: focus.index }];
    this.open(async () => {
      await import("./play.js");
      if (turn !== this.turn) return;
      const { begins } = this;
      this.begins = false;
      await this.film.show(trace, cell, Number(place.play) || 0, begins);
    });
  }

  /** The cells of the path in the address, as cards. @param {Place} place @param {Session | null} session */
  async walkPath(place, session) {
    if (!place.path && this.way.hidden) return;
    await import("./path.js");
    await this.way.show(session?.trace ?? null, place);
  }

  /** @param {Session | null} session @param {Focus | null} focus @param {string} place */
  inspect(session, focus, place) {
    const show = (/** @type {import("./trace.js").Cell} */ cell) =>
      this.inspector.show(/** @type {Session} */ (session).trace, cell);
    if (focus?.index) return void this.during(show({ id: focus.id, index: focus.index }));
    const { turn } = this;
    const { view, step } = where();
    const empty = () => this.inspector.empty(session ? t("inspector.empty") : t("inspector.start"));
    // Nothing is chosen: what is largest stands there.
    const chosen =
      session?.translation && (view === "translate" || (viewOf(view).followsMap && !place))
        ? strongest(session.trace, step ? Number(step) : null)
        : session && viewOf(view).followsMap
          ? painted().then(() => largestIn(session, place, headOf(session.structure, null)))
          : Promise.resolve(null);
    const shown = chosen.then((cell) => {
      if (turn === this.turn) return cell ? show(cell) : empty();
    });
    void this.during(shown);
  }

  /**
   * Draw a part once the view has been painted, if it is still wanted then.
   * @param {string} part
   * @param {any[]} keys
   * @param {() => void} draw
   */
  drawLater(part, keys, draw) {
    const key = keys.join("|");
    if (!this.changed(part, key)) return;
    const done = painted().then(() => {
      if (this.drawn.get(part) === key) draw();
    });
    void this.during(done);
  }

  /** @param {string} path */
  openPlace(path) {
    const view = viewOf(where().view).followsMap ? where().view : "look";
    const fresh = { view, zoom: "", place: "", at: "" };
    if (path === "@probabilities") go({ ...fresh, at: "probabilities" });
    else go({ ...fresh, place: path, layer: String(layerOf(path) ?? where().layer) });
  }

  /** Header, language and theme. @param {Place} place */
  chrome(place) {
    dress(place);
    if (this.changed("frame", [place.lang, place.theme, place.view, this.info.name].join("|")))
      drawFrame(place, this.info, offeredViews(this.info));
    if (this.changed("text", place.text)) byId("text").value = place.text;
  }

  /** Whether a part must be drawn anew. @param {string} part @param {string} key */
  changed(part, key) {
    if (this.drawn.get(part) === key) return false;
    this.drawn.set(part, key);
    return true;
  }

  /** Say what went wrong; a run whose model has changed is recorded again. @param {unknown} error */
  fail(error) {
    this.sessionKey = "";
    if (error instanceof PageError && error.outdated) {
      this.backend.forget();
      return this.redraw();
    }
    const message = error instanceof Error ? error.message : String(error);
    const gone = /dynamically imported module/.test(message); // its server has left
    const text = gone ? "error.gone" : message;
    if (!gone && !(error instanceof PageError)) console.error(error);
    say(hasWords(text) ? t(text) : text);
    if (this.stage.firstElementChild || !this.info.translates) return;
    this.drawn.delete("stage");
    this.open(() => this.welcome());
  }
}

const app = new App();
app.start();
/** @type {any} */ (globalThis).cutaway = app;

/**
 * The page: reads where the reader is, fetches what that needs, and draws map, stage, inspector and
 * bar.
 */
import { Carried, PageError, Served } from "./backend.js";
import { BarElement } from "./bar.js";
import { attachChange, changedAddresses } from "./change.js";
import { translationOf } from "./chances.js";
import { CompareElement } from "./compare.js";
import {
  addLanguage,
  currentLanguage,
  fill,
  h,
  hasWords,
  mark,
  painted,
  press,
  setLanguage,
  t
} from "./dom.js";
import { EquationElement } from "./equation.js";
import { HeatElement } from "./heat.js";
import { InspectorElement } from "./inspector.js";
import { LearnElement } from "./learn.js";
import { LessonsElement } from "./lessons.js";
import { headOf, LookElement, moveHead, prepare } from "./look.js";
import { MapElement } from "./map.js";
import { PicturesElement } from "./pictures.js";
import { openSaveMenu } from "./save.js";
import { go, goBack, onMove, startState, where } from "./state.js";
import { Structure } from "./structure.js";
import { TableElement } from "./table.js";
import { TrainingElement } from "./training.js";
import { TranslateElement } from "./translate.js";
import { WalkElement } from "./walk.js";

const ELEMENTS = {
  "cut-heat": HeatElement,
  "cut-table": TableElement,
  "cut-map": MapElement,
  "cut-equation": EquationElement,
  "cut-inspector": InspectorElement,
  "cut-bar": BarElement,
  "cut-look": LookElement,
  "cut-translate": TranslateElement,
  "cut-walk": WalkElement,
  "cut-training": TrainingElement,
  "cut-learn": LearnElement,
  "cut-compare": CompareElement,
  "cut-pictures": PicturesElement,
  "cut-lessons": LessonsElement
};

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** Text in a data block of the page. @param {string} id */
function block(id) {
  return JSON.parse(byId(id)?.textContent || "{}");
}

export class App {
  constructor() {
    const info = block("boot");
    this.backend = info.served ? new Served(info) : new Carried(info);
    this.info = info;
    /**
     * @type {{
     *   key: string, trace: import("./trace.js").Trace, structure: Structure, translation: any,
     *   training: any
     * } | null}
     */
    this.session = null;
    this.sessionKey = "";
    /** @type {Map<string, string>} */
    this.drawn = new Map();
    this.inspector = /** @type {InspectorElement} */ (document.querySelector("cut-inspector"));
    this.map = /** @type {MapElement} */ (document.querySelector("cut-map"));
    this.bar = /** @type {BarElement} */ (document.querySelector("cut-bar"));
    this.stage = byId("stage");
    this.turn = 0;
  }

  start() {
    for (const code of ["en", "zh"]) addLanguage(code, block(`locale-${code}`));
    addLanguage("xx", {});
    startState(navigator.language?.startsWith("zh") ? "zh" : "en", this.info.start ?? {});
    onMove((place, before) => void this.render(place, before));
    byId("sentence").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.translate(byId("text").value.trim());
    });
    byId("language").addEventListener("click", () =>
      go({ lang: currentLanguage() === "zh" ? "en" : "zh" })
    );
    byId("theme").addEventListener("click", () =>
      go(
        { theme: where().theme === "dark" ? "light" : where().theme === "light" ? "" : "dark" },
        { replace: true }
      )
    );
    byId("save").addEventListener(
      "click",
      () => void openSaveMenu(this).catch((error) => this.fail(error))
    );
    byId("close-sheet").addEventListener("click", () => go({ at: "" }));
    this.inspector.open = (address) => {
      const look = ["look", "walk", "training", "compare", "lessons"].includes(where().view);
      go({ at: address, place: "", ...(look ? {} : { view: "look" }) });
      this.wantsFocus = true;
    };
    this.inspector.tools = (cell) => attachChange(this, cell);
    document.addEventListener("keydown", (event) => this.key(event));
    const narrow = matchMedia("(max-width: 900px)");
    const fold = () => {
      byId("map-fold").open = !narrow.matches;
    };
    fold();
    narrow.addEventListener("change", fold);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    let width = innerWidth;
    addEventListener("resize", () => {
      if (Math.abs(innerWidth - width) < 40) return;
      width = innerWidth;
      this.redraw();
    });
    void this.render(where(), where());
  }

  /** @param {string} text */
  translate(text) {
    if (text)
      go({
        view: "translate",
        text,
        step: "",
        at: "",
        prefix: "",
        change: "",
        trace: "",
        sample: ""
      });
  }

  redraw() {
    this.drawn.clear();
    void this.render(where(), where());
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const typing = /** @type {HTMLElement} */ (event.target).closest(
      "input, textarea, select, [contenteditable]"
    );
    if (event.key === "Escape" && document.querySelector(".menu"))
      document.querySelector(".menu")?.remove();
    else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "Backspace") goBack();
    else if (event.key === "/") byId("text").focus();
    else if (event.key === "[" || event.key === "]")
      byId(event.key === "[" ? "back" : "next")?.click();
    else if (event.key === "Escape" && where().at) go({ at: "" });
    else return;
    event.preventDefault();
  }

  /** What the reader's place needs: which trace. @param {Record<string, string>} place */
  question(place) {
    if (place.trace) return { kind: "trace", key: place.trace };
    const text = place.text;
    if (place.view === "training")
      return { kind: "training", text, target: place.target ?? "", snapshot: place.snapshot ?? "" };
    if (!this.info.served) return { kind: "trace", key: this.info.traces[0]?.key };
    if (!text) return { kind: "none" };
    return {
      kind: "translate",
      text,
      prefix: place.prefix ? place.prefix.split(",").map(Number) : [],
      beam: Number(place.beam || 0),
      snapshot: place.snapshot ?? "",
      change: place.change ?? "",
      sample: Number(place.sample || 0),
      temperature: place.sample ? Number(place.temperature || 1) : 1
    };
  }

  /** @param {any} question */
  async fetch(question) {
    const key = JSON.stringify(question);
    if (key === this.sessionKey && this.session) return this.session;
    let answer = /** @type {any} */ (null);
    let name = question.key;
    if (question.kind === "none") return null;
    if (question.kind === "translate")
      answer = await this.backend.answer("api/translate", question);
    if (question.kind === "training" && this.info.served)
      answer = await this.backend.answer("api/training", question);
    if (question.kind === "training" && !this.info.served)
      name =
        this.info.traces.find((/** @type {any} */ item) => item.kind === "training")?.key ??
        this.info.traces[0].key;
    if (answer) name = answer.key;
    const trace = await this.backend.trace(name);
    const session = {
      key: name,
      trace,
      structure: new Structure(trace),
      translation: answer?.ids ? answer : await translationOf(trace),
      training: answer?.loss === undefined ? (trace.header.meta?.training ?? null) : answer
    };
    this.session = session;
    this.sessionKey = key;
    return session;
  }

  /** @param {Record<string, string>} place @param {Record<string, string>} before */
  async render(place, before) {
    const turn = ++this.turn;
    this.chrome(place);
    let session = null;
    const alone = ["learn", "lessons"].includes(place.view);
    try {
      const question = this.question(place);
      if (JSON.stringify(question) !== this.sessionKey && question.kind !== "none" && !alone)
        document.body.classList.add("busy");
      session = alone ? this.session : await this.fetch(question);
      this.say("");
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
      this.say(t("error.address", { address: place.at }));
    document.body.classList.toggle("has-cell", Boolean(focus?.index));
    try {
      await this.draw(place, session, focus, before);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * @param {Record<string, string>} place
   * @param {App["session"]} session
   * @param {{id: number, index: number[] | null} | null} focus
   * @param {Record<string, string>} before
   */
  async draw(place, session, focus, before) {
    const looks = ["look", "walk", "training"].includes(place.view);
    const derived =
      session && focus
        ? session.structure.placeOf(
            session.trace.path(focus.id),
            session.trace.values[focus.id].address
          )
        : "";
    const at = place.place || derived;
    const layer = layerOf(at) ?? Number(place.layer || 0);
    const step = place.step === "" ? null : Number(place.step);
    /** @type {Record<string, number>} */
    const until =
      step === null || place.view === "training" || !session?.translation
        ? {}
        : { target: step + 1 };
    const phase = place.view === "training" ? place.phase || "backward" : "forward";
    const head = session ? headOf(session.structure, focus) : 0;
    const general = [session?.key, place.lang, place.theme, step, head, place.batch].join("|");
    const key = [
      general,
      place.view,
      at,
      place.change,
      place.temperature,
      place.beam,
      place.arclayer,
      place.archead,
      place.walk,
      place.phase,
      place.picture,
      place.other,
      place.othersnapshot,
      place.othermodel,
      place.lesson,
      place.choices,
      place.dims,
      place.sequence,
      place.snapshot
    ].join("|");
    if (session && focus && looks) {
      const { turn } = this;
      if (this.drawn.get("stage") !== key) {
        this.drawn.delete("stage");
        this.stage.firstElementChild?.toggleAttribute("data-left", true);
      }
      // The matrix appears in one piece, in place of the one before.
      await prepare(session.structure, focus, until);
      if (turn !== this.turn) return;
    }
    const mapped = [general, at, layer, phase].join("|");
    if (session && this.changed("map", mapped))
      void painted().then(() => {
        if (this.drawn.get("map") === mapped)
          this.map.show(session.structure, {
            place: at,
            layer,
            until,
            head,
            phase,
            open: (path) => this.openPlace(path)
          });
      });
    const { snapshots } = this.info;
    const scrubbed = [general, place.view, layer, place.snapshot, snapshots?.length].join("|");
    if (this.changed("bar", scrubbed))
      void painted().then(() => {
        if (this.drawn.get("bar") === scrubbed) this.drawBar(place, session, layer, step, head);
      });
    if (place.view === "lessons")
      void 0; // a lesson inspects its own runs
    else if (session && focus?.index)
      void this.inspector.show(session.trace, { id: focus.id, index: focus.index });
    else this.inspector.empty(session ? t("inspector.empty") : t("inspector.start"));
    const options = {
      place: at,
      until,
      focus,
      changed: changedAddresses(place),
      phases:
        place.view === "training"
          ? phase === "backward"
            ? ["backward"]
            : phase === "update"
              ? ["update"]
              : ["forward", "loss"]
          : ["forward", "loss"]
    };
    const fresh = this.changed("stage", key);
    const element = /** @type {any} */ (
      fresh
        ? document.createElement(`cut-${hasView(place.view) ? place.view : "translate"}`)
        : this.stage.firstElementChild
    );
    if (fresh) {
      fill(this.stage, element);
      if (before.view !== place.view) this.stage.scrollTop = 0;
      await this.view(place, session, element, options);
    } else if (looks || place.view === "lessons") await element.turnTo(focus);
    else if (place.view === "compare") await element.focusCell?.(focus);
    if (this.wantsFocus) {
      this.wantsFocus = false;
      /** @type {any} */ (document.querySelector("cut-table"))?.focusCell?.();
      document.querySelector(".matrix")?.scrollIntoView({ block: "nearest" });
    }
  }

  /**
   * Draw a view into its new element.
   * @param {Record<string, string>} place
   * @param {App["session"]} session
   * @param {any} element
   * @param {any} options
   */
  async view(place, session, element, options) {
    const common = {
      served: this.info.served,
      examples: this.info.examples ?? [],
      translate: (/** @type {string} */ text) => this.translate(text)
    };
    switch (place.view) {
      case "look":
        if (!session) return element.replaceChildren(h("p", { class: "hint" }, t("look.first")));
        return element.show(session.structure, options);
      case "walk":
        return session
          ? element.show(session, options)
          : element.replaceChildren(h("p", { class: "hint" }, t("look.first")));
      case "training":
        return element.show(session, options, this);
      case "learn":
        return element.show(this);
      case "compare":
        return element.show(this, session, options);
      case "pictures":
        return session
          ? element.show(session)
          : element.replaceChildren(h("p", { class: "hint" }, t("look.first")));
      case "lessons":
        return element.show(this);
      default:
        if (session?.translation) return element.show(session.trace, session.translation, common);
        if (session) return go({ view: "look" }, { replace: true });
        return element.welcome(common);
    }
  }

  /**
   * @param {Record<string, string>} place
   * @param {App["session"]} session
   * @param {number} layer
   * @param {number | null} step
   * @param {number} head
   */
  drawBar(place, session, layer, step, head) {
    const structure = session?.structure;
    const layers = structure
      ? Math.max(structure.encoderLayers.length, structure.decoderLayers.length)
      : 0;
    const heads = session
      ? Math.max(
          1,
          ...session.trace.values
            .filter((value) => value.name === "weights" && value.shape.length === 4)
            .map((value) => value.shape[1])
        )
      : 1;
    this.bar.show({
      pieces: session?.translation && place.view !== "training" ? session.translation.pieces : [],
      step: step ?? (place.view === "translate" ? 0 : null),
      layers,
      layer,
      heads,
      head,
      snapshots: this.info.snapshots ?? [],
      snapshot: place.snapshot ?? "",
      setHead: (n) =>
        go({ head: String(n), at: session ? moveHead(session.structure, where().at, n) : "" }),
      setLayer: (n) => {
        const place = where();
        const swap = (/** @type {string} */ path) =>
          path.replace(/^((?:en|de)coder\.layers\.)\d+/, `$1${n}`);
        const moved =
          session && place.at && session.trace.find(swap(place.at)) ? swap(place.at) : place.at;
        go({
          layer: String(n),
          place: session?.structure.modules.has(swap(place.place))
            ? swap(place.place)
            : place.place,
          at: moved
        });
      }
    });
  }

  /** @param {string} path */
  openPlace(path) {
    const view = ["look", "training"].includes(where().view) ? where().view : "look";
    if (path === "@probabilities") go({ view, place: "", at: "probabilities" });
    else go({ view, place: path, at: "", layer: String(layerOf(path) ?? where().layer) });
  }

  /** Header, language and theme. @param {Record<string, string>} place */
  chrome(place) {
    setLanguage(place.lang);
    mark(document.documentElement, "data-theme", place.theme);
    if (!this.changed("chrome", [place.lang, place.theme, place.view, this.info.name].join("|")))
      return;
    for (const element of document.querySelectorAll("[data-words]"))
      element.textContent = t(/** @type {HTMLElement} */ (element).dataset.words ?? "");
    for (const element of document.querySelectorAll("[data-placeholder]"))
      /** @type {HTMLInputElement} */ (element).placeholder = t(
        /** @type {HTMLElement} */ (element).dataset.placeholder ?? ""
      );
    byId("language").textContent = currentLanguage() === "zh" ? "English" : "中文";
    byId("language").lang = currentLanguage() === "zh" ? "en" : "zh-CN";
    byId("theme").setAttribute("aria-label", t("theme.button"));
    byId("theme").title = t("theme.button");
    byId("model-name").textContent = this.info.name ?? "";
    byId("sentence").hidden = !this.info.served || !this.info.translates;
    if (place.text && document.activeElement !== byId("text")) byId("text").value = place.text;
    fill(
      byId("views"),
      this.views().map((view) =>
        h(
          "a",
          {
            href: "#",
            "aria-current": view === place.view ? "page" : undefined,
            "data-view": view,
            onclick: (/** @type {Event} */ event) => {
              event.preventDefault();
              go({ view, at: view === "translate" ? "" : where().at });
            }
          },
          t(`view.${view}`)
        )
      )
    );
    byId("views").setAttribute("aria-label", t("views"));
  }

  /** Which views this page can show. */
  views() {
    const views = [
      "translate",
      "look",
      "walk",
      "training",
      "learn",
      "compare",
      "pictures",
      "lessons"
    ];
    return views.filter((view) => {
      if (this.info.served)
        return (
          (view !== "learn" || this.info.learns) &&
          (view !== "lessons" || this.info.lessons?.length) &&
          (view !== "training" || this.info.trains) &&
          (this.info.translates || !["translate", "walk", "compare"].includes(view))
        );
      const kinds = this.info.traces.map((/** @type {any} */ item) => item.kind);
      return (
        {
          translate: kinds.includes("translation"),
          walk: kinds.includes("translation"),
          look: true,
          training: kinds.includes("training"),
          pictures: kinds.includes("translation"),
          compare: kinds.length > 1
        }[view] ?? false
      );
    });
  }

  /** Whether a part must be drawn anew. @param {string} part @param {string} key */
  changed(part, key) {
    if (this.drawn.get(part) === key) return false;
    this.drawn.set(part, key);
    return true;
  }

  /** One line to the reader. @param {string} text */
  say(text) {
    const box = byId("message");
    box.hidden = !text;
    fill(
      box,
      text,
      text ? press({ "aria-label": t("message.close"), onclick: () => this.say("") }, "×") : null
    );
  }

  /** @param {unknown} error */
  fail(error) {
    this.sessionKey = "";
    const text = error instanceof Error ? error.message : String(error);
    if (!(error instanceof PageError)) console.error(error);
    this.say(hasWords(text) ? t(text) : text);
    if (!this.stage.firstElementChild) {
      const element = /** @type {TranslateElement} */ (document.createElement("cut-translate"));
      fill(this.stage, element);
      element.welcome({
        served: this.info.served,
        examples: this.info.examples ?? [],
        translate: (value) => this.translate(value)
      });
      this.drawn.delete("stage");
    }
  }
}

/** @param {string} view */
function hasView(view) {
  return `cut-${view}` in ELEMENTS;
}

/** @param {string} path */
function layerOf(path) {
  const found = /^(?:en|de)coder\.layers\.(\d+)/.exec(path);
  return found ? Number(found[1]) : null;
}

for (const [name, element] of Object.entries(ELEMENTS)) customElements.define(name, element);
const app = new App();
app.start();
/** @type {any} */ (globalThis).cutaway = app;

/**
 * The views of the page: which run each shows, which parts of the address it is drawn from, and how.
 * A new view is one entry here and one element, in a module that is loaded when it is first opened.
 */
import { go } from "./state.js";

/**
 * What a page can show: a served one asks a model, a file has the kinds of runs it carries.
 * @typedef {{served: boolean, info: import("./backend.js").Info, kinds: string[]}} Offer
 */
/**
 * @typedef {{
 *   app: import("./app.js").App, session: import("./session.js").Session | null, options: any
 * }} Drawing `options`: what `<cut-look>` needs
 */
/**
 * @typedef {{
 *   load: () => Promise<any>,
 *   run: "translation" | "training" | "own",
 *   keys: string[],
 *   offered: (offer: Offer) => boolean,
 *   draw: (element: any, drawing: Drawing) => any,
 *   needsRun?: boolean, showsPlaces?: boolean, followsMap?: boolean, opensCells?: boolean,
 *   showsAll?: boolean
 * }} View
 *   load: brings the module that defines its element, `<cut-NAME>`;
 *   run: which recorded run is fetched for it ("own": it fetches what it needs itself);
 *   keys: parts of the address that change what is drawn, beside those every view depends on;
 *   needsRun: without a run there is a hint and nothing else;
 *   showsPlaces: draws a place of the model, so the place is one of its keys;
 *   followsMap: a place chosen on the map opens here, not in "look";
 *   opensCells: a cell chosen in the inspector opens here, not in "look";
 *   showsAll: every head and step at once, so neither is one of its keys
 */

/** @type {Record<string, View>} */
export const VIEWS = {
  translate: {
    load: () => import("./translate.js"),
    run: "translation",
    keys: ["beam", "arclayer", "archead", "change"],
    offered: ({ served, info, kinds }) =>
      served ? info.translates : kinds.includes("translation"),
    draw: (element, { app, session }) => {
      if (!session) return element.welcome(app);
      if (session.translation) return element.show(session.trace, session.translation, app);
      return go({ view: "look" }, { replace: true });
    }
  },
  look: {
    load: () => import("./look.js"),
    run: "translation",
    keys: ["change"],
    needsRun: true,
    showsPlaces: true,
    followsMap: true,
    opensCells: true,
    offered: () => true,
    draw: (element, { session, options }) => element.show(session?.structure, options)
  },
  zoom: {
    load: () => import("./zoom.js"),
    run: "translation",
    keys: ["change"],
    needsRun: true,
    followsMap: true,
    opensCells: true,
    showsAll: true,
    offered: () => true,
    draw: (element, { session }) => element.show(session?.structure)
  },
  walk: {
    load: () => import("./walk.js"),
    run: "translation",
    keys: ["walk", "change"],
    needsRun: true,
    showsPlaces: true,
    opensCells: true,
    offered: ({ served, info, kinds }) =>
      served ? info.translates : kinds.includes("translation"),
    draw: (element, { session, options }) => element.show(session, options)
  },
  training: {
    load: () => import("./training.js"),
    run: "training",
    keys: ["phase", "update"],
    showsPlaces: true,
    followsMap: true,
    opensCells: true,
    offered: ({ served, info, kinds }) => (served ? info.trains : kinds.includes("training")),
    draw: (element, { app, session, options }) => element.show(session, options, app)
  },
  learn: {
    load: () => import("./learn.js"),
    run: "own",
    keys: ["text"],
    offered: ({ served, info }) => served && info.learns,
    draw: (element, { app }) => element.show(app)
  },
  compare: {
    load: () => import("./compare.js"),
    run: "translation",
    keys: ["other", "othersnapshot", "othermodel", "change"],
    followsMap: true,
    opensCells: true,
    offered: ({ served, info, kinds }) => (served ? info.translates : kinds.length > 1),
    draw: (element, { app, session }) => element.show(app, session)
  },
  pictures: {
    load: () => import("./pictures.js"),
    run: "translation",
    keys: ["picture", "dims", "change"],
    needsRun: true,
    offered: ({ served, kinds }) => served || kinds.includes("translation"),
    draw: (element, { session }) => element.show(session)
  },
  lessons: {
    load: () => import("./lessons.js"),
    run: "own",
    keys: ["lesson", "choices"],
    opensCells: true,
    offered: ({ served, info }) => served && info.lessons.length > 0,
    draw: (element, { app }) => element.show(app)
  }
};

/** A view by its name in the address; "translate" for a name that is none. @param {string} name */
export function viewOf(name) {
  return VIEWS[name] ?? VIEWS.translate;
}

/** Names of the views a page can show. @param {import("./backend.js").Info} info */
export function offeredViews(info) {
  const kinds = (info.traces ?? []).map(({ kind }) => kind);
  return Object.keys(VIEWS).filter((name) =>
    VIEWS[name].offered({ served: info.served, info, kinds })
  );
}

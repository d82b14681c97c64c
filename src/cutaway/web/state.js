/**
 * Where the reader is: one flat object, kept in the URL, so that every state can be sent and back
 * works.
 */

/** @typedef {Record<string, string>} Place */

/** @type {Place} */
const DEFAULTS = {
  view: "translate",
  lang: "en",
  theme: "",
  text: "",
  step: "",
  at: "",
  place: "",
  head: "0",
  layer: "0",
  tab: "numbers"
};

/** @type {Set<(place: Place, before: Place) => void>} */
const LISTENERS = new Set();
/** @type {Place} */
let here = { ...DEFAULTS };
/** @type {Place[]} */
const trail = []; // used where the frame has no history of its own

/** @param {string} hash @returns {Place} */
export function readHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const place = { ...DEFAULTS };
  if (path) place.view = decodeURIComponent(path);
  for (const [name, value] of new URLSearchParams(query)) place[name] = value;
  return place;
}

/** @param {Place} place */
export function writeHash(place) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(place)) {
    if (name === "view" || value === "" || value === undefined) continue;
    if (name !== "lang" && DEFAULTS[name] === value) continue;
    query.set(name, value);
  }
  return `#/${encodeURIComponent(place.view)}?${query}`;
}

/** Where the reader is now. */
export function where() {
  return here;
}

/**
 * Go somewhere: the given parts change, the rest stays. An empty string forgets a part.
 * @param {Partial<Place>} change @param {{replace?: boolean}} options
 */
export function go(change, { replace = false } = {}) {
  const next = /** @type {Place} */ ({ ...here, ...change });
  for (const name of Object.keys(next)) if (next[name] === undefined) delete next[name];
  if (writeHash(next) === writeHash(here)) return;
  const before = here;
  here = next;
  try {
    if (replace) history.replaceState(null, "", writeHash(next));
    else history.pushState(null, "", writeHash(next));
  } catch {
    if (!replace) trail.push(before);
  }
  for (const listener of LISTENERS) listener(here, before);
}

/** One step back. */
export function goBack() {
  const before = trail.pop();
  if (before) {
    const left = here;
    here = before;
    for (const listener of LISTENERS) listener(here, left);
  } else history.back();
}

/** @param {(place: Place, before: Place) => void} listener */
export function onMove(listener) {
  LISTENERS.add(listener);
}

/**
 * Read the URL and follow its changes.
 * @param {string} language language to begin with if the URL names none
 * @param {Partial<Place>} start where a page without an address begins
 */
export function startState(language, start = {}) {
  DEFAULTS.lang = language;
  here = readHash(location.hash);
  if (!location.hash) here = /** @type {Place} */ ({ ...here, ...start });
  const follow = () => {
    const before = here;
    here = readHash(location.hash);
    if (writeHash(before) !== writeHash(here))
      for (const listener of LISTENERS) listener(here, before);
  };
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  return here;
}

/** Addresses of the path in the URL. @param {Record<string, string>} place */
export function readPath(place) {
  return (place.path ?? "").split(";").filter(Boolean);
}

/**
 * The path after a step from the cell in focus to another.
 * @param {Record<string, string>} place
 * @param {string} address
 */
export function grow(place, address) {
  const path = readPath(place);
  if (path.includes(address) || !place.at || !/\]$/.test(address) || !/\]$/.test(place.at))
    return place.path ?? "";
  const here = path.indexOf(place.at);
  return [...(here < 0 ? [place.at] : path.slice(0, here + 1)), address].join(";");
}

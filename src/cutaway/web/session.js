/** The recorded run that a view shows: the question that makes it, and the run once it is there. */
import { translationOf } from "./chances.js";
import { Structure } from "./structure.js";

/** @typedef {Record<string, string>} Place */
/** @typedef {{kind: "none" | "trace" | "translate" | "training" | "update", [name: string]: any}} Question */
/**
 * @typedef {{
 *   key: string, trace: import("./trace.js").Trace, structure: Structure, translation: any,
 *   training: any
 * }} Session
 */

/**
 * Which run the reader's place asks for.
 * @param {Place} place
 * @param {import("./backend.js").Info} info
 * @param {"translation" | "training" | "own"} run
 * @returns {Question}
 */
export function questionOf(place, info, run) {
  if (place.trace) return { kind: "trace", key: place.trace };
  const { text } = place;
  if (run === "training") {
    const carried = info.served ? null : info.traces.find(({ kind }) => kind === "training");
    if (carried) return { kind: "trace", key: carried.key };
    if (info.served && place.update) return { kind: "update", update: Number(place.update) };
    if (info.served && !text) return { kind: "none" };
    if (info.served)
      return {
        kind: "training",
        text,
        target: place.target ?? "",
        snapshot: place.snapshot ?? ""
      };
  }
  if (!info.served) return { kind: "trace", key: info.traces[0]?.key };
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

/**
 * The run that answers a question, fetched and ready to be drawn.
 * @param {import("./backend.js").Backend} backend
 * @param {Question} question
 * @returns {Promise<Session | null>}
 */
export async function openSession(backend, question) {
  if (question.kind === "none") return null;
  const answer =
    question.kind === "trace" ? null : await backend.answer(`api/${question.kind}`, question);
  const key = answer?.key ?? question.key;
  const trace = await backend.trace(key);
  return {
    key,
    trace,
    structure: new Structure(trace),
    translation: answer?.ids ? answer : await translationOf(trace),
    training: answer?.loss === undefined ? (trace.header.meta?.training ?? null) : answer
  };
}

/**
 * The cell of a place that is worth opening first: the largest of its attention weights or of what
 * it puts out, in the head in view. Null if its numbers are too many to be here.
 * @param {Session} session
 * @param {string} place
 * @param {number} head
 * @returns {Promise<import("./trace.js").Cell | null>}
 */
export async function largestIn({ trace, structure }, place, head) {
  const id = trace.addresses.get(`${place}.weights`) ?? structure.output(place);
  if (id === undefined || !trace.kept(id)) return null;
  await trace.want([id]);
  if (!trace.here(id)) return null;
  const { shape, axes } = trace.values[id];
  const axis = axes?.indexOf("head") ?? -1;
  const index = shape.map((size, d) => (d === axis ? Math.min(head, size - 1) : 0));
  let [best, most] = [[...index], -1];
  for (let d = 0; d >= 0;) {
    const size = Math.abs(trace.read(id, index));
    if (size > most && Number.isFinite(size)) [best, most] = [[...index], size];
    for (d = shape.length - 1; d >= 0; d--) {
      if (d === axis) continue;
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return { id, index: best };
}

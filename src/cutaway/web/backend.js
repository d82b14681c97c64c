/** Where traces come from: the server beside the page, or the page itself when it is one file. */
import { currentLanguage } from "./dom.js";
import { BYTES, fromBundle, Trace } from "./trace.js";

/** @typedef {{name: string, value: string | number}} Fact */
/**
 * @typedef {{
 *   served: boolean, name: string, examples: string[], snapshots: {name: string, step: number}[],
 *   traces: {key: string, title: string}[], translates: boolean, trains: boolean, learns: boolean,
 *   lessons: any[], home: string, facts: Record<string, string>
 * }} Info
 */

/** An error to be told to the reader in one line. */
export class PageError extends Error {}

/**
 * One request; the server's own line is the error's text.
 * @param {string} path
 * @param {any} [body]
 */
export async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, {
      headers: { "Accept-Language": currentLanguage(), "Content-Type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
    });
  } catch {
    throw new PageError("error.gone");
  }
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw new PageError(told.error ?? `${response.status}`);
  }
  return response;
}

const WHOLE = 1 << 16; // elements of the largest buffer asked for whole
const TOGETHER = 1 << 24; // bytes of one answer

/** @typedef {import("./trace.js").Part} Part */

/** Numbers asked for in the same moment travel together. */
class Wire {
  /** @param {string} base @param {{dtype: string, length: number}[]} buffers */
  constructor(base, buffers) {
    this.base = base;
    this.buffers = buffers;
    this.whole = WHOLE;
    /**
     * @type {{
     *   part: Part, size: number, resolve: (bytes: ArrayBuffer) => void,
     *   reject: (error: unknown) => void
     * }[]}
     */
    this.queue = [];
  }

  /** @param {Part} part @returns {Promise<ArrayBuffer>} */
  load(part) {
    const size =
      "value" in part
        ? 24
        : BYTES[this.buffers[part.buffer].dtype] *
          ("cells" in part
            ? part.cells.length
            : "size" in part
              ? part.size[0] * part.size[1]
              : part.stop - part.start);
    return new Promise((resolve, reject) => {
      this.queue.push({ part, size, resolve, reject });
      if (this.queue.length === 1) queueMicrotask(() => void this.flush());
    });
  }

  async flush() {
    while (this.queue.length) {
      let sum = 0;
      const most = this.queue.findIndex(({ size }) => (sum += size) > TOGETHER);
      const sent = this.queue.splice(0, most < 0 ? this.queue.length : Math.max(1, most));
      try {
        const bytes = await (
          await ask(`${this.base}/numbers`, { parts: sent.map(({ part }) => part) })
        ).arrayBuffer();
        let place = 0;
        for (const { size, resolve } of sent) {
          resolve(bytes.slice(place, place + size));
          place += Math.ceil(size / 8) * 8;
        }
      } catch (error) {
        for (const { reject } of sent) reject(error);
      }
    }
  }
}

/** The server beside the page. */
export class Served {
  /** @param {Info} info */
  constructor(info) {
    this.info = info;
    /** @type {Map<string, Promise<Trace>>} */
    this.traces = new Map();
    /** @type {Map<string, Promise<any>>} */
    this.answers = new Map();
  }

  /** @param {string} key @returns {Promise<Trace>} */
  trace(key) {
    let found = this.traces.get(key);
    if (!found) {
      const base = `glass/${encodeURIComponent(key)}`;
      found = ask(base)
        .then((response) => response.json())
        .then((header) => new Trace(header, new Wire(base, header.buffers)));
      this.traces.set(key, found);
      if (this.traces.size > 8)
        this.traces.delete(/** @type {string} */ (this.traces.keys().next().value));
      found.catch(() => this.traces.delete(key));
    }
    return found;
  }

  /** Ask once; the same question has the same answer. @param {string} path @param {any} body */
  answer(path, body) {
    const key = path + JSON.stringify(body);
    let found = this.answers.get(key);
    if (!found) {
      found = ask(path, body).then((response) => response.json());
      this.answers.set(key, found);
      if (this.answers.size > 40)
        this.answers.delete(/** @type {string} */ (this.answers.keys().next().value));
      found.catch(() => this.answers.delete(key));
    }
    return found;
  }

  /** What is being learned right now. */
  async progress() {
    return (await ask("api/learn")).json();
  }
}

/** A page that carries its traces in itself. */
export class Carried {
  /** @param {Info} info */
  constructor(info) {
    this.info = info;
    /** @type {Map<string, Promise<Trace>>} */
    this.traces = new Map();
  }

  /** @param {string} key */
  trace(key) {
    let found = this.traces.get(key);
    if (!found) {
      const element = document.getElementById(`trace-${key}`);
      if (!element) return Promise.reject(new PageError("error.trace"));
      found = unpack(element.textContent ?? "").then(fromBundle);
      this.traces.set(key, found);
    }
    return found;
  }

  /** @returns {Promise<any>} */
  answer() {
    return Promise.reject(new PageError("error.offline"));
  }

  /** @returns {Promise<any>} */
  progress() {
    return Promise.reject(new PageError("error.offline"));
  }
}

/** Base64 of gzip → bytes. @param {string} text */
async function unpack(text) {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let n = 0; n < raw.length; n++) bytes[n] = raw.charCodeAt(n);
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))
  ).arrayBuffer();
}

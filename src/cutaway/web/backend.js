/** Where traces come from: the server beside the page, or the page itself when it is one file. */
import { currentLanguage } from "./dom.js";
import { BYTES } from "./buffers.js";
import { Trace } from "./trace.js";

/**
 * @typedef {{
 *   served: boolean, name: string, examples: string[], snapshots: {name: string, step: number}[],
 *   traces: {key: string, title: string, kind: string}[], translates: boolean, trains: boolean, learns: boolean,
 *   lessons: any[], languages?: string[], compared: string[], siblings?: string[],
 *   updates: number, start: Record<string, string>
 * }} Info what the page was told when it was loaded
 */

/** An error that the reader is shown as one line; `status` is the server's. */
export class PageError extends Error {
  /** @param {string} text @param {number} [status] */
  constructor(text, status = 0) {
    super(text);
    this.status = status;
  }

  /** Whether the weights of a run have changed since: what was answered then holds no more. */
  get outdated() {
    return this.status === 410;
  }
}

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
    throw new PageError(told.error ?? `${response.status}`, response.status);
  }
  return response;
}

const WHOLE = 1 << 16; // elements of the largest buffer asked for whole
const TOGETHER = 1 << 24; // bytes of one answer

/** @typedef {import("./buffers.js").Part} Part */

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
  constructor() {
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

  /** Ask anew from now on. */
  forget() {
    this.traces.clear();
    this.answers.clear();
  }

  /** What is being learned right now. */
  async progress() {
    return (await ask("api/learn")).json();
  }
}

/** @typedef {Served | Carried} Backend */

/** A page that carries its traces in itself. */
export class Carried {
  constructor() {
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

  /** @param {string} _path @param {any} _body @returns {Promise<any>} */
  answer(_path, _body) {
    return Promise.reject(new PageError("error.offline"));
  }

  forget() {}

  /** @returns {Promise<any>} */
  progress() {
    return Promise.reject(new PageError("error.offline"));
  }
}

/**
 * A trace from one stream of bytes (the bundle of docs/trace-format.md).
 * @param {ArrayBuffer} bytes
 */
function fromBundle(bytes) {
  const head = new DataView(bytes);
  if (new TextDecoder().decode(new Uint8Array(bytes, 0, 8)) !== "CUTAWAY1")
    throw new Error("not a cutaway trace");
  const length = Number(head.getBigUint64(8, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 16, length)));
  const base = 16 + length;
  return new Trace(header, {
    whole: Infinity,
    load: async (part) => {
      const { buffer, start, stop } = /** @type {{buffer: number, start: number, stop: number}} */ (
        part
      );
      const place = base + header.buffers[buffer].start;
      const size = BYTES[header.buffers[buffer].dtype];
      return bytes.slice(place + start * size, place + stop * size);
    }
  });
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

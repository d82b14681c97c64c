/**
 * What a trace is a trace of: its tree of modules, which value each puts out, and whether it is the
 * paper's machine.
 */

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {{path: string, name: string, class: string, children: Module[]}} Module */

const SUBLAYERS = [
  "self_attention",
  "self_attention_add_norm",
  "cross_attention",
  "cross_attention_add_norm",
  "feed_forward",
  "feed_forward_add_norm"
];
const SUBLAYER =
  /^((?:en|de)coder\.layers\.\d+\.(?:(?:self|cross)_attention|feed_forward)(?:_add_norm)?)(?:\.|$)/;

/**
 * Computed in one module but named by the code of its caller: shown where it is computed.
 * @type {Record<string, string>}
 */
const LENT = {
  "encoder.positions": "encoder.states",
  "decoder.positions": "decoder.states",
  "encoder.norm": "encoder.memory",
  "decoder.norm": "decoder.output"
};

/**
 * Whether an address is that of a value, of a part of its statement, or of its gradient.
 * @param {string} address
 * @param {string} name
 */
function nameIs(address, name) {
  return address === name || address.startsWith(`${name}:`) || address.startsWith(`${name}.`);
}

/** Number of the layer a path lies in, or null. @param {string} path */
export function layerOf(path) {
  const found = /^(?:en|de)coder\.layers\.(\d+)/.exec(path);
  return found ? Number(found[1]) : null;
}

export class Structure {
  /** @param {Trace} trace */
  constructor(trace) {
    this.trace = trace;
    /** @type {boolean | undefined} */
    this.paper = undefined;
    /** @type {Map<string, Module>} */
    this.modules = new Map();
    for (const { path, class: kind } of trace.header.modules) {
      this.modules.set(path, {
        path,
        name: path.split(".").pop() ?? "",
        class: kind,
        children: []
      });
    }
    if (!this.modules.has(""))
      this.modules.set("", {
        path: "",
        name: "",
        class: trace.header.meta?.model ?? "",
        children: []
      });
    for (const module of this.modules.values()) {
      if (module.path === "") continue;
      let parent = module.path;
      do parent = parent.includes(".") ? parent.slice(0, parent.lastIndexOf(".")) : "";
      while (!this.modules.has(parent));
      this.modules.get(parent)?.children.push(module);
    }
    /** @type {Map<string, number[]>} */
    this.owned = new Map();
    trace.values.forEach((value, id) => {
      const path = trace.path(id);
      if (!this.owned.has(path)) this.owned.set(path, []);
      this.owned.get(path)?.push(id);
    });
    /** @type {Map<string, {inputs: Set<string>, outputs: Set<string>}>} */
    this.near = new Map();
    this.encoderLayers = this.layersOf("encoder");
    this.decoderLayers = this.layersOf("decoder");
  }

  /** Whether it is drawn as the paper's figure. */
  get isPaper() {
    return (this.paper ??= this.looksLikePaper());
  }

  looksLikePaper() {
    return (
      this.modules.get("")?.class === "Transformer" &&
      (this.encoderLayers.length > 0 || this.decoderLayers.length > 0) &&
      [...this.encoderLayers, ...this.decoderLayers].every((path) =>
        /^(En|De)coderLayer$/.test(this.modules.get(path)?.class ?? "")
      )
    );
  }

  /** @param {string} side @returns {string[]} */
  layersOf(side) {
    const paths = [];
    for (let n = 0; this.modules.has(`${side}.layers.${n}`); n++) paths.push(`${side}.layers.${n}`);
    return paths;
  }

  /**
   * Whether a model normalizes before each sublayer ("pre") or after it ("post", as in the paper):
   * what its code computed first.
   */
  get norm() {
    const path = `${this.encoderLayers[0] ?? this.decoderLayers[0]}.self_attention_add_norm`;
    const [normed, added] = ["normed", "added"].map((name) =>
      this.trace.addresses.get(`${path}.${name}`)
    );
    return normed !== undefined && added !== undefined && normed < added ? "pre" : "post";
  }

  /** @param {string} layer */
  sublayers(layer) {
    return SUBLAYERS.map((name) => `${layer}.${name}`).filter((path) => this.modules.has(path));
  }

  /**
   * What a module put out: the last value its own code made in the forward pass, or the last of
   * its children's.
   * @param {string} path
   * @param {string} phase
   * @returns {number | undefined}
   */
  output(path, phase = "forward") {
    const { values } = this.trace;
    const lent = this.isPaper ? this.trace.addresses.get(LENT[path] ?? "") : undefined;
    if (lent !== undefined) return lent;
    const own = (this.owned.get(path) ?? []).filter(
      (id) =>
        values[id].phase === phase &&
        values[id].op !== "source" &&
        values[id].dtype.includes("float") &&
        values[id].shape.length > 0
    );
    const named = own.filter((id) => values[id].name !== undefined);
    if (own.length) return (named.length ? named : own).at(-1);
    const found = (this.modules.get(path)?.children ?? [])
      .map((child) => this.output(child.path, phase))
      .filter((id) => id !== undefined);
    return found.length ? Math.max(.../** @type {number[]} */ (found)) : undefined;
  }

  /**
   * Values of a module and everything inside it, in the order they were computed.
   * @param {string} path
   * @param {string[]} phases
   * @returns {number[]}
   */
  inside(path, phases = ["forward", "loss"]) {
    const { values } = this.trace;
    const within = (/** @type {string} */ other) =>
      path === "" || other === path || other.startsWith(`${path}.`);
    const lent = this.isPaper ? LENT[path] : undefined;
    return values
      .map((_, id) => id)
      .filter(
        (id) =>
          phases.includes(values[id].phase) &&
          (within(this.trace.path(id)) || (lent !== undefined && nameIs(values[id].address, lent)))
      );
  }

  /**
   * The nearest module that is a place on the map.
   * @param {string} path
   * @param {string} [address]
   */
  placeOf(path, address = "") {
    if (this.isPaper)
      for (const [place, lent] of Object.entries(LENT))
        if (nameIs(address, lent) && this.modules.has(place)) return place;
    while (path && !this.modules.has(path))
      path = path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : "";
    if (!this.isPaper) return path;
    const found = SUBLAYER.exec(path);
    if (found) return found[1];
    if (/^(en|de)coder\.positions/.test(path)) return path.split(".").slice(0, 2).join(".");
    if (/^(en|de)coder\.norm/.test(path)) return path.split(".").slice(0, 2).join(".");
    return path;
  }

  /** Modules whose values a place reads, and modules that read the place's. @param {string} path */
  neighbours(path) {
    let known = this.near.get(path);
    if (!known) this.near.set(path, (known = this.findNeighbours(path)));
    return known;
  }

  /** @param {string} path */
  findNeighbours(path) {
    const mine = new Set(this.inside(path));
    /** @type {{inputs: Set<string>, outputs: Set<string>}} */
    const places = { inputs: new Set(), outputs: new Set() };
    for (const id of mine) {
      for (const arg of this.trace.values[id].args) {
        const from = this.placeOf(this.trace.path(this.trace.named(arg)));
        if (!mine.has(arg) && from !== path) places.inputs.add(from);
      }
      for (const user of this.trace.users(id)) {
        const to = this.placeOf(this.trace.path(user));
        if (!mine.has(user) && to !== path) places.outputs.add(to);
      }
    }
    return places;
  }
}

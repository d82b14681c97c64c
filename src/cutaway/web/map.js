/**
 * `<cut-map>`: the paper's figure with live thumbnails, or the tree of modules of any other model.
 */
import { data, fill, h, hasWords, inSlices, press, t } from "./dom.js";
import { heat } from "./heat.js";
import { Sheet } from "./sheet.js";

/** @typedef {import("./structure.js").Structure} Structure */
/**
 * @typedef {{
 *   place: string, layer: number, until: Record<string, number>, head: number, phase: string,
 *   open: (place: string) => void
 * }} MapOptions
 */

/** What a place is called. @param {string} path @param {string} [kind] */
export function placeName(path, kind = "") {
  const name = path.split(".").pop() ?? "";
  const layer = /^(encoder|decoder)\.layers\.(\d+)$/.exec(path);
  if (layer) return t("map.layer", { n: Number(layer[2]) + 1 });
  if (/^decoder\.layers\.\d+\.self_attention$/.test(path)) return t("map.masked_self_attention");
  if (name.endsWith("_add_norm")) return t("map.add_norm");
  if (hasWords(`map.${name}`)) return t(`map.${name}`);
  return path === "" ? kind || t("map.model") : name;
}

/**
 * The way to a place in words: Decoder › layer 2 › cross-attention.
 * @param {Structure} structure
 * @param {string} path
 */
export function crumbs(structure, path) {
  const parts = path ? path.split(".") : [];
  const out = [
    {
      path: "",
      name: structure.isPaper ? t("map.model") : structure.modules.get("")?.class || t("map.model")
    }
  ];
  for (let n = 1; n <= parts.length; n++) {
    const prefix = parts.slice(0, n).join(".");
    if (structure.modules.has(prefix) && parts[n - 1] !== "layers")
      out.push({ path: prefix, name: placeName(prefix) });
  }
  return out;
}

export class MapElement extends HTMLElement {
  /** @type {Structure} */
  structure;
  /** @type {MapOptions} */
  options;
  /** @type {{inputs: Set<string>, outputs: Set<string>}} */
  near;

  /** @param {Structure} structure @param {MapOptions} options */
  show(structure, options) {
    this.structure = structure;
    this.options = options;
    this.near = options.place
      ? structure.neighbours(options.place)
      : { inputs: new Set(), outputs: new Set() };
    /** @type {[HTMLElement, number][]} */
    this.waiting = [];
    fill(this, structure.isPaper ? this.figure() : this.tree());
    void this.thumbnails();
  }

  /**
   * @param {string} path
   * @param {string} label
   * @param {string} kind
   * @param {number | undefined} [id]
   */
  block(path, label, kind, id) {
    const { options, structure, near } = this;
    const here = options.place === path;
    const state = here
      ? " here"
      : near.inputs.has(path)
        ? " near input"
        : near.outputs.has(path)
          ? " near output"
          : "";
    const thumb = h("span", { class: "thumb", "aria-hidden": "true" });
    let value = id ?? structure.output(path);
    if (value !== undefined && options.phase === "backward")
      value = structure.trace.values[value].grad ?? value;
    if (value !== undefined) this.waiting?.push([thumb, value]);
    return press(
      {
        class: `block ${kind}${state}`,
        "aria-current": here ? "location" : undefined,
        "data-place": path,
        onclick: () => options.open(path)
      },
      h("span", { class: "name" }, label),
      thumb
    );
  }

  /**
   * Encoder on the left, decoder on the right; written from input to output, drawn from the bottom
   * up.
   */
  figure() {
    const { structure, options } = this;
    const column = (/** @type {string} */ side, /** @type {string[]} */ layers) => {
      if (!layers.length) return null;
      const embedding =
        side === "decoder" && structure.modules.has("target_embedding")
          ? "target_embedding"
          : "embedding";
      const tokens = (structure.owned.get(embedding) ?? []).filter(
        (id) =>
          structure.trace.values[id].phase === "forward" &&
          structure.trace.values[id].op !== "source" &&
          structure.trace.values[id].dtype.includes("float")
      );
      const id =
        side === "decoder" && embedding === "embedding"
          ? tokens[tokens.length - 1]
          : tokens[
              Math.floor(
                (tokens.length - 1) /
                  (structure.encoderLayers.length && structure.decoderLayers.length ? 2 : 1)
              )
            ];
      return h(
        "section",
        { class: `stack ${side}`, "aria-label": t(`map.${side}`) },
        h("p", { class: "words-in" }, t(side === "encoder" ? "map.source" : "map.target")),
        this.block(embedding, t("map.embedding"), "embed", id),
        structure.modules.has(`${side}.positions`)
          ? this.block(`${side}.positions`, t("map.positions"), "embed")
          : null,
        h(
          "div",
          { class: "layers" },
          layers.map((layer, n) => this.layer(layer, n, layers.length))
        ),
        structure.modules.has(`${side}.norm`)
          ? this.block(`${side}.norm`, t("map.norm"), "norm")
          : null,
        side === "decoder" || !structure.decoderLayers.length
          ? this.block("output", t("map.linear"), "out")
          : null,
        side === "decoder" ? this.probabilities() : h("p", { class: "words-out" }, t("map.memory")),
        h("h2", {}, t(`map.${side}`))
      );
    };
    return h(
      "div",
      { class: `figure${options.phase === "backward" ? " reversed" : ""}` },
      column("encoder", structure.encoderLayers),
      column("decoder", structure.decoderLayers)
    );
  }

  probabilities() {
    const { structure, options } = this;
    const found = structure.trace.addresses.get("probabilities");
    if (found === undefined) return null;
    const thumb = h("span", { class: "thumb", "aria-hidden": "true" });
    this.waiting?.push([thumb, found]);
    return press(
      {
        class: "block out",
        "data-place": "probabilities",
        onclick: () => options.open("@probabilities")
      },
      h("span", { class: "name" }, t("map.probabilities")),
      thumb
    );
  }

  /**
   * One layer, open if it is the one looked at.
   * @param {string} path
   * @param {number} n
   * @param {number} total
   */
  layer(path, n, total) {
    const { structure, options } = this;
    const open = n === Math.min(options.layer, total - 1);
    if (!open) return this.block(path, placeName(path), "layer closed");
    return h(
      "div",
      { class: "layer open", role: "group", "aria-label": placeName(path) },
      press(
        {
          class: `layer-name${options.place === path ? " here" : ""}`,
          "data-place": path,
          onclick: () => options.open(path)
        },
        `${placeName(path)} / ${total}`
      ),
      structure.norm === "pre"
        ? this.preNorm(path)
        : structure.sublayers(path).map((sub) => this.block(sub, placeName(sub), kindOf(sub)))
    );
  }

  /** Norm, sublayer, sum: the order of a layer that normalizes first. @param {string} path */
  preNorm(path) {
    const { addresses } = this.structure.trace;
    const part = (/** @type {string} */ place, /** @type {string} */ name) =>
      this.block(
        place,
        t(name === "added" ? "map.add" : "map.norm"),
        "norm",
        addresses.get(`${place}.${name}`)
      );
    return this.structure
      .sublayers(path)
      .filter((sub) => !sub.endsWith("_add_norm"))
      .map((sub) => [
        part(`${sub}_add_norm`, "normed"),
        this.block(sub, placeName(sub), kindOf(sub)),
        part(`${sub}_add_norm`, "added")
      ]);
  }

  /** Any model: its modules as they are nested. */
  tree() {
    const { structure, options } = this;
    /** @type {(module: import("./structure.js").Module, depth: number) => HTMLElement} */
    const branch = (module, depth) => {
      const onWay =
        options.place === module.path ||
        options.place.startsWith(`${module.path}.`) ||
        module.path === "";
      const row = this.block(module.path, module.name || module.class, "leaf");
      row.append(data("small", {}, module.class));
      row.setAttribute("translate", "no");
      return h(
        "li",
        {},
        row,
        module.children.length && (depth < 2 || onWay)
          ? h(
              "ul",
              {},
              module.children.map((child) => branch(child, depth + 1))
            )
          : null
      );
    };
    const root = structure.modules.get("");
    return h("ul", { class: "module-tree" }, root ? branch(root, 0) : null);
  }

  /** Draw the thumbnails when their numbers have come: one call for all. */
  async thumbnails() {
    const { structure, options } = this;
    const waiting = this.waiting ?? [];
    const { trace } = structure;
    const small = waiting.filter(([, id]) => trace.kept(id));
    try {
      await trace.want(small.map(([, id]) => id));
    } catch {
      return;
    }
    const width = innerWidth > 1350 ? 36 : 28; // the column is narrower there
    const draw = (/** @type {[HTMLElement, number]} */ [place, id]) => {
      const sheet = new Sheet(trace, id, { until: options.until, lead: { head: options.head } });
      fill(place, heat({ sheet, small: true, width, height: 22, words: false }));
    };
    await inSlices(small, draw, () => waiting === this.waiting);
  }
}

customElements.define("cut-map", MapElement);

/** @param {string} path */
function kindOf(path) {
  return path.endsWith("add_norm") ? "norm" : path.endsWith("feed_forward") ? "ffn" : "attention";
}

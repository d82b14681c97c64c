/** The whole picture, small, with a frame round the part of it that is in view. */
import { fitted } from "./camera.js";
import { h, t } from "./dom.js";
import { Plate } from "./plate.js";

/** @typedef {import("./boxes.js").Box} Box */
/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./camera.js").Size} Size */

export class Minimap {
  /**
   * @param {Box} root
   * @param {Plate} large whose pictures of matrices this one shows too
   * @param {(x: number, y: number) => void} jump to a point of the picture
   */
  constructor(root, large, jump) {
    this.root = root;
    this.large = large;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.view = h("i", {});
    this.plate = new Plate(this.canvas, root, () => {}, large.pictures);
    this.drawn = ""; // the size it was drawn for, and how many pictures there were
    this.element = h(
      "div",
      {
        class: "zoom-map",
        title: t("map.title"),
        onpointerdown: (/** @type {PointerEvent} */ event) => {
          const { left, top } = this.element.getBoundingClientRect();
          const { x, y, scale } = this.camera;
          jump(x + (event.clientX - left) / scale, y + (event.clientY - top) / scale);
        }
      },
      this.canvas,
      this.view
    );
  }

  /** @returns {Camera} */
  get camera() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return fitted({ width, height }, this.root, 1);
  }

  /** Show what is in view; nothing if that is all. @param {Camera} camera @param {Size} size @param {boolean} whole */
  frame({ x, y, scale }, size, whole) {
    this.element.hidden = whole;
    if (whole) return;
    const { clientWidth, clientHeight } = this.canvas;
    const key = `${clientWidth}×${clientHeight} ${this.large.pictures.size}`;
    const { camera } = this;
    const rests = !this.large.waits && !this.large.coming.size;
    if (!this.drawn || (this.drawn !== key && rests)) {
      this.plate.draw(camera);
      this.drawn = key;
    }
    const by = camera.scale / scale;
    const style = {
      left: (x - camera.x) * camera.scale,
      top: (y - camera.y) * camera.scale,
      width: Math.max(3, size.width * by),
      height: Math.max(3, size.height * by)
    };
    for (const [name, pixels] of Object.entries(style)) this.view.style[name] = `${pixels}px`;
  }
}

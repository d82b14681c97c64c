/** `<cut-table>`: the matrix in focus as a real table that is walked with the arrow keys. */
import { css, inkOn } from "./colour.js";
import { data, fill, h, isDark, mark, painted, t } from "./dom.js";
import { shown } from "./heat.js";
import { short } from "./numbers.js";

/** @typedef {import("./sheet.js").Sheet} Sheet */

const ROW = 26;
const COL = 70;
const MOST_ROWS = 26;
const MOST_COLS = 30;

/**
 * How wide tables were, by circumstances: to ask before a table is painted lays the page out twice.
 * @type {Map<string, number>}
 */
const WIDTHS = new Map();
const circumstances = () =>
  [innerWidth, document.body.className, document.body.dataset.view].join("|");

export class TableElement extends HTMLElement {
  constructor() {
    super();
    /** @type {Sheet | null} */
    this.sheet = null;
    this.row = 0;
    this.col = 0;
    this.top = 0;
    this.left = 0;
    /** @type {((index: number[], how: "walk" | "open") => void) | null} */
    this.pick = null;
    /** @type {HTMLTableCellElement[][]} */
    this.cells = [];
    /** @type {number[] | null} */
    this.placed = null;
    this.turn = 0;
  }

  /**
   * Read every cell the table can show with this one in focus.
   * @param {Sheet} sheet
   * @param {{row: number, col: number}} place
   */
  static touch(sheet, { row, col }) {
    const [top, left] = [Math.max(0, row - MOST_ROWS + 1), Math.max(0, col - MOST_COLS + 1)];
    for (let r = top; r < Math.min(sheet.rows, top + MOST_ROWS); r++)
      for (let c = left; c < Math.min(sheet.cols, left + MOST_COLS); c++) sheet.read(r, c);
  }

  /**
   * @param {Sheet} sheet @param {{row: number, col: number} | null} focus
   * @param {(index: number[], how: "walk" | "open") => void} pick
   */
  show(sheet, focus, pick) {
    this.sheet = sheet;
    this.pick = pick;
    this.row = focus?.row ?? 0;
    this.col = focus?.col ?? 0;
    this.build();
    this.reveal();
    this.draw();
  }

  /** As many cells as fit; the rest is reached by scrolling or walking. @param {boolean} sure */
  build(sure = false) {
    const sheet = /** @type {Sheet} */ (this.sheet);
    const label = sheet.worded("row") ? 96 : 56;
    this.width = WIDTHS.get(circumstances()) ?? (this.clientWidth || 640);
    const room = Math.max(220, this.width) - label - 24;
    this.seenRows = Math.min(
      sheet.rows,
      MOST_ROWS,
      Math.max(5, Math.floor((innerHeight * 0.42 - 110) / ROW))
    );
    this.seenCols = Math.min(sheet.cols, MOST_COLS, Math.max(2, Math.floor(room / COL)));
    const head = h("tr", {}, h("th", { class: "corner", scope: "col" }));
    this.heads = Array.from({ length: this.seenCols }, () =>
      head.appendChild(data("th", { scope: "col" }))
    );
    const body = h("tbody");
    /** @type {HTMLElement[]} */
    this.sides = [];
    this.cells = [];
    for (let r = 0; r < this.seenRows; r++) {
      const line = body.appendChild(h("tr", { role: "row" }));
      this.sides.push(line.appendChild(data("th", { scope: "row" })));
      this.cells.push(
        Array.from({ length: this.seenCols }, (_, c) =>
          line.appendChild(
            data("td", { role: "gridcell", tabindex: "-1", "data-r": r, "data-c": c })
          )
        )
      );
    }
    const table = h(
      "table",
      {
        role: "grid",
        translate: "no",
        "aria-rowcount": sheet.rows,
        "aria-colcount": sheet.cols,
        "aria-label": sheet.value.address
      },
      h("thead", {}, head),
      body
    );
    this.spacer = h("div", {
      class: "spacer",
      style: {
        height: `${(sheet.rows - this.seenRows) * ROW}px`,
        width: `${(sheet.cols - this.seenCols) * COL}px`
      }
    });
    this.placed = null; // where the frame was scrolled to last, by itself
    this.fitted = false;
    this.frame = h(
      "div",
      { class: "table-frame" },
      h("div", { class: "table-sheet" }, table),
      this.spacer
    );
    this.frame.style.setProperty("--seen", String(this.seenRows));
    this.frame.addEventListener("scroll", () => this.scrolled(), { passive: true });
    table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.key(event));
    table.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      const cell = /** @type {HTMLElement} */ (event.target).closest("td");
      if (!cell) return;
      this.move(this.top + Number(cell.dataset.r), this.left + Number(cell.dataset.c), "open");
    });
    fill(this, this.frame);
    const { frame } = this;
    void painted().then(() => this.frame === frame && this.fit(sure));
  }

  /**
   * Once painted: all anew if the table is not as wide as assumed, else the scroll bars.
   * @param {boolean} sure
   */
  fit(sure) {
    const width = this.clientWidth;
    if (width) WIDTHS.set(circumstances(), width);
    if (width && width !== this.width && !sure) {
      const focused = this.contains(document.activeElement);
      this.build(true);
      this.reveal();
      this.draw();
      if (focused) this.focusCell();
      return;
    }
    this.fitted = true;
    if (this.top || this.left) this.align();
  }

  /** Bring the focused cell into the window. */
  reveal() {
    const [rows, cols] = [
      /** @type {number} */ (this.seenRows),
      /** @type {number} */ (this.seenCols)
    ];
    if (this.row < this.top) this.top = this.row;
    if (this.row >= this.top + rows) this.top = this.row - rows + 1;
    if (this.col < this.left) this.left = this.col;
    if (this.col >= this.left + cols) this.left = this.col - cols + 1;
    this.top = Math.max(0, Math.min(this.top, /** @type {Sheet} */ (this.sheet).rows - rows));
    this.left = Math.max(0, Math.min(this.left, /** @type {Sheet} */ (this.sheet).cols - cols));
    if (this.fitted) this.align();
  }

  /** Scroll the frame to where its window stands. */
  align() {
    const { room, over } = this.scroll();
    this.frame.scrollTo(
      (this.left / (over[0] || 1)) * room[0],
      (this.top / (over[1] || 1)) * room[1]
    );
    this.placed = [this.frame.scrollLeft, this.frame.scrollTop];
  }

  /** How many pixels the frame can scroll, and over how many columns and rows. */
  scroll() {
    const sheet = /** @type {Sheet} */ (this.sheet);
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = this.frame;
    return {
      room: [Math.max(1, scrollWidth - clientWidth), Math.max(1, scrollHeight - clientHeight)],
      over: [
        sheet.cols - /** @type {number} */ (this.seenCols),
        sheet.rows - /** @type {number} */ (this.seenRows)
      ]
    };
  }

  scrolled() {
    const { scrollLeft, scrollTop } = this.frame;
    if (this.placed?.[0] === scrollLeft && this.placed?.[1] === scrollTop) return;
    const { room, over } = this.scroll();
    const [left, top] = [scrollLeft, scrollTop].map((at, d) =>
      Math.round(Math.min(1, at / room[d]) * over[d])
    );
    this.placed = [scrollLeft, scrollTop];
    if (top === this.top && left === this.left) return;
    this.top = top;
    this.left = left;
    mark(this, "aria-busy", "true");
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
      });
    }
  }

  /** Write the numbers as they are now. */
  repaint() {
    this.draw();
  }

  /** Write the window's numbers, once what it needs has come. */
  draw() {
    const sheet = /** @type {Sheet} */ (this.sheet);
    const { trace } = sheet;
    const write = () => {
      const colour = sheet.painter(isDark());
      const float = sheet.value.dtype.includes("float");
      const titles = [sheet.axisTitle("row"), sheet.axisTitle("col")];
      const { name, op } = sheet.value;
      this.heads?.forEach((cell, c) => {
        cell.textContent = shown(sheet.word("col", this.left + c)) || String(this.left + c);
      });
      this.sides?.forEach((cell, r) => {
        cell.textContent = shown(sheet.word("row", this.top + r)) || String(this.top + r);
      });
      this.cells.forEach((line, r) =>
        line.forEach((cell, c) => {
          const [row, col] = [this.top + r, this.left + c];
          const x = sheet.read(row, col);
          const why = sheet.masked(row, col);
          const text =
            sheet.value.dtype === "bool" ? (x ? "✓" : "·") : float ? short(x) : String(x);
          if (cell.textContent !== text) cell.textContent = text;
          const packed = Number.isFinite(x) && !why ? colour(x) : 0;
          cell.style.background = packed ? css(packed) : "";
          cell.style.color = packed ? inkOn(packed) : "";
          const kind = why ? `masked ${why}` : "";
          if (cell.className !== kind) cell.className = kind;
          const here = row === this.row && col === this.col;
          const was = cell.getAttribute("aria-selected") === "true";
          if (here !== was || !cell.hasAttribute("aria-selected")) {
            cell.tabIndex = here ? 0 : -1;
            cell.setAttribute("aria-selected", String(here));
          }
          // Its headers name a cell; the one in focus says it all.
          if (!here) return cell.removeAttribute("aria-label");
          const named = (/** @type {"row" | "col"} */ axis, /** @type {number} */ n) => {
            const word = sheet.word(axis, n);
            return word === null ? n : `'${shown(word)}'`;
          };
          const label = [
            `${titles[0]} ${named("row", row)}`,
            `${titles[1]} ${named("col", col)}`,
            `${name ?? op} ${text}`
          ];
          if (why) label.push(t(`masked.${why}`));
          cell.setAttribute("aria-label", label.join(", "));
        })
      );
      mark(this, "aria-busy", "false");
    };
    mark(this, "aria-busy", "true");
    const turn = ++this.turn;
    if (trace.here(sheet.id)) write();
    else
      void trace
        .settled(() =>
          this.cells.forEach((line, r) =>
            line.forEach((_, c) => sheet.read(this.top + r, this.left + c))
          )
        )
        .then(() => turn === this.turn && write());
  }

  /** @param {number} row @param {number} col @param {"walk" | "open"} how */
  move(row, col, how) {
    const sheet = /** @type {Sheet} */ (this.sheet);
    this.row = Math.max(0, Math.min(sheet.rows - 1, row));
    this.col = Math.max(0, Math.min(sheet.cols - 1, col));
    this.reveal();
    this.draw();
    this.focusCell();
    this.pick?.(sheet.index(this.row, this.col), how);
  }

  focusCell() {
    this.cells[this.row - this.top]?.[this.col - this.left]?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = /** @type {number} */ (this.seenRows);
    const far = event.ctrlKey || event.metaKey;
    const sheet = /** @type {Sheet} */ (this.sheet);
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowUp: [this.row - (far ? sheet.rows : 1), this.col],
      ArrowDown: [this.row + (far ? sheet.rows : 1), this.col],
      ArrowLeft: [this.row, this.col - (far ? sheet.cols : 1)],
      ArrowRight: [this.row, this.col + (far ? sheet.cols : 1)],
      Home: [far ? 0 : this.row, 0],
      End: [far ? sheet.rows : this.row, sheet.cols],
      PageUp: [this.row - page, this.col],
      PageDown: [this.row + page, this.col]
    };
    if (event.key in moves) {
      event.preventDefault();
      event.stopPropagation();
      this.move(...moves[event.key], "walk");
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.pick?.(sheet.index(this.row, this.col), "open");
      this.dispatchEvent(new CustomEvent("dive", { bubbles: true }));
    }
  }
}

customElements.define("cut-table", TableElement);

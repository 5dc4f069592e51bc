// A virtual list of log lines: it scrolls like the whole log, but holds only the visible lines.
import { h, keyed } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { LogRows } from "./log_rows.js";

const LINE = 19; // px, as in the style sheet
const TALLEST = 15_000_000; // px: browsers limit an element's height to some tens of millions
const AHEAD = 30; // extra lines above and below the visible ones
const PAGE = 500;
const MOST = 20_000; // lines to keep in memory
// Removes terminal escapes. Of a progress bar that overwrote itself, keeps the last state.
/* oxlint-disable no-control-regex -- matches control characters on purpose */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const plain = (text) =>
  text
    .replace(ESCAPES, "")
    .replace(/\r+$/, "")
    .replace(/^[^]*\r/, "")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "·");
/* oxlint-enable no-control-regex */

export class LogView {
  /** `fetch(from, count)` loads lines. `onSelect(line)` follows a click on a line's number. */
  constructor({ fetch, onDraw, onScroll, onSelect }) {
    Object.assign(this, { fetch, onDraw, onScroll, onSelect });
    this.rows = h("div", { class: "log-rows" });
    this.spacer = h("div", { class: "log-space" }, this.rows);
    this.element = h(
      "div",
      { class: "log", tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off" },
      this.spacer,
    );
    this.element.addEventListener("scroll", () => this.scrolled());
    this.rows.addEventListener("click", (event) => {
      const fold = Number(event.target.closest("button")?.dataset.fold);
      if (fold) this.toggle(fold);
      const line = Number(event.target.closest("a")?.parentElement.dataset.line);
      if (!line) return;
      event.preventDefault();
      this.marked = line;
      this.draw();
      this.onSelect(line);
    });
    new ResizeObserver(() => (this.follows ? this.toEnd() : this.draw())).observe(this.element);
    this.clear();
  }

  clear() {
    this.lines = new Map();
    this.total = this.seen = 0;
    this.places = new LogRows();
    this.marked = null;
    this.errors = new Set();
    this.text = "";
    this.follows = true;
    this.rows.replaceChildren();
  }

  wrap(on) {
    this.element.classList.toggle("wraps", on);
    this.draw();
  }
  highlight(text) {
    this.text = text.toLowerCase();
    this.draw();
  }
  fatal(lines) {
    this.errors = new Set(lines);
    this.draw();
  }

  /** Adds lines and updates the total. `folds`: [[first, last]], line ranges to hide. */
  take(first, lines, total, folds = []) {
    this.total = total;
    this.places.set(total, folds);
    this.keep(first, lines, this.follows ? total : this.shown()[0]);
    this.spacer.style.height = `${this.height()}px`;
    if (this.follows) this.toEnd();
    else this.draw();
  }

  /** Stores lines. A log can grow for days, so beyond MOST it keeps only those near `here`. */
  keep(first, lines, here) {
    lines.forEach((text, index) => this.lines.set(first + index, text));
    if (this.lines.size <= MOST) return;
    for (const line of this.lines.keys()) if (Math.abs(line - here) > MOST / 4) this.lines.delete(line);
  }

  toggle(first) {
    this.places.toggle(first);
    this.spacer.style.height = `${this.height()}px`;
    this.draw();
    this.rows.querySelector(`[data-fold="${first}"]`)?.focus();
  }

  height() {
    return Math.min(this.places.count * LINE, TALLEST);
  }
  isScaled() {
    return this.places.count * LINE > TALLEST;
  }
  room() {
    return Math.max(1, Math.floor(this.element.clientHeight / LINE));
  }
  /** The first visible row, from 0. */
  top() {
    const { scrollTop, clientHeight } = this.element;
    const most = this.height() - clientHeight;
    if (!this.isScaled() || most <= 0) return Math.floor(scrollTop / LINE);
    return Math.floor((Math.min(scrollTop, most) / most) * (this.places.count - this.room()));
  }
  shown() {
    const last = this.isAtEnd() ? this.total : this.places.lineAt(this.top() + this.room() - 1);
    return [Math.min(this.total, this.places.lineAt(this.top())), last];
  }
  isAtEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < LINE;
  }
  unseen() {
    if (this.isAtEnd()) this.seen = this.total;
    return this.total - this.seen;
  }

  toEnd() {
    this.follows = true;
    this.element.scrollTop = this.element.scrollHeight;
    this.seen = this.total;
    this.draw();
  }
  stay() {
    this.follows = false;
  }
  /** Scrolls a line to the middle and marks it. */
  jump(line) {
    this.marked = Math.min(line, this.total);
    this.places.unfold(this.marked);
    this.spacer.style.height = `${this.height()}px`;
    const first = Math.max(0, this.places.rowOf(this.marked) - Math.floor(this.room() / 2));
    const most = this.height() - this.element.clientHeight;
    this.element.scrollTop = this.isScaled() ? (first / (this.places.count - this.room())) * most : first * LINE;
    this.follows = this.isAtEnd();
    this.draw();
  }

  scrolled() {
    this.follows = this.isAtEnd();
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
    this.onScroll();
  }

  draw() {
    if (!this.total || !this.element.clientHeight) return;
    const wraps = this.element.classList.contains("wraps");
    const atEnd = this.isAtEnd();
    const top = this.top();
    const from = Math.max(0, top - (wraps && !atEnd ? 0 : AHEAD));
    const items = this.places.slice(from, top + this.room() + AHEAD);
    // Reuse the rows' elements to keep the user's selection.
    keyed(
      this.rows,
      items,
      (item) => (item.fold ? `fold ${item.fold.first}` : item.line),
      (item) => (item.fold ? foldRow(item.fold) : this.row(item.line)),
      (row, item) => (item.fold ? showFold(row, item.fold) : this.update(row, item.line)),
    );
    // Wrapped lines are taller than LINE. At the end of the log, align the bottom instead of the top.
    const offset = this.element.scrollTop + (from - top) * LINE - (this.isScaled() ? 0 : this.element.scrollTop % LINE);
    this.rows.style.transform =
      wraps && atEnd
        ? `translateY(${this.spacer.clientHeight - this.rows.offsetHeight}px)`
        : `translateY(${Math.max(0, offset)}px)`;
    if (wraps && this.marked) this.keepInSight();
    this.load(items.filter((item) => item.line).map((item) => item.line));
    this.onDraw();
  }

  /** Wrapped lines above the marked one may have pushed it out of view. */
  keepInSight() {
    const row = this.rows.querySelector(".hit");
    const below = row ? row.getBoundingClientRect().bottom - this.element.getBoundingClientRect().bottom : 0;
    if (below <= 0 || this.marked < this.shown()[0] || this.marked > this.shown()[1]) return;
    const at = Number(this.rows.style.transform.match(/-?[\d.]+/)[0]);
    this.rows.style.transform = `translateY(${at - below - this.element.clientHeight / 3}px)`;
  }

  row(line) {
    return h(
      "div",
      { dataset: { line: String(line) } },
      h("a", { href: "#log", tabindex: "-1", title: "Link to this line" }, String(line)),
      h("span", {}),
    );
  }
  update(row, line) {
    const text = this.lines.get(line);
    const kinds = ["line"];
    if (line === this.marked) kinds.push("hit");
    if (this.errors.has(line)) kinds.push("fatal");
    if (text === undefined) kinds.push("missing");
    const kind = kinds.join(" ");
    if (row.className !== kind) row.className = kind;
    if (row.text === text && row.sought === this.text) return;
    Object.assign(row, { text, sought: this.text });
    row.lastChild.replaceChildren(...[text === undefined ? "…" : this.marks(plain(text)) || " "].flat());
  }
  marks(text) {
    if (!this.text) return text;
    const parts = [];
    const folded = text.toLowerCase();
    let at = 0;
    for (let found = folded.indexOf(this.text); found >= 0; found = folded.indexOf(this.text, at)) {
      parts.push(text.slice(at, found), h("mark", {}, text.slice(found, found + this.text.length)));
      at = found + this.text.length;
    }
    return parts.length ? [...parts, text.slice(at)] : text;
  }

  shownText() {
    const [first, last] = this.shown();
    const items = this.places.slice(this.top(), this.places.rowOf(last) + 1).filter(({ line }) => line >= first);
    return items.map(({ line }) => plain(this.lines.get(line) ?? "")).join("\n");
  }

  /** Fetches visible lines that are missing, once scrolling stops. */
  load(wanted) {
    const missing = wanted.find((line) => !this.lines.has(line));
    clearTimeout(this.timer);
    if (missing === undefined) return;
    this.timer = setTimeout(async () => {
      const lines = this.lines;
      const found = await this.fetch(Math.max(1, missing - PAGE / 4), PAGE).catch(() => null);
      if (!found?.lines.length || lines !== this.lines) return;
      this.keep(found.first, found.lines, missing);
      this.draw();
    }, 40);
  }
}

const foldRow = ({ first }) =>
  h(
    "div",
    { class: "line fold" },
    h("a", {}),
    h("button", { type: "button", class: "link", dataset: { fold: String(first) } }),
  );
function showFold(row, { first, last, isOpen }) {
  const lines = `${plural(last - first + 1, "line")} of routine TensorFlow output`;
  const text = isOpen ? `▾ Hide ${lines}` : `▸ Show ${lines}`;
  if (row.lastChild.textContent !== text) row.lastChild.textContent = text;
  row.lastChild.setAttribute("aria-expanded", String(isOpen));
}

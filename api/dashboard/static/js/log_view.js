// A window on a log: as tall as the whole, but only the lines in it are there. What is text stays text.
import { h, keyed } from "./dom.js";

const LINE = 19; // px, as in the style sheet
const TALLEST = 15_000_000; // px: browsers stop at some tens of millions
const AHEAD = 30; // lines on both sides of those in sight
const PAGE = 500;
const MOST = 20_000; // lines that are kept
// Colours and cursor movements are for terminals; a progress bar that was drawn over itself shows its last state.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const plain = (text) => text.replace(ESCAPES, "").replace(/\r+$/, "").replace(/^[^]*\r/, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "·");

export class LogView {
  /** fetch(from, count) gives lines; told() after each drawing; moved() after scrolling; chosen(line) on a click. */
  constructor({ fetch, told, moved, chosen }) {
    Object.assign(this, { fetch, told, moved, chosen });
    this.rows = h("div", { class: "log-rows" });
    this.spacer = h("div", { class: "log-space" }, this.rows);
    this.element = h("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off" }, this.spacer);
    this.element.addEventListener("scroll", () => this.scrolled());
    this.rows.addEventListener("click", (event) => {
      const line = Number(event.target.closest("a")?.parentElement.dataset.line);
      if (!line) return;
      event.preventDefault();
      this.marked = line;
      this.draw();
      this.chosen(line);
    });
    new ResizeObserver(() => (this.follows ? this.toEnd() : this.draw())).observe(this.element);
    this.clear();
  }

  clear() {
    this.lines = new Map();
    this.total = this.seen = 0;
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

  /** These lines are known, and how many there are. */
  take(first, lines, total) {
    this.total = total;
    this.keep(first, lines, this.follows ? total : this.top() + 1);
    this.spacer.style.height = `${this.height()}px`;
    if (this.follows) this.toEnd();
    else this.draw();
  }

  /** Not for ever: of a log that grows for days, those around `here`. */
  keep(first, lines, here) {
    lines.forEach((text, index) => this.lines.set(first + index, text));
    if (this.lines.size <= MOST) return;
    for (const line of this.lines.keys()) if (Math.abs(line - here) > MOST / 4) this.lines.delete(line);
  }

  height() {
    return Math.min(this.total * LINE, TALLEST);
  }
  room() {
    return Math.max(1, Math.floor(this.element.clientHeight / LINE));
  }
  /** The first line in sight, from 0. */
  top() {
    const { scrollTop, clientHeight } = this.element;
    const most = this.height() - clientHeight;
    if (this.total * LINE <= TALLEST || most <= 0) return Math.floor(scrollTop / LINE);
    return Math.floor((Math.min(scrollTop, most) / most) * (this.total - this.room()));
  }
  shown() {
    const last = this.isAtEnd() ? this.total : Math.min(this.total, this.top() + this.room());
    return [Math.min(this.total, this.top() + 1), last];
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
  /** Puts a line in the middle and marks it. */
  jump(line) {
    this.marked = Math.min(line, this.total);
    const first = Math.max(0, this.marked - 1 - Math.floor(this.room() / 2));
    const most = this.height() - this.element.clientHeight;
    this.element.scrollTop = this.total * LINE <= TALLEST ? first * LINE : (first / (this.total - this.room())) * most;
    this.follows = this.isAtEnd();
    this.draw();
  }

  scrolled() {
    this.follows = this.isAtEnd();
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
    this.moved();
  }

  draw() {
    if (!this.total || !this.element.clientHeight) return;
    const wraps = this.element.classList.contains("wraps");
    const atEnd = this.isAtEnd();
    const top = this.top();
    const from = Math.max(1, top + 1 - (wraps && !atEnd ? 0 : AHEAD));
    const to = Math.min(this.total, top + this.room() + AHEAD);
    // Rows stay the same elements, and with them what somebody has selected.
    keyed(this.rows, Array.from({ length: to - from + 1 }, (_, index) => from + index), (line) => line, (line) => this.row(line), (row, line) => this.update(row, line));
    // Lines that wrap are taller than they count for: at the end, their end is what is lined up.
    const offset = this.element.scrollTop + (from - 1 - top) * LINE - (this.total * LINE <= TALLEST ? this.element.scrollTop % LINE : 0);
    this.rows.style.transform = wraps && atEnd ? `translateY(${this.spacer.clientHeight - this.rows.offsetHeight}px)` : `translateY(${Math.max(0, offset)}px)`;
    if (wraps && this.marked) this.keepInSight();
    this.load(from, to);
    this.told();
  }

  /** Wrapped lines above the marked one may have pushed it out. */
  keepInSight() {
    const row = this.rows.querySelector(".hit");
    const below = row ? row.getBoundingClientRect().bottom - this.element.getBoundingClientRect().bottom : 0;
    if (below <= 0 || this.marked < this.shown()[0] || this.marked > this.shown()[1]) return;
    const at = Number(this.rows.style.transform.match(/-?[\d.]+/)[0]);
    this.rows.style.transform = `translateY(${at - below - this.element.clientHeight / 3}px)`;
  }

  row(line) {
    return h("div", { dataset: { line: String(line) } }, h("a", { href: "#log", tabindex: "-1", title: "link to this line" }, String(line)), h("span", {}));
  }
  update(row, line) {
    const text = this.lines.get(line);
    const kind = `line${line === this.marked ? " hit" : ""}${this.errors.has(line) ? " fatal" : ""}${text === undefined ? " missing" : ""}`;
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
    return Array.from({ length: last - first + 1 }, (_, index) => plain(this.lines.get(first + index) ?? "")).join("\n");
  }

  /** What is in sight and not here is asked for, once one rests there. */
  load(from, to) {
    let missing = from;
    while (missing <= to && this.lines.has(missing)) missing += 1;
    clearTimeout(this.timer);
    if (missing > to) return;
    this.timer = setTimeout(async () => {
      const lines = this.lines;
      const found = await this.fetch(Math.max(1, missing - PAGE / 4), PAGE).catch(() => null);
      if (!found?.lines.length || lines !== this.lines) return;
      this.keep(found.first, found.lines, missing);
      this.draw();
    }, 40);
  }
}

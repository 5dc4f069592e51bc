// What the trainer printed: the end of it as it grows, any part of it by line, search on the server.
import { get, query } from "./api.js";
import { h, put, say } from "./dom.js";
import { bytes } from "./format.js";

const PAGE = 500;
const MOST = 3000; // lines in the page; those far from what is looked at are let go
const TAIL_EVERY_MS = 1500;

export function start(root, { id, state }) {
  const attempt = h("select", { id: "log-attempt", onchange: () => open() });
  const search = h("input", { id: "log-search", type: "search", "data-search": "", placeholder: "search the whole log", maxlength: "200", autocomplete: "off" });
  const previous = h("button", { type: "button", title: "the match before (Shift+Enter)", onclick: () => find(-1) }, "↑ Previous");
  const next = h("button", { type: "button", title: "the next match (Enter)", onclick: () => find(1) }, "↓ Next");
  const trouble = h("button", { type: "button", onclick: jumpToTrouble }, "Jump to the error");
  const follow = h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, onchange: (event) => event.target.checked && end() }), "follow the end");
  const download = h("a", { class: "button", download: "" }, "Download");
  const status = h("p", { class: "muted small", role: "status" });
  const lines = h("div", {});
  const view = h("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off", onscroll: scrolled }, lines);
  root.append(h("div", { class: "card" },
    h("header", {}, h("h2", {}, "Log"), h("label", { for: "log-attempt" }, "of attempt"), attempt, trouble, download),
    h("form", { class: "row", role: "search", onsubmit: (event) => {
      event.preventDefault();
      find(1);
    } }, h("div", { class: "field" }, h("label", { for: "log-search", class: "visually-hidden" }, "Search the log"), search), previous, next, follow),
    h("p", {}), view, status));

  let first = 1; // the number of the first line shown
  let count = 0;
  let total = 0;
  let loading = false;
  let marked = null;
  let fatal = new Set();

  const number = () => Number(attempt.value);
  const following = () => follow.firstElementChild.checked;
  const ask = (values) => get(`/v1/jobs/${id}/logs/lines${query({ attempt: number(), ...values })}`);

  function options() {
    const chosen = attempt.value || String(state.attempts.at(-1)?.number ?? "");
    put(attempt, state.attempts.map((one) => h("option", { value: String(one.number) }, String(one.number))));
    attempt.value = chosen;
    download.href = `/v1/jobs/${id}/logs${query({ attempt: chosen })}`;
  }

  function line(text, at) {
    return h("div", { class: `line${at === marked ? " hit" : ""}${fatal.has(at) ? " fatal" : ""}`, dataset: { line: String(at) } }, h("span", {}, String(at)), h("span", {}, text || " "));
  }

  function show(found) {
    [first, count, total] = [found.first, found.lines.length, found.total_lines];
    lines.replaceChildren(...found.lines.map((text, index) => line(text, found.first + index)));
    told(found);
  }
  function told(found) {
    say(status, total ? `lines ${first} to ${first + count - 1} of ${total}, ${bytes(found.bytes)}` : "Nothing was printed yet.");
  }

  async function guarded(work) {
    if (loading || !attempt.value) return;
    loading = true;
    try {
      await work();
    } catch (error) {
      say(status, `The log could not be read: ${error.message}`);
    } finally {
      loading = false;
    }
  }

  async function open() {
    options();
    if (!attempt.value) {
      say(status, "It has not been tried yet.");
      return;
    }
    marked = null;
    fatal = new Set();
    await end();
  }
  const end = () => guarded(async () => {
    show(await ask({ lines: PAGE }));
    view.scrollTop = view.scrollHeight;
  });

  /** Lines before or behind those that are shown come when one scrolls there; what is read stays where it is. */
  async function scrolled() {
    const atEnd = view.scrollHeight - view.scrollTop - view.clientHeight < 40;
    if (!atEnd && following()) follow.firstElementChild.checked = false;
    if (view.scrollTop < 200 && first > 1) {
      await guarded(async () => {
        const from = Math.max(1, first - PAGE);
        const found = await ask({ from, lines: first - from });
        const before = view.scrollHeight;
        lines.prepend(...found.lines.map((text, index) => line(text, found.first + index)));
        count += found.lines.length;
        first = found.first;
        view.scrollTop += view.scrollHeight - before;
        while (count > MOST) {
          lines.lastElementChild.remove();
          count -= 1;
        }
        told(found);
      });
    } else if (atEnd && first + count <= total) await more();
  }

  const more = () => guarded(async () => {
    const found = await ask({ from: Math.max(1, first + count - 1), lines: PAGE }); // the last one may have been half a line
    if (found.first !== first + count - 1 && count) return;
    total = found.total_lines;
    lines.lastElementChild?.remove();
    count = Math.max(0, count - 1);
    lines.append(...found.lines.map((text, index) => line(text, found.first + index)));
    count += found.lines.length;
    while (count > MOST) {
      lines.firstElementChild.remove();
      first += 1;
      count -= 1;
    }
    told(found);
    if (following()) view.scrollTop = view.scrollHeight;
  });

  async function jump(to) {
    follow.firstElementChild.checked = false;
    marked = to;
    await guarded(async () => show(await ask({ from: Math.max(1, to - 100), lines: PAGE })));
    lines.querySelector(`[data-line="${to}"]`)?.scrollIntoView({ block: "center" });
  }

  async function find(direction) {
    const text = search.value.trim();
    if (!text) return;
    const here = marked ?? (direction > 0 ? 0 : total + 1);
    try {
      const where = direction > 0 ? { after: here } : { before: here };
      const found = await get(`/v1/jobs/${id}/logs/search${query({ attempt: number(), q: text, limit: 1, ...where })}`);
      const match = found.matches.at(direction > 0 ? 0 : -1);
      if (match) {
        await jump(match.line);
        say(status, `“${text}” at line ${match.line} of ${total}`);
      } else say(status, `“${text}” is not ${direction > 0 ? "further down" : "further up"}.`);
    } catch (error) {
      say(status, `The search failed: ${error.message}`);
    }
  }
  search.addEventListener("input", () => {
    marked = null;
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      find(-1);
    }
  });

  async function jumpToTrouble() {
    try {
      const found = await get(`/v1/jobs/${id}/logs/error${query({ attempt: number() })}`);
      fatal = new Set(found.lines.map((one) => one.line));
      if (found.lines.length) await jump(found.lines[0].line);
      say(status, found.message ?? "This attempt has no error.");
    } catch (error) {
      say(status, error.message);
    }
  }

  setInterval(() => {
    const shown = state.attempts.find((one) => one.number === number());
    if (!root.hidden && document.visibilityState === "visible" && following() && shown && !shown.ended_at) more();
  }, TAIL_EVERY_MS);
  let opened = false;
  return {
    shown() {
      if (!opened) {
        opened = true;
        open();
      }
    },
    changed: () => !root.hidden && options(),
    event: (event) => !root.hidden && event.kind === "ended" && following() && more(),
  };
}

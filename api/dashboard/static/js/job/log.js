// The Log tab: the trainer's output, which may have millions of lines, updated as it grows. Search runs on the server.
import { get, query } from "../shared/api.js";
import { copy } from "../shared/clipboard.js";
import { h, setContent, setText } from "../shared/dom.js";
import { bytes, wholeNumber } from "../shared/format.js";
import { LogView } from "./log_view.js";

const PAGE = 500;
const MATCHES = 1000;
const TAIL_EVERY_MS = 1500;

export function start(root, { id, state }) {
  const attempt = h("select", { id: "log-attempt", onchange: () => open() });
  const search = h("input", {
    id: "log-search",
    type: "search",
    "data-search": "",
    placeholder: "Search the whole log",
    maxlength: "200",
    autocomplete: "off",
  });
  const count = h("span", { class: "muted small match-count", "aria-live": "polite" });
  const button = (text, title, onclick) => h("button", { type: "button", title, onclick }, text);
  const wrap = h("input", {
    type: "checkbox",
    checked: localStorage.getItem("log-wrap") !== "no",
    onchange: () => {
      localStorage.setItem("log-wrap", wrap.checked ? "yes" : "no");
      view.wrap(wrap.checked);
    },
  });
  const follow = h("input", {
    type: "checkbox",
    checked: true,
    onchange: () => (follow.checked ? view.toEnd() : view.stay()),
  });
  const download = h("a", { class: "button", download: "" }, "Download");
  const where = h("span", {});
  const trouble = h("span", { class: "trouble", role: "status" });
  const status = h("p", { class: "muted small log-status" }, where, trouble);
  const fresh = h("button", { type: "button", class: "new-lines", hidden: true, onclick: () => view.toEnd() });
  const view = new LogView({
    fetch: (from, lines) => ask({ from, lines }),
    onDraw: showStatus,
    onScroll: showFresh,
    onSelect: (line) => history.replaceState(null, "", `#log:${number()}:${line}`),
  });
  root.append(
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "log-tools" },
        h("label", { for: "log-attempt" }, "Attempt"),
        attempt,
        h(
          "form",
          {
            class: "log-find",
            role: "search",
            onsubmit: (event) => {
              event.preventDefault();
              find(1);
            },
          },
          h("label", { for: "log-search", class: "visually-hidden" }, "Search the log"),
          search,
          button("↑", "Previous match (Shift+Enter)", () => find(-1)),
          h("button", { title: "Next match (Enter)" }, "↓"),
          count,
        ),
        button("Jump to error", "Lines that show why the attempt ended", jumpToTrouble),
        h("label", { class: "check" }, follow, "follow"),
        h("label", { class: "check" }, wrap, "wrap"),
        button("Copy", "Copy the visible lines", () => copy(view.shownText(), "Copied the visible lines")),
        download,
      ),
      status,
      h("div", { class: "log-frame" }, view.element, fresh),
    ),
  );
  view.wrap(wrap.checked);
  for (const arrow of root.querySelectorAll(".log-find button")) arrow.setAttribute("aria-label", arrow.title);

  let size = 0;
  let matches = null; // {attempt, text, total, lines, isComplete}; `total`: the log's length at that time
  let opening = null; // promise of the selected attempt's lines
  let reading = 0; // requests in flight
  let isWhole = false; // read after the attempt ended: no more lines can come
  let newest = 0; // newest attempt when the log was last shown
  const number = () => Number(attempt.value);
  const ask = (values) => get(`/v1/jobs/${id}/logs/lines${query({ attempt: number(), ...values })}`);
  const newestAttempt = () => state.attempts.at(-1)?.number ?? 0;
  const runs = () => state.attempts.some((one) => one.number === number() && !one.ended_at);

  function options() {
    const chosen = attempt.value || String(state.attempts.at(-1)?.number ?? "");
    setContent(
      attempt,
      state.attempts
        .toReversed()
        .map((one) => h("option", { value: String(one.number) }, `${one.number}${one.ended_at ? "" : " (running)"}`)),
    );
    attempt.value = chosen;
    download.href = `/v1/jobs/${id}/logs${query({ attempt: chosen })}`;
  }
  function showStatus() {
    const [first, last] = view.shown();
    setText(
      where,
      view.total
        ? `Lines ${wholeNumber(first)} – ${wholeNumber(last)} of ${wholeNumber(view.total)}, ${bytes(size)}`
        : "The log is empty.",
    );
  }
  function showFresh() {
    follow.checked = view.follows;
    const unseen = view.unseen();
    fresh.hidden = !unseen;
    if (unseen) setText(fresh, `↓ ${wholeNumber(unseen)} new ${unseen === 1 ? "line" : "lines"}`);
    showStatus();
  }

  /** Resolves when the lines are loaded. A search must wait for that. */
  function open(line = null) {
    opening = load(line);
    return opening;
  }
  async function load(line) {
    options();
    if (!attempt.value) {
      setText(where, "No attempt has started yet.");
      return;
    }
    const of = number();
    newest = newestAttempt();
    matches = null;
    isWhole = false;
    setText(count, "");
    setText(trouble, "");
    view.clear();
    await tail();
    if (of !== number()) return;
    if (line) view.jump(line);
    else view.toEnd();
  }

  /** Loads the last lines and the total. Does not scroll a user who reads further up. */
  async function tail() {
    const [of, hasEnded] = [number(), !runs()];
    reading += 1;
    try {
      const found = await ask({ lines: PAGE, noise: true });
      if (of !== number() || found.total_lines < view.total) return; // a newer response came first
      isWhole = hasEnded;
      size = found.bytes;
      view.take(found.first, found.lines, found.total_lines, found.noise);
      showFresh();
    } catch (error) {
      if (of !== number()) return;
      isWhole = hasEnded && error.status === 404;
      setText(where, `Could not read the log: ${error.message}`);
    } finally {
      reading -= 1;
    }
  }

  /** Moves on to a new attempt if the user follows the newest one and has marked no line. */
  function goOn() {
    options();
    const isDue = newestAttempt() > newest && number() === newest && follow.checked && view.marked === null;
    newest = newestAttempt();
    if (!isDue) return false;
    attempt.value = String(newest);
    open();
    return true;
  }

  // --- search: loads the first thousand matches at once, those after them one by one ---
  const ofSearch = (text, values) =>
    get(`/v1/jobs/${id}/logs/search${query({ attempt: number(), q: text, ...values })}`);
  /** Updates `matches`. If the log has grown, searches only the new lines. */
  async function match(text) {
    const [of, total] = [number(), view.total];
    const known = matches?.attempt === of && matches.text === text ? matches : null;
    if (known && (known.total === total || !known.isComplete)) return;
    if (!known) setText(count, "searching …");
    const after = Math.max(0, (known?.total ?? 0) - 1); // the last line may have been incomplete
    const found = await ofSearch(text, { after, limit: MATCHES });
    if (of !== number()) return;
    const lines = [...(known?.lines ?? []).filter((line) => line <= after), ...found.matches.map(({ line }) => line)];
    matches = { attempt: of, text, total, lines, isComplete: found.is_complete };
    view.highlight(text);
  }
  async function find(direction) {
    const text = search.value.trim();
    if (!text) return;
    try {
      await opening;
      await match(text);
      if (matches?.text !== text) return; // the attempt or the search text changed meanwhile
      const here = view.marked ?? (direction > 0 ? view.shown()[0] - 1 : view.shown()[1] + 1);
      const line = await nextFrom(here, direction);
      if (!line) {
        setText(count, "no matches");
        return;
      }
      view.jump(line);
      const place = matches.lines.indexOf(line) + 1;
      const all = `${wholeNumber(matches.lines.length)}${matches.isComplete ? "" : "+"}`;
      setText(count, place ? `${wholeNumber(place)} of ${all}` : `line ${wholeNumber(line)}, ${all} matches`);
    } catch (error) {
      setText(count, error.message);
    }
  }
  /** The next match in a direction. Wraps around. */
  async function nextFrom(here, direction) {
    const { text, lines, isComplete } = matches;
    if (
      isComplete ||
      (direction > 0 && here < lines.at(-1)) ||
      (direction < 0 && here > lines[0] && here <= lines.at(-1))
    ) {
      return direction > 0
        ? (lines.find((line) => line > here) ?? lines[0])
        : (lines.findLast((line) => line < here) ?? lines.at(-1));
    }
    const found = await ofSearch(text, {
      limit: 1,
      ...(direction > 0 ? { after: here } : here > 1 ? { before: here } : {}),
    });
    if (found.matches.length) return found.matches[0].line;
    return direction > 0 ? lines[0] : (await ofSearch(text, { limit: 1 })).matches[0]?.line;
  }
  search.addEventListener("input", () => {
    if (!search.value.trim()) {
      matches = null;
      view.highlight("");
      setText(count, "");
    }
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      find(-1);
    }
  });

  async function jumpToTrouble() {
    try {
      await opening;
      const of = number();
      const found = await get(`/v1/jobs/${id}/logs/error${query({ attempt: of })}`);
      await tail(); // the error's lines may be newer than the loaded ones
      if (of !== number()) return;
      view.fatal(found.lines.map((one) => one.line));
      if (found.lines.length) view.jump(found.lines[0].line);
      else view.toEnd();
      const isWell = [null, "completed", "interrupted"].includes(found.diagnosis);
      setText(
        trouble,
        isWell
          ? "This attempt has no error."
          : `${found.message ?? ""}${found.lines.length ? "" : ". No log line says why; this is the end of the log"}`,
      );
    } catch (error) {
      setText(trouble, error.message);
    }
  }

  let opened = false;
  setInterval(
    () =>
      opened && !root.hidden && document.visibilityState === "visible" && number() && !isWhole && !reading && tail(),
    TAIL_EVERY_MS,
  );
  return {
    /** #log, #log:LINE, #log:ATTEMPT:LINE or #log:ATTEMPT:end */
    shown() {
      const place = location.hash.match(/^#log(?::(\d+))?:(\d+|end)$/);
      if (place?.[1]) {
        options();
        attempt.value = place[1];
      }
      if (!opened || place) open(Number(place?.[2]) || null);
      else if (!goOn() && number()) tail();
      opened = true;
    },
    changed: () => opened && !root.hidden && goOn(),
  };
}

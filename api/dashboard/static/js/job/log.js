// What the trainer printed: a view of a million lines that holds some dozens of them, its end as it grows, and search
// on the server.
import { get, query } from "../shared/api.js";
import { copy } from "../shared/clipboard.js";
import { h, put, say } from "../shared/dom.js";
import { bytes } from "../shared/format.js";
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
    told,
    moved: showFresh,
    chosen: (line) => history.replaceState(null, "", `#log:${number()}:${line}`),
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
  let matches = null; // {attempt, text, total, lines, isComplete}: of the log as long as it was then
  let opening = null; // until the lines of the chosen attempt are there
  let reading = 0; // answers that are waited for
  let isWhole = false; // it was read after the attempt had ended
  let newest = 0; // of the attempts, when the log was looked at last
  const number = () => Number(attempt.value);
  const ask = (values) => get(`/v1/jobs/${id}/logs/lines${query({ attempt: number(), ...values })}`);
  const newestAttempt = () => state.attempts.at(-1)?.number ?? 0;
  const runs = () => state.attempts.some((one) => one.number === number() && !one.ended_at);

  function options() {
    const chosen = attempt.value || String(state.attempts.at(-1)?.number ?? "");
    put(
      attempt,
      state.attempts
        .toReversed()
        .map((one) => h("option", { value: String(one.number) }, `${one.number}${one.ended_at ? "" : " (running)"}`)),
    );
    attempt.value = chosen;
    download.href = `/v1/jobs/${id}/logs${query({ attempt: chosen })}`;
  }
  function told() {
    const [first, last] = view.shown();
    say(
      where,
      view.total
        ? `Lines ${first.toLocaleString("en")} – ${last.toLocaleString("en")} of ${view.total.toLocaleString("en")}, ${bytes(size)}`
        : "The log is empty.",
    );
  }
  function showFresh() {
    follow.checked = view.follows;
    const unseen = view.unseen();
    fresh.hidden = !unseen;
    if (unseen) say(fresh, `↓ ${unseen.toLocaleString("en")} new ${unseen === 1 ? "line" : "lines"}`);
    told();
  }

  /** Ends when its lines are there: what is looked for before that would not be found. */
  function open(line = null) {
    opening = load(line);
    return opening;
  }
  async function load(line) {
    options();
    if (!attempt.value) {
      say(where, "No attempt has started yet.");
      return;
    }
    const of = number();
    newest = newestAttempt();
    matches = null;
    isWhole = false;
    say(count, "");
    say(trouble, "");
    view.clear();
    await tail();
    if (of !== number()) return;
    if (line) view.jump(line);
    else view.toEnd();
  }

  /** The last lines, and with them how many there are; who reads further up is left there. */
  async function tail() {
    const [of, hasEnded] = [number(), !runs()];
    reading += 1;
    try {
      const found = await ask({ lines: PAGE, noise: true });
      if (of !== number() || found.total_lines < view.total) return; // a later question was answered sooner
      isWhole = hasEnded;
      size = found.bytes;
      view.take(found.first, found.lines, found.total_lines, found.noise);
      showFresh();
    } catch (error) {
      if (of !== number()) return;
      isWhole = hasEnded && error.status === 404;
      say(where, `Could not read the log: ${error.message}`);
    } finally {
      reading -= 1;
    }
  }

  /** Who follows the newest attempt goes on with the next. Who has chosen an earlier one, or reads a line, stays. */
  function goOn() {
    options();
    const isDue = newestAttempt() > newest && number() === newest && follow.checked && view.marked === null;
    newest = newestAttempt();
    if (!isDue) return false;
    attempt.value = String(newest);
    open();
    return true;
  }

  // --- search: the first thousand matches are known by their lines, those behind them are asked for one by one ----------
  const ofSearch = (text, values) =>
    get(`/v1/jobs/${id}/logs/search${query({ attempt: number(), q: text, ...values })}`);
  /** All matches as far as the log goes now; of one that has grown, only what came is searched. */
  async function match(text) {
    const [of, total] = [number(), view.total];
    const known = matches?.attempt === of && matches.text === text ? matches : null;
    if (known && (known.total === total || !known.isComplete)) return;
    if (!known) say(count, "searching …");
    const after = Math.max(0, (known?.total ?? 0) - 1); // its last line may have been half written
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
      if (matches?.text !== text) return; // another attempt was chosen meanwhile, or other words
      const here = view.marked ?? (direction > 0 ? view.shown()[0] - 1 : view.shown()[1] + 1);
      const line = await nextFrom(here, direction);
      if (!line) {
        say(count, "no matches");
        return;
      }
      view.jump(line);
      const place = matches.lines.indexOf(line) + 1;
      const all = `${matches.lines.length.toLocaleString("en")}${matches.isComplete ? "" : "+"}`;
      say(
        count,
        place ? `${place.toLocaleString("en")} of ${all}` : `line ${line.toLocaleString("en")}, ${all} matches`,
      );
    } catch (error) {
      say(count, error.message);
    }
  }
  /** The next match that way, and around the end to the other one. */
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
      say(count, "");
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
      await tail(); // these lines may be newer than what is here
      if (of !== number()) return;
      view.fatal(found.lines.map((one) => one.line));
      if (found.lines.length) view.jump(found.lines[0].line);
      else view.toEnd();
      const isWell = [null, "completed", "interrupted"].includes(found.diagnosis);
      say(
        trouble,
        isWell
          ? "This attempt has no error."
          : `${found.message ?? ""}${found.lines.length ? "" : ". No log line says why; this is the end of the log"}`,
      );
    } catch (error) {
      say(trouble, error.message);
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

// The Configuration tab: an attempt's pipeline.config, and how it differs from another.
import { get } from "../shared/api.js";
import { copy } from "../shared/clipboard.js";
import { h, setContent } from "../shared/dom.js";
import { submittedBlocks } from "../shared/own_config_changes.js";

const CONTEXT = 3; // unchanged lines around a difference
const SUBMITTED = "submitted"; // compared field by field, with reasons; attempts line by line
const MOST_CELLS = 16e6; // of the table in `compare`: 32 MB

export function start(root, { id, state }) {
  const select = h("select", { id: "config-attempt", onchange: load });
  const other = h("select", { id: "config-other", onchange: load });
  const download = h("a", { class: "button", download: "pipeline.config" }, "Download");
  const place = h("div", { class: "config", tabindex: "0", role: "region", "aria-label": "pipeline.config" });
  root.append(
    h(
      "div",
      { class: "card" },
      h(
        "div",
        { class: "log-tools" },
        h("label", { for: "config-attempt" }, "pipeline.config of attempt"),
        select,
        h("label", { for: "config-other" }, "compared with"),
        other,
        h("span", { class: "push" }),
        h("button", { type: "button", onclick: () => copy(text) }, "Copy"),
        download,
      ),
      place,
    ),
  );
  const texts = new Map(); // cached: an attempt's configuration never changes
  let text = ""; // text on the page
  let asked = 0; // number of the newest request: older responses are dropped

  function options() {
    const [chosen, compared] = [select.value || String(state.attempts.at(-1)?.number ?? ""), other.value];
    const numbers = state.attempts.map((attempt) => String(attempt.number)).toReversed();
    setContent(
      select,
      numbers.map((one) => h("option", { value: one }, one)),
    );
    setContent(
      other,
      h("option", { value: "" }, "nothing"),
      h("option", { value: SUBMITTED }, "submitted file"),
      numbers.map((one) => h("option", { value: one }, `attempt ${one}`)),
    );
    select.value = chosen;
    other.value = compared;
  }
  async function read(number) {
    if (!texts.has(number)) texts.set(number, await get(`/v1/jobs/${id}/attempts/${number}/config`));
    return texts.get(number);
  }
  async function load() {
    options();
    const mine = (asked += 1);
    if (!select.value) {
      setContent(place, h("p", { class: "muted" }, "No configuration yet. It is written when the job gets a device."));
      return;
    }
    download.href = `/v1/jobs/${id}/attempts/${select.value}/config`;
    try {
      const isSubmitted = other.value === SUBMITTED;
      const [now, former, diff] = await Promise.all([
        read(select.value),
        other.value && !isSubmitted && other.value !== select.value ? read(other.value) : null,
        isSubmitted ? get(`/v1/jobs/${id}/attempts/${select.value}/diff?against=submitted`) : null,
      ]);
      if (mine !== asked) return;
      text = now;
      place.classList.toggle("fields", isSubmitted);
      if (diff) {
        setContent(place, submittedBlocks(diff.changes));
        return;
      }
      const lines = text.replace(/\n$/, "").split("\n");
      setContent(
        place,
        former === null
          ? lines.map((line, at) => row(line, at + 1))
          : changes(former.replace(/\n$/, "").split("\n"), lines),
      );
    } catch (error) {
      if (mine !== asked) return;
      text = "";
      place.classList.remove("fields");
      setContent(place, h("p", { class: "error" }, `Could not load the configuration: ${error.message}`));
    }
  }
  return { shown: load, changed: () => !root.hidden && options() };
}

const row = (text, number, kind = "", sign = "") =>
  h(
    "div",
    { class: `line ${kind}` },
    h("span", { "aria-hidden": "true" }, number === null ? "" : String(number)),
    h("code", {}, sign, text || " "),
  );

function changes(before, after) {
  if (before.length * after.length > MOST_CELLS)
    return h("p", { class: "muted" }, "These files are too long to compare here.");
  const found = compare(before, after);
  if (found.every(({ kind }) => kind === "same")) return h("p", { class: "muted" }, "No differences.");
  const near = found.map((_, at) =>
    found.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same"),
  );
  return found.flatMap((line, at) => {
    if (!near[at])
      return near[at - 1] || at === 0 ? [h("div", { class: "line gap" }, h("span", {}), h("code", {}, "⋯"))] : [];
    return [row(line.text, line.number, line.kind, { same: "  ", gone: "− ", come: "+ " }[line.kind])];
  });
}

/** [{kind: same|gone|come, text, number}], by longest common subsequence: fast enough for some hundred lines. */
function compare(before, after) {
  const length = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1)
      length[i][j] = before[i] === after[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      found.push({ kind: "same", text: after[j], number: j + 1 });
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && length[i + 1][j] >= length[i][j + 1])) {
      found.push({ kind: "gone", text: before[i], number: null });
      i += 1;
    } else {
      found.push({ kind: "come", text: after[j], number: j + 1 });
      j += 1;
    }
  }
  return found;
}

// The attempts of a job, each with its plan, its memory, why it ended, and what was changed for the next.
import { get } from "./api.js";
import { $, h, keyed, put } from "./dom.js";
import { bytes, duration, percent, size, time } from "./format.js";
import { diagnosisWords, memory, pill } from "./parts.js";

const diffs = new Map(); // attempts never change once the next one is there, and neither do these

export function showTimeline(list, job, attempts) {
  const newestFirst = [...attempts].reverse();
  keyed(list, newestFirst, (attempt) => attempt.number, (attempt) => make(job, attempt), (element, attempt) => update(element, job, attempt));
  if (!attempts.length) list.replaceChildren(h("li", { dataset: { key: "none" } }, h("p", { class: "muted" }, "It has not been tried yet. The first attempt is shown here as soon as it has a device.")));
}

function make(job, attempt) {
  const item = h("li", {},
    h("div", { class: "card" },
      h("header", {}, h("h2", {}), h("span", { class: "pills" })),
      h("div", { class: "body" }),
      h("details", { class: "why" }, h("summary", {}, "Evidence"), h("div", {})),
      h("details", { class: "diff" }, h("summary", {}, attempt.number === 1 ? "What was changed from what was asked for" : `What was changed from attempt ${attempt.number - 1}`), h("div", {}))));
  const diff = $(".diff", item);
  diff.addEventListener("toggle", () => diff.open && showDiff(diff.lastElementChild, job.id, attempt.number));
  // The reader wants to see at once what was done about a failure.
  if (attempt.number > 1 || attempt.changes.length) diff.open = true;
  return item;
}

function update(item, job, attempt) {
  const runs = !attempt.ended_at;
  item.className = runs ? "running" : attempt.diagnosis === "completed" ? "completed" : "failed";
  put($("h2", item), `Attempt ${attempt.number}`, h("span", { class: "muted small" }, ` on ${attempt.device.name}, `), h("span", { class: "muted small" }, time(attempt.started_at)));
  put($(".pills", item), runs ? pill(attempt.phase ?? "starting", "running") : pill(diagnosisWords(attempt.diagnosis), attempt.diagnosis === "completed" ? "completed" : attempt.diagnosis === "interrupted" ? "warn" : "failed"));
  put($(".body", item), body(attempt, runs));
  const evidence = $(".why", item);
  const lines = attempt.finding?.evidence ?? [];
  evidence.hidden = !lines.length && !attempt.message;
  put(evidence.lastElementChild, attempt.message ? h("p", {}, attempt.message) : null,
    lines.length ? h("pre", { class: "log-lines" }, lines.map((line) => `${line.line}: ${line.text}\n`)) : null);
}

function body(attempt, runs) {
  const plan = attempt.plan;
  const words = [`batch ${plan.batch_size}${plan.micro_batch < plan.batch_size ? ` in micro-batches of ${plan.micro_batch}` : ""}`,
    size(plan.image_size), plan.model, plan.precision, plan.proposals ? `${plan.proposals} proposals` : null].filter(Boolean).join(" · ");
  const took = attempt.ended_at ? duration((Date.parse(attempt.ended_at) - Date.parse(attempt.started_at)) / 1000) : null;
  return [
    h("p", { class: "mono" }, words),
    h("div", {}, peak(attempt)),
    h("p", { class: "muted small" }, runs ? `at step ${attempt.step}` : `ended at step ${attempt.step}${took ? ` after ${took}` : ""}`, attempt.saved_step ? `, saved at step ${attempt.saved_step}` : ""),
    attempt.followed_by && attempt.diagnosis !== "completed" ? h("p", { class: "followed" }, attempt.followed_by) : null,
  ];
}

/** Predicted and measured peak against the limit. */
function peak(attempt) {
  const { predicted, measured_peak_bytes: measured, limit_bytes: limit } = attempt;
  if (!predicted && !measured) return [];
  const parts = [];
  if (measured) parts.push({ kind: "ours", bytes: measured, words: "measured" });
  if (predicted) parts.push({ kind: "range", from: predicted.low_bytes, bytes: predicted.high_bytes - predicted.low_bytes, words: "predicted range" });
  const marks = [{ kind: "limit", bytes: limit }];
  if (predicted) marks.push({ kind: "predicted", bytes: predicted.bytes });
  const error = predicted && measured && attempt.ended_at && attempt.diagnosis === "completed" ? (predicted.bytes - measured) / measured : null;
  return [
    memory(limit, parts, marks),
    h("p", { class: "small muted" },
      predicted ? `predicted ${bytes(predicted.bytes)} (${bytes(predicted.low_bytes)} to ${bytes(predicted.high_bytes)})` : "not predicted",
      measured ? `, measured ${bytes(measured)}` : "", ` of ${bytes(limit)}`,
      error !== null ? `; the prediction was ${percent(Math.abs(error), 1)} ${error < 0 ? "low" : "high"}` : ""),
  ];
}

async function showDiff(element, job, number) {
  const key = `${job}/${number}`;
  try {
    if (!diffs.has(key)) diffs.set(key, await get(`/v1/jobs/${job}/attempts/${number}/diff`));
    const diff = diffs.get(key);
    const rows = diff.changes.map((change) => h("tr", {}, h("td", { class: "mono" }, change.field), h("td", {}, change.before ?? "–"), h("td", {}, change.after ?? "–"), h("td", {}, change.reason)));
    put(element, diff.summary ? h("p", {}, diff.summary) : null,
      rows.length ? h("div", { class: "table-wrap" }, h("table", { class: "diff" },
        h("thead", {}, h("tr", {}, ["Setting", "Before", "After", "Why"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)))
        : h("p", { class: "muted" }, "Nothing was changed."));
  } catch (error) {
    put(element, h("p", { class: "error" }, `The changes could not be loaded: ${error.message}`));
  }
}

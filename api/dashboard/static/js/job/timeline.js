// The Attempts tab: each attempt's plan, memory, why it ended, and what changed for it.
import { get } from "../shared/api.js";
import { $, h, keyed, setContent } from "../shared/dom.js";
import { attemptChanges } from "./attempt_changes.js";
import { duration, percent, plural, time } from "../shared/format.js";
import { gauge } from "../shared/memory_gauge.js";
import { pill } from "../shared/badges.js";
import { labelOf } from "../shared/device.js";
import { diagnosisWords } from "../shared/job_status.js";
import { planPills } from "../shared/plan.js";

const shown = new Map(); // attempt number to whether its changes are final

export function showTimeline(list, job, attempts) {
  if (!attempts.length) {
    setContent(
      list,
      h(
        "li",
        { class: "empty" },
        job.state === "failed"
          ? "Never started: nothing that the policy allows fits."
          : "Not started yet. The first attempt appears here when the job gets a device.",
      ),
    );
    return;
  }
  const before = (attempt) => attempts[attempt.number - 2];
  const newestPlanned = attempts.findLast((attempt) => attempt.changes.length)?.number;
  keyed(
    list,
    attempts.toReversed(),
    (attempt) => attempt.number,
    (attempt) => make(job, attempt, attempt.number === newestPlanned),
    (element, attempt) => update(element, job, attempt, before(attempt), attempts[attempt.number]),
  );
}

function make(job, attempt, isOpen) {
  const changes = h(
    "details",
    { class: "changes", hidden: !attempt.changes.length },
    h("summary", {}, `Changes from ${attempt.number === 1 ? "the request" : `attempt ${attempt.number - 1}`}`),
    h("div", {}, h("p", { class: "muted" }, "Loading …")),
  );
  changes.addEventListener("toggle", () => changes.open && showDiff(changes, job.id, attempt));
  changes.open = isOpen;
  return h(
    "li",
    { class: "attempt", id: `attempt-${attempt.number}` },
    h("header", {}),
    h("div", { class: "attempt-plan" }),
    h("div", { class: "attempt-memory" }),
    h("div", { class: "attempt-input" }),
    h("div", { class: "attempt-end" }),
    changes,
  );
}

function update(item, job, attempt, former, next) {
  const runs = !attempt.ended_at;
  item.dataset.end = runs
    ? "running"
    : attempt.diagnosis === "completed"
      ? "completed"
      : attempt.diagnosis === "interrupted"
        ? "stopped"
        : "failed";
  setContent($("header", item), heading(attempt, runs));
  setContent($(".attempt-plan", item), planPills(attempt.plan, former?.plan ?? job.asked));
  setContent($(".attempt-memory", item), memory(attempt));
  setContent($(".attempt-input", item), inputWait(attempt));
  setContent($(".attempt-end", item), end(job, attempt, next));
  // The plan is the same, but other settings may differ: the section stays hidden until the diff shows some.
  if (attempt.number > 1 && !attempt.changes.length) showDiff($(".changes", item), job.id, attempt);
}

function heading(attempt, runs) {
  const kind = runs ? "running" : ({ completed: "completed", interrupted: "warn" }[attempt.diagnosis] ?? "failed");
  const isSavedEarlier = attempt.saved_step && attempt.saved_step !== attempt.step;
  const saved = isSavedEarlier ? `, saved at ${attempt.saved_step}` : "";
  const steps = `${runs ? "step" : "to step"} ${attempt.step}${saved}`;
  const took = attempt.ended_at ? duration(seconds(attempt.started_at, attempt.ended_at)) : null;
  return [
    h("h2", {}, `Attempt ${attempt.number}`),
    pill(runs ? (attempt.phase ?? "starting") : diagnosisWords(attempt.diagnosis), kind),
    h(
      "span",
      { class: "attempt-facts" },
      h("span", { title: attempt.device.id }, `${labelOf(attempt.device)}, ${attempt.device.name}`),
      h("span", {}, steps),
      took ? h("span", {}, took) : null,
      h("span", {}, time(attempt.started_at)),
      h("span", {}, h("a", { href: `#log:${attempt.number}:end` }, "log")),
    ),
  ];
}

/** Predicted and measured peak against the limit. */
function memory(attempt) {
  const { predicted, measured_peak_bytes: measured, limit_bytes: limit } = attempt;
  const figures = attempt.finding?.figures ?? {};
  const ranOut = attempt.outcome === "device_memory";
  if (!predicted && !measured && !ranOut) return [];
  const used = ranOut ? Math.max(measured ?? 0, figures.in_use ?? 0) || null : measured;
  const error = attempt.prediction_error;
  return [
    gauge({ limit, measured: used, wanted: ranOut ? (figures.requested ?? null) : null, predicted }),
    error === null
      ? null
      : h(
          "p",
          { class: "muted small" },
          `The prediction was ${percent(Math.abs(error), 1)} too ${error < 0 ? "low" : "high"}.`,
        ),
  ];
}

/** Where the device waits for images: how much, why, and what helps. */
const inputWait = ({ input_wait: wait }) =>
  wait?.sentence ? [h("p", { class: "note warn small" }, wait.sentence)] : [];

/** Why it ended, the log lines that show it, and what followed. */
function end(job, attempt, next) {
  if (!attempt.ended_at || attempt.diagnosis === "completed") return [];
  const lines = attempt.finding?.evidence ?? [];
  const planned = next && next.changes.length; // the next attempt lists the changes
  const [why, message] = [attempt.finding?.why ?? "", attempt.message ?? ""];
  // Do not repeat the message, or the job's reason at the top of the page.
  const [longer, shorter] = message.startsWith(why) ? [message, ""] : [why, why.includes(message) ? "" : message];
  const followed = job.reason && attempt.followed_by?.endsWith(job.reason) ? null : attempt.followed_by;
  return [
    h("p", { class: "diagnosis" }, longer),
    shorter && shorter !== job.reason ? h("p", { class: "muted small wraps" }, shorter) : null,
    lines.length
      ? h(
          "div",
          { class: "evidence" },
          h("p", { class: "muted small" }, `Evidence: ${plural(lines.length, "log line")}`),
          h(
            "ol",
            {},
            lines.map((line) =>
              h(
                "li",
                {},
                h("a", { href: `#log:${attempt.number}:${line.line}`, title: "Show in the log" }, String(line.line)),
                h("code", {}, line.text),
              ),
            ),
          ),
        )
      : null,
    followed
      ? h(
          "p",
          { class: "followed" },
          planned
            ? [`Changed for `, h("a", { href: `#attempt-${next.number}` }, `attempt ${next.number}`), "."]
            : followed,
        )
      : null,
  ];
}

async function showDiff(section, job, attempt) {
  const isWhole = Boolean(attempt.ended_at) || attempt.phase === "training"; // the configuration is written by then
  if (shown.get(attempt.number) || shown.get(attempt.number) === isWhole) return;
  shown.set(attempt.number, isWhole);
  const place = section.lastElementChild;
  try {
    const diff = await get(`/v1/jobs/${job}/attempts/${attempt.number}/diff`);
    section.hidden = !diff.changes.length && !attempt.changes.length;
    setContent(place, attemptChanges(attempt.changes, diff.changes));
  } catch (error) {
    shown.delete(attempt.number);
    setContent(place, h("p", { class: "error" }, `Could not load the changes: ${error.message}`));
  }
}

const seconds = (from, to) => (Date.parse(to) - Date.parse(from)) / 1000;

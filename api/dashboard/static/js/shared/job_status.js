// A job's status in one line: progress, place in the queue, what failed and how it was fixed.
import { h } from "./dom.js";
import { duration, ordinal } from "./format.js";

/** [short, full, kind]: the line under a job's name. `short` is empty if there is nothing to report. */
export function statusLine(job) {
  if (job.state === "failed") return [job.reason ?? "failed", job.reason ?? "", "bad"];
  // The tooltip has the details in parentheses.
  if (job.state === "queued" && job.reason) return [job.reason.replace(/ \([^)]*\)/, ""), job.reason, ""];
  const changes = shrunk(job.asked, job.plan).join(", ");
  if (job.setback) {
    const { attempt, diagnosis, followed_by } = job.setback;
    const what = `${SHORT[diagnosis] ?? diagnosisWords(diagnosis)}, attempt ${attempt}`;
    return [
      changes ? `${what} → ${changes}` : what,
      `Attempt ${attempt}: ${diagnosisWords(diagnosis)}. ${followed_by ?? ""}`,
      "",
    ];
  }
  return changes ? [`reduced to fit: ${changes}`, job.summary ?? "", ""] : ["", "", ""];
}

const SHORT = {
  too_large: "out of memory",
  spike: "out of memory",
  neighbour: "out of memory: another process",
  host: "out of host memory",
};
const PLAN = {
  model: "model",
  image_size: "images",
  precision: "precision",
  batch_size: "batch",
  micro_batch: "micro-batch",
  proposals: "proposals",
  second_stage_batch: "second-stage batch",
};
function shrunk(asked, plan) {
  const text = (value) => (Array.isArray(value) ? value.join("×") : String(value));
  return Object.entries(PLAN)
    .filter(([name]) => text(asked[name]) !== text(plan[name]))
    .map(([name, words]) => `${words} ${text(asked[name])} to ${text(plan[name])}`);
}

/** The place in the queue, and the expected wait if it is known. */
export function queueStatus(job, devices) {
  const about = expectedWait(job, devices);
  return h(
    "span",
    { class: "number" },
    queuePlace(job),
    about === undefined
      ? null
      : h(
          "span",
          { class: "one-line small muted", title: "Estimated from the remaining time of running jobs" },
          `in about ${duration(about)}`,
        ),
  );
}

/** A job with a reason to wait is not next, even if it is first in the queue. */
export const queuePlace = ({ queue_position: position, reason }) =>
  position === 1 && !reason ? "next in queue" : position ? `${ordinal(position)} in queue` : "waiting";

/**
 * Seconds until a large enough device is free, from the remaining time of running jobs. Undefined if one is free, or if
 * the job waits for something else.
 */
export function expectedWait(job, devices) {
  if (job.reason && !job.reason.includes(", busy with ")) return undefined;
  const predicted = job.attempts || job.policy.plan_ahead ? (job.predicted?.high_bytes ?? 0) : 0;
  const least = Math.max(predicted, job.min_memory_bytes ?? 0);
  const large = devices.filter((device) => device.is_present && !device.problem && device.total_bytes >= least);
  if (large.some((device) => !device.job)) return undefined;
  const left = large
    .map((device) => device.job.progress?.eta_s)
    .filter((eta) => eta !== null && eta !== undefined)
    .toSorted((a, b) => a - b);
  return left[job.queue_position - 1];
}

/** A progress bar, and below it the steps and the remaining time. */
export function progressOf(job, phase) {
  const { step, steps, eta_s } = job.progress;
  const words = [`${step}/${steps}`];
  if (job.state === "queued") words.push(queuePlace(job));
  else if (job.state === "running" && !(eta_s > 0)) words.push(job.progress.phase ?? phase ?? "starting");
  else if (job.state === "running") words.push(`${duration(eta_s)} left`);
  else if (job.finished_at && job.started_at)
    words.push(`took ${duration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)}`);
  return h(
    "span",
    { class: `steps ${job.state}` },
    h("progress", { max: 1, value: steps ? Math.min(1, step / steps) : 0, "aria-label": `step ${step} of ${steps}` }),
    h("span", { class: "one-line small muted number" }, words.join(" · ")),
  );
}

const DIAGNOSES = {
  completed: "completed",
  interrupted: "interrupted",
  too_large: "too large for the device",
  neighbour: "memory held by another process",
  fragmentation: "memory fragmented",
  leak: "memory leak",
  spike: "one batch needed more memory",
  host: "the host ran out of memory",
  disk: "the disk is full",
  bug: "an error",
  unknown_kill: "stopped unexpectedly (cause unknown)",
};
export const diagnosisWords = (diagnosis) => DIAGNOSES[diagnosis] ?? diagnosis ?? "";

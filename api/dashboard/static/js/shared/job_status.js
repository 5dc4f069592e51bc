// A job's status in one line: progress, place in the queue, what failed and how it was fixed.
import { h } from "./dom.js";
import { duration, ordinal } from "./format.js";

/** [short, full, kind]: the line under a job's name. `short` is empty if there is nothing to report. */
export function statusLine(job) {
  if (job.state === "failed") return [job.reason ?? "failed", job.reason ?? "", "bad"];
  if (job.state === "queued" && job.waiting_for) return [job.waiting_for.short, job.waiting_for.sentence, ""];
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
export function queueStatus(job) {
  return h(
    "span",
    { class: "number" },
    queuePlace(job),
    job.expected_start_s
      ? h(
          "span",
          { class: "one-line small muted", title: "Estimated from the remaining time of running jobs" },
          `in about ${duration(job.expected_start_s)}`,
        )
      : null,
  );
}

/** A job that waits for more than its turn is not next, even if it is first in the queue. */
export const queuePlace = ({ queue_position: position, waiting_for: waiting }) =>
  position === 1 && !waiting ? "next in queue" : position ? `${ordinal(position)} in queue` : "waiting";

/** The part of a queue event that is about this job; undefined if it is not in the first part of the queue. */
export function queueChange({ positions, expected_start_s: starts }, id) {
  const position = positions[id];
  return position && { queue_position: position, expected_start_s: starts[id] ?? null };
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
  device: "the device failed",
  unknown_kill: "stopped unexpectedly (cause unknown)",
};
export const diagnosisWords = (diagnosis) => DIAGNOSES[diagnosis] ?? diagnosis ?? "";

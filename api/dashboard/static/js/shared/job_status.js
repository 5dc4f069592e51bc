// How a job stands, in a line: how far it is, what it waits for, what went wrong and what was done about it.
import { h } from "./dom.js";
import { duration, ordinal } from "./format.js";

/** [short, whole, kind]: the line under a job's name; short is empty where there is nothing to say. */
export function trouble(job) {
  if (job.state === "failed") return [job.reason ?? "failed", job.reason ?? "", "bad"];
  if (job.state === "queued" && job.reason) return [job.reason.replace(/ \([^)]*\)/, ""), job.reason, ""]; // which one exactly is for who asks
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

/** Its place in the queue, and when a device may be free: by the pace of the jobs that run now, where it is known. */
export function waits(job, devices) {
  const about = wait(job, devices);
  return h(
    "span",
    { class: "number" },
    place(job),
    about === undefined
      ? null
      : h(
          "span",
          { class: "one-line small muted", title: "Estimated from the remaining time of running jobs" },
          `in about ${duration(about)}`,
        ),
  );
}

/** A job that waits for something is not next, even where no other job is before it. */
export const place = ({ queue_position: position, reason }) =>
  position === 1 && !reason ? "next in queue" : position ? `${ordinal(position)} in queue` : "waiting";

/** Of the devices that are large enough for it; unknown where one of these is free, or something else is waited for. */
export function wait(job, devices) {
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

/** A bar, and under it steps of how many and how long it will still take. */
export function progressOf(job, phase) {
  const { step, steps, eta_s } = job.progress;
  const words = [`${step}/${steps}`];
  if (job.state === "queued") words.push(place(job));
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

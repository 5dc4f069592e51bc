// One job: what it does now, and everything that was tried for it.
import { get, post } from "./api.js";
import { $, h, put, say } from "./dom.js";
import { follow, listen } from "./events.js";
import { duration, plural, size, time } from "./format.js";
import { confirmed, doing, tabs, toast } from "./frame.js";
import { diagnosisWords, pill, progress } from "./parts.js";
import { showTimeline } from "./timeline.js";

const root = $("#job");
export const id = Number(root.dataset.job);
export const state = { job: null, attempts: [] };

async function load() {
  try {
    const [job, attempts] = await Promise.all([get(`/v1/jobs/${id}`), get(`/v1/jobs/${id}/attempts`)]);
    Object.assign(state, { job, attempts: attempts.items });
    $("#problem").hidden = true;
    show();
  } catch (error) {
    say($("#problem"), error.status === 404 ? `There is no job ${id}, or it is not yours to see.` : `The job could not be loaded: ${error.message}`);
    $("#problem").hidden = false;
  }
}

function show() {
  const { job, attempts } = state;
  document.title = `${job.name} · Downshift`;
  say($("#name"), job.name);
  put($("#state"), pill(job.state));
  say($("#now"), sentence(job, attempts));
  $("#now").className = `note ${{ failed: "bad", queued: "warn" }[job.state] ?? ""}`;
  put($("#progress"), facts(job));
  showActions(job);
  showTimeline($("#timeline"), job, attempts);
  for (const part of Object.values(parts)) part.changed?.();
}

/** "Attempt 2 of at most 6: training at step 340 of 2000 on GPU 1; attempt 1 ran out of memory at batch 16." */
export function sentence(job, attempts) {
  const last = attempts.at(-1);
  const before = attempts.slice(0, -1).filter((one) => one.diagnosis && !["completed", "interrupted"].includes(one.diagnosis)).at(-1);
  const because = (one) => `attempt ${one.number} ended at micro-batch ${one.plan.micro_batch} (${diagnosisWords(one.diagnosis)})`;
  const earlier = before ? `; ${because(before)}` : "";
  switch (job.state) {
    case "running": {
      const doing = last ? `${last.phase}${last.phase === "training" ? ` at step ${job.progress.step} of ${job.progress.steps}` : ""} on ${last.device.name}` : "starting";
      return `Attempt ${job.attempts} of at most ${job.policy.max_attempts}: ${doing}${job.stopping ? `, and is asked to ${job.stopping}` : ""}${earlier}.`;
    }
    case "queued": {
      const place = job.queue_position ? (job.queue_position === 1 ? "next in line" : `${job.queue_position}. in line`) : "waiting";
      const why = job.reason ? `: ${job.reason}` : "";
      return last ? `Attempt ${job.attempts + 1} is ${place}${why}; ${because(last)}.` : `It is ${place}${why}.`;
    }
    case "paused": return `Paused at step ${job.progress.step} of ${job.progress.steps}; what it has saved is kept.`;
    case "succeeded": return `Finished all ${job.progress.steps} steps in ${plural(job.attempts, "attempt")}${last ? ` on ${last.device.name}` : ""}${earlier}.`;
    case "cancelled": return `Cancelled at step ${job.progress.step} of ${job.progress.steps}.`;
    default: return `Failed: ${job.reason ?? "see the last attempt"}`;
  }
}

function facts(job) {
  const changed = ["batch_size", "micro_batch", "precision", "proposals"].filter((name) => job.asked[name] !== job.plan[name]);
  const plan = `${job.plan.model}, ${size(job.plan.image_size)}, batch ${job.plan.batch_size}` +
    (job.plan.micro_batch < job.plan.batch_size ? ` in micro-batches of ${job.plan.micro_batch}` : "") + `, ${job.plan.precision}`;
  const fact = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
  return [
    h("div", {}, progress(job.progress)),
    h("dl", { class: "facts" },
      fact("Owner", job.owner), fact("Dataset", job.dataset), fact("Plan", plan),
      changed.length ? fact("Asked for", `batch ${job.asked.batch_size}, ${size(job.asked.image_size)}, ${job.asked.precision}`) : null,
      job.summary ? fact("Why", job.summary) : null,
      fact("Submitted", time(job.created_at)),
      job.started_at ? fact("Started", time(job.started_at)) : null,
      job.finished_at ? fact("Finished", time(job.finished_at), ` after ${duration((Date.parse(job.finished_at) - Date.parse(job.created_at)) / 1000)}`) : null,
      job.notes ? fact("Notes", job.notes) : null),
  ];
}

// --- what can be done ---------------------------------------------------------------------------------------------
const ACTIONS = {
  pause: { name: "Pause", states: ["queued", "running"] },
  resume: { name: "Resume", states: ["paused"], class: "primary" },
  cancel: { name: "Cancel", states: ["queued", "running", "paused"], class: "danger", sure: "Cancel this job? What it has saved stays, but it will not go on." },
};
let actionsOf = "";
function showActions(job) {
  const key = `${job.state} ${job.stopping}`;
  if (key === actionsOf) return;
  actionsOf = key;
  const buttons = Object.entries(ACTIONS).filter(([, action]) => action.states.includes(job.state) && !job.stopping).map(([verb, action]) =>
    h("button", { type: "button", class: action.class ?? "", onclick: (event) => doing(event.target, async () => {
      if (action.sure && !(await confirmed(action.sure, `${action.name} the job`))) return;
      await post(`/v1/jobs/${id}/${verb}`);
      toast(`${action.name}: asked for`);
      await load();
    }) }, action.name));
  $("#actions").replaceChildren(...buttons, h("a", { class: "button", href: `/jobs/new?clone=${id}` }, "Clone and edit"));
}

// --- the parts, each loaded when it is first looked at ------------------------------------------------------------
const parts = {};
const MODULES = { charts: "./charts.js", results: "./results.js", log: "./log.js", config: "./config.js", files: "./files.js" };
const loading = {};
async function showPart(name) {
  if (!MODULES[name]) return;
  loading[name] ??= import(MODULES[name]).then((module) => {
    parts[name] = module.start($(`#${name}`), { id, state, plotly: root.dataset.plotly });
  }).catch((error) => {
    delete loading[name];
    toast(`This part could not be loaded: ${error.message}`, "bad");
  });
  await loading[name];
  parts[name]?.shown?.();
}

await load();
tabs($(".tabs"), showPart);
listen((event) => {
  if (event.job !== id || !state.job) return;
  if (event.kind === "progress" && state.job.state === "running") {
    Object.assign(state.job.progress, event.data);
    show();
  }
  for (const part of Object.values(parts)) part.event?.(event);
});
follow(load, (event) => event.job === id && event.kind !== "progress");

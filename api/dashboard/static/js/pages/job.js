// The page of one job.
import { get, mayChange, maySubmit, post, whoami } from "../shared/api.js";
import { $, h, setContent, setText } from "../shared/dom.js";
import { follow, listen } from "../shared/events.js";
import { duration, percent, plural } from "../shared/format.js";
import { confirmed } from "../shared/dialogs.js";
import { runAction, toast } from "../shared/messages.js";
import { addShortcuts } from "../frame/shortcuts.js";
import { tabs } from "../shared/tabs.js";
import { pill } from "../shared/badges.js";
import { labelOf } from "../shared/device.js";
import { diagnosisWords, queueChange, queuePlace } from "../shared/job_status.js";
import { showAdvice } from "../job/advice.js";
import { edit, editButton, showFacts, showProgress } from "../job/summary.js";
import { showTimeline } from "../job/timeline.js";

const root = $("#job");
const id = Number(root.dataset.job);
const state = { job: null, attempts: [] };
let me = null;

const AGAIN_MS = 5000;
let again = null;
let asked = 0; // number of the newest request
let shown = 0; // number of the request on the page
let hasLoaded;
const loaded = new Promise((resolve) => (hasLoaded = resolve));

async function load() {
  clearTimeout(again);
  const mine = ++asked;
  try {
    const [job, attempts, who] = await Promise.all([get(`/v1/jobs/${id}`), get(`/v1/jobs/${id}/attempts`), whoami()]);
    if (mine < shown) return; // a newer response came first
    shown = mine;
    Object.assign(state, { job, attempts: attempts.items });
    me = who;
    $("#problem").hidden = true;
    show();
    hasLoaded();
  } catch (error) {
    setText($("#problem"), `Could not load the job: ${error.message}. Retrying.`);
    $("#problem").hidden = false;
    clearTimeout(again); // of a concurrent load that failed too
    again = setTimeout(load, AGAIN_MS);
  }
}

const may = () => mayChange(me, state.job);

function show() {
  const { job, attempts } = state;
  const { step, steps } = job.progress;
  document.title = `${job.state === "running" && step ? percent(step / steps) : job.state} · ${job.name} · Downshift`;
  if (!$("#name").classList.contains("editing")) setContent($("#name"), job.name, may() ? editButton("name") : null);
  setContent(
    $("#state"),
    pill(job.stopping ? `${job.stopping} requested` : job.state, job.stopping ? "warn" : job.state),
  );
  showNow();
  $("#now").dataset.state = job.state;
  showProgress($("#progress"), job);
  showFacts($("#facts"), state, may(), load);
  showAdvice($("#advice"), job.advice);
  showActions(job);
  showTimeline($("#timeline"), job, attempts);
  setText($("#attempt-count"), attempts.length > 1 ? String(attempts.length) : "");
  for (const part of Object.values(parts)) part.changed?.();
}
$("#name").addEventListener(
  "click",
  (event) => event.target.closest("[data-edit]") && edit($("#name"), "name", state, load),
);

const showNow = () => setText($("#now"), sentence(state.job, state.attempts));

/** "Attempt 2 of at most 6: training at step 340 of 2000 on GPU 1; attempt 1 ran out of memory at batch 16." */
function sentence(job, attempts) {
  const last = attempts.at(-1);
  const before = attempts
    .slice(0, -1)
    .filter((one) => one.diagnosis && !["completed", "interrupted"].includes(one.diagnosis))
    .at(-1);
  const earlier = before ? `; ${because(before)}` : "";
  const on = last ? ` on ${labelOf(last.device)}` : "";
  const { step, steps } = job.progress;
  switch (job.state) {
    case "running": {
      const at = last?.phase === "training" ? ` at step ${step} of ${steps}` : "";
      const activity = `${last?.phase ?? "starting"}${at}${on}`;
      const stopping = job.stopping ? `; ${job.stopping} requested` : "";
      return `Attempt ${job.attempts} of at most ${job.policy.max_attempts}: ${activity}${stopping}${earlier}.`;
    }
    case "queued": {
      const when = job.expected_start_s ? `, to start in about ${duration(job.expected_start_s)}` : "";
      const why = job.waiting_for ? ` ${job.waiting_for.sentence.replace(/\.?$/, ".")}` : "";
      const where = `${last ? `Attempt ${job.attempts + 1}: ` : ""}${queuePlace(job)}`;
      return `${where[0].toUpperCase()}${where.slice(1)}${when}${last ? `; ${because(last)}` : ""}.${why}`;
    }
    case "paused":
      return step
        ? `Paused at step ${step} of ${steps}. Resuming continues from there.`
        : "Paused before its first checkpoint. Resuming starts at step 0.";
    case "succeeded":
      if (job.stopped_early) return job.stopped_early;
      return `Finished all ${steps} steps in ${plural(job.attempts, "attempt")}${on}${earlier}.`;
    case "cancelled":
      return `Cancelled at step ${step} of ${steps}.`;
    default:
      return `Failed: ${job.reason ?? "see the last attempt"}`;
  }
}

function because(attempt) {
  const { batch_size: batch, micro_batch: micro } = attempt.plan;
  const at = micro < batch ? `micro-batch ${micro}` : `batch ${batch}`;
  const ranOut = attempt.diagnosis === "too_large";
  const what = ranOut ? `ran out of memory at ${at}` : `ended: ${diagnosisWords(attempt.diagnosis)}`;
  return `attempt ${attempt.number} ${what}`;
}

// --- actions -----------------------------------------------------------------------------------------------------
const ACTIONS = {
  pause: { name: "Pause", states: ["queued", "running"] },
  resume: { name: "Resume", states: ["paused"], class: "primary" },
  cancel: {
    name: "Cancel",
    states: ["queued", "running", "paused"],
    class: "danger",
    sure: "Cancel this job? Its files are kept, but it cannot be resumed.",
  },
};
let actionsOf = "";
function showActions(job) {
  const key = `${job.state} ${job.stopping}`;
  if (key === actionsOf) return;
  actionsOf = key;
  const buttons = Object.entries(ACTIONS)
    .filter(([, action]) => may() && action.states.includes(job.state) && !job.stopping)
    .map(([verb, action]) =>
      h(
        "button",
        {
          type: "button",
          class: action.class ?? "",
          onclick: (event) =>
            runAction(event.target, async () => {
              if (action.sure && !(await confirmed(action.sure, `${action.name} job`))) return;
              await post(`/v1/jobs/${id}/${verb}`);
              toast(`${action.name} requested`);
              await load();
            }),
        },
        action.name,
      ),
    );
  $("#actions").replaceChildren(
    ...buttons,
    !maySubmit(me) ? "" : h("a", { class: "button", href: `/jobs/new?clone=${id}` }, "Clone and edit"),
  );
}

// --- tabs, each loaded when it is first opened -------------------------------------------------------------------
const parts = {};
const MODULES = {
  charts: "../job/charts.js",
  results: "../job/results.js",
  log: "../job/log.js",
  config: "../job/config.js",
  files: "../job/files.js",
};
const loading = {};
function loadPart(name) {
  loading[name] ??= import(MODULES[name])
    .then((module) => {
      parts[name] = module.start($(`#${name}`), { id, state, plotly: root.dataset.plotly });
    })
    .catch((error) => {
      delete loading[name];
      toast(`Could not load this tab: ${error.message}`, "bad");
    });
  return loading[name];
}
async function showPart(name) {
  if (!MODULES[name]) return;
  await loadPart(name);
  parts[name]?.shown?.();
}
async function searchLog() {
  await loaded;
  if ($("#log").hidden) $("[data-tab=log]").click();
  await loadPart("log");
  $("#log-search")?.focus();
}
// Load a tab's data when the pointer is over it.
$(".tabs").addEventListener("pointerover", async (event) => {
  const name = event.target.closest("[role=tab]")?.dataset.tab;
  if (!MODULES[name] || !state.job) return;
  await loadPart(name);
  parts[name]?.warm?.();
});

load();
// A tab that was clicked before the job arrived opens once it is loaded.
tabs($(".tabs"), (name) => loaded.then(() => $(`#${name}`).hidden || showPart(name)));
addShortcuts({ "/": ["search the log", searchLog] });
await loaded;
// The chart library is large: load it while the page is idle.
(window.requestIdleCallback ?? setTimeout)(() => loadPart("charts").then(() => parts.charts?.warm()));
listen((event) => {
  if (event.kind === "queue") moved(queueChange(event.data, id));
  if (event.job !== id || !state.job) return;
  if (event.kind === "progress" && state.job.state === "running") progressed(event.data);
  for (const part of Object.values(parts)) part.event?.(event);
});
follow(load, (event) => event.job === id && event.kind !== "progress");

/** A queue event, not an event of this job, reports its new position and when it is expected to start. */
function moved(change) {
  if (!change || state.job?.state !== "queued") return;
  Object.assign(state.job, change);
  showNow();
}

function progressed({ step, steps, eta_s, ...ofAttempt }) {
  Object.assign(state.job.progress, { step, steps, eta_s });
  const last = state.attempts.at(-1);
  if (last && !last.ended_at) Object.assign(last, { step, ...ofAttempt });
  show();
}

// Jobs side by side: what differs, and their curves laid over each other.
import { get, query } from "./api.js";
import { $, h, put, say } from "./dom.js";
import { bytes, duration, figure, size } from "./format.js";
import { OPTIONS, layout, onTheme, plotly, traces } from "./plots.js";

const MOST = 5;
const CURVES = [["Total loss", "Loss/total_loss"], ["mAP", "DetectionBoxes_Precision/mAP"], ["mAP@.50", "DetectionBoxes_Precision/mAP@.50IOU"], ["Mask mAP", "DetectionMasks_Precision/mAP"], ["Learning rate", "learning_rate"], ["Images a second", "images_per_s"], ["Device memory (bytes)", "device_memory_peak"]];

const wanted = () => [...new Set((new URLSearchParams(location.search).get("jobs") ?? "").split(/[^0-9]+/).filter(Boolean).map(Number))].slice(0, MOST);

$("#choose").addEventListener("submit", (event) => {
  event.preventDefault();
  history.pushState(null, "", `/compare${query({ jobs: $("#jobs").value.split(/[^0-9]+/).filter(Boolean).join(",") })}`);
  load();
});
addEventListener("popstate", load);

async function load() {
  const ids = wanted();
  $("#jobs").value = ids.join(", ");
  $("#empty").hidden = ids.length >= 2;
  $("#problem").hidden = true;
  put($("#differences"));
  $("#charts").replaceChildren();
  if (ids.length < 2) return;
  const found = await Promise.allSettled(ids.map(async (id) => {
    const [job, attempts] = await Promise.all([get(`/v1/jobs/${id}`), get(`/v1/jobs/${id}/attempts`)]);
    return { ...job, tries: attempts.items };
  }));
  const problems = found.map((one, index) => (one.status === "rejected" ? `job ${ids[index]}: ${one.reason.message}` : null)).filter(Boolean);
  if (problems.length) {
    say($("#problem"), problems.join("; "));
    $("#problem").hidden = false;
  }
  const jobs = found.filter((one) => one.status === "fulfilled").map((one) => one.value);
  if (jobs.length < 2) return;
  showDifferences(jobs);
  await showCurves(jobs);
}

function rows(job) {
  const plan = job.plan;
  const last = job.tries.at(-1);
  return {
    State: job.state, Owner: job.owner, Dataset: job.dataset, Model: job.model, "Image size": size(plan.image_size), Batch: plan.batch_size,
    "Micro-batch": plan.micro_batch, Precision: plan.precision, Steps: plan.steps, "Learning rate": figure(plan.learning_rate), Proposals: plan.proposals ?? "–",
    Attempts: job.attempts, Device: last?.device.name ?? "–",
    "Peak memory": bytes(last?.measured_peak_bytes), "Time": job.finished_at && job.started_at ? duration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000) : "–",
    Reason: job.reason ?? "–",
  };
}

function showDifferences(jobs) {
  const all = jobs.map(rows);
  const differing = Object.keys(all[0]).filter((name) => new Set(all.map((one) => String(one[name]))).size > 1);
  put($("#differences"), differing.length
    ? h("div", { class: "table-wrap card" }, h("table", {}, h("caption", { class: "visually-hidden" }, "What differs"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), jobs.map((job) => h("th", { scope: "col" }, h("a", { href: `/jobs/${job.id}` }, `${job.name} #${job.id}`))))),
      h("tbody", {}, differing.map((name) => h("tr", {}, h("th", { scope: "row" }, name), all.map((one) => h("td", {}, String(one[name]))))))))
    : h("p", { class: "note" }, "These jobs have the same settings and ended the same way."));
}

async function showCurves(jobs) {
  const Plotly = await plotly($("#charts").dataset.plotly);
  const series = await Promise.all(jobs.map((job) => get(`/v1/jobs/${job.id}/metrics${query({ names: CURVES.map(([, name]) => name), max_points: 500 })}`)));
  for (const [title, name] of CURVES) {
    const data = jobs.flatMap((job, number) => traces(series[number].series.filter((one) => one.name === name), number, `${job.name} #${job.id}`));
    if (!data.length) continue;
    const element = h("div", { class: "chart", role: "img", "aria-label": `Chart: ${title} of ${jobs.length} jobs` });
    $("#charts").append(h("div", { class: "card" }, element));
    await Plotly.newPlot(element, data, layout(title, { xaxis: { title: { text: "step", font: { size: 11 } } } }), OPTIONS);
  }
}

get("/v1/jobs?limit=30").then(({ items }) => put($("#recent"), items.map((job) => h("option", { value: `${job.id}` }, job.name)))).catch(() => {});
onTheme(load);
load();

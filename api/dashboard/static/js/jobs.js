// The list of jobs: filters live in the URL, rows stay where they are while they change.
import { get, post, query } from "./api.js";
import { $, $$, h, keyed, put, say } from "./dom.js";
import { follow, listen } from "./events.js";
import { duration, plural, time } from "./format.js";
import { confirmed, doing, onKeys, toast } from "./frame.js";
import { pill, progress } from "./parts.js";

const PAGE = 50;
const ACTIVE = ["queued", "running", "paused"];
const filters = $("#filters");
const chosen = new Set();
let shown = [];
let pages = 1;
let next = null;
let current = null;
let deviceOf = new Map(); // of the jobs that run

// --- filters, kept in the URL -------------------------------------------------------------------------------------
function readUrl() {
  const found = new URLSearchParams(location.search);
  for (const name of ["q", "state", "owner"]) filters.elements[name].value = found.get(name) ?? "";
}
function wanted() {
  const { q, state, owner } = filters.elements;
  const states = state.value === "active" ? ACTIVE : state.value ? [state.value] : [];
  return { q: q.value.trim(), owner: owner.value.trim(), state: states };
}
function isFiltered() {
  return ["q", "state", "owner"].some((name) => filters.elements[name].value.trim());
}
let typing = null;
filters.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const { q, state, owner } = filters.elements;
    history.replaceState(null, "", location.pathname + query({ q: q.value.trim(), state: state.value, owner: owner.value.trim() }));
    pages = 1;
    load();
  }, 150);
});
filters.addEventListener("reset", () => setTimeout(() => filters.dispatchEvent(new Event("input"))));
filters.addEventListener("submit", (event) => event.preventDefault());
addEventListener("popstate", () => {
  readUrl();
  load();
});

// --- loading ------------------------------------------------------------------------------------------------------
let asked = 0;
async function load() {
  const number = ++asked;
  try {
    const items = [];
    let cursor = null;
    for (let page = 0; page < pages; page += 1) {
      const found = await get(`/v1/jobs${query({ ...wanted(), limit: PAGE, cursor })}`);
      items.push(...found.items);
      cursor = found.next;
      if (!cursor) break;
    }
    const [queue, devices] = await Promise.all([get("/v1/queue?limit=1"), get("/v1/devices")]);
    if (number !== asked) return; // the filters have changed meanwhile
    [shown, next] = [items, cursor];
    deviceOf = new Map(devices.items.filter((device) => device.job).map((device) => [device.job.id, device.name]));
    say($("#counts"), `${queue.running} running, ${queue.queued} waiting${queue.paused ? `, ${queue.paused} paused` : ""}`);
    $("#problem").hidden = true;
    show();
  } catch (error) {
    if (number !== asked) return;
    say($("#problem"), `The list could not be loaded: ${error.message}. It is tried again by itself.`);
    $("#problem").hidden = false;
    setTimeout(load, 5000);
  } finally {
    $("#list").setAttribute("aria-busy", "false");
  }
}

function show() {
  keyed($("#rows"), shown, (job) => job.id, makeRow, updateRow);
  $("#list").hidden = !shown.length;
  $("#more").hidden = !next;
  const empty = $("#empty");
  empty.hidden = shown.length > 0;
  if (!shown.length) {
    put(empty, isFiltered()
      ? [h("h2", {}, "No job matches"), h("p", {}, "Change the filters above, or clear them.")]
      : [h("h2", {}, "No jobs yet"), h("p", {}, "Submit the first one: name a dataset and a model, the rest has defaults."),
        h("a", { class: "button primary", href: "/jobs/new" }, "New job")]);
  }
  showChosen();
}

const isOpen = (job) => ACTIVE.includes(job.state);

function makeRow(job) {
  const cell = (label, ...children) => h("td", { "data-label": label }, ...children);
  const row = h("tr", {},
    cell("", h("input", { type: "checkbox", "aria-label": `Choose job ${job.id}`, onchange: (event) => choose(job.id, event.target.checked) })),
    cell("State"), cell("Name"), cell("Owner"), cell("Model"), cell("Dataset"), cell("Progress"), cell("Attempts"), cell("Device"), cell("Age"));
  row.cells[2].className = "name";
  row.cells[7].className = "number";
  return row;
}

function updateRow(row, job) {
  const [box, state, name, owner, model, dataset, steps, attempts, device, age] = row.cells;
  box.firstChild.disabled = !isOpen(job);
  if (!isOpen(job)) chosen.delete(job.id);
  box.firstChild.checked = chosen.has(job.id);
  put(state, h("span", {}, pill(job.stopping ? `${job.state}, ${job.stopping} asked` : job.state, job.state)));
  put(name, h("span", {},
    h("a", { href: `/jobs/${job.id}` }, job.name), h("span", { class: "muted small" }, ` #${job.id}`),
    job.reason ? h("span", { class: "reason" }, job.reason) : null));
  put(owner, h("span", {}, job.owner));
  put(model, h("span", {}, job.model));
  put(dataset, h("span", {}, job.dataset));
  put(steps, job.queue_position ? h("span", { class: "muted" }, job.queue_position === 1 ? "next in line" : `${job.queue_position}. in line`) : progress(job.progress));
  put(attempts, h("span", {}, String(job.attempts)));
  put(device, h("span", {}, deviceOf.get(job.id) ?? "–"));
  put(age, h("span", {}, time(job.created_at, (moment) => duration((Date.now() - Date.parse(moment)) / 1000))));
  row.classList.toggle("selected", chosen.has(job.id));
  row.classList.toggle("current", job.id === current);
}

$("#more").addEventListener("click", (event) => doing(event.target, async () => {
  pages += 1;
  await load();
}));

// --- choosing and cancelling ----------------------------------------------------------------------------------------
function choose(id, is) {
  if (is) chosen.add(id);
  else chosen.delete(id);
  showChosen();
}
function showChosen() {
  $("#bulk").hidden = !chosen.size;
  say($("#chosen"), plural(chosen.size, "job"));
  for (const row of $$("#rows tr")) row.classList.toggle("selected", chosen.has(Number(row.dataset.key)));
}
$("#all").addEventListener("change", (event) => {
  for (const job of shown.filter(isOpen)) choose(job.id, event.target.checked);
  show();
});
$("#cancel").addEventListener("click", (event) => doing(event.target, async () => {
  const ids = [...chosen];
  if (!(await confirmed(`Cancel ${plural(ids.length, "job")}? What they have saved stays.`, "Cancel them"))) return;
  const results = await Promise.allSettled(ids.map((id) => post(`/v1/jobs/${id}/cancel`)));
  const failed = results.filter((result) => result.status === "rejected");
  chosen.clear();
  $("#all").checked = false;
  toast(`${plural(ids.length - failed.length, "job")} cancelled`);
  for (const one of failed) toast(one.reason.message, "bad");
  await load();
}));

// --- keys -----------------------------------------------------------------------------------------------------------
function move(by) {
  const index = shown.findIndex((job) => job.id === current);
  const there = shown[Math.max(0, Math.min(shown.length - 1, index + by))];
  if (!there) return;
  current = there.id;
  for (const row of $$("#rows tr")) row.classList.toggle("current", Number(row.dataset.key) === current);
  const row = $(`#rows tr[data-key="${current}"]`);
  row.scrollIntoView({ block: "nearest" });
  $("a", row).focus({ preventScroll: true });
}
onKeys({
  "j": ["the next job", () => move(1)],
  "k": ["the job before", () => move(-1)],
  "x": ["choose it", () => { const job = shown.find((one) => one.id === current); if (job && isOpen(job)) { choose(job.id, !chosen.has(job.id)); show(); } }],
  "Enter": ["open it", () => current && location.assign(`/jobs/${current}`)],
});

readUrl();
// Steps come every second and change one cell; the rest is loaded again when something has happened.
listen((event) => {
  if (event.kind !== "progress") return;
  const job = shown.find((one) => one.id === event.job);
  const row = job && $(`#rows tr[data-key="${job.id}"]`);
  if (!row || job.state !== "running") return;
  job.progress = { ...job.progress, ...event.data };
  updateRow(row, job);
});
follow(load, (event) => ["state", "job", "ended", "replanned"].includes(event.kind), 500);

// The list of jobs. Filters are kept in the URL; rows stay in place while they change.
import { get, mayChange, maySubmit, post, query, whoami } from "../shared/api.js";
import { $, $$, h, keyed, setContent, setText } from "../shared/dom.js";
import { follow, listen } from "../shared/events.js";
import { duration, plural, time } from "../shared/format.js";
import { watchDevices } from "../devices/watch_devices.js";
import { confirmed } from "../shared/dialogs.js";
import { announce, runAction, toast } from "../shared/messages.js";
import { addShortcuts } from "../frame/shortcuts.js";
import { dot } from "../shared/badges.js";
import { labelOf } from "../shared/device.js";
import { progressOf, queueChange, queueStatus, statusLine } from "../shared/job_status.js";
import { showDeviceTiles } from "../devices/device_tiles.js";

const PAGE = 50;
const MOST = 200; // the service's page limit
const COMPARED = 5; // jobs that can be compared at once
const STATES = ["running", "queued", "paused", "failed", "succeeded", "cancelled"];
const filters = $("#filters");
const { q, owner } = filters.elements;
const states = new Set();
const chosen = new Map(); // id to job, including jobs that the filters hide
let shown = [];
let next = null; // cursor of the next page
let current = null;
let devices = [];

// --- filters, kept in the URL ------------------------------------------------------------------------------------
const wanted = () => ({ q: q.value.trim(), owner: owner.value.trim(), state: [...states] });
const isFiltered = () => Boolean(q.value.trim() || owner.value.trim() || states.size);

function readUrl() {
  const found = new URLSearchParams(location.search);
  q.value = found.get("q") ?? "";
  owner.value = found.get("owner") ?? "";
  states.clear();
  for (const state of found.getAll("state")) if (STATES.includes(state)) states.add(state);
  showFilters();
}
function showFilters() {
  $("#all-states").setAttribute("aria-pressed", String(!states.size));
  for (const state of STATES)
    $(`#states [data-state=${state}]`).setAttribute("aria-pressed", String(states.has(state)));
  $("#mine").setAttribute("aria-pressed", String(Boolean(me) && owner.value.trim() === me.user));
}
function filtered() {
  history.replaceState(null, "", location.pathname + query(wanted()));
  showFilters();
  load();
}
function toggle(state) {
  if (!states.delete(state)) states.add(state);
  filtered();
}
setContent(
  $("#states"),
  h(
    "button",
    {
      type: "button",
      id: "all-states",
      onclick: () => {
        states.clear();
        filtered();
      },
    },
    "All",
  ),
  STATES.map((state) =>
    h(
      "button",
      { type: "button", dataset: { state }, onclick: () => toggle(state) },
      state[0].toUpperCase() + state.slice(1),
      h("span", { class: "count" }),
    ),
  ),
);

let me = null;
whoami()
  .then((found) => {
    me = found;
    showFilters();
    show();
  })
  .catch(() => {}); // header.js shows the error
$("#mine").addEventListener("click", () => {
  owner.value = owner.value.trim() === me?.user ? "" : (me?.user ?? "");
  filtered();
});
let typing = null;
filters.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(filtered, 150);
});
filters.addEventListener("submit", (event) => event.preventDefault());
addEventListener("popstate", () => {
  readUrl();
  load();
});

// --- loading -----------------------------------------------------------------------------------------------------
let asked = 0;
let loaded = null; // filters of the loaded jobs; null before the first load
let isStale = false; // events were missed: jobs after the first page may be out of date

/** Reloads the first page. Keeps the pages after it, which events keep up to date. */
async function load() {
  const number = ++asked;
  const filter = query(wanted());
  const wasStale = isStale;
  const limit = wasStale ? Math.max(PAGE, Math.min(shown.length, MOST)) : PAGE;
  try {
    const [found, queue] = await Promise.all([
      get(`/v1/jobs${query({ ...wanted(), limit })}`),
      get("/v1/queue?limit=1"),
    ]);
    if (number !== asked) return; // the filters changed meanwhile
    const older = !wasStale && filter === loaded && found.next ? behind(found.items) : [];
    if (!older.length) next = found.next;
    [shown, loaded] = [[...found.items, ...older], filter];
    if (wasStale) isStale = false;
    showCounts(queue);
    $("#problem").hidden = true;
    show();
  } catch (error) {
    if (number !== asked) return;
    setText($("#problem"), `Could not load the jobs: ${error.message}. Retrying.`);
    $("#problem").hidden = false;
    setTimeout(load, 5000);
  } finally {
    $("#list").setAttribute("aria-busy", "false");
  }
}

/** The loaded jobs after a new first page. None if there is a gap, because more jobs arrived than a page holds. */
function behind(page) {
  const known = new Set(shown.map((job) => job.id));
  if (!page.some((job) => known.has(job.id))) return [];
  return shown.filter((job) => job.id < page.at(-1).id && (!states.size || states.has(job.state)));
}

const more = $("#more");
async function loadMore() {
  if (!next || more.disabled) return;
  await runAction(more, async () => {
    const [filter, cursor] = [loaded, next];
    const found = await get(`/v1/jobs${query({ ...wanted(), limit: PAGE, cursor })}`);
    if (filter !== loaded || cursor !== next) return;
    next = found.next;
    shown = [...shown, ...found.items];
    show();
  });
}
more.addEventListener("click", loadMore);
new IntersectionObserver(([seen]) => seen.isIntersecting && loadMore(), { rootMargin: "400px" }).observe(more);

/** Shows counts of unfinished jobs. The service does not count the others. */
function showCounts(counts) {
  for (const state of ["running", "queued", "paused"])
    setText($(`#states [data-state=${state}] .count`), String(counts[state]));
}

// --- rows --------------------------------------------------------------------------------------------------------
function show() {
  if (loaded === null) return;
  keyed($("#rows"), shown, (job) => job.id, makeRow, updateRow);
  $("#list").hidden = !shown.length;
  more.hidden = !next;
  const names = [...new Set([...shown.map((job) => job.owner), me?.user].filter(Boolean))].toSorted();
  setContent(
    $("#owners"),
    names.map((name) => h("option", { value: name })),
  );
  const empty = $("#empty");
  empty.hidden = shown.length > 0;
  if (!shown.length) {
    setContent(
      empty,
      isFiltered()
        ? [
            h("h2", {}, "No jobs match"),
            h("p", {}, "Change or clear the filters above."),
            h("a", { class: "button", href: "/" }, "Show all jobs"),
          ]
        : [
            h("h2", {}, "No jobs yet"),
            me && maySubmit(me)
              ? [
                  h("p", {}, "Choose a dataset and a model. Everything else has a default."),
                  h("a", { class: "button primary", href: "/jobs/new" }, "New job"),
                ]
              : h("p", {}, "Jobs appear here when they are submitted."),
          ],
    );
  }
  showChosen();
}

const canCancel = (job) => ["running", "queued", "paused"].includes(job.state) && Boolean(me) && mayChange(me, job);
const STOPPING = { cancel: "cancelling", pause: "pausing" };

function makeRow(job) {
  const cells = ["box", "state", "name", "owner", "model", "far", "attempts number", "device", "age number"].map(
    (name) => h("td", { class: name }),
  );
  const row = h("tr", {}, cells);
  row.cells[0].append(
    h("input", {
      type: "checkbox",
      "aria-label": `Select job ${job.id}`,
      onchange: (event) => choose(job, event.target.checked),
    }),
  );
  // Separate elements, so that the link keeps the focus when the text below it changes.
  row.cells[2].append(h("div", { class: "title" }), h("div", {}), h("div", { class: "also" }));
  row.addEventListener("click", (event) => {
    if (event.target.closest("a, input, td.box") || !getSelection().isCollapsed) return;
    if (event.ctrlKey || event.metaKey) open(`/jobs/${job.id}`, "_blank");
    else location.assign(`/jobs/${job.id}`);
  });
  return row;
}

const line = (text, kind = "", title = text) => h("span", { class: `one-line ${kind}`, title }, text);
/** The current device, or the last one, muted. */
function deviceOf({ device, state }) {
  if (!device) return h("span", { class: "none muted" }, "–");
  return line(
    labelOf(device),
    state === "running" ? "" : "muted",
    `${state === "running" ? "" : "last on "}${device.name}, ${device.id}`,
  );
}
/** Short, for a narrow column. */
const since = (moment) => duration((Date.now() - Date.parse(moment)) / 1000).replace(/ h .*/, " h");

function updateRow(row, job) {
  const [box, state, name, owned, model, steps, tries, device, age] = row.cells;
  const [why, whole, kind] = statusLine(job);
  const phase = devices.find((one) => one.job?.id === job.id)?.job.phase;
  if (chosen.has(job.id)) chosen.set(job.id, job);
  box.firstChild.checked = chosen.has(job.id);
  setContent(state, dot(STOPPING[job.stopping] ?? job.state, job.state));
  setContent(
    name.firstChild,
    h("a", { class: "job", href: `/jobs/${job.id}`, title: job.name }, job.name),
    h("span", { class: "muted small" }, `#${job.id}`),
  );
  setContent(name.children[1], why ? line(why, `why ${kind}`, whole) : null);
  setContent(name.lastChild, line([job.owner, job.model, job.dataset].join(" · "), "small muted"));
  setContent(owned, line(job.owner));
  setContent(model, line(job.model), line(job.dataset, "small muted"));
  setContent(steps, job.state === "queued" && !job.progress.step ? queueStatus(job) : progressOf(job, phase));
  setContent(
    tries,
    h(
      "span",
      { title: `${plural(job.attempts, "attempt")} of at most ${job.policy.max_attempts}` },
      `${job.attempts}/${job.policy.max_attempts}`,
    ),
    h("span", { class: "also" }, deviceOf(job)),
  );
  setContent(device, deviceOf(job));
  setContent(age, time(job.created_at, since));
  row.classList.toggle("selected", chosen.has(job.id));
  row.classList.toggle("current", job.id === current);
}

// --- selection, comparing and cancelling -------------------------------------------------------------------------
function choose(job, is) {
  if (is) chosen.set(job.id, job);
  else chosen.delete(job.id);
  showChosen();
}
const toCancel = () => [...chosen.values()].filter(canCancel);

function showChosen() {
  $("#bulk").hidden = !chosen.size;
  setText($("#chosen"), `${plural(chosen.size, "job")} selected`);
  $("#compare").disabled = chosen.size < 2 || chosen.size > COMPARED;
  const open = toCancel().length;
  $("#cancel").hidden = !open;
  setText($("#cancel"), open === chosen.size ? `Cancel ${plural(open, "job")}` : `Cancel ${open} of ${chosen.size}`);
  for (const row of $$("#rows tr")) {
    const is = chosen.has(Number(row.dataset.key));
    row.classList.toggle("selected", is);
    row.cells[0].firstChild.checked = is;
  }
  $("#all").checked = shown.length > 0 && shown.every((job) => chosen.has(job.id));
  $("#all").indeterminate = chosen.size > 0 && !$("#all").checked;
}
function chooseNone() {
  chosen.clear();
  showChosen();
}
$("#all").addEventListener("change", (event) => {
  for (const job of shown) choose(job, event.target.checked);
});
$("#none").addEventListener("click", chooseNone);
$("#compare").addEventListener("click", () =>
  location.assign(`/compare${query({ jobs: [...chosen.keys()].toSorted((one, other) => one - other).join(",") })}`),
);
$("#cancel").addEventListener("click", (event) =>
  runAction(event.target, async () => {
    const jobs = toCancel();
    const action = `Cancel ${plural(jobs.length, "job")}`;
    if (!(await confirmed(`${action}? All files are kept, but a cancelled job cannot be resumed.`, action))) return;
    const cancelled = (which) => Promise.allSettled(jobs.filter(which).map((job) => post(`/v1/jobs/${job.id}/cancel`)));
    const isRunning = (job) => job.state === "running";
    // Cancel waiting jobs first. Otherwise they would start on the devices that become free.
    const results = [...(await cancelled((job) => !isRunning(job))), ...(await cancelled(isRunning))];
    const failed = results.filter((result) => result.status === "rejected");
    chooseNone();
    if (jobs.length > failed.length) toast(`${plural(jobs.length - failed.length, "job")} cancelled`);
    for (const one of failed) toast(one.reason.message, "bad");
    await load();
  }),
);

// --- shortcuts ---------------------------------------------------------------------------------------------------
function move(by) {
  const index = shown.findIndex((job) => job.id === current);
  const there = shown[Math.max(0, Math.min(shown.length - 1, index + by))];
  if (!there) return;
  current = there.id;
  for (const row of $$("#rows tr")) row.classList.toggle("current", Number(row.dataset.key) === current);
  const link = $(`#rows tr[data-key="${current}"] a`);
  link.scrollIntoView({ block: "nearest" });
  link.focus({ preventScroll: true });
}
addShortcuts({
  j: ["next job", () => move(1)],
  k: ["previous job", () => move(-1)],
  Enter: ["open job"], // the browser opens the row's link, which has the focus
  x: [
    "select job",
    () => {
      const job = shown.find((one) => one.id === current);
      if (job) choose(job, !chosen.has(job.id));
    },
  ],
  Escape: ["clear selection", chooseNone],
});

// --- live updates ------------------------------------------------------------------------------------------------
function change(id, values) {
  const job = shown.find((one) => one.id === id);
  if (!job) return;
  if (values.state && values.state !== job.state) announce(`${job.name} (job ${id}): ${values.state}`);
  Object.assign(job, values);
  updateRow($(`#rows tr[data-key="${id}"]`), job);
}
/** An old one may come after the job has stopped. */
function changeProgress(id, progress) {
  if (shown.find((one) => one.id === id)?.state === "running") change(id, { progress });
}
listen(({ kind, job, data }) => {
  if (kind === "reset") isStale = true;
  else if (kind === "progress") changeProgress(job, data);
  else if (kind === "job") change(job, data);
  else if (kind === "state") change(job, { state: data.state }); // also replayed after a reconnect
  else if (kind === "queue") {
    showCounts(data);
    for (const id of Object.keys(data.positions)) change(Number(id), queueChange(data, id));
  }
});
watchDevices(
  (found) => {
    devices = found;
    showDeviceTiles(devices);
    for (const job of shown)
      if (["running", "queued"].includes(job.state)) updateRow($(`#rows tr[data-key="${job.id}"]`), job);
  },
  () => {},
); // the list shows the error
readUrl();
// Reload when jobs may enter or leave the list. The events above update the rows.
follow(load, (event) => ["submitted", "state"].includes(event.kind), 1500);

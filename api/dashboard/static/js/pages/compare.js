// Compares jobs: a table of differences, and charts with a line for each job.
import { get, query } from "../shared/api.js";
import { $, h, keyed, setContent, setText } from "../shared/dom.js";
import { follow, listen } from "../shared/events.js";
import { bytes, duration, figure, size } from "../shared/format.js";
import { pill } from "../shared/badges.js";
import { labelOf } from "../shared/device.js";
import { ChartGrid, GROUPS, colour, onTheme, plotly, traces, zoomHead } from "../shared/plots.js";

const MOST = 5;
/** The metric that each chart shows. */
const CURVES = {
  "Total loss": "Loss/total_loss",
  mAP: "DetectionBoxes_Precision/mAP",
  "Learning rate": "learning_rate",
  "Images per second": "images_per_s",
  "Device memory": "device_memory_peak",
  "Host memory": "host_memory",
};
const NAMES = [...Object.values(CURVES), "DetectionMasks_Precision/mAP"];
const place = $("#charts");
let jobs = [];
let range = null;

const address = place.dataset.plotly;
const grid = new ChartGrid(place, address, zoom);
const head = zoomHead(() => zoom(null));
head.element.hidden = true;
place.before(head.element);
function zoom(next) {
  range = next;
  showCurves();
}

const wanted = () =>
  [
    ...new Set(
      (new URLSearchParams(location.search).get("jobs") ?? "")
        .split(/[^0-9]+/)
        .filter(Boolean)
        .map(Number),
    ),
  ].slice(0, MOST);
function choose(ids) {
  history.pushState(null, "", `/compare${query({ jobs: ids.join(",") })}`);
  loadOthers();
}
addEventListener("popstate", loadOthers);

function loadOthers() {
  range = null;
  load();
}

let asked = 0;
async function load() {
  const number = ++asked;
  const ids = wanted();
  $("#empty").hidden = ids.length >= 2;
  if (ids.length >= 2) plotly(address).catch(() => {});
  const [found] = await Promise.all([Promise.allSettled(ids.map(loadJob)), knowFamilies()]);
  if (number !== asked) return; // a newer request has started
  const problems = found
    .map((answer, index) => (answer.status === "rejected" ? `job ${ids[index]}: ${answer.reason.message}` : null))
    .filter(Boolean);
  setText($("#problem"), problems.join("; "));
  $("#problem").hidden = !problems.length;
  jobs = found.map((answer, index) => answer.value ?? jobs.find((job) => job.id === ids[index])).filter(Boolean);
  showChosen();
  showTable();
  if (jobs.length >= 2) await showCurves();
  else grid.clear();
  head.element.hidden = !grid.cards.size;
}

async function knowFamilies() {
  if (!families.size)
    families = new Map(
      (await get("/v1/models").catch(() => ({ items: [] }))).items.map((model) => [model.name, model.family]),
    );
}

/** Cached until an event about the job arrives. */
const loadedJobs = new Map();
function loadJob(id) {
  if (!loadedJobs.has(id)) {
    loadedJobs.set(
      id,
      ask(id).catch((error) => {
        loadedJobs.delete(id);
        throw error;
      }),
    );
  }
  return loadedJobs.get(id);
}
async function ask(id) {
  const [job, attempts, metrics] = await Promise.all([
    get(`/v1/jobs/${id}`),
    get(`/v1/jobs/${id}/attempts`),
    loadSeries(id),
  ]);
  return { ...job, tries: attempts.items, metrics };
}
const loadSeries = async (id, steps = null) =>
  (
    await get(
      `/v1/jobs/${id}/metrics${query({ names: NAMES, max_points: 500, from_step: steps?.[0], to_step: steps?.[1] })}`,
    )
  ).series;

// --- job picker --------------------------------------------------------------------------------------------------
const search = $("#search");
const list = $("#found");
let waiting = null;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(find, 200);
});
let isBack = false;
search.addEventListener("focus", () => isBack || find());
search.addEventListener("click", () => list.hidden && find());
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
  if (event.key === "ArrowDown") {
    event.preventDefault();
    if (list.hidden) find();
    else $("button", list)?.focus();
  }
});
/** Closes the list and drops a search in flight. */
function close() {
  clearTimeout(waiting);
  finding += 1;
  list.hidden = true;
}
/** Focuses the search box without opening the list. */
function back() {
  close();
  isBack = true;
  search.focus();
  isBack = false;
}
list.addEventListener("keydown", (event) => {
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (event.key === "Escape") back();
  else if (step) {
    event.preventDefault();
    (event.target.closest("li")[step]?.firstElementChild ?? search).focus();
  }
});
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".picker")) close();
});

let finding = 0;
async function find() {
  const number = ++finding;
  const text = search.value.trim();
  try {
    const { items } = await get(`/v1/jobs${query({ q: /^#?\d+$/.test(text) ? "" : text, limit: 20 })}`);
    const byNumber = /^#?\d+$/.test(text) ? [await get(`/v1/jobs/${text.replace("#", "")}`)] : [];
    const offered = [...byNumber, ...items.filter((job) => !byNumber.length || job.id === byNumber[0].id)].filter(
      (job, at, all) => all.findIndex((other) => other.id === job.id) === at,
    );
    if (number === finding) offer(offered);
  } catch (error) {
    if (number === finding) offer([], error.message);
  }
}
function offer(items, problem = "No matching jobs") {
  const chosen = wanted();
  const open = items.filter((job) => !chosen.includes(job.id));
  list.replaceChildren(
    ...(open.length
      ? open.map((job) =>
          h(
            "li",
            {},
            h(
              "button",
              {
                type: "button",
                onclick: () => {
                  search.value = "";
                  back();
                  choose([...chosen, job.id]);
                },
              },
              h("span", { class: "job-name" }, job.name),
              h("span", { class: "muted" }, ` #${job.id} · ${job.model}`),
              pill(job.state),
            ),
          ),
        )
      : [h("li", { class: "muted" }, problem)]),
  );
  list.hidden = false;
}

function showChosen() {
  keyed(
    $("#chosen"),
    jobs,
    (job) => job.id,
    (job) =>
      h(
        "li",
        {},
        h("span", { class: "swatch" }),
        h("a", { href: `/jobs/${job.id}` }),
        h("span", { class: "muted" }, `#${job.id}`),
        h(
          "button",
          { type: "button", class: "quiet", onclick: () => choose(wanted().filter((id) => id !== job.id)) },
          "×",
        ),
      ),
    (element, job) => {
      $(".swatch", element).style.background = colour(jobs.indexOf(job));
      setText($("a", element), job.name);
      $("button", element).setAttribute("aria-label", `Remove ${job.name}`);
    },
  );
  search.disabled = jobs.length >= MOST;
  search.placeholder = jobs.length >= MOST ? "Five jobs at most" : "Add a job by name or number";
}

// --- table of differences ----------------------------------------------------------------------------------------
const last = (job, name) =>
  job.metrics
    .filter((series) => series.name === name)
    .flatMap((series) => series.mean)
    .at(-1) ?? null;
const seconds = (job) =>
  job.finished_at && job.started_at ? (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000 : null;
/** A model that is no longer in the catalogue is its own family. */
const familyOf = (job) => families.get(job.plan.model) ?? job.plan.model;
/** What jobs must share to be ranked. For example, losses of different models or datasets are not comparable. */
const SAME = {
  data: (job) => job.dataset,
  loss: (job) => `${familyOf(job)} ${job.dataset} ${job.plan.image_size}`,
  length: (job) => `${familyOf(job)} ${job.plan.steps * job.plan.batch_size}`,
  any: () => "",
};
let families = new Map();
/** [name, value, format, {best, same, isFinal}]. isFinal: known only once the job has succeeded. */
const ROWS = [
  ["State", (job) => job.state],
  ["mAP", (job) => last(job, NAMES[1]), figure, { best: Math.max, same: SAME.data }],
  ["Mask mAP", (job) => last(job, NAMES.at(-1)), figure, { best: Math.max, same: SAME.data }],
  ["Total loss, latest", (job) => last(job, NAMES[0]), figure, { best: Math.min, same: SAME.loss }],
  ["Images per second", (job) => last(job, "images_per_s"), figure, { best: Math.max, same: SAME.any }],
  [
    "Peak memory",
    (job) => job.tries.at(-1)?.measured_peak_bytes ?? null,
    bytes,
    { best: Math.min, same: SAME.any, isFinal: true },
  ],
  ["Time", seconds, duration, { best: Math.min, same: SAME.length, isFinal: true }],
  ["Attempts", (job) => job.attempts, String, { best: Math.min, same: SAME.any, isFinal: true }],
  ["Owner", (job) => job.owner],
  ["Dataset", (job) => job.dataset],
  ["Model", (job) => job.plan.model],
  ["Image size", (job) => size(job.plan.image_size)],
  ["Batch", (job) => job.plan.batch_size],
  ["Micro-batch", (job) => job.plan.micro_batch],
  ["Precision", (job) => job.plan.precision],
  ["Steps", (job) => job.plan.steps],
  ["Learning rate", (job) => job.plan.learning_rate, (value) => String(Number(value.toPrecision(4)))],
  ["Proposals", (job) => job.plan.proposals],
  ["Device", (job) => job.tries.at(-1)?.device ?? null, (device) => `${labelOf(device)}, ${device.name}`],
  ["Reason", (job) => job.reason],
];
$("#only").addEventListener("change", showTable);

function showTable() {
  $("#differences").hidden = jobs.length < 2;
  if (jobs.length < 2) return;
  const rows = ROWS.map(([name, value, words = String, mark]) => {
    const values = jobs.map(value);
    const known = values.filter((one) => one !== null && one !== undefined);
    const texts = values.map((one) => (one === null || one === undefined ? "–" : words(one)));
    const differs = new Set(texts).size > 1;
    const top = mark ? topOf(values, words, mark) : null;
    return { name, differs, isKnown: known.length > 0, cells: texts.map((text) => ({ text, best: text === top })) };
  }).filter((row) => row.isKnown && (row.differs || !$("#only").checked));
  $("#table").style.setProperty("--jobs", jobs.length);
  setContent(
    $("#table"),
    h("caption", { class: "visually-hidden" }, "The jobs side by side"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Setting")),
        jobs.map((job) => h("th", { scope: "col" }, `${job.name} #${job.id}`)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          { class: row.differs ? "" : "same" },
          h("th", { scope: "row" }, row.name),
          row.cells.map((cell) =>
            h(
              "td",
              { class: cell.best ? "best" : "", title: cell.text },
              h("span", {}, cell.text),
              cell.best ? h("span", { class: "visually-hidden" }, " (best)") : null,
            ),
          ),
        ),
      ),
    ),
  );
  $("#same").hidden = rows.length > 0;
}

/** The best value of a row, formatted. Null if the jobs cannot be ranked, or all values are the same. */
function topOf(values, words, { best, same, isFinal }) {
  const known = jobs
    .map((job, at) => ({ job, value: values[at] }))
    .filter(({ value }) => value !== null && value !== undefined);
  const [first, ...rest] = known.map(({ job }) => same(job));
  if (rest.some((one) => one !== first) || new Set(known.map(({ value }) => words(value))).size < 2) return null;
  const top = words(best(...known.map(({ value }) => value)));
  return isFinal && known.some(({ job, value }) => words(value) === top && job.state !== "succeeded") ? null : top;
}

// --- charts ------------------------------------------------------------------------------------------------------
async function showCurves() {
  const [shown, steps] = [jobs, range];
  if (!place.childElementCount) grid.skeleton(4);
  try {
    const found = await Promise.all(shown.map((job) => (steps ? loadSeries(job.id, steps) : job.metrics)));
    if (shown !== jobs || steps !== range) return; // the selection changed meanwhile
    const charts = GROUPS.filter((group) => CURVES[group.title])
      .map((group) => ({
        ...group,
        data: shown.flatMap((job, number) =>
          traces(
            found[number].filter((one) => one.name === CURVES[group.title]),
            number,
            `${job.name} #${job.id}`,
            { scale: group.scale },
          ),
        ),
      }))
      .filter((chart) => grid.has(chart, range));
    head.show(range);
    if (charts.length) await grid.show(charts, range, { legend: false });
    else grid.clear(h("p", { class: "card empty" }, "None of these jobs has finished a step yet."));
  } catch (error) {
    setText($("#problem"), `Could not draw the charts: ${error.message}`);
    $("#problem").hidden = false;
  }
}

onTheme(() => {
  showChosen();
  if (jobs.length >= 2) showCurves();
});
listen(({ kind, job }) => (kind === "reset" ? loadedJobs.clear() : loadedJobs.delete(job)));
follow(load, ({ job }) => wanted().includes(job), 3000);

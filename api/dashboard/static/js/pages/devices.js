// The devices of each host: their memory and its users, now and over the last hours.
import { get, whoami } from "../shared/api.js";
import { $, $$, h, keyed, setContent, setText } from "../shared/dom.js";
import { bytes, duration, percent, plural, time } from "../shared/format.js";
import { dot } from "../shared/badges.js";
import { deviceMemory, deviceState, isMemoryUnknown, labelOf } from "../shared/device.js";
import { watchDevices } from "../devices/watch_devices.js";
import { showHistory } from "../devices/history.js";
import { qualification } from "../devices/qualification.js";

let devices = [];
let isAdmin = false;
let hours = Number(new URLSearchParams(location.search).get("hours")) || 6;

function show(found) {
  devices = found;
  $("#problem").hidden = true;
  $("#empty").hidden = devices.length > 0;
  const hosts = Map.groupBy(devices, (device) => device.host);
  keyed($("#hosts"), [...hosts], ([host]) => host, makeHost, updateHost);
  goThere();
}

function makeHost([host]) {
  return h(
    "section",
    { "aria-label": host },
    h("h2", {}, host, h("span", { class: "muted small" })),
    h("div", { class: "devices" }),
  );
}
function updateHost(section, [, there]) {
  const leased = there.filter((device) => device.job).length;
  setText($("h2 span", section), `${plural(there.length, "device")}, ${leased} in use`);
  keyed($(".devices", section), there, (device) => device.id, makeDevice, updateDevice);
}

function makeDevice(device) {
  const card = h(
    "article",
    { class: "card", id: device.id, tabindex: "-1" },
    h("header", {}, h("h3", {}), h("span", { class: "state" })),
    h("div", { class: "now" }),
    h("div", { class: "past" }),
  );
  loadPast(device.id, $(".past", card));
  return card;
}

function updateDevice(card, device) {
  setContent($("h3", card), labelOf(device), h("span", { class: "muted" }, ` ${device.name}`));
  setContent($(".state", card), dot(...deviceState(device)));
  setContent(
    $(".now", card),
    device.problem
      ? h(
          "p",
          { class: "note bad" },
          device.problem,
          device.problem_since ? [" · ", time(device.problem_since, howLong)] : null,
        )
      : null,
    device.total_bytes ? deviceMemory(device) : null,
    h(
      "table",
      { class: "holders" },
      h("caption", { class: "visually-hidden" }, "Memory by process"),
      h("tbody", {}, holders(device)),
    ),
    h("p", { class: "small muted number" }, facts(device)),
    qualification(device, isAdmin),
  );
}

const howLong = (moment) => `for ${duration((Date.now() - Date.parse(moment)) / 1000)}`;

/** A row each for our job, other processes, memory without a known process, and free memory. */
function holders(device) {
  if (isMemoryUnknown(device)) return [];
  const { job, processes, others_bytes, total_bytes, free_bytes } = device;
  const row = (kind, who, count, more = "") =>
    h(
      "tr",
      {},
      h("td", {}, h("span", { class: `holder ${kind}` }, who)),
      h("td", { class: "number" }, bytes(count)),
      h("td", { class: "muted small" }, more),
    );
  const named = processes.reduce((sum, process) => sum + (process.used_bytes ?? 0), 0);
  const unnamed = others_bytes - named;
  return [
    job
      ? row(
          "ours",
          [
            job.id ? h("a", { href: `/jobs/${job.id}` }, job.name) : job.name,
            job.owner ? h("span", { class: "muted" }, ` · ${job.owner}`) : null,
          ],
          device.ours_bytes,
          need(job),
        )
      : null,
    job?.progress
      ? h(
          "tr",
          {},
          h(
            "td",
            { colspan: "3" },
            h(
              "span",
              { class: "far small muted number" },
              h("progress", {
                max: 1,
                value: job.progress.steps ? job.progress.step / job.progress.steps : 0,
                "aria-label": "steps done",
              }),
              far(job),
            ),
          ),
        )
      : null,
    processes.map((process) =>
      row(
        "others",
        h(
          "span",
          { title: process.name },
          process.name ?? "unknown process",
          h("span", { class: "muted" }, ` · pid ${process.pid}`),
        ),
        process.used_bytes,
      ),
    ),
    unnamed > 0 ? row("others", "the driver and unnamed processes", unnamed) : null,
    total_bytes ? row("", "free", free_bytes, `of ${bytes(total_bytes)}`) : null,
  ];
}

const need = ({ predicted, peak_bytes }) =>
  [predicted ? `predicted ${bytes(predicted.bytes)}` : null, peak_bytes ? `peak ${bytes(peak_bytes)}` : null]
    .filter(Boolean)
    .join(", ");

function far({ attempt, phase, progress: { step, steps, eta_s } }) {
  const left = eta_s > 0 ? `${duration(eta_s)} left` : phase;
  return [`attempt ${attempt}`, `step ${step}/${steps} (${percent(step / steps)})`, left].filter(Boolean).join(" · ");
}

function facts({ utilisation, temperature, half_precision, health, seen_at, is_present }) {
  // Utilisation and temperature are out of date when the device is offline.
  if (!is_present) return [half_precision ? `${half_precision} · ` : null, "offline, last seen ", time(seen_at)];
  return [
    utilisation === null ? null : `utilisation ${utilisation} %`,
    temperature === null ? null : `${temperature} °C`,
    half_precision,
    ...healthWords(health),
  ]
    .filter(Boolean)
    .join(" · ");
}

function healthWords(health) {
  if (!health) return [];
  return [
    health.uncorrected_errors ? plural(health.uncorrected_errors, "uncorrectable memory error") : null,
    health.remapped_rows ? `${plural(health.remapped_rows, "remapped row")} of memory` : null,
    health.retired_pages ? `${plural(health.retired_pages, "retired page")} of memory` : null,
    health.repair_pending ? "a reset will repair its memory" : null,
    health.slowed_by.length ? `slowed down by ${health.slowed_by.join(", ")}` : null,
    health.xid ? `Xid ${health.xid.code} (${health.xid.meaning}) on ${new Date(health.xid.at).toLocaleString()}` : null,
  ];
}

// --- history -----------------------------------------------------------------------------------------------------
async function loadPast(id, place) {
  try {
    showHistory(
      place,
      await get(`/v1/devices/${id.split("/").map(encodeURIComponent).join("/")}/history?hours=${hours}&max_points=240`),
      hours,
    );
  } catch (error) {
    setContent(place, h("p", { class: "muted small" }, `Could not load the history: ${error.message}`));
  }
}
const loadAllPast = () =>
  devices.forEach((device) => loadPast(device.id, $(".past", document.getElementById(device.id))));

function showHours() {
  for (const button of $$("#hours button")) button.setAttribute("aria-pressed", String(Number(button.value) === hours));
}
$("#hours").addEventListener("click", (event) => {
  if (!event.target.value) return;
  hours = Number(event.target.value);
  history.replaceState(null, "", `?hours=${hours}${location.hash}`);
  showHours();
  loadAllPast();
});
showHours();
setInterval(() => document.visibilityState === "visible" && loadAllPast(), 60_000);

/** Scrolls to the device in the URL's hash, once. */
function goThere() {
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!wanted || goThere.been === location.hash) return;
  goThere.been = location.hash;
  wanted.scrollIntoView({ block: "center" });
  wanted.focus({ preventScroll: true });
}

whoami().then((me) => {
  isAdmin = me.scopes.includes("admin");
  show(devices);
});

watchDevices(show, (error) => {
  setText($("#problem"), `Could not load the devices: ${error.message}`);
  $("#problem").hidden = false;
});

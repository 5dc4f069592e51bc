// Whose memory is whose, on each device.
import { get } from "./api.js";
import { $, h, keyed, put, say } from "./dom.js";
import { follow } from "./events.js";
import { bytes, time } from "./format.js";
import { memory, pill } from "./parts.js";
import { OPTIONS, layout, onTheme, plotly } from "./plots.js";

const address = $("#devices").dataset.plotly;
const GIB = 2 ** 30;

async function load() {
  try {
    const { items } = await get("/v1/devices");
    $("#problem").hidden = true;
    $("#empty").hidden = items.length > 0;
    keyed($("#devices"), items, (device) => device.id, make, update);
  } catch (error) {
    say($("#problem"), `The devices could not be loaded: ${error.message}`);
    $("#problem").hidden = false;
  }
}

/** free, leased, quarantined, busy with others, away: in words and a colour. */
function stateOf(device) {
  if (!device.is_present) return ["away", "queued"];
  if (device.problem) return ["quarantined", "quarantined"];
  if (device.job) return ["leased", "running"];
  return held(device).others > 0.1 * device.total_bytes ? ["busy with others", "busy"] : ["free", "free"];
}

function held(device) {
  const used = Math.max(0, device.total_bytes - device.free_bytes);
  const byOthers = device.processes.reduce((sum, process) => sum + (process.used_bytes ?? 0), 0);
  const others = device.job ? Math.min(used, byOthers) : used;
  return { others, ours: device.job ? (device.job.used_bytes ?? used - others) : 0 };
}

function make(device) {
  const history = h("details", {}, h("summary", {}, "The last hours"), h("div", { class: "chart" }));
  history.addEventListener("toggle", () => history.open && showHistory(device, history.lastElementChild));
  return h("article", { class: "card" }, h("header", {}, h("h2", {}), h("span", { class: "state" })), h("div", { class: "body" }), history);
}

function update(card, device) {
  say($("h2", card), device.name);
  const [words, kind] = stateOf(device);
  put($(".state", card), pill(words, kind));
  const { ours, others } = held(device);
  const fact = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
  put($(".body", card),
    memory(device.total_bytes, [{ kind: "ours", bytes: ours, words: "ours" }, { kind: "others", bytes: others, words: "others" }]),
    h("p", { class: "small muted" }, `${bytes(device.total_bytes - ours - others)} free of ${bytes(device.total_bytes)}`),
    h("dl", { class: "facts" },
      device.job ? fact("Job", device.job.id ? h("a", { href: `/jobs/${device.job.id}` }, `#${device.job.id}, attempt ${device.job.attempt}`) : "another user's") : null,
      ours ? fact("Ours", bytes(ours)) : null,
      device.processes.length ? fact("Others", h("span", {}, device.processes.map((process) => `${process.name ?? "process"} (${process.pid}${process.user ? `, ${process.user}` : ""}): ${bytes(process.used_bytes)}`).join("; "))) : null,
      device.utilisation !== null ? fact("Utilisation", `${device.utilisation} %`) : null,
      device.temperature !== null ? fact("Temperature", `${device.temperature} °C`) : null,
      fact("Host", device.host), device.problem ? fact("Problem", device.problem) : null,
      fact("Seen", time(device.seen_at))));
}

async function showHistory(device, element) {
  try {
    const [Plotly, found] = await Promise.all([plotly(address), get(`/v1/devices/${encodeURIComponent(device.id)}/history`)]);
    const area = (name, values, colour) => ({ x: found.at, y: values.map((value) => value / GIB), name, stackgroup: "memory", line: { width: 0, color: colour }, fillcolor: colour });
    const style = getComputedStyle(document.documentElement);
    await Plotly.react(element, [area("ours", found.ours_bytes, style.getPropertyValue("--ours").trim()), area("others", found.others_bytes, style.getPropertyValue("--others").trim())],
      layout("", { height: 220, margin: { l: 44, r: 8, t: 8, b: 34 }, yaxis: { title: { text: "GB" }, range: [0, device.total_bytes / GIB] } }), { ...OPTIONS, displayModeBar: false });
  } catch (error) {
    put(element, h("p", { class: "muted" }, error.status === 404 ? "Nothing has been recorded yet." : error.message));
  }
}

onTheme(load);
follow(load, (event) => ["device", "state"].includes(event.kind), 1000);
setInterval(() => document.visibilityState === "visible" && load(), 15_000);

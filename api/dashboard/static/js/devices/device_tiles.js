// The row of devices above the list of jobs: memory use and the running job.
import { $, h, keyed, setContent } from "../shared/dom.js";
import { bytes, duration, percent } from "../shared/format.js";
import { dot } from "../shared/badges.js";
import { deviceMemory, deviceState, isMemoryUnknown, labelOf } from "../shared/device.js";

export function showDeviceTiles(devices) {
  keyed(
    $("#device-tiles"),
    devices,
    (device) => device.id,
    () => h("li", {}),
    update,
  );
  $("#device-tiles").hidden = !devices.length;
}

function update(tile, device) {
  const [words, kind] = deviceState(device);
  setContent(
    tile,
    h(
      "div",
      { class: "line" },
      h(
        "a",
        {
          class: "device",
          href: `/devices#${encodeURIComponent(device.id)}`,
          title: `${device.name} on ${device.host}`,
        },
        h("b", {}, labelOf(device)),
        ` ${device.name}`,
      ),
      dot(words, kind),
    ),
    deviceMemory(device),
    h("div", { class: "line small muted number" }, h("span", {}, held(device)), h("span", {}, heat(device))),
    h("div", { class: "line small" }, what(device)),
  );
}

function held(device) {
  const { total_bytes, ours_bytes, others_bytes, job } = device;
  if (isMemoryUnknown(device)) return "memory unknown";
  const parts = [];
  if (job) parts.push(`${bytes(ours_bytes)}${job.predicted ? ` of ${bytes(job.predicted.bytes)} predicted` : ""}`);
  if (others_bytes) parts.push(`others ${bytes(others_bytes)}`);
  if (!parts.length) parts.push(total_bytes ? `${bytes(total_bytes)} free` : "–");
  return parts.join(" · ");
}

const heat = ({ utilisation, temperature, total_bytes }) =>
  [utilisation === null ? null : `${utilisation} %`, temperature === null ? null : `${temperature} °C`]
    .filter(Boolean)
    .join(" · ") || (total_bytes ? bytes(total_bytes) : "");

function what({ job, problem, processes }) {
  if (job) {
    const name = job.id ? h("a", { href: `/jobs/${job.id}` }, job.name) : h("span", {}, job.name);
    return [
      h("span", {}, name, job.owner ? h("span", { class: "muted" }, ` · ${job.owner}`) : null),
      h("span", { class: "number muted" }, far(job)),
    ];
  }
  if (problem) return h("span", { class: "muted", title: problem }, problem);
  if (processes.length)
    return h("span", { class: "muted" }, processes.map((one) => `${one.name ?? "process"} (${one.pid})`).join(", "));
  return h("span", { class: "muted" }, "idle");
}

function far({ progress, phase }) {
  if (!progress) return "";
  if (!progress.step) return phase ?? "";
  const left = progress.eta_s === null ? "" : ` · ${duration(progress.eta_s)}`;
  return `${percent(progress.step / progress.steps)}${left}`;
}

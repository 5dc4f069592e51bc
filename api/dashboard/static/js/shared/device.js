// A device's label, its state, and a bar that shows who uses its memory.
import { svg } from "./dom.js";
import { bytes } from "./format.js";

/** From an id such as `host/gpu-1` or `host/gpu-0-mig-3`: its number stays with a card, NVML's index does not. */
export const labelOf = ({ id }) =>
  id.replace(/^.*\//, "").replace(/^cpu-/, "Slot ").replace(/^gpu-/, "GPU ").replace(/-mig-/, " MIG ");

/** Returns the state's text and the class that colours it. */
export function deviceState(device) {
  if (!device.is_present) return ["offline", "queued"];
  if (device.is_being_checked) return ["being checked", "queued"];
  if (device.problem) return ["quarantined", "quarantined"];
  if (device.job) return ["in use", "running"];
  return device.others_bytes > 0.1 * device.total_bytes ? ["used by others", "busy"] : ["free", "free"];
}

/** True when the driver does not respond: the device then reports no free memory and no processes. */
export const isMemoryUnknown = ({ problem, free_bytes, job, processes }) =>
  Boolean(problem) && !free_bytes && !job && !processes.length;

/** A bar of the memory that our job and others use, with marks for the job's predicted and peak memory. */
export function deviceMemory(device) {
  const { total_bytes, ours_bytes, others_bytes, job } = device;
  if (isMemoryUnknown(device)) return memory(total_bytes, []);
  const marks = [];
  if (job?.predicted) marks.push({ kind: "predicted", bytes: others_bytes + job.predicted.bytes });
  if (job?.peak_bytes) marks.push({ kind: "peak", bytes: others_bytes + job.peak_bytes });
  return memory(
    total_bytes,
    [
      { kind: "others", bytes: others_bytes, words: "others" },
      { kind: "ours", bytes: ours_bytes, words: "ours" },
    ],
    marks,
  );
}

/** `parts`: [{bytes, kind, words}], stacked from the left. `marks`: [{bytes, kind}], drawn as lines. */
function memory(total, parts, marks = []) {
  const scale = Math.max(total, ...marks.map((mark) => mark.bytes), 1);
  const at = (count) => `${(100 * count) / scale}%`;
  let from = 0;
  const bars = parts.map((part) => {
    const bar = svg("rect", { class: part.kind, x: at(from), y: 0, width: at(part.bytes), height: "100%" });
    from += part.bytes;
    return bar;
  });
  const lines = marks.map((mark) =>
    svg("line", { class: mark.kind, x1: at(mark.bytes), x2: at(mark.bytes), y1: 0, y2: "100%" }),
  );
  const words = parts.map((part) => `${part.words ?? part.kind} ${bytes(part.bytes)}`).join(", ") || "unknown";
  return svg(
    "svg",
    { class: "meter", role: "img", "aria-label": `${words} of ${bytes(total)}`, preserveAspectRatio: "none" },
    bars,
    lines,
  );
}

// The last check of a GPU in words, and a button that asks for another one.
import { post } from "../shared/api.js";
import { h } from "../shared/dom.js";
import { bytes, time } from "../shared/format.js";
import { runAction, toast } from "../shared/messages.js";

/** A line for a GPU; null for a CPU slot. `mayAsk`: show the button. */
export function qualification(device, mayAsk) {
  if (device.kind !== "gpu") return null;
  return h("p", { class: "small muted checked" }, h("span", {}, words(device)), mayAsk ? button(device) : null);
}

function words({ qualification: found }) {
  if (!found) return "not checked yet";
  const when = [found.ok ? "checked " : "failed its check ", time(found.at)];
  if (found.asked_at) when.push(", a new check is due");
  const { driver, cuda, cudnn, tensorflow } = found.versions;
  const details = [
    found.capability && `capability ${found.capability}`,
    Object.entries(found.precisions)
      .map(([precision, result]) => (result === "ok" ? precision : `${precision} fails`))
      .join(", "),
    found.limit_bytes && `TensorFlow gets ${bytes(found.limit_bytes)}`,
    driver && `driver ${driver}`,
    cuda && `CUDA ${cuda}`,
    cudnn && `cuDNN ${cudnn}`,
    tensorflow && `TensorFlow ${tensorflow}`,
  ];
  return [when, details.filter(Boolean).map((detail) => ` · ${detail}`)];
}

function button(device) {
  const [host, key] = device.id.split(/\/(?=[^/]*$)/).map(encodeURIComponent);
  const check = h("button", { type: "button", class: "small" }, "Check again");
  check.addEventListener("click", () =>
    runAction(check, async () => {
      await post(`/v1/devices/${host}/${key}/qualify`);
      toast("The device is checked as soon as no job runs on it.");
    }),
  );
  return check;
}

// The pipeline.config of an attempt, as run.
import { get } from "./api.js";
import { h, put } from "./dom.js";
import { toast } from "./frame.js";

export function start(root, { id, state }) {
  const select = h("select", { id: "config-attempt", onchange: load });
  const text = h("pre", { class: "mono", tabindex: "0", "aria-label": "pipeline.config" });
  root.append(h("div", { class: "card" },
    h("header", {}, h("h2", {}, "pipeline.config"), h("label", { for: "config-attempt" }, "of attempt"), select,
      h("button", { type: "button", onclick: async () => {
        await navigator.clipboard.writeText(text.textContent);
        toast("Copied");
      } }, "Copy")), text));

  function options() {
    const chosen = select.value || String(state.attempts.at(-1)?.number ?? "");
    put(select, state.attempts.map((attempt) => h("option", { value: String(attempt.number) }, String(attempt.number))));
    select.value = chosen;
  }
  async function load() {
    options();
    if (!select.value) {
      text.textContent = "There is none yet: it is written when the job gets a device.";
      return;
    }
    try {
      text.textContent = await get(`/v1/jobs/${id}/attempts/${select.value}/config`);
    } catch (error) {
      text.textContent = `It could not be loaded: ${error.message}`;
    }
  }
  return { shown: load, changed: () => !root.hidden && options() };
}

// The files that a job gives away.
import { get } from "./api.js";
import { h, put } from "./dom.js";
import { bytes, time } from "./format.js";

export function start(root, { id }) {
  const place = h("div", {});
  root.append(place);
  async function load() {
    try {
      const { items, is_complete: isComplete } = await get(`/v1/jobs/${id}/artifacts`);
      if (!items.length) {
        put(place, h("p", { class: "card empty" }, "No files yet."));
        return;
      }
      const rows = items.map((file) => h("tr", {},
        h("td", { "data-label": "File", class: "mono" }, h("a", { href: file.link, download: "" }, file.name)),
        h("td", { "data-label": "Size", class: "number" }, h("span", {}, file.bytes === null ? "made while it is sent" : bytes(file.bytes))),
        h("td", { "data-label": "Changed" }, h("span", {}, time(file.modified_at)))));
      put(place, isComplete ? null : h("p", { class: "note warn" }, "There are more files than are listed here."),
        h("div", { class: "table-wrap" }, h("table", { class: "stacks" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "File"), h("th", { scope: "col", class: "number" }, "Size"), h("th", { scope: "col" }, "Changed"))), h("tbody", {}, rows))));
    } catch (error) {
      put(place, h("p", { class: "note bad", role: "alert" }, `The files could not be listed: ${error.message}`));
    }
  }
  return { shown: load, event: (event) => !root.hidden && ["checkpoint", "ended", "image"].includes(event.kind) && load() };
}

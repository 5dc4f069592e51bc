// Cells of the tables of datasets and models. On a phone each cell shows its label.
import { query } from "./api.js";
import { $, h, setText } from "./dom.js";

export const cell = (label, ...children) => h("td", { "data-label": label }, h("span", {}, ...children));
export const numberCell = (label, value) => h("td", { "data-label": label, class: "number" }, h("span", {}, value));
export const trainLink = (values, name) =>
  h("a", { class: "button", href: `/jobs/new${query(values)}`, "aria-label": `Train with ${name}` }, "Train with this");
export const actionCell = (...children) => h("td", { class: "action" }, ...children);

export function showProblem(error) {
  setText($("#problem"), `Could not load the list: ${error.message}`);
  $("#problem").hidden = false;
}

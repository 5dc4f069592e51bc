// The changes to a submitted pipeline.config, by group, with each reason once and its fields below.
import { h } from "./dom.js";
import { plural } from "./format.js";
import { arrow } from "./plan.js";

const GROUPS = {
  memory: "To fit in memory",
  request: "Your request",
  checkpoint: "Starting weights",
  dataset: "Dataset",
  evaluation: "Evaluation",
  input: "Input pipeline",
  files: "Files",
  unused: "No effect",
  unexplained: "Unexplained",
};
const FOLDED = new Set(["dataset", "evaluation", "input", "files", "unused"]); // long, and the same for every job

/** `changes`: as the API returns them. */
export function submittedBlocks(changes) {
  if (!changes.length) return h("p", { class: "muted" }, "Runs exactly as submitted.");
  return h(
    "div",
    { class: "submitted-blocks" },
    [...Map.groupBy(changes, (change) => change.group ?? "unexplained")].map(([group, members]) =>
      h(
        "details",
        { class: "submitted-block", open: !FOLDED.has(group) },
        h(
          "summary",
          {},
          h("strong", {}, GROUPS[group] ?? group),
          h("span", { class: "muted" }, ` ${plural(members.length, "field")}`),
        ),
        [...Map.groupBy(members, (change) => change.reason)].map(([reason, fields]) => [
          h("p", { class: "diff-words" }, `${reason[0].toUpperCase()}${reason.slice(1)}.`),
          list(fields),
        ]),
      ),
    ),
  );
}

function list(fields) {
  return h(
    "dl",
    { class: "diff-fields" },
    fields.map((one) =>
      h(
        "div",
        {},
        h("dt", {}, one.field),
        h("dd", {}, one.group === "unused" ? one.before : arrow(one.before ?? "not set", one.after ?? "not set")),
      ),
    ),
  );
}

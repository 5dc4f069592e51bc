// The changes from one attempt to the next: a block for each lever, with its reason and cost.
import { h } from "../shared/dom.js";
import { arrow } from "../shared/plan.js";

const LEVERS = {
  micro_batch: "Micro-batch",
  precision: "Precision",
  proposals: "Proposals",
  image_size: "Image size",
  backbone: "Backbone",
  batch_size: "Batch",
};
const FIELDS = {
  micro_batch: "micro-batch",
  batch_size: "batch",
  precision: "precision",
  proposals: "proposals",
  second_stage_batch: "sampled proposals",
  image_size: "image",
  model: "model",
  steps: "steps",
  learning_rate: "learning rate",
  start: "starts from",
  async_allocator: "allocator",
};
const rank = (field) => ({ batch_size: 0, micro_batch: 1 })[field] ?? 2; // the other settings follow from these
const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;
const DOTTED = /[.[]/;

/** `changes`: of the plan. `fields`: of the configuration. Both as the API returns them. */
export function attemptChanges(changes, fields) {
  const blocks = new Map();
  const block = (change) => {
    const key = change.lever ?? change.what ?? change.reason;
    if (!blocks.has(key))
      blocks.set(key, { lever: change.lever, reason: change.lever ? null : change.reason, settings: [], fields: [] });
    return blocks.get(key);
  };
  for (const change of changes) block(change).settings.push(change);
  for (const change of fields) if (DOTTED.test(change.field)) block(change).fields.push(change);
  const whys = [...new Set(changes.map((change) => change.why).filter(Boolean))];
  return h(
    "div",
    { class: "diff-blocks" },
    whys.map((why) => h("p", { class: "diff-why" }, `${capital(why)}.`)),
    [...blocks.values()].map(show),
  );
}

function show({ lever, reason, settings: unordered, fields }) {
  const settings = unordered.toSorted((one, other) => rank(one.field) - rank(other.field));
  const sentences = [...new Set(settings.map((one) => one.what ?? one.reason))];
  const costs = [...new Set(settings.map((one) => one.cost).filter(Boolean))];
  return h(
    "section",
    { class: "diff-block" },
    h("h3", {}, LEVERS[lever] ?? (settings.length ? "Other settings" : "Other changes")),
    settings.length
      ? h(
          "p",
          { class: "diff-settings" },
          settings.map((one) =>
            h(
              "span",
              { class: "setting changed" },
              h("span", { class: "what" }, `${FIELDS[one.field] ?? one.field} `),
              arrow(one.before, one.after),
            ),
          ),
        )
      : null,
    h(
      "p",
      { class: "diff-words" },
      reason ?? `${sentences.map(capital).join(". ")}.`,
      costs.length ? [" ", h("span", { class: "cost" }, `Costs: ${costs.join("; ")}.`)] : null,
    ),
    fields.length
      ? h(
          "dl",
          { class: "diff-fields" },
          fields.map((one) =>
            h("div", {}, h("dt", {}, breakable(one.field)), h("dd", {}, arrow(one.before, one.after))),
          ),
        )
      : null,
  );
}

/** A dotted name that may wrap after its dots. */
function breakable(name) {
  return name
    .split(/(?<=\.)/)
    .flatMap((part) => [part, h("wbr", {})])
    .slice(0, -1);
}

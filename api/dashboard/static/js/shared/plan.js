// Shows a plan's settings, and how they differ from another plan's.
import { h } from "./dom.js";
import { size } from "./format.js";

const WORDS = {
  model: ["", (plan) => plan.model],
  image_size: ["image", (plan) => size(plan.image_size)],
  batch_size: ["batch", (plan) => String(plan.batch_size)],
  micro_batch: ["micro-batch", (plan) => String(plan.micro_batch)],
  precision: ["", (plan) => plan.precision],
  proposals: ["proposals", (plan) => (plan.proposals ? String(plan.proposals) : "")],
  second_stage_batch: ["sampled proposals", (plan) => (plan.second_stage_batch ? String(plan.second_stage_batch) : "")],
  learning_rate: ["learning rate", (plan) => String(Number(plan.learning_rate.toPrecision(4)))],
  steps: ["steps", (plan) => String(plan.steps)],
};
const inPieces = (plan) => plan.micro_batch < plan.batch_size;
const ALWAYS = ["model", "image_size", "batch_size", "precision", "proposals"];

/** [{field, label, now, before}] for the settings in `shown` and all that differ. `before` is null if one does not. */
export function settings(plan, former = null, shown = ALWAYS) {
  return Object.entries(WORDS)
    .map(([field, [label, words]]) => {
      const [now, before] = [words(plan), former ? words(former) : null];
      return { field, label, now, before: before === now ? null : before };
    })
    .filter(({ field, now, before }) => {
      if (field === "micro_batch")
        return inPieces(plan) ? shown === ALWAYS || before !== null : former !== null && inPieces(former);
      return now && (before !== null || shown.includes(field));
    });
}

/** One pill for each setting. A setting that differs shows both values. */
export function planPills(plan, former = null, shown = ALWAYS) {
  return h(
    "span",
    { class: "plan" },
    settings(plan, former, shown).map(({ label, now, before }) =>
      h(
        "span",
        { class: before === null ? "setting" : "setting changed" },
        label ? h("span", { class: "what" }, `${label} `) : null,
        before === null ? null : [h("del", {}, before), h("span", { class: "to" }, " → ")],
        before === null ? now : h("ins", {}, now),
      ),
    ),
  );
}

/** `before → after`, as <del> and <ins> for screen readers. */
export const arrow = (before, after) =>
  h(
    "span",
    { class: "from-to" },
    h("del", {}, before ?? "–"),
    h("span", { class: "to" }, " → "),
    h("ins", {}, after ?? "–"),
  );

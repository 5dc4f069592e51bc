// The estimate for a new job: how it would start, on which devices it fits, and its fallbacks.
import { $, h, setContent } from "../shared/dom.js";
import { bytes, plural } from "../shared/format.js";
import { gauge, reach } from "../shared/memory_gauge.js";
import { pill } from "../shared/badges.js";
import { labelOf } from "../shared/device.js";
import { planPills, settings } from "../shared/plan.js";
import { submittedBlocks } from "../shared/own_config_changes.js";

const SOURCES = {
  measured: "measured here",
  scaled: "scaled from measurements here",
  catalogue: "general estimate; this model has not been measured here yet",
};
let isOpen = false; // whether the smaller fallbacks are shown

export function showEstimate(place, found) {
  const plan = found.plan ?? found.asked;
  const rungs = found.plan ? withPlan(found, plan) : found.ladder;
  delete place.dataset.old;
  setContent(
    place,
    h("h2", {}, "Estimate"),
    verdict(found, plan),
    found.warnings.map((words) => h("p", { class: "note warn" }, words)),
    found.config_changes.length
      ? [h("h3", {}, "Changed in your pipeline.config"), submittedBlocks(found.config_changes)]
      : null,
    h("h3", {}, "Devices"),
    found.devices.length ? deviceList(found) : h("p", { class: "muted" }, "No devices yet. The job will wait for one."),
    h("h3", {}, "Fallbacks, tried in this order"),
    ladder(rungs, found.devices),
  );
  const toggle = $(".more-rungs", place);
  if (toggle)
    toggle.onclick = () => {
      isOpen = !isOpen;
      showEstimate(place, found);
      $(".more-rungs", place).focus();
    };
}

function verdict(found, plan) {
  if (!found.possible) return h("p", { class: `note verdict${found.waits_for ? "" : " bad"}` }, found.summary);
  const costs = [...new Set(found.changes.map((change) => change.cost).filter(Boolean))];
  const why = found.changes.find((change) => change.why)?.why;
  return h(
    "div",
    { class: "verdict" },
    h("p", {}, found.changes.length ? "Will be reduced to fit:" : "Will start as requested:"),
    planPills(plan, found.asked),
    why
      ? h("p", { class: "muted small" }, `${why[0].toUpperCase()}${why.slice(1)}.`)
      : h(
          "p",
          { class: "muted small" },
          `About ${bytes(found.predicted.bytes)}, ${SOURCES[found.predicted.source] ?? found.predicted.source}.`,
        ),
    costs.length ? h("p", { class: "small cost" }, `Costs: ${costs.join("; ")}.`) : null,
  );
}

function deviceList(found) {
  const scale = Math.max(...found.devices.map((one) => reach({ limit: one.total_bytes, predicted: one.predicted })));
  return h(
    "ul",
    { class: "estimate-devices" },
    found.devices.map((one) =>
      h(
        "li",
        {},
        h(
          "div",
          { class: "row" },
          h("span", { title: one.id }, h("strong", {}, labelOf(one)), h("span", { class: "muted" }, ` ${one.name}`)),
          verdictOn(one),
        ),
        gauge({
          limit: one.total_bytes,
          limitWords: "total",
          predicted: one.predicted,
          taken: one.total_bytes - one.free_bytes,
          scale,
        }),
      ),
    ),
  );
}

function verdictOn({ fits, fits_now: fitsNow, problem }) {
  if (!fits) return pill("does not fit", "failed");
  if (problem) return h("span", { title: problem }, pill("fits, but quarantined", "warn"));
  return fitsNow ? pill("fits", "free") : pill("fits when free", "warn");
}

/** Inserts the plan into the ladder, which leaves out small steps. */
function withPlan({ ladder: rungs, predicted }, plan) {
  const same = (rung) => JSON.stringify(rung.plan) === JSON.stringify(plan);
  const at = rungs.findIndex(same);
  if (at >= 0) return rungs.map((rung, index) => ({ ...rung, isPlan: index === at }));
  const below = rungs.findIndex((rung) => rung.predicted.high_bytes < predicted.high_bytes);
  const place = below < 0 ? rungs.length : below;
  return rungs.toSpliced(place, 0, { plan, predicted, fits: null, cost: null, isPlan: true });
}

function ladder(rungs, devices) {
  const planned = rungs.findIndex((rung) => rung.isPlan);
  const fitting = rungs.findIndex((rung) => rung.fits && Object.values(rung.fits).some(Boolean));
  const shown = planned < 0 && fitting < 0 ? rungs.length : Math.max(planned, fitting) + 1;
  const hidden = rungs.length - shown;
  const scale =
    Math.max(...rungs.map((rung) => rung.predicted.high_bytes), ...devices.map((one) => one.total_bytes)) * 1.02;
  const names = new Map(devices.map((one) => [one.id, labelOf(one)]));
  const row = (rung, index) =>
    h(
      "tr",
      { class: rung.isPlan ? "planned" : "", "aria-current": rung.isPlan ? "step" : null },
      h("td", { class: "number" }, String(index + 1)),
      h(
        "td",
        {},
        index === 0 ? h("span", { class: "muted" }, "as requested") : steps(rung.plan, rungs[index - 1].plan),
        rung.isPlan ? pill("starts here", "running") : null,
      ),
      h(
        "td",
        {},
        bar(rung.predicted, devices, scale),
        h(
          "span",
          { class: "muted small" },
          `${bytes(rung.predicted.bytes)}, at most ${bytes(rung.predicted.high_bytes)}`,
        ),
      ),
      h("td", {}, fitsOn(rung, names)),
    );
  return [
    h(
      "div",
      { class: "ladder-wrap" },
      h(
        "table",
        { class: "ladder" },
        h("caption", { class: "visually-hidden" }, "Fallbacks, tried in this order"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col", class: "number" }, "#"),
            h("th", { scope: "col" }, "Changes"),
            h("th", { scope: "col" }, "Memory"),
            h("th", { scope: "col" }, "Fits"),
          ),
        ),
        h("tbody", {}, rungs.slice(0, isOpen ? rungs.length : shown).map(row)),
      ),
    ),
    hidden > 0
      ? h(
          "button",
          { type: "button", class: "quiet more-rungs", "aria-expanded": String(isOpen) },
          isOpen ? "Show fewer" : `Show ${plural(hidden, "smaller option")}`,
        )
      : null,
  ];
}

/** What a rung changes from the one before. */
function steps(plan, before) {
  return settings(plan, before, []).length ? planPills(plan, before, []) : h("span", { class: "muted" }, "–");
}

/** The predicted range as a small bar, with a line for each device's memory. */
function bar(predicted, devices, scale) {
  const at = (element, from, to = null) => {
    element.style.left = `${(100 * from) / scale}%`;
    if (to !== null) element.style.width = `${(100 * (to - from)) / scale}%`;
    return element;
  };
  return h(
    "span",
    { class: "small-bar", "aria-hidden": "true" },
    at(h("span", { class: "sure" }), 0, predicted.low_bytes),
    at(h("span", { class: "maybe" }), predicted.low_bytes, predicted.high_bytes),
    devices.map((one) => at(h("span", { class: "line", title: labelOf(one) }), one.total_bytes)),
  );
}

function fitsOn(rung, names) {
  if (!rung.fits) return h("span", { class: "muted" }, "see above");
  const where = Object.entries(rung.fits)
    .filter(([, does]) => does)
    .map(([id]) => names.get(id) ?? id);
  if (!where.length) return h("span", { class: "muted" }, "none");
  return h("span", {}, where.length === names.size && names.size > 1 ? "all devices" : where.join(", "));
}

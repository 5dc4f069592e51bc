// The page of one dataset: what it holds, what its checks found, its statistics and samples.
import { get, maySubmit, whoami } from "../shared/api.js";
import { $, h, setContent, setText } from "../shared/dom.js";
import { bytes, wholeNumber } from "../shared/format.js";
import { trainLink } from "../shared/table_cells.js";
import { showFindings } from "../datasets/findings.js";
import { showSamples } from "../datasets/samples.js";
import { showStatistics } from "../datasets/statistics.js";

const root = $("#dataset");
const { name } = root.dataset;
const path = `/v1/datasets/${encodeURIComponent(name)}`;

async function load() {
  try {
    const [dataset, me] = await Promise.all([get(path), whoami()]);
    await show(dataset, me);
  } catch (error) {
    showProblem(`Could not load the dataset: ${error.message}`);
  } finally {
    root.removeAttribute("aria-busy");
  }
}

async function show(dataset, me) {
  setContent($("#facts"), facts(dataset));
  if (dataset.problem) {
    showProblem(`It cannot be used: ${dataset.problem}`);
    return;
  }
  if (maySubmit(me)) setContent($("#actions"), trainLink({ dataset: name }, name));
  showFindings(dataset.findings);
  showStatistics(dataset);
  await showSamples(path, dataset.class_counts);
}

function facts(dataset) {
  const rows = [
    ["Training images", wholeNumber(dataset.images)],
    ["Validation images", wholeNumber(dataset.validation_images)],
    ["Boxes in training", dataset.boxes === null ? "–" : wholeNumber(dataset.boxes)],
    ["Classes", wholeNumber(dataset.classes.length)],
    ["Masks", dataset.has_masks ? "yes" : "no"],
    ["Size", bytes(dataset.bytes)],
    ["Format", dataset.format],
    ["Version", dataset.version ? h("span", { class: "mono" }, dataset.version) : null],
  ];
  return rows
    .filter(([, value]) => value)
    .map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", { class: "number" }, value)));
}

function showProblem(text) {
  setText($("#problem"), text);
  $("#problem").hidden = false;
}

load();

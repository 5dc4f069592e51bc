// A grid of a dataset's images with their boxes, and one of them in full size.
import { get, query } from "../shared/api.js";
import { openDialog } from "../shared/dialogs.js";
import { $, h, setText, svg } from "../shared/dom.js";
import { plural, wholeNumber } from "../shared/format.js";

const COLOURS = 8; // in dataset.css
const LIMIT = 24;
let asked = 0; // number of the newest request

/** `path`: of the dataset in the API. `classes`: its class_counts. */
export async function showSamples(path, classes) {
  const form = $("#samples-choice");
  const colours = new Map(classes.map(({ name }, number) => [name, number % COLOURS]));
  form.elements.class.append(...classes.map(({ name }) => h("option", { value: name }, name)));
  const load = async (cursor = null) => {
    const mine = ++asked;
    const choice = Object.fromEntries(new FormData(form));
    const found = await get(`${path}/samples${query({ ...choice, limit: LIMIT, cursor })}`);
    if (mine === asked) show(found, cursor !== null);
  };
  const show = (found, isMore) => {
    const tiles = found.items.map((sample) => tile(path, sample, colours));
    if (isMore) $("#samples").append(...tiles);
    else $("#samples").replaceChildren(...tiles);
    setText($("#samples-count"), found.problem ? "" : plural(wholeNumber(found.count), "image"));
    $("#more").hidden = found.next === null;
    $("#more").onclick = () => load(found.next).catch(showProblem);
    $("#samples-problem").hidden = !found.problem;
    setText($("#samples-problem"), found.problem ?? "");
  };
  form.addEventListener("change", () => load().catch(showProblem));
  form.addEventListener("submit", (event) => event.preventDefault());
  $("#samples-card").hidden = false;
  await load().catch(showProblem);
}

function showProblem(error) {
  setText($("#samples-problem"), `Could not load the samples: ${error.message}`);
  $("#samples-problem").hidden = false;
}

function tile(path, sample, colours) {
  const words = `${sample.name || sample.id}: ${plural(sample.objects, "box", "boxes")}`;
  const place = h("div", { class: "sample-place" }, sample.problem ? problem(sample) : frame(path, sample, colours));
  return h(
    "li",
    { dataset: { sample: sample.id } },
    h(
      "button",
      {
        type: "button",
        class: "sample",
        "aria-label": words,
        disabled: Boolean(sample.problem),
        onclick: () => open(path, sample, colours, words),
      },
      place,
      h("span", { class: "one-line small" }, sample.name || sample.id),
      h("span", { class: "muted small number" }, `${sample.width} × ${sample.height} · ${boxWords(sample)}`),
    ),
  );
}

const problem = (sample) => h("span", { class: "muted small" }, sample.problem);
const boxWords = ({ objects, boxes }) =>
  objects > boxes.length ? `${boxes.length} of ${objects} boxes` : plural(objects, "box", "boxes");

/**
 * The image with its boxes over it. It has the image's aspect ratio and fits into its place, so the image, which fills
 * it, and the boxes, which are drawn in the image's pixels, always agree.
 */
function frame(path, sample, colours) {
  const { id, width, height, boxes } = sample;
  const shown = h(
    "div",
    { class: `frame ${width >= height ? "wide" : "tall"}` },
    h("img", { src: `${path}/samples/${id}/image`, alt: "", loading: "lazy", decoding: "async" }),
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      boxes.map((box) => outline(box, sample, colours)),
    ),
  );
  shown.style.aspectRatio = `${width} / ${height}`;
  return shown;
}

function outline({ label, ymin, xmin, ymax, xmax }, { width, height }, colours) {
  const place = {
    x: xmin * width,
    y: ymin * height,
    width: (xmax - xmin) * width,
    height: (ymax - ymin) * height,
  };
  return svg(
    "g",
    { class: `box-${colours.get(label) ?? 0}` },
    svg("rect", { class: "under", ...place }),
    svg("rect", place),
  );
}

function open(path, sample, colours, words) {
  const large = frame(path, sample, colours);
  // The largest size that fits the window both ways.
  large.style.width = `min(100%, ${((70 * sample.width) / sample.height).toFixed(2)}vh)`;
  large.append(...sample.boxes.map((box) => tag(box, colours)));
  openDialog(
    words,
    { class: "sample-dialog" },
    h("h2", { class: "one-line" }, sample.name || sample.id),
    large,
    h("p", { class: "muted small number" }, `${sample.width} × ${sample.height} · ${boxWords(sample)}`),
    h(
      "form",
      { method: "dialog" },
      h(
        "menu",
        {},
        h("a", { class: "button", href: `${path}/samples/${sample.id}/image` }, "Open the image"),
        h("button", { class: "primary" }, "Close"),
      ),
    ),
  );
}

/** The name of a box's class, at its upper left corner. */
function tag({ label, ymin, xmin }, colours) {
  const element = h("span", { class: `box-tag box-${colours.get(label) ?? 0}` }, label);
  element.style.left = `${100 * Math.max(0, xmin)}%`;
  element.style.top = `${100 * Math.max(0, ymin)}%`;
  return element;
}

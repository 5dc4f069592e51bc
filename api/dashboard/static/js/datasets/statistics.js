// The charts of a dataset: classes, and the sizes of images and boxes.
import { $, $$, h, setContent } from "../shared/dom.js";
import { figure, plural, wholeNumber } from "../shared/format.js";
import { barChart } from "./bars.js";

/** Charts of one split at a time; the buttons choose it. Without statistics, only the classes. */
export function showStatistics(dataset) {
  const { statistics, class_counts: classes } = dataset;
  $("#statistics-card").hidden = false;
  const buttons = $$("#statistics-split button");
  const show = (split) => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === split));
    setContent($("#statistics"), [
      classChart(classes, dataset.other_classes, split),
      ...(statistics ? charts(statistics[split]) : [tooOld()]),
    ]);
  };
  for (const button of buttons) button.addEventListener("click", () => show(button.value));
  show("train");
}

const tooOld = () =>
  h("p", { class: "muted" }, "This dataset was added by an older version, which did not store statistics.");

function classChart(classes, others, split) {
  const rows = classes
    .map((one) => ({ label: one.name, count: one[split] }))
    .toSorted((one, other) => other.count - one.count);
  return barChart(
    "Boxes of each class",
    "",
    rows,
    others ? `and ${plural(others, "more class", "more classes")}` : null,
  );
}

function charts(found) {
  const sizes = found.image_sizes.map(({ width, height, count }) => ({ label: `${width} × ${height}`, count }));
  const others = found.other_image_sizes;
  return [
    barChart(
      "Image sizes",
      "width × height",
      sizes,
      others ? `and ${wholeNumber(others)} images of other sizes` : null,
    ),
    histogram("Boxes per image", "", found.boxes_per_image, counts),
    histogram("Box sizes", "√area in pixels", found.box_pixels, range),
    histogram("Box sizes by image", "√area, % of the image's", found.box_share, shares, 100),
    histogram("Box aspect ratios", "width / height", found.box_aspect, range),
  ];
}

function histogram(title, unit, { bins, min, max, mean }, words, scale = 1) {
  const rows = bins.map(({ from, to, count }) => ({ label: words(from, to), count }));
  const [low, high, middle] = [min, max, mean].map((value) => (value === null ? value : figure(scale * value)));
  return barChart(title, unit, rows, min === null ? null : `${low} to ${high}, mean ${middle}`);
}

const range = (from, to) => (to === null ? `${figure(from)} or more` : `${figure(from)} – ${figure(to)}`);
const shares = (from, to) => (to === null ? `${figure(100 * from)} – 100` : range(100 * from, 100 * to));

/** Whole numbers: the end of a bin is not in it. */
function counts(from, to) {
  if (to === null) return `${from} or more`;
  return to - from === 1 ? String(from) : `${from} – ${to - 1}`;
}

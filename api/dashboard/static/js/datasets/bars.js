// A bar chart as a table: a row for each bar, with its label, its length and its number.
import { h } from "../shared/dom.js";
import { percent, wholeNumber } from "../shared/format.js";

/** `rows`: [{label, count}]. The longest bar is as long as the chart is wide. `note`: a line below it. */
export function barChart(title, unit, rows, note = null) {
  const most = Math.max(1, ...rows.map(({ count }) => count));
  const all = rows.reduce((sum, { count }) => sum + count, 0);
  return h(
    "section",
    { class: "card bar-chart" },
    h("h3", {}, title, unit ? h("span", { class: "muted" }, ` ${unit}`) : null),
    rows.length
      ? h(
          "div",
          { class: "bar-rows", tabIndex: rows.length > MOST_ROWS ? 0 : null },
          h(
            "table",
            {},
            h("caption", { class: "visually-hidden" }, title),
            h("colgroup", {}, h("col", { class: "bar-label" }), h("col", {}), h("col", { class: "bar-count" })),
            h(
              "tbody",
              {},
              rows.map((row) => bar(row, most, all)),
            ),
          ),
        )
      : h("p", { class: "muted" }, "None."),
    note ? h("p", { class: "muted small bar-note" }, note) : null,
  );
}

const MOST_ROWS = 14; // before the chart scrolls, as in dataset.css

function bar({ label, count }, most, all) {
  const line = h("span", { class: "bar-line" });
  line.style.width = `${(100 * count) / most}%`;
  if (count) line.style.minWidth = "2px";
  return h(
    "tr",
    { title: `${label}: ${wholeNumber(count)} (${percent(count / Math.max(1, all), 1)})` },
    h("th", { scope: "row" }, h("span", { class: "one-line" }, label)),
    h("td", { class: "bar-place" }, line),
    h("td", { class: "number" }, wholeNumber(count)),
  );
}

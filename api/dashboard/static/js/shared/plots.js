// Plotly charts in the page's colours. Plotly is large, so a page loads it only if it has charts. All charts of a page
// share one range of steps.
import { h, keyed, setText } from "./dom.js";
import { MB, figure } from "./format.js";

/** In display order. A metric belongs to the first group whose `has` accepts it. `zero`: the axis starts at zero. */
export const GROUPS = [
  { title: "Total loss", has: (name) => ["Loss/total_loss", "validation_loss"].includes(name) },
  { title: "Losses", has: (name) => name.startsWith("Loss/") },
  { title: "mAP", has: (name) => /^Detection(Boxes|Masks)_Precision\/mAP(@\.50IOU|@\.75IOU)?$/.test(name), zero: true },
  { title: "Learning rate", has: (name) => name === "learning_rate", zero: true },
  { title: "Loss scale", has: (name) => name === "loss_scale", zero: true },
  { title: "Skipped updates", has: (name) => name === "skipped_updates", zero: true },
  { title: "Images per second", has: (name) => name === "images_per_s", zero: true },
  { title: "Waiting for images", unit: "% of a step", has: (name) => name === "input_wait", scale: 0.01, zero: true },
  { title: "Device memory", unit: "MB", has: (name) => /^device_memory(_peak)?$/.test(name), scale: MB, zero: true },
  { title: "Host memory", unit: "MB", has: (name) => name === "host_memory", scale: MB, zero: true },
];
const WORDS = {
  device_memory: "in use",
  device_memory_peak: "peak",
  host_memory: "in use",
  input_wait: "waiting",
  validation_loss: "validation",
};
// The stages of a two-stage model have losses of the same name.
const STAGES = { RPNLoss: "RPN ", BoxClassifierLoss: "box " };
export const metricWords = (name) =>
  WORDS[name] ??
  name
    .replace(/^Loss\/(?:(\w+)\/)?(.+?)(_loss)?$/, (_, stage, loss) => `${STAGES[stage] ?? ""}${loss}`)
    .replace(/^DetectionBoxes_Precision\//, "")
    .replace(/^DetectionMasks_Precision\//, "mask ")
    .replaceAll("_", " ");
export const grouped = (names) =>
  GROUPS.map((group) => ({
    ...group,
    names: names.filter((name) => GROUPS.find((one) => one.has(name))?.title === group.title),
  })).filter((group) => group.names.length);

let loading = null;
export function plotly(address) {
  loading ??= new Promise((resolve, reject) => {
    const script = h("script", {
      src: address,
      onload: () => resolve(window.Plotly),
      onerror: () => {
        loading = null;
        script.remove();
        reject(new Error("could not load the chart library"));
      },
    });
    document.head.append(script);
  });
  return loading;
}

const COLOURS = {
  light: ["#0b5cad", "#b3561e", "#1a6e37", "#6a3fb5", "#a11a5b", "#00707a", "#6b5b00"],
  dark: ["#79b8ff", "#f0a36a", "#6fd391", "#c5a9ff", "#ff8fc0", "#5fd3dc", "#e0cf6a"],
};
export const colour = (number) => {
  const all = COLOURS[document.documentElement.dataset.theme] ?? COLOURS.light;
  return all[number % all.length];
};
const faint = (hex) => `${hex}2e`;
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** For each attempt of a series: the mean as a line, and minimum to maximum as a band. */
export function traces(series, number, name, { scale = 1 } = {}) {
  const line = colour(number);
  const scaled = (values) => (scale === 1 ? values : values.map((value) => value / scale));
  return series.flatMap((part, index) => {
    const group = { legendgroup: name, type: "scatter" };
    const [low, high, mean] = [scaled(part.min), scaled(part.max), scaled(part.mean)];
    const spread = low.some((value, at) => value !== high[at]);
    const band = {
      x: [...part.steps, ...part.steps.toReversed()],
      y: [...high, ...low.toReversed()],
      fill: "toself",
      fillcolor: faint(line),
      line: { width: 0 },
      mode: "lines",
      hoverinfo: "skip",
      ...group,
      showlegend: false,
    };
    return [
      ...(spread ? [band] : []),
      {
        x: part.steps,
        y: mean,
        name,
        mode: part.steps.length < 3 ? "lines+markers" : "lines",
        line: { color: line, width: 1.75 },
        ...group,
        showlegend: index === 0,
      },
    ];
  });
}

/** The memory limit over the steps of an attempt. */
export const limitTrace = (from, to, value, isFirst) => ({
  x: [from, to],
  y: [value, value],
  name: "limit",
  legendgroup: "limit",
  showlegend: isFirst,
  type: "scatter",
  mode: "lines",
  line: { color: token("--bad"), width: 1.5, dash: "dash" },
});

/** A star where the best checkpoint is. */
export const bestTrace = ({ step, value }) => ({
  x: [step],
  y: [value],
  name: "best",
  showlegend: false,
  type: "scatter",
  mode: "markers",
  marker: { symbol: "star", size: 12, color: token("--text") },
});

/** Vertical lines where attempts started. `starts`: [{step, attempt, why}]. */
function marks(starts, range, width) {
  const muted = token("--muted");
  return {
    shapes: starts.map(({ step }) => ({
      type: "line",
      x0: step,
      x1: step,
      yref: "paper",
      y0: 0,
      y1: 1,
      line: { dash: "dot", width: 1.25, color: muted },
    })),
    annotations: labels(starts, range, width).map(({ text, left }) => ({
      xref: "paper",
      x: left,
      y: 1,
      yref: "paper",
      text,
      showarrow: false,
      xanchor: "left",
      yanchor: "bottom",
      xshift: -2,
      font: { size: 10, color: muted },
    })),
  };
}

/** Merges labels that would overlap, and keeps them inside the plot. */
function labels(starts, [from, to], width) {
  const found = [];
  for (const start of starts
    .filter(({ step }) => step >= from && step <= to)
    .toSorted((one, other) => one.step - other.step)) {
    let label = labelOf([start]);
    while (found.length && found.at(-1).right > label.left) label = labelOf([...found.pop().starts, ...label.starts]);
    found.push(label);
  }
  return found;

  function labelOf(some) {
    const text = startWords(some);
    const share = (text.length * LETTER_PX) / width;
    const left = Math.max(0, Math.min((some[0].step - from) / (to - from), 1 - share));
    return { starts: some, text, left, right: left + share };
  }
}

const LETTER_PX = 5.5; // average letter width at the labels' font size
function startWords(starts) {
  const reasons = new Set(starts.map(({ why }) => why));
  const numbers = starts.map(({ attempt }) => attempt).toSorted((one, other) => one - other);
  const reason = reasons.size === 1 ? `${[...reasons][0]}: ` : "";
  return `${reason}${numbers.length > 1 ? "attempts" : "attempt"} ${numbers.join(", ")}`;
}

function layout({ data, zero, starts = [] }, range, width) {
  const [text, line, muted] = ["--text", "--line", "--muted"].map(token);
  const axis = {
    gridcolor: line,
    zerolinecolor: line,
    linecolor: line,
    tickfont: { color: muted, size: 11 },
    automargin: true,
  };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: text, size: 12, family: "system-ui, sans-serif" },
    margin: { l: SIDES_PX - 12, r: 12, t: 8 + (starts.length ? 14 : 0), b: 26 },
    showlegend: false, // `showNames` draws the legend
    hovermode: "x unified",
    hoverlabel: { bgcolor: token("--surface"), bordercolor: line, font: { color: text, size: 12 } },
    dragmode: hasTouch() ? false : "zoom", // on a touch screen, dragging scrolls the page
    ...marks(starts, range, width - SIDES_PX),
    xaxis: { ...axis, hoverformat: ",d", tickformat: "~s", range },
    yaxis: { ...axis, ...yRange(data, zero), fixedrange: true, hoverformat: ".4~g", exponentformat: "none" },
  };
}

/** Shows a constant in the middle of the axis, or from zero. Autorange would magnify rounding errors. */
function yRange(data, zero) {
  if (!data.length) return { range: [0, 1], showticklabels: false };
  let [low, high] = [Infinity, -Infinity];
  for (const { y } of data) for (const value of y) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (zero && low >= 0) return { range: [0, high * 1.08 || 1] };
  const pad = Math.abs(high) * 0.1 || 1;
  return high - low < pad / 100 ? { range: [low - pad, high + pad] } : { autorange: true };
}

const hasTouch = () => matchMedia("(pointer: coarse)").matches;
const SIDES_PX = 60; // margins left and right of a plot
const OPTIONS = { displaylogo: false, scrollZoom: false, displayModeBar: false, doubleClick: false };

/** A grid of charts. Calls onZoom([from, to]) after a drag and onZoom(null) after a double click. */
export class ChartGrid {
  constructor(root, address, onZoom) {
    this.root = root;
    this.address = address;
    this.onZoom = onZoom;
    this.cards = new Map();
    this.resized = new ResizeObserver((entries) =>
      entries.forEach(
        ({ target }) => target.isConnected && target.clientWidth && target.data && window.Plotly.Plots.resize(target),
      ),
    );
  }

  /** Placeholders while the charts load. */
  skeleton(count) {
    this.clear(
      ...Array.from({ length: count }, () =>
        h(
          "div",
          { class: "card chart-card", "aria-hidden": "true" },
          h("h2", { class: "skeleton" }, "…"),
          h("div", { class: "chart-names" }),
          h("div", { class: "chart skeleton" }),
        ),
      ),
    );
  }

  /** Whether to draw a chart. One without points in a zoomed range stays, empty, so that the page does not jump. */
  has({ title, data }, range) {
    return data.length > 0 || (range !== null && this.cards.has(title));
  }

  /** Removes all charts and shows `instead`. */
  clear(...instead) {
    this.cards.clear();
    this.root.replaceChildren(...instead);
  }

  /** `charts`: [{title, unit, data, zero, starts}]. `range`: [from, to] in steps, or null for all. */
  async show(charts, range = null, { legend = true } = {}) {
    const Plotly = await plotly(this.address);
    if (!this.cards.size) this.root.replaceChildren();
    for (const [title, { card }] of this.cards) {
      if (charts.some((chart) => chart.title === title)) continue;
      card.remove();
      this.cards.delete(title);
    }
    // Add all cards before drawing: a card's width depends on how many there are.
    for (const chart of charts) if (!this.cards.has(chart.title)) this.add(chart);
    const shared = range ?? stepsOf(charts);
    await Promise.all(
      charts.map((chart) => {
        const card = this.cards.get(chart.title);
        const { plot, hidden } = card;
        if (legend) this.showNames(chart, card, range !== null);
        plot.setAttribute("aria-label", `Chart: ${chart.title}${lastOf(chart)}`);
        return Plotly.react(
          plot,
          chart.data.map((trace) => ({ ...trace, visible: !hidden.has(trace.legendgroup) })),
          layout(chart, shared, plot.clientWidth || 400),
          OPTIONS,
        ).then(() => this.listen(plot));
      }),
    );
  }

  add({ title, unit }) {
    const plot = h("div", { class: "chart", role: "img" });
    const names = h("div", { class: "chart-names" });
    const card = h(
      "section",
      { class: "card chart-card" },
      h("h2", {}, title, unit ? h("span", { class: "muted" }, ` ${unit}`) : null),
      names,
      plot,
    );
    this.root.append(card);
    this.cards.set(title, { card, plot, names, lines: [], hidden: new Set() });
    this.resized.observe(plot);
  }

  /** The legend. A click hides or shows a line. `isPart`: keep the names of lines outside the zoomed range. */
  showNames(chart, card, isPart) {
    const { names: place, hidden } = card;
    const named = [...(isPart ? card.lines : []), ...chart.data.filter((one) => one.showlegend)];
    const lines = [...new Map(named.map((line) => [line.name, line])).values()];
    card.lines = lines;
    keyed(
      place,
      lines.length > 1 ? lines : [],
      ({ name }) => name,
      ({ name }) =>
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: (event) => {
              if (!hidden.delete(name)) hidden.add(name);
              event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(name)));
              const { plot } = this.cards.get(chart.title);
              window.Plotly.restyle(plot, { visible: plot.data.map((trace) => !hidden.has(trace.legendgroup)) });
            },
          },
          h("span", { class: "swatch" }),
          name,
        ),
      (button, { name, line }) => {
        button.setAttribute("aria-pressed", String(!hidden.has(name)));
        button.firstChild.style.borderTop = `2px ${line.dash ? "dashed" : "solid"} ${line.color}`;
      },
    );
  }

  listen(plot) {
    if (plot.listens) return;
    plot.listens = true;
    plot.on("plotly_relayout", (change) => {
      if (change["xaxis.range[0]"] !== undefined)
        this.onZoom([
          Math.max(0, Math.floor(change["xaxis.range[0]"])),
          Math.max(1, Math.ceil(change["xaxis.range[1]"])),
        ]);
    });
    plot.on("plotly_doubleclick", () => this.onZoom(null));
  }
}

/** The line above the charts: how to zoom, and a button to reset. */
export function zoomHead(showAll) {
  const help = h("p", { class: "muted small" });
  const all = h("button", { type: "button", class: "quiet", hidden: true, onclick: showAll }, "Show all steps");
  return {
    element: h("div", { class: "charts-head" }, help, all),
    show(range) {
      const gesture = hasTouch() ? "Tap a chart for its values." : "Drag to zoom all charts; double-click to reset.";
      setText(help, `${gesture} Lines show means, bands minimum and maximum.`);
      all.hidden = range === null;
    },
  };
}

/** From the first to the last step of all charts, with space for a point at the edge. */
function stepsOf(charts) {
  const ends = charts.flatMap(({ data }) => data.flatMap(({ x }) => [x[0], x.at(-1)]));
  const [first, last] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max(0.5, 0.01 * (last - first));
  return [first - room, last + room];
}

/** The last value of each line, for screen readers. */
function lastOf({ data, unit }) {
  const lines = data.filter((one) => !one.fill && one.name !== "limit");
  const said = [...new Map(lines.map((one) => [one.name, one])).values()].map(
    (one) => `${one.name} ${figure(one.y.at(-1))}${unit ? ` ${unit}` : ""} at step ${one.x.at(-1)}`,
  );
  return said.length ? `; ${said.join(", ")}` : "";
}

/** Calls `draw` again when the colours change. */
export function onTheme(draw) {
  addEventListener("themechange", draw);
}

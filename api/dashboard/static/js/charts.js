// Losses, learning rate, mAP, speed and memory over all attempts of a job; zooming asks for the range it shows.
import { get, query } from "./api.js";
import { h, put } from "./dom.js";
import { OPTIONS, layout, onTheme, plotly, traces } from "./plots.js";

const GIB = 2 ** 30;
/** In this order; a metric belongs to the first group that knows it. */
const GROUPS = [
  { title: "Total loss", has: (name) => name === "Loss/total_loss" },
  { title: "Losses", has: (name) => name.startsWith("Loss/") },
  { title: "mAP", has: (name) => /^Detection(Boxes|Masks)_Precision\/mAP(@\.50IOU|@\.75IOU)?$/.test(name), range: [0, null] },
  { title: "Learning rate", has: (name) => name === "learning_rate" },
  { title: "Images a second", has: (name) => name === "images_per_s", range: [0, null] },
  { title: "Memory (GB)", has: (name) => /^(device|host)_memory(_peak)?$/.test(name), scale: GIB, range: [0, null] },
];
const WORDS = { device_memory: "device", device_memory_peak: "device, peak", host_memory: "host" };
const POINTS = 800;

export function start(root, { id, state, plotly: address }) {
  const charts = new Map();
  let Plotly = null;
  let due = true;
  let visible = false;

  async function load() {
    due = false;
    try {
      Plotly ??= await plotly(address);
      const { names } = await get(`/v1/jobs/${id}/metrics${query({ names: "none", max_points: 1 })}`);
      const groups = GROUPS.map((group) => ({ ...group, names: [] }));
      for (const name of names) groups.find((group) => group.has(name))?.names.push(name);
      const there = groups.filter((group) => group.names.length);
      if (!there.length) {
        put(root, h("p", { class: "card empty" }, "Nothing to draw yet: the first figures come with the first step."));
        return;
      }
      if (!root.querySelector(".charts")) root.replaceChildren(h("p", { class: "muted small" }, "Drag to zoom: the lines show the mean, the bands the lowest and highest value of each range. A double click shows all again. Dotted lines mark where a new attempt began."), h("div", { class: "charts" }));
      await Promise.all(there.map(draw));
    } catch (error) {
      put(root, h("p", { class: "note bad", role: "alert" }, `The charts could not be drawn: ${error.message}`));
    }
  }

  async function draw(group) {
    let chart = charts.get(group.title);
    if (!chart) {
      const element = h("div", { class: "chart", role: "img", "aria-label": `Chart: ${group.title}` });
      root.querySelector(".charts").append(h("div", { class: "card" }, element));
      chart = { element, range: null };
      charts.set(group.title, chart);
    }
    const range = chart.range ? { from_step: chart.range[0], to_step: chart.range[1] } : {};
    const { series } = await get(`/v1/jobs/${id}/metrics${query({ names: group.names, max_points: POINTS, ...range })}`);
    const scaled = series.map((one) => (group.scale ? { ...one, ...Object.fromEntries(["min", "max", "mean"].map((key) => [key, one[key].map((value) => value / group.scale)])) } : one));
    const data = group.names.flatMap((name, number) =>
      traces(scaled.filter((one) => one.name === name), number, WORDS[name] ?? name.replace(/^Loss\/|^Detection/, "")));
    const look = layout(group.title, {
      shapes: starts().map((step) => ({ type: "line", x0: step, x1: step, yref: "paper", y0: 0, y1: 1, line: { dash: "dot", width: 1.5, color: "#a8650c" } })),
      xaxis: { title: { text: "step", font: { size: 11 } }, ...(chart.range ? { range: chart.range } : {}) },
      yaxis: group.range ? { rangemode: "tozero" } : {},
    });
    await Plotly.react(chart.element, data, look, OPTIONS);
    if (!chart.listens) {
      chart.listens = true;
      chart.element.on("plotly_relayout", (change) => zoomed(group, chart, change));
    }
  }

  function zoomed(group, chart, change) {
    const all = change["xaxis.autorange"];
    if (!all && change["xaxis.range[0]"] === undefined) return;
    chart.range = all ? null : [Math.max(0, Math.floor(change["xaxis.range[0]"])), Math.max(0, Math.ceil(change["xaxis.range[1]"]))];
    draw(group);
  }

  /** The steps at which the second and later attempts began. */
  function starts() {
    return state.attempts.slice(1).map((attempt, index) => state.attempts[index].saved_step ?? 0);
  }

  onTheme(() => visible && load());
  let timer = null;
  return {
    shown() {
      visible = !root.hidden;
      if (due) load();
      else for (const chart of charts.values()) Plotly?.Plots.resize(chart.element);
    },
    event(event) {
      if (!["progress", "eval", "ended", "state"].includes(event.kind)) return;
      if (root.hidden) due = true;
      else timer ??= setTimeout(() => {
        timer = null;
        load();
      }, 3000);
    },
  };
}

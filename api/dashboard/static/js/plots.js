// Plotly, loaded only where there is a chart, in the page's own colours.

let loading = null;
export function plotly(address) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("the chart library could not be loaded"));
    };
    document.head.append(script);
  });
  return loading;
}

const COLOURS = {
  light: ["#0b5cad", "#b3561e", "#1a6e37", "#6a3fb5", "#a11a5b", "#00707a", "#6b5b00"],
  dark: ["#79b8ff", "#f0a36a", "#6fd391", "#c5a9ff", "#ff8fc0", "#5fd3dc", "#e0cf6a"],
};
export const colour = (number) => {
  const all = COLOURS[document.documentElement.dataset.theme];
  return all[number % all.length];
};
export const faint = (hex) => `${hex}2e`;

export function layout(title, more = {}) {
  const style = getComputedStyle(document.documentElement);
  const [text, line, muted] = ["--text", "--line", "--muted"].map((name) => style.getPropertyValue(name).trim());
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickfont: { color: muted } };
  return {
    title: { text: title, font: { size: 14, color: text }, x: 0.02, xanchor: "left" },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: text, size: 12, family: "system-ui, sans-serif" },
    margin: { l: 56, r: 14, t: 38, b: 38 }, height: 290, showlegend: true, legend: { orientation: "h", y: -0.18, font: { color: muted } },
    hovermode: "x unified", hoverlabel: { bgcolor: style.getPropertyValue("--surface").trim(), font: { color: text } }, uirevision: "kept",
    ...more, xaxis: { ...axis, ...more.xaxis }, yaxis: { ...axis, ...more.yaxis },
  };
}

export const OPTIONS = {
  responsive: true, displaylogo: false, scrollZoom: false,
  modeBarButtonsToRemove: ["lasso2d", "select2d", "sendDataToCloud", "editInChartStudio", "sendChartToCloud"],
};

/** Calls `draw` again when the colours change. */
export function onTheme(draw) {
  addEventListener("themechange", draw);
}

/** For each attempt of a series: the mean as a line, the extremes of each range of steps around it as a band. */
export function traces(series, number, name, more = {}) {
  const line = colour(number);
  const found = [];
  series.forEach((part, index) => {
    const group = { legendgroup: name, showlegend: index === 0, ...more };
    const spread = part.steps.some((_, at) => part.min[at] !== part.max[at]);
    if (spread) {
      found.push({ x: [...part.steps, ...part.steps.toReversed()], y: [...part.max, ...part.min.toReversed()], fill: "toself",
        fillcolor: faint(line), line: { width: 0 }, hoverinfo: "skip", ...group, showlegend: false, type: "scatter", mode: "lines" });
    }
    found.push({ x: part.steps, y: part.mean, name, type: "scatter", mode: part.steps.length < 3 ? "lines+markers" : "lines", line: { color: line, width: 2 }, ...group });
  });
  return found;
}

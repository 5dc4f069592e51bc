// The Charts tab: losses, learning rate, mAP, speed and memory over all attempts. Zooming loads the range in detail.
import { get, query } from "../shared/api.js";
import { h, setContent } from "../shared/dom.js";
import {
  ChartGrid,
  bestTrace,
  grouped,
  limitTrace,
  metricWords,
  onTheme,
  plotly,
  traces,
  zoomHead,
} from "../shared/plots.js";

const POINTS = 800;
const EVERY_MS = 3000;

/** The series of a metric that the best checkpoint is chosen by, of those that the mAP chart shows. */
const seriesOf = (metric) =>
  ({
    mAP: "DetectionBoxes_Precision/mAP",
    mAP50: "DetectionBoxes_Precision/mAP@.50IOU",
    mAP75: "DetectionBoxes_Precision/mAP@.75IOU",
    mask_mAP: "DetectionMasks_Precision/mAP",
    mask_mAP50: "DetectionMasks_Precision/mAP@.50IOU",
    mask_mAP75: "DetectionMasks_Precision/mAP@.75IOU",
  })[metric];

export function start(root, { id, state, plotly: address }) {
  const head = zoomHead(() => zoom(null));
  const place = h("div", { class: "charts" });
  const grid = new ChartGrid(place, address, zoom);
  const said = h("div", {});
  root.append(head.element, said, place);
  let range = null;
  let names = [];
  let starts = [];
  let due = true;
  let asking = null;

  /** Requests the names until there are some. Each later response lists new ones too, such as an evaluation's. */
  async function knowNames() {
    if (!names.length) ({ names } = await get(`/v1/jobs/${id}/metrics${query({ names: "none", max_points: 1 })}`));
  }

  async function load() {
    due = false;
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      await knowNames();
      const groups = grouped(names);
      const wanted = groups.flatMap((group) => group.names).slice(0, 50);
      if (!wanted.length) {
        grid.clear();
        setContent(said, h("p", { class: "card empty" }, "No data yet. Charts appear after the first step."));
        return;
      }
      const [from, to] = range ?? [];
      const asked = query({ names: wanted, max_points: POINTS, from_step: from, to_step: to });
      const answer = await get(`/v1/jobs/${id}/metrics${asked}`, { signal });
      names = answer.names;
      setContent(said);
      head.show(range);
      if (!range) starts = startsOf(answer.series); // in a range, earlier attempts would seem to start at its edge
      const charts = groups.map((group) => ({ ...group, data: dataOf(group, answer.series), starts }));
      await grid.show(
        charts.filter((chart) => grid.has(chart, range)),
        range,
      );
    } catch (error) {
      if (error.name !== "AbortError")
        setContent(said, h("p", { class: "note bad", role: "alert" }, `Could not draw the charts: ${error.message}`));
    }
  }

  function dataOf(group, series) {
    const lines = group.names.flatMap((name, number) =>
      traces(
        series.filter((one) => one.name === name),
        number,
        metricWords(name),
        { scale: group.scale },
      ),
    );
    if (group.title === "mAP") return [...lines, ...best(series)];
    return group.title === "Device memory" ? [...lines, ...limits(group, series)] : lines;
  }

  /** The best checkpoint, if the chart shows its metric there. */
  function best(series) {
    const found = state.job.best;
    const isShown = series.some((one) => one.name === seriesOf(found?.metric) && one.steps.includes(found.step));
    return isShown ? [bestTrace(found)] : [];
  }

  function limits(group, series) {
    const found = state.attempts
      .map((attempt) => {
        const steps = series
          .filter((one) => one.attempt === attempt.number && group.names.includes(one.name))
          .flatMap((one) => [one.steps[0], one.steps.at(-1)]);
        return steps.length
          ? { from: Math.min(...steps), to: Math.max(...steps), limit: attempt.limit_bytes / group.scale }
          : null;
      })
      .filter(Boolean);
    return found.map(({ from, to, limit }, index) => limitTrace(from, to, limit, index === 0));
  }

  /** The first step of each later attempt that made one. */
  function startsOf(series) {
    return state.attempts
      .slice(1)
      .map((attempt) => {
        const first = Math.min(...series.filter((one) => one.attempt === attempt.number).map((one) => one.steps[0]));
        return { step: first, attempt: attempt.number, why: attempt.changes.length ? "re-planned" : "restarted" };
      })
      .filter(({ step }) => Number.isFinite(step));
  }

  function zoom(next) {
    range = next;
    head.show(range);
    load();
  }

  onTheme(() => (root.hidden ? (due = true) : load()));
  let timer = null;
  return {
    /** Loads ahead. Errors show when the tab opens. */
    async warm() {
      plotly(address).catch(() => {});
      if (state.attempts.length) await knowNames().catch(() => {});
    },
    shown() {
      if (!due) return;
      plotly(address).catch(() => {});
      if (!grid.cards.size) grid.skeleton(6);
      load();
    },
    event(event) {
      if (!["progress", "eval", "ended", "state"].includes(event.kind)) return;
      if (root.hidden) due = true;
      else
        timer ??= setTimeout(() => {
          timer = null;
          load();
        }, EVERY_MS);
    },
  };
}

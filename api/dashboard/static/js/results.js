// What the model can do: COCO's figures, each category's, and pictures with truth beside prediction; by evaluation.
import { get, query } from "./api.js";
import { h, put } from "./dom.js";
import { percent } from "./format.js";
import { openPicture } from "./lightbox.js";

const PICTURE = /^attempt-(\d+)\/samples\/step-(\d+)-(\d+)\.png$/;
const CATEGORY = /^Detection(Boxes|Masks)_PerformanceByCategory\/mAP\/(.+)$/;
const MAIN = /^Detection(Boxes|Masks)_(Precision|Recall)\/(.+)$/;
const NAMES_AT_ONCE = 50;

export function start(root, { id, state }) {
  const place = h("div", {});
  root.append(place);
  let due = true;
  let series = [];
  let pictures = [];
  let chosen = null;

  async function load() {
    due = false;
    try {
      const { names } = await get(`/v1/jobs/${id}/metrics${query({ names: "none", max_points: 1 })}`);
      const wanted = names.filter((name) => CATEGORY.test(name) || MAIN.test(name));
      const parts = Array.from({ length: Math.ceil(wanted.length / NAMES_AT_ONCE) }, (_, at) => wanted.slice(at * NAMES_AT_ONCE, (at + 1) * NAMES_AT_ONCE));
      const [found, files] = await Promise.all([
        Promise.all(parts.map((part) => get(`/v1/jobs/${id}/metrics${query({ names: part, max_points: 500 })}`))), get(`/v1/jobs/${id}/artifacts`)]);
      series = found.flatMap((answer) => answer.series);
      pictures = files.items.map((file) => file.name.match(PICTURE)).filter(Boolean).map(([name, attempt, step, number]) => ({ link: `/v1/jobs/${id}/artifacts/${name}`, attempt: Number(attempt), step: Number(step), number: Number(number) }));
      show();
    } catch (error) {
      put(place, h("p", { class: "note bad", role: "alert" }, `The results could not be loaded: ${error.message}`));
    }
  }

  function show() {
    const steps = [...new Set([...series.flatMap((one) => one.steps), ...pictures.map((one) => one.step)])].sort((one, other) => one - other);
    if (!steps.length) {
      put(place, nothing());
      return;
    }
    const step = steps.includes(chosen) ? chosen : steps.at(-1);
    const values = at(step);
    const select = h("select", { id: "evaluation", onchange: (event) => {
      chosen = Number(event.target.value);
      show();
      root.querySelector("#evaluation").focus();
    } }, steps.toReversed().map((one) => h("option", { value: String(one) }, `step ${one.toLocaleString("en")}`)));
    select.value = String(step);
    place.replaceChildren(
      h("div", { class: "results-head" }, h("label", { for: "evaluation" }, "Evaluation at"), select, main(values)),
      h("div", { class: "results" }, categories(values), figures(values)), gallery(step));
  }

  /** What was said at `step`, by the newest attempt that said anything. */
  function at(step) {
    const found = new Map();
    for (const one of series) {
      const place = one.steps.indexOf(step);
      if (place >= 0) found.set(one.name, one.mean[place]);
    }
    return found;
  }

  function nothing() {
    const { job } = state;
    const isOver = ["succeeded", "failed", "cancelled"].includes(job.state);
    return h("div", { class: "card empty" }, h("h2", {}, "No evaluation yet"),
      h("p", {}, isOver ? "The job ended before its first evaluation." : `It comes while the job trains, at the latest at its end, step ${job.progress.steps.toLocaleString("en")}.`));
  }

  function main(values) {
    return ["DetectionBoxes_Precision/mAP", "DetectionMasks_Precision/mAP"].filter((name) => values.has(name)).map((name) =>
      h("span", { class: "main-figure" }, h("strong", {}, percent(values.get(name), 1)), h("span", { class: "muted" }, name.includes("Masks") ? " mask mAP" : " mAP")));
  }

  function categories(values) {
    const rows = [...values].filter(([name]) => CATEGORY.test(name)).map(([name, value]) => {
      const [, kind, category] = name.match(CATEGORY);
      return { name: `${category}${kind === "Masks" ? " (mask)" : ""}`, value };
    }).sort((one, other) => other.value - one.value);
    return rows.length ? table("AP by category", rows) : null;
  }
  function figures(values) {
    const rows = [...values].filter(([name]) => MAIN.test(name)).map(([name, value]) => ({ name: `${name.match(MAIN)[1] === "Masks" ? "mask " : ""}${name.match(MAIN)[3]}`, value }));
    return rows.length ? table("COCO's figures", rows) : null;
  }
  /** COCO says -1 where there was nothing to find. */
  function table(caption, rows) {
    const bar = (value) => {
      const fill = h("span", {});
      fill.style.width = `${100 * Math.max(0, value)}%`;
      return h("span", { class: "ap-bar", "aria-hidden": "true" }, fill);
    };
    return h("section", { class: "card" }, h("table", { class: "ap" }, h("caption", {}, caption),
      h("tbody", {}, rows.map(({ name, value }) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, bar(value)), h("td", { class: "number" }, value < 0 ? "none there" : percent(value, 1)))))));
  }

  function gallery(step) {
    const newest = new Map();
    for (const picture of pictures.filter((one) => one.step === step).sort((one, other) => one.attempt - other.attempt)) newest.set(picture.number, picture);
    const shown = [...newest.values()].sort((one, other) => one.number - other.number).map((picture) => ({ ...picture, words: `Image ${picture.number + 1}: truth on the left, prediction at step ${picture.step.toLocaleString("en")} on the right` }));
    if (!shown.length) return h("p", { class: "muted" }, "No pictures of this evaluation are kept.");
    return h("section", { class: "card" }, h("h2", {}, "Truth (left) and prediction (right)"),
      h("ul", { class: "gallery" }, shown.map((picture, index) => h("li", {},
        h("button", { type: "button", class: "picture", "aria-label": `${picture.words}; larger`, onclick: () => openPicture(shown, index) }, h("img", { src: picture.link, loading: "lazy", alt: picture.words }))))));
  }

  return {
    shown: () => due && load(),
    event(event) {
      if (!["eval", "image", "ended"].includes(event.kind)) return;
      if (root.hidden) due = true;
      else load();
    },
  };
}

// What the model can do: COCO's figures, each category's, and pictures with truth beside prediction.
import { get, query } from "./api.js";
import { h, put } from "./dom.js";
import { figure } from "./format.js";

const PICTURE = /^attempt-(\d+)\/samples\/step-(\d+)-(\d+)\.png$/;
const CATEGORY = /^Detection(Boxes|Masks)_PerformanceByCategory\/mAP\/(.+)$/;
const MAIN = /^Detection(Boxes|Masks)_(Precision|Recall)\//;

export function start(root, { id }) {
  const figures = h("div", {});
  const gallery = h("div", {});
  root.append(figures, gallery);
  let due = true;
  let chosen = null;

  async function load() {
    due = false;
    try {
      const { names } = await get(`/v1/jobs/${id}/metrics${query({ names: "none", max_points: 1 })}`);
      const wanted = names.filter((name) => CATEGORY.test(name) || MAIN.test(name));
      const { series } = wanted.length ? await get(`/v1/jobs/${id}/metrics${query({ names: wanted.slice(0, 50), max_points: 500 })}`) : { series: [] };
      showFigures(series);
      showGallery((await get(`/v1/jobs/${id}/artifacts`)).items);
    } catch (error) {
      put(figures, h("p", { class: "note bad", role: "alert" }, `The results could not be loaded: ${error.message}`));
    }
  }

  /** The newest value of each metric, whichever attempt it came from. */
  function newest(series) {
    const found = new Map();
    for (const one of series) if (one.steps.length) found.set(one.name, { step: one.steps.at(-1), value: one.mean.at(-1) });
    return found;
  }

  function showFigures(series) {
    const values = newest(series);
    if (!values.size) {
      put(figures, h("p", { class: "card empty" }, "Not evaluated yet. The first evaluation comes at the end of training, or earlier where the configuration asks for it."));
      return;
    }
    const step = Math.max(...[...values.values()].map((value) => value.step));
    const table = (caption, rows) => rows.length ? h("div", { class: "card" }, h("table", {}, h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, caption), h("th", { scope: "col", class: "number" }, "at step " + step))),
      h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("td", {}, name), h("td", { class: "number" }, figure(value))))))) : null;
    const categories = [...values].filter(([name]) => CATEGORY.test(name)).map(([name, { value }]) => {
      const [, kind, category] = name.match(CATEGORY);
      return [`${category}${kind === "Masks" ? " (masks)" : ""}`, value];
    }).sort((one, other) => other[1] - one[1]);
    const main = [...values].filter(([name]) => MAIN.test(name)).map(([name, { value }]) => [name.replace(/^Detection/, "").replaceAll("_", " "), value]);
    put(figures, h("div", { class: "columns two" }, table("AP by category", categories), table("COCO", main)));
  }

  function showGallery(files) {
    const pictures = files.map((file) => file.name.match(PICTURE)).filter(Boolean).map(([name, attempt, step, number]) => ({ name, attempt: Number(attempt), step: Number(step), number: Number(number) }));
    const steps = [...new Set(pictures.map((picture) => picture.step))].sort((one, other) => one - other);
    if (!steps.length) {
      put(gallery);
      return;
    }
    if (chosen === null || !steps.includes(chosen)) chosen = steps.at(-1);
    const select = h("select", { id: "picture-step", onchange: (event) => {
      chosen = Number(event.target.value);
      showGallery(files);
    } }, steps.map((step) => h("option", { value: String(step), selected: step === chosen }, `step ${step}`)));
    const newestAttempt = new Map();
    for (const picture of pictures.filter((one) => one.step === chosen)) newestAttempt.set(picture.number, picture);
    gallery.replaceChildren(h("div", { class: "card" },
      h("header", {}, h("h2", {}, "Truth (left) and prediction (right)"), h("label", { for: "picture-step" }, "at "), select),
      h("ul", { class: "gallery" }, [...newestAttempt.values()].map((picture) => h("li", {}, h("figure", {},
        h("a", { href: `/v1/jobs/${id}/artifacts/${picture.name}` }, h("img", { src: `/v1/jobs/${id}/artifacts/${picture.name}`, loading: "lazy", alt: `Image ${picture.number + 1}: truth on the left, prediction at step ${picture.step} on the right` }))))))));
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

// What the model can do: COCO metrics, each category's, and pictures with truth beside prediction; by evaluation.
import { get, query } from "../shared/api.js";
import { h, keyed, put, say } from "../shared/dom.js";
import { percent } from "../shared/format.js";
import { openPicture } from "./lightbox.js";

const PICTURE = /^attempt-(\d+)\/samples\/step-(\d+)-(\d+)\.png$/;
const CATEGORY = /^Detection(Boxes|Masks)_PerformanceByCategory\/mAP\/(.+)$/;
const MAIN = /^Detection(Boxes|Masks)_(Precision|Recall)\/(.+)$/;
const CLASSES_FILE = /^attempt-(\d+)\/samples\/classes\.json$/; // names of classes that pictures have as numbers
const FIGURES_FILE = /^attempt-(\d+)\/evaluations\/step-(\d+)\.json$/; // of all categories, where they are too many for series
const NAMES_AT_ONCE = 50;
const LONGEST_QUERY = 8000; // characters: the service may refuse a request whose head is twice as long
const MOST_ROWS = 100;
const REST_MS = 1000; // an evaluation tells of each of its pictures

/** The names in lists that each fit into one request: a letter beyond ASCII takes up to twelve characters of it. */
function inParts(names) {
  const parts = [];
  let left = 0;
  for (const name of names) {
    const { length } = query({ names: name });
    if (left < length || parts.at(-1).length === NAMES_AT_ONCE) {
      parts.push([]);
      left = LONGEST_QUERY;
    }
    parts.at(-1).push(name);
    left -= length;
  }
  return parts;
}

export function start(root, { id, state }) {
  const problem = h("p", { class: "note bad", role: "alert", hidden: true });
  const place = h("div", {});
  root.append(problem, place);
  const select = h("select", { id: "evaluation", onchange: () => show(Number(select.value)) });
  const mainPlace = h("span", { class: "row" });
  const tables = h("div", { class: "results" });
  const list = h("ul", { class: "gallery" });
  const numbered = h("p", { class: "muted", hidden: true });
  const withPictures = h(
    "section",
    { class: "card" },
    h("h2", {}, "Ground truth (left) and prediction (right)"),
    numbered,
    list,
  );
  const noPictures = h("p", { class: "muted" }, "No images were kept for this evaluation.");
  const whole = [
    h("div", { class: "results-head" }, h("label", { for: "evaluation" }, "Evaluation at"), select, mainPlace),
    tables,
    withPictures,
    noPictures,
  ];
  let due = true;
  let timer = null;
  let asked = 0; // how often; an answer to an earlier question is late
  let series = [];
  let pictures = [];
  let figureFiles = new Map(); // by step, of its newest attempt
  const readFiles = new Map(); // by address
  let newest = null; // of the steps that are shown
  let shown = []; // the pictures

  async function load() {
    due = false;
    const mine = (asked += 1);
    try {
      const { names } = await get(`/v1/jobs/${id}/metrics${query({ names: "none", max_points: 1 })}`);
      const wanted = names.filter((name) => CATEGORY.test(name) || MAIN.test(name));
      const [found, files] = await Promise.all([
        Promise.all(
          inParts(wanted).map((part) => get(`/v1/jobs/${id}/metrics${query({ names: part, max_points: 500 })}`)),
        ),
        get(`/v1/jobs/${id}/artifacts`),
      ]);
      if (mine !== asked) return;
      series = found.flatMap((answer) => answer.series);
      pictures = files.items
        .map((file) => file.name.match(PICTURE))
        .filter(Boolean)
        .map(([name, attempt, step, number]) => ({
          link: `/v1/jobs/${id}/artifacts/${name}`,
          attempt: Number(attempt),
          step: Number(step),
          number: Number(number),
        }));
      figureFiles = new Map(
        files.items
          .map((file) => file.name.match(FIGURES_FILE))
          .filter(Boolean)
          .toSorted((one, other) => one[1] - other[1])
          .map(([name, , step]) => [Number(step), `/v1/jobs/${id}/artifacts/${name}`]),
      );
      problem.hidden = true;
      addNumbered(
        files.items
          .map((file) => file.name)
          .filter((name) => CLASSES_FILE.test(name))
          .at(-1),
      );
      show(isFollowed() ? null : Number(select.value));
    } catch (error) {
      if (mine !== asked) return;
      due = true;
      say(problem, `Could not load the results: ${error.message}`);
      problem.hidden = false;
    }
  }

  /** The newest evaluation gives way to the next, unless somebody is among its pictures. */
  function isFollowed() {
    const isAmongPictures =
      !withPictures.hidden && scrollY > 0 && withPictures.getBoundingClientRect().top < innerHeight / 2;
    return newest === null || (Number(select.value) === newest && !isAmongPictures);
  }

  /** `step`: null is the newest. */
  function show(step) {
    const steps = [...new Set([...series.flatMap((one) => one.steps), ...pictures.map((one) => one.step)])].toSorted(
      (one, other) => other - one,
    );
    if (!steps.length) {
      put(place, nothing());
      return;
    }
    if (newest === null) place.replaceChildren(...whole);
    newest = steps[0];
    keyed(
      select,
      steps,
      (one) => one,
      (one) => h("option", { value: String(one) }, `step ${one.toLocaleString("en")}`),
    );
    select.value = String(steps.includes(step) ? step : newest);
    const values = at(Number(select.value));
    put(mainPlace, main(values));
    put(tables, categories(values), figures(values));
    addCategories(Number(select.value));
    gallery(Number(select.value));
  }

  /** Where an evaluation has many categories, their figures are in a file. */
  async function addCategories(step) {
    const address = figureFiles.get(step);
    if (!address) return;
    try {
      const { metrics } = await read(address);
      if (Number(select.value) === step)
        put(tables, categories(new Map(Object.entries(metrics)), address), figures(at(step)));
    } catch (error) {
      say(problem, `Could not load the results by category: ${error.message}`);
      problem.hidden = false;
    }
  }

  /** Which class is which, where the pictures have numbers for names that could not be drawn. */
  async function addNumbered(name) {
    if (!name) return;
    try {
      const names = await read(`/v1/jobs/${id}/artifacts/${name}`);
      // A name that runs from right to left must not take its neighbours along.
      put(
        numbered,
        "Shown by number: ",
        Object.entries(names).map(([number, one], index) => [`${index ? ", " : ""}#${number} `, h("bdi", {}, one)]),
      );
      numbered.hidden = false;
    } catch (error) {
      say(problem, `Could not load the class names: ${error.message}`);
      problem.hidden = false;
    }
  }

  /** A JSON file of the job, once. Files are served as text. */
  async function read(address) {
    if (!readFiles.has(address)) readFiles.set(address, get(address));
    try {
      return JSON.parse(await readFiles.get(address));
    } catch (error) {
      readFiles.delete(address);
      throw error;
    }
  }

  /** What was said at `step`, by the newest attempt that said anything. */
  function at(step) {
    const found = new Map();
    for (const one of series) {
      const index = one.steps.indexOf(step);
      if (index >= 0) found.set(one.name, one.mean[index]);
    }
    return found;
  }

  function nothing() {
    const { job } = state;
    const isOver = ["succeeded", "failed", "cancelled"].includes(job.state);
    return h(
      "div",
      { class: "card empty" },
      h("h2", {}, "No evaluation yet"),
      h(
        "p",
        {},
        isOver
          ? "The job ended before its first evaluation."
          : `The first evaluation runs during training, at step ${job.progress.steps.toLocaleString("en")} at the latest.`,
      ),
    );
  }

  function main(values) {
    return ["DetectionBoxes_Precision/mAP", "DetectionMasks_Precision/mAP"]
      .filter((name) => values.has(name))
      .map((name) =>
        h(
          "span",
          { class: "main-figure" },
          h("strong", {}, percent(values.get(name), 1)),
          h("span", { class: "muted" }, name.includes("Masks") ? " mask mAP" : " mAP"),
        ),
      );
  }

  function categories(values, address) {
    const rows = [...values]
      .filter(([name]) => CATEGORY.test(name))
      .map(([name, value]) => {
        const [, kind, category] = name.match(CATEGORY);
        return { name: `${category}${kind === "Masks" ? " (mask)" : ""}`, value };
      })
      .toSorted((one, other) => other.value - one.value);
    if (rows.length <= MOST_ROWS) return rows.length ? table("AP by category", rows) : null;
    const half = MOST_ROWS / 2;
    const download =
      address &&
      h(
        "p",
        { class: "muted" },
        h("a", { href: address, download: "" }, `All ${rows.length.toLocaleString("en")} categories as JSON`),
      );
    return h(
      "div",
      {},
      table(`AP by category: best ${half}`, rows.slice(0, half)),
      table(`AP by category: worst ${half}`, rows.slice(-half)),
      download,
    );
  }
  function figures(values) {
    const rows = [...values]
      .filter(([name]) => MAIN.test(name))
      .map(([name, value]) => ({
        name: `${name.match(MAIN)[1] === "Masks" ? "mask " : ""}${name.match(MAIN)[3]}`,
        value,
      }));
    return rows.length ? table("COCO metrics", rows) : null;
  }
  /** COCO says -1 where there was nothing to find. */
  function table(caption, rows) {
    const bar = (value) => {
      const fill = h("span", {});
      fill.style.width = `${100 * Math.max(0, value)}%`;
      return h("span", { class: "ap-bar", "aria-hidden": "true" }, fill);
    };
    return h(
      "section",
      { class: "card" },
      h(
        "table",
        { class: "ap" },
        h("caption", {}, caption),
        h(
          "tbody",
          {},
          rows.map(({ name, value }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              h("td", {}, bar(value)),
              h("td", { class: "number" }, value < 0 ? "no objects" : percent(value, 1)),
            ),
          ),
        ),
      ),
    );
  }

  function gallery(step) {
    const last = new Map();
    for (const picture of pictures
      .filter((one) => one.step === step)
      .toSorted((one, other) => one.attempt - other.attempt))
      last.set(picture.number, picture);
    shown = [...last.values()]
      .toSorted((one, other) => one.number - other.number)
      .map((picture) => ({
        ...picture,
        words: `Image ${picture.number + 1}: ground truth on the left, prediction at step ${picture.step.toLocaleString("en")} on the right`,
      }));
    withPictures.hidden = !shown.length;
    noPictures.hidden = shown.length > 0;
    keyed(list, shown, ({ number }) => number, makePicture, updatePicture);
  }
  function makePicture({ number }) {
    const open = () =>
      openPicture(
        shown,
        shown.findIndex((one) => one.number === number),
      );
    return h("li", {}, h("button", { type: "button", class: "picture", onclick: open }, h("img", { loading: "lazy" })));
  }
  function updatePicture({ firstChild: button }, { link, words }) {
    const image = button.firstChild;
    if (image.getAttribute("src") === link) return;
    button.setAttribute("aria-label", `Enlarge ${words}`);
    image.alt = words;
    image.src = link;
  }

  return {
    shown: () => due && load(),
    event(event) {
      if (!["eval", "image", "ended"].includes(event.kind)) return;
      due = true;
      clearTimeout(timer);
      timer = setTimeout(() => due && !root.hidden && load(), REST_MS);
    },
  };
}

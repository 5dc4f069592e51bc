// The Results tab: COCO metrics, AP by category, and images with ground truth beside the prediction, by evaluation.
import { get, query } from "../shared/api.js";
import { h, keyed, setContent, setText } from "../shared/dom.js";
import { percent, wholeNumber } from "../shared/format.js";
import { openPicture } from "./lightbox.js";

const PICTURE = /^attempt-(\d+)\/samples\/step-(\d+)-(\d+)\.png$/;
const CATEGORY = /^Detection(Boxes|Masks)_PerformanceByCategory\/mAP\/(.+)$/;
const MAIN = /^Detection(Boxes|Masks)_(Precision|Recall)\/(.+)$/;
const CLASSES_FILE = /^attempt-(\d+)\/samples\/classes\.json$/; // names of classes that images show as numbers
// Metrics of all categories, if there are too many to store as series.
const FIGURES_FILE = /^attempt-(\d+)\/evaluations\/step-(\d+)\.json$/;
const NAMES_AT_ONCE = 50;
const LONGEST_QUERY = 8000; // characters: the service may refuse a request head of twice that length
const MOST_ROWS = 100;
const REST_MS = 1000; // an evaluation sends an event for each image: wait for the last one

/** Splits names so that each list fits into one request. A non-ASCII letter takes up to 12 characters in a URL. */
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
  let asked = 0; // number of the newest request: older responses are dropped
  let series = [];
  let pictures = [];
  let figureFiles = new Map(); // step to URL, from its newest attempt
  const readFiles = new Map(); // URL to text
  let newest = null; // newest step with results
  let shown = []; // images on the page

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
      setText(problem, `Could not load the results: ${error.message}`);
      problem.hidden = false;
    }
  }

  /** Whether to move on to a newer evaluation: not while the user looks at an older one, or at the images. */
  function isFollowed() {
    const isAmongPictures =
      !withPictures.hidden && scrollY > 0 && withPictures.getBoundingClientRect().top < innerHeight / 2;
    return newest === null || (Number(select.value) === newest && !isAmongPictures);
  }

  /** `step`: null for the newest. */
  function show(step) {
    const steps = [...new Set([...series.flatMap((one) => one.steps), ...pictures.map((one) => one.step)])].toSorted(
      (one, other) => other - one,
    );
    if (!steps.length) {
      setContent(place, nothing());
      return;
    }
    if (newest === null) place.replaceChildren(...whole);
    newest = steps[0];
    keyed(
      select,
      steps,
      (one) => one,
      (one) => h("option", { value: String(one) }, `step ${wholeNumber(one)}`),
    );
    select.value = String(steps.includes(step) ? step : newest);
    const values = at(Number(select.value));
    setContent(mainPlace, main(values));
    setContent(tables, categories(values), figures(values));
    addCategories(Number(select.value));
    gallery(Number(select.value));
  }

  /** Loads the metrics by category if they are in a file. */
  async function addCategories(step) {
    const address = figureFiles.get(step);
    if (!address) return;
    try {
      const { metrics } = await read(address);
      if (Number(select.value) === step)
        setContent(tables, categories(new Map(Object.entries(metrics)), address), figures(at(step)));
    } catch (error) {
      setText(problem, `Could not load the results by category: ${error.message}`);
      problem.hidden = false;
    }
  }

  /** The legend for classes that images show as numbers, because the font cannot draw their names. */
  async function addNumbered(name) {
    if (!name) return;
    try {
      const names = await read(`/v1/jobs/${id}/artifacts/${name}`);
      // <bdi>: a right-to-left name must not reorder its neighbours.
      setContent(
        numbered,
        "Shown by number: ",
        Object.entries(names).map(([number, one], index) => [`${index ? ", " : ""}#${number} `, h("bdi", {}, one)]),
      );
      numbered.hidden = false;
    } catch (error) {
      setText(problem, `Could not load the class names: ${error.message}`);
      problem.hidden = false;
    }
  }

  /** Loads a JSON file of the job, once. The service sends files as text. */
  async function read(address) {
    if (!readFiles.has(address)) readFiles.set(address, get(address));
    try {
      return JSON.parse(await readFiles.get(address));
    } catch (error) {
      readFiles.delete(address);
      throw error;
    }
  }

  /** The metrics at `step`, from the newest attempt that has each. */
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
          : `The first evaluation runs during training, at step ${wholeNumber(job.progress.steps)} at the latest.`,
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
        h("a", { href: address, download: "" }, `All ${wholeNumber(rows.length)} categories as JSON`),
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
  /** COCO reports -1 if there were no objects to find. */
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
      .map((picture) => ({ ...picture, words: describe(picture) }));
    withPictures.hidden = !shown.length;
    noPictures.hidden = shown.length > 0;
    keyed(list, shown, ({ number }) => number, makePicture, updatePicture);
  }
  function describe({ number, step }) {
    return `Image ${number + 1}: ground truth on the left, prediction at step ${wholeNumber(step)} on the right`;
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
    button.setAttribute("aria-label", `${words}; enlarge`);
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

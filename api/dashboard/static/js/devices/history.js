// A small chart of a device's recent memory use and utilisation.
import { h, setContent, svg } from "../shared/dom.js";
import { bytes } from "../shared/format.js";

const WIDTH = 1000;
const HEIGHT = 100;

/** `history`: the response of /v1/devices/…/history. The text below shows the values under the pointer. */
export function showHistory(place, history, hours) {
  const until = Date.now();
  const from = until - hours * 3600_000;
  const points = history.at.map((at, index) => ({
    at: Date.parse(at),
    others: history.others_bytes[index],
    ours: history.ours_bytes[index],
    utilisation: history.utilisation[index],
    temperature: history.temperature[index],
    job: history.job[index],
  }));
  if (!points.length || !history.total_bytes) {
    setContent(place, h("p", { class: "muted small" }, "No data for this period."));
    return;
  }
  const x = (at) => (WIDTH * (Math.max(at, from) - from)) / (until - from);
  const y = (count) => HEIGHT - (HEIGHT * Math.min(count, history.total_bytes)) / history.total_bytes;
  const longest = Math.max(90_000, (3 * (until - from)) / points.length); // ms between two points before a gap is drawn
  const areas = runs(points, longest).flatMap((run) => [
    svg("path", {
      class: "others",
      d: area(
        run,
        x,
        () => HEIGHT,
        (one) => y(one.others),
      ),
    }),
    svg("path", {
      class: "ours",
      d: area(
        run,
        x,
        (one) => y(one.others),
        (one) => y(one.others + one.ours),
      ),
    }),
    svg("path", {
      class: "busy",
      d: line(
        run.filter((one) => one.utilisation !== null),
        x,
        (one) => HEIGHT - one.utilisation,
      ),
    }),
  ]);
  const most = Math.max(...points.map((one) => one.ours + one.others));
  const usual = `peak ${bytes(most)} of ${bytes(history.total_bytes)}`;
  const told = h("span", { class: "readout number" }, usual);
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `Memory held in the last ${hours} h: ${usual}`,
    },
    areas,
  );
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const wanted = from + ((event.clientX - box.left) / box.width) * (until - from);
    told.textContent = words(
      points.reduce((best, one) => (Math.abs(one.at - wanted) < Math.abs(best.at - wanted) ? one : best)),
    );
  });
  picture.addEventListener("pointerleave", () => {
    told.textContent = usual;
  });
  place.replaceChildren(
    picture,
    h("p", { class: "small muted" }, h("span", {}, `${hours} h ago`), told, h("span", {}, "now")),
  );
}

function runs(points, longest) {
  const found = [];
  for (const point of points) {
    const run = found.at(-1);
    if (run && point.at - run.at(-1).at <= longest) run.push(point);
    else found.push([point]);
  }
  return found;
}

const corner = (x, y) => `${x.toFixed(1)} ${y.toFixed(1)}`;
const line = (run, x, y) => (run.length ? `M${run.map((one) => corner(x(one.at), y(one))).join("L")}` : "");
const area = (run, x, low, high) =>
  `${line(run, x, high)}L${run
    .toReversed()
    .map((one) => corner(x(one.at), low(one)))
    .join("L")}Z`;

function words({ at, ours, others, utilisation, temperature, job }) {
  return [
    new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }),
    job === null ? null : `job ${job}`,
    `ours ${bytes(ours)}`,
    `others ${bytes(others)}`,
    utilisation === null ? null : `${utilisation} %`,
    temperature === null ? null : `${temperature} °C`,
  ]
    .filter(Boolean)
    .join(" · ");
}

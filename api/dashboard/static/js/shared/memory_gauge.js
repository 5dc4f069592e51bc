// A bar, to scale, of measured and predicted memory against a limit.
import { h } from "./dom.js";
import { MB, bytes, megabytes } from "./format.js";

const STEPS = [
  1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000, 10_000, 20_000, 25_000, 50_000, 100_000,
];

/**
 * In bytes. `measured`: in use. `wanted`: the request that failed when memory ran out. `predicted`: {bytes, low_bytes,
 * high_bytes}. `taken`: in use by others now. Pass the same `scale` to several gauges to make them comparable.
 */
export function gauge({
  limit,
  measured = null,
  wanted = null,
  predicted = null,
  taken = 0,
  scale = null,
  limitWords = "limit",
}) {
  const need = (measured ?? 0) + (wanted ?? 0);
  const end = scale ?? reach({ limit, measured, wanted, predicted });
  const at = (element, from, to = null) => {
    element.style.left = `${(100 * from) / end}%`;
    if (to !== null) element.style.width = `${Math.max(0.3, (100 * (Math.min(to, end) - from)) / end)}%`;
    return element;
  };
  const part = (kind, from, to) => at(h("span", { class: `gauge-${kind}` }), from, to);
  const words = [
    measured ? ["measured", `measured ${bytes(measured)}`] : null,
    wanted
      ? ["over", `requested ${bytes(wanted)} more`]
      : need > limit
        ? ["over", `${bytes(need - limit)} over the limit`]
        : null,
    predicted
      ? [
          "predicted",
          `predicted ${bytes(predicted.bytes)} (${bytes(predicted.low_bytes)} – ${bytes(predicted.high_bytes)})`,
        ]
      : null,
    taken ? ["taken", `${bytes(taken)} in use now`] : null,
    ["limit", `${limitWords} ${bytes(limit)}`],
  ].filter(Boolean);
  return h(
    "div",
    { class: "gauge" },
    h(
      "div",
      { class: "gauge-bar", role: "img", "aria-label": words.map(([, text]) => text).join(", ") },
      at(h("span", { class: "gauge-room" }), 0, limit),
      taken ? part("taken", limit - taken, limit) : null,
      measured ? part("measured", 0, Math.min(measured, limit)) : null,
      need > limit || wanted
        ? part("over", Math.min(measured ?? 0, limit), Math.max(need, (measured ?? 0) + end / 150))
        : null,
      predicted ? part("interval", predicted.low_bytes, predicted.high_bytes) : null,
      predicted ? at(h("span", { class: "gauge-mark" }), predicted.bytes) : null,
      at(h("span", { class: "gauge-limit" }), limit),
    ),
    h(
      "div",
      { class: "gauge-scale", "aria-hidden": "true" },
      ticks(end).map((tick) => at(h("span", {}, tick ? `${megabytes(tick / MB)} MB` : "0"), tick)),
    ),
    h(
      "p",
      { class: "gauge-words" },
      words.map(([kind, text]) => h("span", { class: `of-${kind}` }, text)),
    ),
  );
}

/** The end of the scale: all values, and some space after them. */
export function reach({ limit, measured = 0, wanted = 0, predicted = null }) {
  return 1.04 * Math.max(limit, (measured ?? 0) + (wanted ?? 0), predicted?.high_bytes ?? 0);
}

function ticks(end) {
  const step = (STEPS.find((one) => end / MB / one <= 6) ?? 500_000) * MB;
  return Array.from({ length: Math.floor((0.97 * end) / step) + 1 }, (_, number) => number * step);
}

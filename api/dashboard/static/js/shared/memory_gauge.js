// Memory against a limit, to scale: what was measured, what was predicted, and what was asked for beyond it.
import { h } from "./dom.js";
import { MB, bytes, megabytes } from "./format.js";

const STEPS = [
  1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000, 10_000, 20_000, 25_000, 50_000, 100_000,
];

/**
 * `measured`: bytes that were in use; `wanted`: what was asked for on top when there was no more; `predicted`:
 * {bytes, low_bytes, high_bytes}; `taken`: held by others now; `limit`: what there is. `scale` makes several
 * comparable. The words beneath say the same as the picture.
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

/** How far the scale goes so that everything is on it, with a little room behind it. */
export function reach({ limit, measured = 0, wanted = 0, predicted = null }) {
  return 1.04 * Math.max(limit, (measured ?? 0) + (wanted ?? 0), predicted?.high_bytes ?? 0);
}

function ticks(end) {
  const step = (STEPS.find((one) => end / MB / one <= 6) ?? 500_000) * MB;
  return Array.from({ length: Math.floor((0.97 * end) / step) + 1 }, (_, number) => number * step);
}

// What the checks of a dataset found.
import { $, h, setContent } from "../shared/dom.js";
import { wholeNumber } from "../shared/format.js";
import { pill } from "../shared/badges.js";

/** `findings`: as in /v1/datasets/…; null for a dataset from before they were stored. */
export function showFindings(findings) {
  $("#findings-card").hidden = false;
  setContent($("#findings"), content(findings));
}

function content(findings) {
  if (findings === null)
    return h("p", { class: "muted" }, "This dataset was added by an older version, which did not store its findings.");
  if (!findings.length) return h("p", { class: "muted" }, "The checks found nothing that looks like a mistake.");
  return h("ul", { class: "findings" }, findings.map(item));
}

function item(finding) {
  const { severity, message, count, places } = finding;
  const head = [
    pill(severity, severity === "error" ? "failed" : "warn"),
    h("span", { class: "finding-message" }, message),
    places.length ? h("span", { class: "muted number" }, `${wholeNumber(count)} ×`) : null,
  ];
  if (!places.length) return h("li", { class: "found" }, h("div", { class: "finding" }, head));
  return h(
    "li",
    { class: "found" },
    h(
      "details",
      {},
      h("summary", { class: "finding" }, head),
      h(
        "ul",
        { class: "places small" },
        places.map((place) => h("li", {}, h("span", { class: "mono" }, where(place)))),
        count > places.length ? h("li", { class: "muted" }, `and ${wholeNumber(count - places.length)} more`) : null,
      ),
    ),
  );
}

const where = ({ file, record, item: object, field }) => [file, record, object, field].filter(Boolean).join(": ");

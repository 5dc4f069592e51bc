// What the doctor says of the job's training: mistakes that its results show, and what to do.
import { h, setContent } from "../shared/dom.js";

const CLASSES = { error: "bad", warning: "warn" };

/** `advice`: as in GET /v1/jobs/{id}. */
export function showAdvice(root, advice) {
  root.hidden = !advice?.length;
  setContent(
    root,
    (advice ?? []).map((one) =>
      h(
        "div",
        { class: `note ${CLASSES[one.severity] ?? "warn"}`, dataset: { code: one.code } },
        h("p", {}, h("strong", {}, one.seen)),
        h("p", {}, one.remedy),
      ),
    ),
  );
}

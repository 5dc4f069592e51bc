// The datasets that a job can use.
import { get, maySubmit, whoami } from "../shared/api.js";
import { uploadForm } from "../datasets/upload.js";
import { dot } from "../shared/badges.js";
import { CURL_TOKEN } from "../shared/clipboard.js";
import { $, h, setContent, setText } from "../shared/dom.js";
import { bytes, wholeNumber } from "../shared/format.js";
import { actionCell, cell, numberCell, showProblem, trainLink } from "../shared/table_cells.js";

async function datasets(place) {
  const [{ items }, me] = await Promise.all([get("/v1/datasets"), whoami()]);
  $("#add").hidden = !maySubmit(me);
  $("#empty").hidden = items.length > 0;
  place.closest(".table-wrap").hidden = !items.length;
  setContent(
    place,
    items.map((one) =>
      h(
        "tr",
        {},
        cell(
          "Dataset",
          h("a", { href: `/datasets/${encodeURIComponent(one.name)}` }, h("b", {}, one.name)),
          one.version ? version(one.version) : null,
          one.problem ? h("span", { class: "reason" }, dot("cannot be used", "failed"), ` ${one.problem}`) : null,
        ),
        cell("Format", one.format ?? "–"),
        numberCell("Images", wholeNumber(one.images)),
        numberCell("Validation", wholeNumber(one.validation_images)),
        numberCell("Boxes", one.boxes === null ? "–" : wholeNumber(one.boxes)),
        cell("Masks", one.has_masks ? "yes" : "no"),
        cell("Classes", classes(one)),
        numberCell("Size", bytes(one.bytes)),
        actionCell(one.problem || !maySubmit(me) ? null : trainLink({ dataset: one.name }, one.name)),
      ),
    ),
  );
}

const send = () => `curl -sS -X POST -T cones.zip ${CURL_TOKEN} \\
  -H 'Content-Type: application/zip' '${location.origin}/v1/datasets?name=cones'`;

/** The first figures of the content's hash; all of them on hover. */
function version(text) {
  const short = text.split(":").pop().slice(0, 12);
  return h("span", { class: "reason muted mono", title: text }, short);
}

/** The number of classes, and the first few with their number of boxes. */
function classes({ classes: names, boxes_per_class: often }) {
  const shown = names
    .slice(0, 8)
    .map((name) =>
      h(
        "span",
        { class: "tag" },
        name,
        often[name] === undefined ? null : h("span", { class: "muted number" }, ` ${wholeNumber(often[name])}`),
      ),
    );
  return h(
    "span",
    { class: "tags", title: names.join(", ") },
    h("b", { class: "number" }, names.length),
    shown,
    names.length > shown.length ? h("span", { class: "muted" }, `and ${names.length - shown.length} more`) : null,
  );
}

setText($("#send"), send());
uploadForm(() => datasets($("#datasets")));
datasets($("#datasets")).catch(showProblem);

// What a job can name: datasets and models.
import { get, maySubmit, query, whoami } from "../shared/api.js";
import { $, h, put, say } from "../shared/dom.js";
import { bytes, count, figure, size } from "../shared/format.js";
import { dot } from "../shared/badges.js";

const cell = (label, ...children) => h("td", { "data-label": label }, h("span", {}, ...children));
const number = (label, value) => h("td", { "data-label": label, class: "number" }, h("span", {}, value));
const train = (values, name) =>
  h("a", { class: "button", href: `/jobs/new${query(values)}`, "aria-label": `Train with ${name}` }, "Train with this");
const action = (...children) => h("td", { class: "action" }, ...children);

function problem(error) {
  say($("#problem"), `The list could not be loaded: ${error.message}`);
  $("#problem").hidden = false;
}

async function datasets(place) {
  const [{ items }, me] = await Promise.all([get("/v1/datasets"), whoami()]);
  $("#add").hidden = !maySubmit(me);
  $("#empty").hidden = items.length > 0;
  place.closest(".table-wrap").hidden = !items.length;
  put(
    place,
    items.map((one) =>
      h(
        "tr",
        {},
        cell(
          "Dataset",
          h("b", {}, one.name),
          one.problem ? h("span", { class: "reason" }, dot("cannot be used", "failed"), ` ${one.problem}`) : null,
        ),
        number("Images", count(one.images)),
        number("Validation", count(one.validation_images)),
        number("Boxes", one.boxes === null ? "–" : count(one.boxes)),
        cell("Masks", one.has_masks ? "yes" : "no"),
        cell("Classes", classes(one)),
        number("Size", bytes(one.bytes)),
        action(one.problem || !maySubmit(me) ? null : train({ dataset: one.name }, one.name)),
      ),
    ),
  );
}

const send =
  () => `tar c -C records . | curl -sS -X POST -T - -H "Authorization: Bearer \${TOKEN:?set it to a token of yours, see Settings}" \\
  -H 'Content-Type: application/x-tar' '${location.origin}/v1/datasets?name=cones'`;

/** How many, and the first ones with how often each occurs. */
function classes({ classes: names, boxes_per_class: often }) {
  const shown = names
    .slice(0, 8)
    .map((name) =>
      h(
        "span",
        { class: "tag" },
        name,
        often[name] === undefined ? null : h("span", { class: "muted number" }, ` ${count(often[name])}`),
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

function sizes(all) {
  const [smallest, largest] = [all[0], all.at(-1)].map(size);
  return smallest === largest
    ? null
    : h("span", { class: "reason number", title: all.map(size).join(", ") }, `${smallest} to ${largest}`);
}

async function models(place) {
  const [{ items }, me] = await Promise.all([get("/v1/models"), whoami()]);
  put(
    place,
    items.map((one) =>
      h(
        "tr",
        {},
        cell(
          "Model",
          h("b", { class: "mono" }, one.name),
          one.smaller ? h("span", { class: "reason" }, `can fall back to ${one.smaller}`) : null,
        ),
        cell(
          "Family",
          one.family.replaceAll("_", " "),
          one.needs_masks ? h("span", { class: "reason" }, "needs masks") : null,
        ),
        cell("Backbone", one.backbone),
        cell("Images", h("b", { class: "number" }, size(one.image_size)), sizes(one.image_sizes)),
        number("Batch", one.batch_size),
        number("Steps", count(one.steps)),
        number("Learning rate", figure(one.learning_rate)),
        action(maySubmit(me) ? train({ model: one.name }, one.name) : null),
      ),
    ),
  );
}

if ($("#datasets")) {
  say($("#send"), send());
  datasets($("#datasets")).catch(problem);
}
if ($("#models")) models($("#models")).catch(problem);

// The models that a job can train.
import { get, maySubmit, whoami } from "../shared/api.js";
import { $, h, setContent } from "../shared/dom.js";
import { wholeNumber, figure, size } from "../shared/format.js";
import { actionCell, cell, numberCell, showProblem, trainLink } from "../shared/table_cells.js";

function sizes(all) {
  const [smallest, largest] = [all[0], all.at(-1)].map(size);
  return smallest === largest
    ? null
    : h("span", { class: "reason number", title: all.map(size).join(", ") }, `${smallest} to ${largest}`);
}

async function models(place) {
  const [{ items }, me] = await Promise.all([get("/v1/models"), whoami()]);
  setContent(
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
        numberCell("Batch", one.batch_size),
        numberCell("Steps", wholeNumber(one.steps)),
        numberCell("Learning rate", figure(one.learning_rate)),
        actionCell(maySubmit(me) ? trainLink({ model: one.name }, one.name) : null),
      ),
    ),
  );
}

models($("#models")).catch(showProblem);

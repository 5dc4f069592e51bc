// What a job can name: datasets and models.
import { get } from "./api.js";
import { $, h, put, say } from "./dom.js";
import { bytes, figure, size } from "./format.js";
import { pill } from "./parts.js";

function problem(error) {
  say($("#problem"), `The list could not be loaded: ${error.message}`);
  $("#problem").hidden = false;
}

async function datasets(place) {
  const { items } = await get("/v1/datasets");
  $("#empty").hidden = items.length > 0;
  put(place, items.map((one) => h("article", { class: "card" },
    h("header", {}, h("h2", {}, one.name), one.problem ? pill("cannot be used", "failed") : null),
    one.problem ? h("p", { class: "error" }, one.problem) : null,
    h("dl", { class: "facts" },
      h("dt", {}, "Images"), h("dd", {}, `${one.images} to train, ${one.validation_images} to validate`),
      h("dt", {}, "Size"), h("dd", {}, bytes(one.bytes)),
      h("dt", {}, "Classes"), h("dd", {}, `${one.classes.length}: ${one.classes.slice(0, 12).join(", ")}${one.classes.length > 12 ? ", …" : ""}`)))));
}

async function models(place) {
  const { items } = await get("/v1/models");
  const cell = (label, text, kind = "") => h("td", { "data-label": label, class: kind }, h("span", {}, text));
  put(place, items.map((one) => h("tr", {}, cell("Model", one.name, "mono"), cell("Family", one.family.replaceAll("_", " ") + (one.needs_masks ? " (needs masks)" : "")), cell("Backbone", one.backbone),
    cell("Image sizes", one.image_sizes.map(size).join(", ")), cell("Batch", String(one.batch_size), "number"), cell("Steps", String(one.steps), "number"), cell("Learning rate", figure(one.learning_rate), "number"), cell("One smaller", one.smaller ?? "–"))));
}

if ($("#datasets")) datasets($("#datasets")).catch(problem);
if ($("#models")) models($("#models")).catch(problem);

// The form for a new job. The estimate follows the input.
import { get, maySubmit, post, whoami } from "../shared/api.js";
import { CURL_TOKEN, copy } from "../shared/clipboard.js";
import { $, $$, h, setContent, setText } from "../shared/dom.js";
import { showEstimate } from "../new_job/estimate.js";
import { figure, plural, size } from "../shared/format.js";
import { leverList } from "../new_job/levers.js";

const DRAFT = `new-job${location.search}`;
const FIELDS = [
  "dataset",
  "model",
  "steps",
  "batch",
  "rate",
  "evaluations",
  "best-metric",
  "patience",
  "min-gain",
  "export",
  "size",
  "checkpoint",
  "priority",
  "name",
  "min-batch",
  "min-size",
  "min-backbone",
  "max-attempts",
  "notes",
  "min-memory",
  "config",
];
const CHECKS = ["wait", "as-asked", "wait-device"];
const value = (id) => $(`#${id}`).value.trim();
const number = (id) => (value(id) === "" ? undefined : Number(value(id)));
const DEFAULT_PATIENCE = 5; // the service's, for an early stop that was sent without one
const OF_BOXES = ["mAP50", "mAP75", "AR100"]; // beside mAP, the default
const OF_MASKS = ["mask_mAP", "mask_mAP50", "mask_mAP75", "mask_AR100"];
const RANDOM = "random weights"; // not a valid checkpoint name
let models = new Map();
let datasets = new Map();
let checkpoints = [];
const levers = leverList($("#levers"), changed);

let isFilled = false;

// --- loading the choices -----------------------------------------------------------------------------------------
async function start() {
  const wishes = new URLSearchParams(location.search);
  const clone = wishes.get("clone");
  try {
    const [me, sets, found, weights, former] = await Promise.all([
      whoami(),
      get("/v1/datasets"),
      get("/v1/models"),
      get("/v1/checkpoints"),
      clone ? get(`/v1/jobs/${encodeURIComponent(clone)}/request`) : null,
    ]);
    if (!maySubmit(me)) {
      refuse(me);
      return;
    }
    $("#priority").max = me.scopes.includes("admin") ? 100 : 0;
    models = new Map(found.items.map((model) => [model.name, model]));
    datasets = new Map(sets.items.map((one) => [one.name, one]));
    setContent(
      $("#dataset"),
      sets.items.map((one) =>
        h(
          "option",
          { value: one.name, disabled: Boolean(one.problem) },
          `${one.name} (${plural(one.images, "image")}${one.problem ? `; ${one.problem}` : ""})`,
        ),
      ),
    );
    const families = Map.groupBy(found.items, (model) => model.family);
    setContent(
      $("#model"),
      [...families].map(([family, members]) =>
        h(
          "optgroup",
          { label: family.replaceAll("_", " ") },
          members.map((model) => h("option", { value: model.name }, model.name)),
        ),
      ),
    );
    checkpoints = weights.items;
    setContent(
      $("#checkpoint"),
      h("option", { value: "" }),
      h("option", { value: RANDOM, hidden: true }, "random weights"),
      checkpoints.map((one) => h("option", { value: one.name }, one.name)),
    );
    if (!sets.items.length) problem("No datasets yet. See Datasets for how to add one.");
    if (former) {
      setText($("#title"), `New job, from #${clone}`);
      if (former.train?.epochs) {
        const { asked } = await get(`/v1/jobs/${encodeURIComponent(clone)}`);
        former.train.steps = asked.steps; // the form has no field for epochs
      }
      fillFrom(former);
      isRandomChosen = isRandom();
    } else
      fillFrom({ model: wishes.get("model"), dataset: wishes.get("dataset") ?? firstDataset(wishes.get("model")) });
    if (!former) chooseStart();
    restore();
    isFilled = true;
    estimate();
  } catch (error) {
    problem(`Could not load the form: ${error.message}`);
  }
}

function refuse({ role }) {
  const why =
    role === "viewer"
      ? "Viewers can only read. Ask an admin to make you a member."
      : "You are logged in with a read-only token.";
  $(".new-job").replaceWith(
    h(
      "div",
      { class: "card empty" },
      h("h2", {}, "You cannot submit jobs"),
      h("p", {}, why),
      h("a", { class: "button", href: "/" }, "All jobs"),
    ),
  );
}

function problem(text) {
  setText($("#problem"), text);
  $("#problem").hidden = false;
}

/** `asked`: a request body. Fields that it leaves out stay empty, which means the model's default. */
function fillFrom(asked) {
  const {
    train = {},
    policy = {},
    device = {},
  } = Object.fromEntries(Object.entries(asked).filter(([, one]) => one !== null));
  const values = {
    dataset: asked.dataset,
    name: asked.name,
    notes: asked.notes,
    checkpoint: asked.pipeline_config && asked.checkpoint === null ? RANDOM : asked.checkpoint,
    config: asked.pipeline_config,
    priority: asked.priority,
    steps: train.steps,
    batch: train.batch_size,
    rate: train.learning_rate,
    evaluations: train.evaluations,
    "best-metric": train.best_metric,
    patience: train.early_stopping && (train.early_stopping.patience ?? DEFAULT_PATIENCE),
    "min-gain": train.early_stopping?.min_gain,
    export: train.export === "last" ? "last" : "",
    "min-batch": policy.min_batch_size,
    "min-size": policy.min_image_size,
    "max-attempts": policy.max_attempts,
    "min-memory": device.min_memory_mb,
  };
  for (const [id, one] of Object.entries(values)) if (one !== undefined && one !== null) choose(id, String(one));
  chosen = asked.model ?? $("#model").options[0]?.value ?? "";
  showModel();
  choose("size", asked.image_size?.join("x") ?? "");
  choose("min-backbone", policy.min_backbone ?? "");
  $("#wait").checked = policy.prefer === "wait";
  $("#as-asked").checked = policy.plan_ahead === false;
  $("#wait-device").checked = Boolean(device.wait);
  levers.set(policy.levers);
  $("#more").open = Boolean(asked.notes || asked.pipeline_config || device.min_memory_mb || device.wait);
}

/** Adds a missing option, such as a deleted checkpoint. The service then reports what is wrong with it. */
function choose(id, text) {
  const field = $(`#${id}`);
  if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === text))
    field.append(h("option", { value: text }, text));
  field.value = text;
}

/** The first usable dataset for `model`. */
function firstDataset(model) {
  const needsMasks = models.get(model)?.needs_masks;
  return [...datasets.values()].find((one) => !one.problem && (one.has_masks || !needsMasks))?.name;
}

// --- defaults for empty fields: from the model, or from the pasted pipeline.config -------------------------------
let chosen = ""; // selected model; a pasted pipeline.config overrides it
let ofConfig = null; // {text, model, image_size}, as the service read the pasted pipeline.config

/** The model and its image size. Both are null until the service has read the pasted pipeline.config. */
function modelOfForm() {
  const text = value("config");
  if (!text) return { model: models.get(chosen) ?? null, imageSize: models.get(chosen)?.image_size ?? null };
  return ofConfig?.text === text
    ? { model: models.get(ofConfig.model) ?? null, imageSize: ofConfig.image_size }
    : { model: null, imageSize: null };
}

/** Updates fields and choices. `isOther`: the model changed, so drop choices that it does not have. */
function showModel(isOther = false) {
  const isConfig = Boolean(value("config"));
  const { model, imageSize } = modelOfForm();
  showModelField(isConfig, model);
  const source = isConfig ? "from pipeline.config" : "model default";
  keepChoice(
    "size",
    [
      h("option", { value: "" }, imageSize ? `${size(imageSize)} (${source})` : source),
      ...(model?.image_sizes ?? []).map((pair) => h("option", { value: pair.join("x") }, size(pair))),
    ],
    isOther,
  );
  const backbones = [];
  for (let one = model; one; one = models.get(one.smaller)) backbones.push(one.backbone);
  keepChoice(
    "min-backbone",
    [h("option", { value: "" }, "any"), ...[...new Set(backbones)].map((name) => h("option", { value: name }, name))],
    isOther,
  );
  keepChoice(
    "best-metric",
    [
      h("option", { value: "" }, "mAP (default)"),
      ...[...OF_BOXES, ...(model?.needs_masks ? OF_MASKS : [])].map((name) =>
        h("option", { value: name }, name.replace("_", " ")),
      ),
    ],
    isOther,
  );
  showStart();
}

/** Disables models that need masks if the dataset has none, and the whole field if there is a pipeline.config. */
function showModelField(isConfig, model) {
  const field = $("#model");
  const hasMasks = datasets.get(value("dataset"))?.has_masks ?? true;
  for (const option of field.options) {
    option.disabled = !hasMasks && Boolean(models.get(option.value)?.needs_masks);
    option.textContent = option.disabled ? `${option.value} (needs masks)` : option.value;
  }
  field.value = isConfig ? (model?.name ?? null) : chosen;
  field.disabled = isConfig;
  setText($("#model-hint"), isConfig ? "Read from your pipeline.config below." : "");
}

/** Replaces the options but keeps the selected one, even if it is not in the list, such as a cloned job's size. */
function keepChoice(id, options, isOther) {
  const kept = value(id);
  setContent($(`#${id}`), options);
  if (!isOther || options.some((option) => option.value === kept)) choose(id, kept);
}

const fitting = () => checkpoints.filter((one) => one.models.includes(chosen)).map((one) => one.name);
const isRandom = () => value("checkpoint") === (value("config") ? RANDOM : "");
let isRandomChosen = false;
/** Selects a checkpoint that fits the model, unless the user chose random weights. */
function chooseStart() {
  const names = fitting();
  if (!value("config") && !isRandomChosen && !names.includes(value("checkpoint")))
    $("#checkpoint").value = names[0] ?? "";
  showStart();
}

/** With a pipeline.config, which may name weights, random weights are an explicit choice. */
function showStart() {
  const isConfig = Boolean(value("config"));
  const [unsaid, random] = $("#checkpoint").options;
  unsaid.textContent = isConfig ? "from pipeline.config" : "random weights";
  random.hidden = random.disabled = !isConfig;
  if (!isConfig && value("checkpoint") === RANDOM) $("#checkpoint").value = "";
  const none = isConfig || fitting().length ? "" : "No registered checkpoint fits this model. ";
  setText(
    $("#checkpoint-hint"),
    !isRandom()
      ? ""
      : `${none}Training from random weights needs far more images and steps than fine-tuning a checkpoint.`,
  );
}

/** Shows the service's defaults in empty fields. `asked`: the plan that `body` requests. */
function understood(body, asked) {
  const text = body.pipeline_config;
  if (text && (ofConfig?.text !== text || !body.image_size)) {
    ofConfig = { text, model: asked.model, image_size: body.image_size ? null : asked.image_size };
    showModel();
  }
  $("#steps").placeholder = asked.steps;
  $("#batch").placeholder = asked.batch_size;
  $("#rate").placeholder = figure(asked.learning_rate);
  const images = datasets.get(body.dataset)?.images;
  const epochs = Math.max(1, Math.round((asked.steps * asked.batch_size) / images));
  setText($("#steps-hint"), images ? `${plural(epochs, "epoch")} of ${plural(images, "image")}` : "");
}

// --- the request -------------------------------------------------------------------------------------------------
const given = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, one]) => one !== undefined && one !== "" && one !== null));

function request() {
  const config = value("config");
  const train = given({
    steps: number("steps"),
    batch_size: number("batch"),
    learning_rate: number("rate"),
    evaluations: number("evaluations"),
    best_metric: value("best-metric"),
    early_stopping: earlyStopping(),
    export: value("export"),
  });
  const policy = given({
    levers: levers.chosen(),
    min_batch_size: number("min-batch"),
    min_image_size: number("min-size"),
    min_backbone: value("min-backbone"),
    max_attempts: number("max-attempts"),
    prefer: $("#wait").checked ? "wait" : undefined,
    plan_ahead: $("#as-asked").checked ? false : undefined,
  });
  const device = given({
    min_memory_mb: number("min-memory") || undefined,
    wait: $("#wait-device").checked || undefined,
  });
  const isNone = value("checkpoint") === RANDOM; // sent as null, which differs from leaving it out
  return {
    ...(isNone ? { checkpoint: null } : {}),
    ...given({
      name: value("name"),
      dataset: value("dataset"),
      model: config ? undefined : chosen,
      notes: value("notes"),
      image_size: value("size") ? value("size").split("x").map(Number) : undefined,
      checkpoint: isNone ? undefined : value("checkpoint"),
      pipeline_config: config,
      priority: number("priority"),
      train: Object.keys(train).length ? train : undefined,
      policy,
      device: Object.keys(device).length ? device : undefined,
    }),
  };
}

/** A minimum gain alone stops nothing: early stopping begins with its patience. */
function earlyStopping() {
  const patience = number("patience");
  return patience === undefined ? undefined : given({ patience, min_gain: number("min-gain") });
}

const isOf = (name) => (error) => (error.field ?? "") === name || (error.field ?? "").startsWith(`${name}.`);
function showErrors(errors) {
  const fields = $$("[data-field]", form);
  for (const field of fields) {
    const mine = errors.filter(isOf(field.dataset.field));
    const id = `${field.dataset.field.replaceAll(".", "-")}-error`;
    let place = $(".error", field);
    if (!place && mine.length) field.append((place = h("p", { class: "error", id })));
    if (place) setText(place, mine.map((error) => error.message).join("; "));
    for (const control of $$("input, select, textarea", field)) {
      control.toggleAttribute("aria-invalid", mine.length > 0);
      if (mine.length) control.setAttribute("aria-invalid", "true");
      const described = [mine.length ? id : null, $(".hint", field)?.id].filter(Boolean).join(" ");
      if (described) control.setAttribute("aria-describedby", described);
      else control.removeAttribute("aria-describedby");
    }
    if (mine.length) field.closest("details")?.setAttribute("open", "");
  }
  const rest = errors.filter((error) => !fields.some((field) => isOf(field.dataset.field)(error)));
  setText($("#error"), rest.map((error) => `${error.field ?? ""} ${error.message}`.trim()).join("; "));
}
const faults = (error) => (error.errors.length ? error.errors : [{ field: "", message: error.message }]);

// --- the estimate ------------------------------------------------------------------------------------------------
let waiting = null;
let asking = null;
function changed() {
  keep();
  clearTimeout(waiting);
  waiting = setTimeout(estimate, 250);
}
async function estimate() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  const body = request();
  if (!body.dataset || !(body.model || body.pipeline_config)) return;
  const place = $("#estimate");
  place.setAttribute("aria-busy", "true"); // the old estimate stays until the new one arrives
  try {
    const found = await post("/v1/estimate", body, { signal });
    showErrors([]);
    understood(body, found.asked);
    showEstimate(place, found);
    setText($("#said"), found.summary);
  } catch (error) {
    if (error.name === "AbortError") return;
    showErrors(faults(error));
    if (!$(".verdict", place))
      setContent(place, h("h2", {}, "Estimate"), h("p", { class: "muted" }, "Fix the marked fields first."));
    place.dataset.old = "";
  } finally {
    if (!signal.aborted) place.removeAttribute("aria-busy");
  }
}

// --- the draft, which survives a reload --------------------------------------------------------------------------
function keep() {
  if (!isFilled) return; // the lists are still empty, and so would be the draft
  const draft = {
    fields: { ...Object.fromEntries(FIELDS.map((id) => [id, $(`#${id}`).value])), model: chosen },
    checks: CHECKS.filter((id) => $(`#${id}`).checked),
    levers: levers.all(),
    isRandomChosen,
  };
  sessionStorage.setItem(DRAFT, JSON.stringify(draft));
}
function restore() {
  const kept = sessionStorage.getItem(DRAFT);
  if (!kept) return;
  try {
    const { fields, checks, levers: order, isRandomChosen: wasRandomChosen } = JSON.parse(kept);
    chosen = fields.model;
    isRandomChosen = Boolean(wasRandomChosen);
    for (const id of FIELDS) if (id !== "model") choose(id, fields[id] ?? "");
    showModel();
    for (const id of CHECKS) $(`#${id}`).checked = checks.includes(id);
    levers.setAll(order);
    $("#restored").hidden = false;
  } catch {
    sessionStorage.removeItem(DRAFT); // written by an older version of this page
  }
}
$("#discard").addEventListener("click", () => {
  sessionStorage.removeItem(DRAFT);
  location.reload();
});

// --- submitting --------------------------------------------------------------------------------------------------
const form = $("#form");
form.addEventListener("input", (event) => {
  const { id } = event.target;
  if (id === "checkpoint") isRandomChosen = isRandom();
  if (id === "model") {
    chosen = event.target.value;
    chooseStart();
  }
  if (["dataset", "model", "checkpoint", "config"].includes(id)) showModel(id === "model" || id === "config");
  changed();
});
// A double click must create one job. (crypto.randomUUID is missing over plain HTTP.)
const key = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16)).join("");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = $("#submit");
  button.disabled = true;
  try {
    const body = request();
    const job = await post("/v1/jobs", body, {
      headers: { "Idempotency-Key": `${key}-${hash(JSON.stringify(body))}` },
    });
    sessionStorage.removeItem(DRAFT);
    location.assign(`/jobs/${job.id}`);
  } catch (error) {
    showErrors(faults(error));
    ($("[aria-invalid]") ?? $("#error")).scrollIntoView({ block: "center" });
    $("[aria-invalid]")?.focus();
    button.disabled = false;
  }
});
function hash(text) {
  let found = 5381;
  for (const letter of text) found = (found * 33 + letter.codePointAt(0)) % 4294967296;
  return found.toString(16);
}

$("#curl").addEventListener("click", () => {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  copy(
    `curl -sS ${quoted(`${location.origin}/v1/jobs`)} \\
  ${CURL_TOKEN} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify(request()))}
`,
    "Copied. Set TOKEN to your token before you run it.",
  );
});

start();

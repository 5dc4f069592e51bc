// A job to submit: the form knows what there is, and the estimate follows what is typed.
import { get, post } from "./api.js";
import { $, $$, h, put, say } from "./dom.js";
import { bytes, size } from "./format.js";
import { toast } from "./frame.js";
import { memory, pill } from "./parts.js";

const LEVERS = {
  micro_batch: "compute the batch in pieces (same result, slower)",
  precision: "bfloat16 (where the device does it well)",
  proposals: "fewer proposals (two-stage models)",
  image_size: "smaller images",
  backbone: "a smaller backbone",
  batch_size: "a smaller batch (learning rate and steps rescaled)",
};
const value = (id) => $(`#${id}`).value.trim();
const number = (id) => (value(id) === "" ? undefined : Number(value(id)));
let models = new Map();
let levers = Object.keys(LEVERS).map((name) => ({ name, on: true }));
let cloned = null;

// --- what there is --------------------------------------------------------------------------------------------------
async function start() {
  const clone = new URLSearchParams(location.search).get("clone");
  try {
    const [datasets, found, checkpoints, job] = await Promise.all([
      get("/v1/datasets"), get("/v1/models"), get("/v1/checkpoints"), clone ? get(`/v1/jobs/${clone}`) : null]);
    models = new Map(found.items.map((model) => [model.name, model]));
    put($("#dataset"), datasets.items.map((one) => h("option", { value: one.name, disabled: Boolean(one.problem) }, `${one.name} (${one.images} images${one.problem ? `; ${one.problem}` : ""})`)));
    const families = Map.groupBy(found.items, (model) => model.family);
    put($("#model"), [...families].map(([family, members]) => h("optgroup", { label: family.replaceAll("_", " ") }, members.map((model) => h("option", { value: model.name }, model.name)))));
    put($("#checkpoint"), h("option", { value: "" }, "random weights"), checkpoints.items.map((one) => h("option", { value: one.name }, one.name)));
    if (!datasets.items.length) problem("There is no dataset yet: see Datasets for how to add one.");
    for (const select of [$("#dataset"), $("#model")]) select.value = new URLSearchParams(location.search).get(select.id) ?? select.value;
    if (job) fillFrom(job);
    showModel();
    showLevers();
    estimate();
  } catch (error) {
    problem(`The form could not be filled: ${error.message}`);
  }
}

function problem(text) {
  say($("#problem"), text);
  $("#problem").hidden = false;
}

function fillFrom(job) {
  cloned = job.id;
  say($("#title"), `New job, from #${job.id}`);
  $("#name").value = job.name;
  $("#dataset").value = job.dataset;
  $("#model").value = job.model;
  showModel();
  $("#steps").value = job.asked.steps;
  $("#batch").value = job.asked.batch_size;
  $("#rate").value = job.asked.learning_rate;
  $("#size").value = job.asked.image_size.join("x");
  $("#priority").value = job.priority;
  $("#notes").value = job.notes;
  $("#min-batch").value = job.policy.min_batch_size;
  $("#min-size").value = job.policy.min_image_size;
  $("#max-attempts").value = job.policy.max_attempts;
  $("#wait").checked = job.policy.prefer === "wait";
  $("#as-asked").checked = !job.policy.plan_ahead;
  levers = [...job.policy.levers.map((name) => ({ name, on: true })), ...Object.keys(LEVERS).filter((name) => !job.policy.levers.includes(name)).map((name) => ({ name, on: false }))];
}

/** The model's own settings are what an empty field means. */
function showModel() {
  const model = models.get(value("model"));
  if (!model) return;
  $("#steps").placeholder = model.steps;
  $("#batch").placeholder = model.batch_size;
  $("#rate").placeholder = model.learning_rate;
  const kept = value("size");
  put($("#size"), h("option", { value: "" }, `${size(model.image_size)} (the model's)`), model.image_sizes.map((pair) => h("option", { value: pair.join("x") }, size(pair))));
  $("#size").value = kept;
  if ($("#size").selectedIndex < 0) $("#size").value = "";
}

function showLevers() {
  const move = (index, by) => {
    const [lever] = levers.splice(index, 1);
    levers.splice(index + by, 0, lever);
    showLevers();
    changed();
  };
  $("#levers").replaceChildren(...levers.map((lever, index) => h("div", { class: "row" },
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: lever.on, onchange: (event) => {
      lever.on = event.target.checked;
      changed();
    } }), LEVERS[lever.name]),
    h("span", {},
      h("button", { type: "button", class: "quiet", disabled: index === 0, "aria-label": `${lever.name}: earlier`, onclick: () => move(index, -1) }, "↑"),
      h("button", { type: "button", class: "quiet", disabled: index === levers.length - 1, "aria-label": `${lever.name}: later`, onclick: () => move(index, 1) }, "↓")))),
    h("p", { class: "error" }));
}

// --- the request ------------------------------------------------------------------------------------------------------
function request() {
  const drop = (object) => Object.fromEntries(Object.entries(object).filter(([, one]) => one !== undefined && one !== "" && one !== null));
  const config = $("#config").value.trim();
  const body = drop({
    name: value("name"), dataset: value("dataset"), model: config ? undefined : value("model"), notes: value("notes"),
    image_size: value("size") ? value("size").split("x").map(Number) : undefined,
    checkpoint: value("checkpoint"), pipeline_config: config, priority: number("priority") || undefined,
  });
  const train = drop({ steps: number("steps"), batch_size: number("batch"), learning_rate: number("rate") });
  if (Object.keys(train).length) body.train = train;
  body.policy = drop({
    levers: levers.filter((lever) => lever.on).map((lever) => lever.name),
    min_batch_size: number("min-batch"), min_image_size: number("min-size"), max_attempts: number("max-attempts"),
    prefer: $("#wait").checked ? "wait" : "shrink", plan_ahead: !$("#as-asked").checked,
  });
  if (number("min-memory")) body.device = { min_memory_mb: number("min-memory") };
  return body;
}

function showErrors(errors) {
  for (const field of $$("[data-field]")) {
    const mine = errors.filter((error) => (error.field ?? "") === field.dataset.field || (error.field ?? "").startsWith(`${field.dataset.field}.`));
    let place = $(".error", field);
    if (!place && mine.length) field.append(place = h("p", { class: "error" }));
    if (place) say(place, mine.map((error) => error.message).join("; "));
    for (const control of $$("input, select, textarea", field)) {
      if (mine.length) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
    if (mine.length) field.closest("details")?.setAttribute("open", "");
  }
  const known = $$("[data-field]").map((field) => field.dataset.field);
  const rest = errors.filter((error) => !known.some((name) => (error.field ?? "") === name || (error.field ?? "").startsWith(`${name}.`)));
  say($("#error"), rest.map((error) => `${error.field ?? ""} ${error.message}`).join("; "));
}

// --- the estimate -------------------------------------------------------------------------------------------------------
let waiting = null;
let asking = null;
function changed() {
  clearTimeout(waiting);
  waiting = setTimeout(estimate, 250);
}
async function estimate() {
  asking?.abort();
  asking = new AbortController();
  const body = request();
  if (!body.dataset || !(body.model || body.pipeline_config)) return;
  try {
    const found = await post("/v1/estimate", body, { signal: asking.signal });
    showErrors([]);
    showEstimate(found);
  } catch (error) {
    if (error.name === "AbortError") return;
    showErrors(error.errors.length ? error.errors : [{ field: "", message: error.message }]);
    put($("#estimate"), h("h2", {}, "Estimate"), h("p", { class: "muted" }, "There is something to correct first."));
  }
}

function showEstimate(found) {
  const plan = found.plan ?? found.asked;
  const device = (one) => h("div", {}, h("div", { class: "row" }, h("strong", {}, one.name), one.fits ? pill(one.fits_now ? "fits" : "fits when free", one.fits_now ? "free" : "warn") : pill("does not fit", "failed")),
    memory(one.total_bytes, [{ kind: "ours", bytes: Math.min(one.predicted.bytes, one.predicted.low_bytes), words: "predicted" }, { kind: "range", bytes: one.predicted.high_bytes - one.predicted.low_bytes, words: "range" }], [{ kind: "limit", bytes: one.total_bytes }]),
    h("p", { class: "muted small" }, `about ${bytes(one.predicted.bytes)} (${bytes(one.predicted.low_bytes)} to ${bytes(one.predicted.high_bytes)}) of ${bytes(one.total_bytes)}, ${bytes(one.free_bytes)} free`));
  put($("#estimate"), h("h2", {}, "Estimate"),
    h("p", { class: found.possible ? "" : "note bad" }, found.summary),
    h("dl", { class: "facts" },
      h("dt", {}, "Starts with"), h("dd", {}, `batch ${plan.batch_size}${plan.micro_batch < plan.batch_size ? ` in micro-batches of ${plan.micro_batch}` : ""}, ${size(plan.image_size)}, ${plan.precision}`),
      h("dt", {}, "Memory"), h("dd", {}, `about ${bytes(found.predicted.bytes)}, ${bytes(found.predicted.low_bytes)} to ${bytes(found.predicted.high_bytes)} (${found.predicted.source})`)),
    h("h3", {}, "Devices"), found.devices.length ? found.devices.map(device) : h("p", { class: "muted" }, "No device has been reported yet; the job will wait for one."),
    h("h3", {}, "If it does not fit, step by step"),
    h("ol", {}, found.ladder.slice(0, 12).map((rung) => h("li", {}, rung.summary, Object.values(rung.fits).some(Boolean) ? null : h("span", { class: "muted" }, " Fits no device here.")))),
    found.ladder.length > 12 ? h("p", { class: "muted small" }, `and ${found.ladder.length - 12} more`) : null);
}

// --- submitting -----------------------------------------------------------------------------------------------------------
const form = $("#form");
form.addEventListener("input", (event) => {
  if (event.target.id === "model") showModel();
  changed();
});
const key = crypto.randomUUID(); // two clicks are one job
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = $("#submit");
  button.disabled = true;
  try {
    const body = request();
    // A copy keeps what the form does not show of the first one: its checkpoint, its own configuration.
    const job = await post(cloned ? `/v1/jobs/${cloned}/clone` : "/v1/jobs", body, { headers: { "Idempotency-Key": `${key}-${hash(JSON.stringify(body))}` } });
    location.assign(`/jobs/${job.id}`);
  } catch (error) {
    showErrors(error.errors.length ? error.errors : [{ field: "", message: error.message }]);
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

$("#curl").addEventListener("click", async () => {
  const body = JSON.stringify(request()).replaceAll("'", "'\\''");
  await navigator.clipboard.writeText(`curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '${body}' ${location.origin}/v1/jobs`);
  toast("Copied: set TOKEN to one of your tokens");
});

start();

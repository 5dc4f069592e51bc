// The form that uploads a dataset: a file that is chosen or dropped, its progress, and what was found in it.
import { query, upload } from "../shared/api.js";
import { $, h, setContent, setText } from "../shared/dom.js";
import { bytes, percent, plural } from "../shared/format.js";
import { announce } from "../shared/messages.js";

const TYPES = { zip: "application/zip", tar: "application/x-tar", gz: "application/gzip", tgz: "application/gzip" };
const OPTIONS = { format: "format", validation_share: "share", seed: "seed", group: "group" };
const FIELDS = { name: "name", ...OPTIONS };
const ENDINGS = /(\.tar)?\.(zip|tar|gz|tgz)$/i;

/** Makes the form work. Calls `added` when there is a new dataset. */
export function uploadForm(added) {
  const form = $("#upload");
  let controller = null;

  $("#file").addEventListener("change", chosen);
  $("#name").addEventListener("input", () => ($("#name").dataset.own = $("#name").value));
  acceptDrops($("#drop"), (files) => {
    if (controller) return;
    $("#file").files = files;
    chosen();
    $("#name").focus();
  });
  $("#stop").addEventListener("click", () => controller?.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!controller) send();
  });

  async function send() {
    clear();
    const [file] = $("#file").files;
    const name = $("#name").value.trim();
    if (!file) return refuse("file", "Choose a zip or tar archive.");
    if (!name) return refuse("name", "Give it a name.");
    const asked = Object.entries(OPTIONS).map(([option, id]) => [option, $(`#${id}`).value.trim()]);
    controller = new AbortController();
    busy(true);
    try {
      const path = `/v1/datasets${query({ name, ...Object.fromEntries(asked) })}`;
      const type = TYPES[file.name.split(".").pop().toLowerCase()] ?? "application/octet-stream";
      const made = await upload(path, file, { type, signal: controller.signal, progress });
      showAdded(made);
      form.reset();
      delete $("#name").dataset.own;
      await added();
    } catch (error) {
      if (error.name === "AbortError") announce("The upload was stopped.");
      else if (error.code === "name_taken") refuse("name", error.message);
      else showFaults(error, name);
    } finally {
      controller = null;
      busy(false);
    }
    return undefined;
  }

  function busy(is) {
    $("#sending").hidden = !is;
    for (const control of form.elements) if (control.id !== "stop") control.disabled = is;
    window.onbeforeunload = is ? (event) => event.preventDefault() : null;
  }
}

/** Proposes a name for the chosen file, unless the user has written one. */
function chosen() {
  clear();
  const [file] = $("#file").files;
  if (!file || $("#name").dataset.own) return;
  const words = file.name.replace(ENDINGS, "").replace(/[^A-Za-z0-9._-]+/g, "-");
  $("#name").value = words.replace(/^[^A-Za-z0-9]+|-+$/g, "").slice(0, 64);
}

function acceptDrops(zone, take) {
  // A file that is dropped beside the zone must not replace the page.
  for (const kind of ["dragover", "drop"]) {
    window.addEventListener(kind, (event) => {
      if (event.dataTransfer.types.includes("Files")) event.preventDefault();
    });
  }
  zone.addEventListener("dragover", () => zone.classList.add("over"));
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files);
  });
}

function progress(sent, total) {
  const isSent = sent >= total;
  const bar = $("#progress");
  if (isSent) bar.removeAttribute("value");
  else bar.value = sent / total;
  const words = isSent ? "Checking every picture" : `Sending ${percent(sent / total)} of ${bytes(total)}`;
  setText($("#sent"), words);
  if (isSent) announce(`${words}.`);
}

function clear() {
  setContent($("#result"));
  for (const id of ["file", ...Object.values(FIELDS)]) {
    $(`#${id}`).removeAttribute("aria-invalid");
    setText($(`#${id}-error`), "");
  }
}

function refuse(id, message) {
  setText($(`#${id}-error`), message);
  $(`#${id}`).setAttribute("aria-invalid", "true");
  const around = $(`#${id}`).closest("details");
  if (around) around.open = true;
  $(`#${id}`).disabled = false;
  $(`#${id}`).focus();
}

function showAdded({ name, images, validation_images: validation, classes, warnings }) {
  const counts = [
    plural(images, "training image"),
    `${validation} for validation`,
    plural(classes.length, "class", "classes"),
  ];
  show(
    warnings.length ? "note warn" : "note",
    h("h3", {}, `${name} was added`),
    h("p", {}, `${counts.join(", ")}.`, warnings.length ? " Please look at these; they may be mistakes:" : null),
    list(warnings),
    h("p", {}, h("a", { class: "button", href: `/jobs/new${query({ dataset: name })}` }, `Train on ${name}`)),
  );
}

/** Problems of the archive as a list, and those of a field beside it. */
function showFaults(error, name) {
  const faults = error.errors.filter((fault) => !(fault.field in FIELDS)).map((fault) => fault.message);
  const others = error.errors.filter((fault) => fault.field in FIELDS);
  for (const { field, message } of others) refuse(FIELDS[field], message);
  if (others.length) return;
  show(
    "note bad",
    h("h3", {}, `${name} was not added`),
    h("p", {}, faults.length ? "Repair these and send it again:" : error.message),
    list(faults),
  );
}

const list = (lines) =>
  lines.length
    ? h(
        "ul",
        { class: "findings" },
        lines.map((line) => h("li", {}, line)),
      )
    : null;

function show(kind, ...children) {
  const note = h("div", { class: kind, tabindex: "-1" }, ...children);
  $("#result").replaceChildren(note);
  note.focus();
}

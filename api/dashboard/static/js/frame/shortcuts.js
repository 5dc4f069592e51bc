// Keyboard shortcuts. "?" lists those of every page and those of this page.
import { openDialog } from "../shared/dialogs.js";
import { $, h } from "../shared/dom.js";

/** {key: [description, function]}. Without a function, the browser handles the key. */
const shortcuts = {
  "/": ["search", () => $("[data-search]")?.focus()],
  "g j": ["go to jobs", () => location.assign("/")],
  "g d": ["go to devices", () => location.assign("/devices")],
  "g t": ["go to datasets", () => location.assign("/datasets")],
  "g m": ["go to models", () => location.assign("/models")],
  "g s": ["go to settings", () => location.assign("/settings")],
  n: ["new job", () => location.assign("/jobs/new")],
  "?": ["this list", showShortcuts],
};
export function addShortcuts(more) {
  Object.assign(shortcuts, more);
}
let first = "";
addEventListener("keydown", (event) => {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.target.closest("input, textarea, select, [contenteditable], dialog")
  ) {
    if (event.key === "Escape" && event.target.matches("[data-search]")) event.target.blur();
    return;
  }
  const found = shortcuts[`${first} ${event.key}`] ?? shortcuts[event.key];
  first = event.key === "g" && !found ? "g" : "";
  if (found?.[1]) {
    event.preventDefault();
    found[1](event);
  }
});
export function removeShortcut(key) {
  delete shortcuts[key];
}

export function showShortcuts() {
  const rows = Object.entries(shortcuts).map(([key, [what]]) => [
    h(
      "dt",
      {},
      key.split(" ").map((one) => h("kbd", {}, one)),
    ),
    h("dd", {}, what),
  ]);
  openDialog(
    "Keyboard shortcuts",
    { class: "narrow" },
    h("h2", {}, "Keyboard shortcuts"),
    h("dl", { class: "facts" }, rows),
    h("form", { method: "dialog" }, h("menu", {}, h("button", {}, "Close"))),
  );
}

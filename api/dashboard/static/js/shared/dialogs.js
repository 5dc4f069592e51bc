// Modal dialogs.
import { h } from "./dom.js";

/** Opens a dialog and returns its element, which is removed when it closes. */
export function openDialog(label, properties, ...children) {
  const dialog = h("dialog", { "aria-label": label, ...properties }, ...children);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks before an action that cannot be undone; resolves to true if the user confirms it. */
export function confirmed(question, action) {
  return new Promise((resolve) => {
    const buttons = h(
      "menu",
      {},
      h("button", { value: "" }, "Keep"),
      h("button", { value: "yes", class: "danger" }, action),
    );
    const dialog = openDialog(
      action,
      { class: "narrow" },
      h("p", {}, question),
      h("form", { method: "dialog" }, buttons),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

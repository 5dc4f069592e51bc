// Forms, tables and dialogs of the settings page.
import { copy } from "../shared/clipboard.js";
import { openDialog } from "../shared/dialogs.js";
import { h } from "../shared/dom.js";
import { runAction } from "../shared/messages.js";

export const field = (label, control, hint) =>
  h(
    "div",
    { class: "field" },
    h("label", { for: control.id }, label),
    control,
    hint ? h("span", { class: "hint" }, hint) : null,
  );
export const choice = (id, values, chosen) =>
  h(
    "select",
    { id },
    Object.entries(values).map(([value, words]) => h("option", { value, selected: value === chosen }, words)),
  );

/** `heads`: {name: class}. `rows`: lists of cells; the last cell is for actions. */
export function table(label, heads, rows) {
  const names = Object.keys(heads);
  return h(
    "div",
    { class: "table-wrap" },
    h(
      "table",
      { class: "stacks" },
      h("caption", { class: "visually-hidden" }, label),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          names.map((name) =>
            h("th", { scope: "col", class: heads[name] }, name || h("span", { class: "visually-hidden" }, "Actions")),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((cells) => line(heads, cells)),
      ),
    ),
  );
}
export const line = (heads, cells) =>
  h(
    "tr",
    {},
    Object.entries(heads).map(([name, kind], index) =>
      h("td", { "data-label": name, class: kind }, h("span", {}, cells[index])),
    ),
  );

/** Opens a dialog with a form. Submitting calls `work(form)`, shows its error, and closes the dialog on success. */
export function ask(title, fields, action, work) {
  const error = h("p", { class: "error", role: "alert" });
  const button = h("button", { class: "primary" }, action);
  const form = h(
    "form",
    { novalidate: true },
    h("h2", {}, title),
    fields,
    error,
    h("menu", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), button),
  );
  const dialog = openDialog(title, {}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    button.disabled = true;
    try {
      await work(form);
      dialog.close();
    } catch (problem) {
      error.textContent = problem.errors?.length
        ? problem.errors.map((one) => `${one.field}: ${one.message}`).join("; ")
        : problem.message;
    } finally {
      button.disabled = false;
    }
  });
}

/** Shows a secret that the API returns only once. */
export function secret(title, text) {
  openDialog(
    title,
    {},
    h("h2", {}, title),
    h("p", {}, "Copy it now. You cannot see it again."),
    h("pre", { class: "mono" }, text),
    h(
      "form",
      { method: "dialog" },
      h(
        "menu",
        {},
        h("button", { type: "button", onclick: () => copy(text) }, "Copy"),
        h("button", { class: "primary" }, "Done"),
      ),
    ),
  );
}

/** A button that runs `work` and shows its error as a message. */
export const actionButton = (words, work, kind = "") =>
  h("button", { type: "button", class: kind, onclick: (event) => runAction(event.target, work) }, words);

export const heading = (title, words, action) =>
  h("header", { class: "part" }, h("div", {}, h("h2", {}, title), h("p", { class: "muted" }, words)), action);
export const empty = (words) => h("div", { class: "card empty" }, words);

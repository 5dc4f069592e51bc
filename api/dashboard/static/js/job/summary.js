// The summary at the top of a job's page: progress, facts, and the fields that can be edited.
import { patch } from "../shared/api.js";
import { $, h, setContent, setText } from "../shared/dom.js";
import { duration, figure, percent, time, wholeNumber } from "../shared/format.js";
import { toast } from "../shared/messages.js";
import { labelOf } from "../shared/device.js";
import { planPills } from "../shared/plan.js";

const EDITABLE = {
  name: { label: "Name", input: () => h("input", { maxlength: "128", autocomplete: "off" }) },
  notes: { label: "Notes", input: () => h("textarea", { rows: "3", maxlength: "10000" }) },
  priority: { label: "Priority", input: () => h("input", { type: "number", min: "-100", max: "100" }), read: Number },
};

const LONGEST = 200; // characters shown of another user's edit

export function showProgress(root, job) {
  const { step, steps, eta_s: eta } = job.progress;
  const share = steps ? Math.min(1, step / steps) : 0;
  const bar = $("progress", root) ?? root.appendChild(h("progress", { max: 1, "aria-label": "Steps done" }));
  if (bar.value !== share) bar.value = share;
  root.dataset.state = job.state;
  const words = $(".progress-words", root) ?? root.appendChild(h("p", { class: "progress-words" }));
  const rate = eta && steps > step ? (job.plan.batch_size * (steps - step)) / eta : null;
  setContent(
    words,
    h("strong", {}, `${wholeNumber(step)} / ${wholeNumber(steps)}`),
    h("span", {}, "steps"),
    h("span", {}, percent(share)),
    rate ? h("span", {}, `${figure(Number(rate.toPrecision(3)))} images/s`) : null,
    eta ? h("span", {}, `${duration(eta)} left`) : null,
  );
}

/** `may`: whether the user may edit the job. */
export function showFacts(root, state, may, reload) {
  const { job, attempts } = state;
  const device = attempts.at(-1)?.device;
  const took =
    job.finished_at && job.started_at
      ? `after ${duration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)}`
      : null;
  const isOver = ["succeeded", "failed", "cancelled"].includes(job.state);
  const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, ...value));
  if (root.querySelector(".editing")) return; // do not redraw while the user edits
  setContent(
    root,
    fact("Owner", h("span", { class: "one-line", title: job.owner }, job.owner)),
    fact("Dataset", job.dataset),
    fact(
      "Device",
      device
        ? h(
            "span",
            { class: "one-line", title: device.id },
            labelOf(device),
            h("span", { class: "muted" }, ` ${device.name}`),
          )
        : "–",
    ),
    fact("Priority", String(job.priority), may && !isOver ? editButton("priority") : null),
    fact("Submitted", time(job.created_at)),
    fact(
      job.finished_at ? "Finished" : "Started",
      time(job.finished_at ?? job.started_at),
      took ? h("span", { class: "muted" }, ` ${took}`) : null,
    ),
    job.best
      ? fact("Best checkpoint", bestWords(job.best), h("span", { class: "muted" }, ` ${exportedWords(job)}`))
      : null,
    h("div", { class: "wide" }, h("dt", {}, "Plan"), h("dd", {}, planPills(job.plan, job.asked))),
    job.notes || may
      ? h(
          "div",
          { class: "wide" },
          h("dt", {}, "Notes"),
          h(
            "dd",
            { class: "notes" },
            job.notes || h("span", { class: "muted" }, "none"),
            may ? editButton("notes") : null,
          ),
        )
      : null,
  );
  root.onclick = (event) => {
    const button = event.target.closest("[data-edit]");
    if (button) edit(button.closest("dd"), button.dataset.edit, state, reload);
  };
}

const bestWords = ({ metric, value, step }) =>
  `${metric.replace("_", " ")} ${percent(value, 1)} at step ${wholeNumber(step)}`;
const EXPORTED = { best: "exported", last: "(the last one was exported)" };
const exportedWords = ({ exported_checkpoint: exported }) => EXPORTED[exported?.which] ?? "";

export function editButton(field) {
  return h(
    "button",
    {
      type: "button",
      class: "edit",
      dataset: { edit: field },
      "aria-label": `Edit ${EDITABLE[field].label.toLowerCase()}`,
      title: "Edit",
    },
    "✎",
  );
}

const excerpt = (value) =>
  String(value).length > LONGEST ? `${String(value).slice(0, LONGEST)} …` : String(value) || "nothing";

/** Replaces the content of `element` by a form, until it is saved or cancelled. */
export function edit(element, field, state, reload) {
  const { label, input: makeInput, read = (text) => text } = EDITABLE[field];
  let before = state.job; // the version that the user saw
  const input = makeInput();
  input.value = state.job[field];
  input.setAttribute("aria-label", label);
  const error = h("p", { class: "error", role: "alert" });
  const former = [...element.childNodes];
  const close = () => {
    element.classList.remove("editing");
    element.replaceChildren(...former);
    $("[data-edit]", element)?.focus();
  };
  const leave = () => {
    close();
    reload(); // updates were not shown while editing
  };
  const send = () =>
    patch(
      `/v1/jobs/${state.job.id}`,
      { [field]: read(input.value) },
      { headers: { "If-Match": `"${before.version}"` } },
    );
  /** Returns false if someone else changed this field. Other changes raise the version too: then it retries. */
  async function saved(tries = 3) {
    try {
      await send();
      return true;
    } catch (problem) {
      if (problem.status !== 412 || !tries) throw problem;
      await reload();
      const isSame = state.job[field] === before[field];
      before = state.job;
      return isSame && saved(tries - 1);
    }
  }
  const form = h(
    "form",
    {
      class: "edit-form",
      onsubmit: async (event) => {
        event.preventDefault();
        setText(error, "");
        try {
          if (await saved()) {
            close();
            toast(`${label} saved`);
            await reload();
          } else setText(error, `Someone else changed this to ${excerpt(before[field])}. Save again to overwrite it.`);
        } catch (problem) {
          setText(error, problem.errors[0]?.message ?? problem.message);
        }
      },
      onkeydown: (event) => {
        if (event.key === "Escape") leave();
        else if (event.key === "Enter" && event.ctrlKey) form.requestSubmit();
      },
    },
    input,
    h("button", { class: "primary" }, "Save"),
    h("button", { type: "button", onclick: leave }, "Cancel"),
    error,
  );
  element.classList.add("editing");
  element.replaceChildren(form);
  input.focus();
  input.select();
}

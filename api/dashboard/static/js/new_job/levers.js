// The list of levers. The user orders them by dragging or with the arrows.
import { $, h } from "../shared/dom.js";

const LEVERS = {
  micro_batch: ["Micro-batch", "split the batch: same update, slower"],
  precision: ["Precision", "bfloat16 or float16, on devices that are fast in it"],
  proposals: ["Proposals", "fewer of them, in two-stage models"],
  image_size: ["Image size", "smaller images"],
  backbone: ["Backbone", "a smaller one; training starts over"],
  batch_size: ["Batch", "smaller; learning rate and steps are adjusted"],
};

export function leverList(list, changed) {
  let levers = [];

  function set(chosen) {
    const names = chosen ?? Object.keys(LEVERS);
    setAll([
      ...names.map((name) => ({ name, on: true })),
      ...Object.keys(LEVERS)
        .filter((name) => !names.includes(name))
        .map((name) => ({ name, on: false })),
    ]);
  }
  function setAll(next) {
    levers = next.filter(({ name }) => LEVERS[name]);
    show();
  }

  function move(name, to, focus) {
    const from = levers.findIndex((lever) => lever.name === name);
    if (to < 0 || to >= levers.length || from === to) return;
    levers.splice(to, 0, ...levers.splice(from, 1));
    show();
    if (focus) {
      const item = list.children[to];
      ($(`[data-by="${focus}"]:not(:disabled)`, item) ?? $("button:not(:disabled)", item)).focus();
    }
    changed();
  }

  function show() {
    list.replaceChildren(
      ...levers.map((lever, index) => {
        const [label, words] = LEVERS[lever.name];
        const arrow = (by, sign, when) =>
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              dataset: { by },
              disabled: when,
              "aria-label": `${label}: ${by}`,
              onclick: () => move(lever.name, index + (by === "earlier" ? -1 : 1), by),
            },
            sign,
          );
        return h(
          "li",
          { draggable: "true", dataset: { name: lever.name } },
          h(
            "label",
            { class: "check" },
            h("input", {
              type: "checkbox",
              checked: lever.on,
              oninput: (event) => {
                lever.on = event.target.checked;
              },
            }),
            h("span", {}, label, " ", h("span", { class: "muted small" }, words)),
          ),
          h(
            "span",
            { class: "arrows" },
            arrow("earlier", "↑", index === 0),
            arrow("later", "↓", index === levers.length - 1),
          ),
        );
      }),
    );
  }

  let dragged = null;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li")?.dataset.name;
    event.dataTransfer.effectAllowed = "move";
  });
  list.addEventListener("dragover", (event) => {
    if (!dragged) return;
    event.preventDefault();
    for (const item of list.children)
      item.classList.toggle("over", item === event.target.closest("li") && item.dataset.name !== dragged);
  });
  list.addEventListener("drop", (event) => {
    event.preventDefault();
    const over = event.target.closest("li");
    if (dragged && over) move(dragged, [...list.children].indexOf(over));
  });
  list.addEventListener("dragend", () => {
    dragged = null;
    for (const item of list.children) item.classList.remove("over");
  });

  return {
    set,
    setAll,
    all: () => levers,
    chosen: () => levers.filter((lever) => lever.on).map((lever) => lever.name),
  };
}

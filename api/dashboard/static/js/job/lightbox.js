// Shows an image in full size. The arrow keys go to the next and previous one.
import { openDialog } from "../shared/dialogs.js";
import { h } from "../shared/dom.js";

/** `pictures`: [{link, words}]. */
export function openPicture(pictures, first) {
  let index = first;
  const image = h("img", {});
  const words = h("p", { class: "muted small", role: "status" });
  const show = (step) => {
    index = (index + step + pictures.length) % pictures.length;
    image.src = pictures[index].link;
    image.alt = pictures[index].words;
    words.textContent = `${index + 1} of ${pictures.length}. ${pictures[index].words}`;
  };
  const dialog = openDialog(
    "Picture",
    {
      class: "lightbox",
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) show(step);
      },
      onclick: (event) => event.target === dialog && dialog.close(),
    },
    image,
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", onclick: () => show(-1) }, "← Previous"),
      h("button", { type: "button", onclick: () => show(1) }, "Next →"),
      words,
      h(
        "a",
        {
          class: "button",
          href: pictures[first].link,
          onclick: (event) => {
            event.currentTarget.href = pictures[index].link;
          },
          download: "",
        },
        "Download",
      ),
      h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  show(0);
}

// The Files tab: a job's files, and code that loads its model.
import { get } from "../shared/api.js";
import { CURL_TOKEN, copy } from "../shared/clipboard.js";
import { h, setContent } from "../shared/dom.js";
import { bytes, plural, time } from "../shared/format.js";

const ARCHIVE = "export.tar.gz";
/** In display order. A file belongs to the first group that accepts its name. */
const GROUPS = [
  ["Exported model", (name) => name.startsWith("export")],
  ["Checkpoints", (name) => name.startsWith("checkpoints/")],
  ["TensorBoard", (name) => name.startsWith("tensorboard/")],
];
const groupOf = (name) =>
  GROUPS.find(([, has]) => has(name))?.[0] ?? name.split("/")[0].replace("attempt-", "Attempt ");

export function start(root, { id }) {
  const place = h("div", {});
  root.append(place);
  async function load() {
    try {
      const { items, is_complete: isComplete } = await get(`/v1/jobs/${id}/artifacts`);
      if (!items.length) {
        setContent(
          place,
          h(
            "p",
            { class: "card empty" },
            "No files yet. The configuration and the log appear with the first attempt, the model at the end.",
          ),
        );
        return;
      }
      const groups = Map.groupBy(items, (file) => groupOf(file.name));
      setContent(
        place,
        isComplete ? null : h("p", { class: "note warn" }, "Not all files are listed here."),
        items.some((file) => file.name === ARCHIVE) ? snippet() : null,
        h(
          "div",
          { class: "card" },
          h(
            "table",
            { class: "files" },
            h("caption", { class: "visually-hidden" }, "Files"),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, "File"),
                h("th", { scope: "col", class: "number" }, "Size"),
                h("th", { scope: "col" }, "Modified"),
              ),
            ),
            [...groups].map(([name, files]) =>
              h(
                "tbody",
                {},
                h(
                  "tr",
                  { class: "group" },
                  h("th", { scope: "rowgroup", colspan: "3" }, `${name} `, h("span", { class: "muted" }, said(files))),
                ),
                files.map(row),
              ),
            ),
          ),
        ),
      );
      const button = place.querySelector(".snippet button");
      if (button) button.onclick = () => copy(place.querySelector(".snippet pre").textContent);
    } catch (error) {
      setContent(place, h("p", { class: "note bad", role: "alert" }, `Could not list the files: ${error.message}`));
    }
  }
  const row = (file) =>
    h(
      "tr",
      {},
      h("td", { class: "mono" }, h("a", { href: file.link, download: "" }, file.name)),
      h(
        "td",
        { class: "number" },
        file.bytes === null ? h("span", { class: "muted" }, "created on download") : bytes(file.bytes),
      ),
      h("td", {}, time(file.modified_at)),
    );
  const said = (files) =>
    `${plural(files.length, "file")}, ${bytes(files.reduce((sum, file) => sum + (file.bytes ?? 0), 0))}`;

  /** Runs as pasted if TOKEN is set and TensorFlow is installed. */
  function snippet() {
    return h(
      "section",
      { class: "card snippet" },
      h(
        "div",
        { class: "log-tools" },
        h("h2", {}, "Load the model"),
        h("span", { class: "push" }),
        h("button", { type: "button" }, "Copy"),
      ),
      h(
        "pre",
        { tabindex: "0", "aria-label": "How to load the model" },
        `curl -sS ${CURL_TOKEN} \\
  '${location.origin}/v1/jobs/${id}/artifacts/${ARCHIVE}' | tar xz
python - <<'END'
import numpy as np, tensorflow as tf

detect = tf.saved_model.load("job-${id}/export/saved_model")
image = np.zeros((1, 480, 640, 3), np.uint8)  # one image: height, width, RGB
found = detect(tf.constant(image))
print(found["detection_boxes"][0][:5], found["detection_scores"][0][:5], found["detection_classes"][0][:5])
END`,
      ),
    );
  }
  return {
    shown: load,
    event: (event) => !root.hidden && ["checkpoint", "ended", "image"].includes(event.kind) && load(),
  };
}

// The audit log. For admins.
import { get, query } from "../shared/api.js";
import { $, h, setContent } from "../shared/dom.js";
import { time } from "../shared/format.js";
import { runAction } from "../shared/messages.js";
import { choice, line, table } from "./forms.js";

const HEADS = { Time: "", User: "", Action: "word", Target: "", Details: "" };
const KINDS = {
  "": "All actions",
  checkpoint: "Checkpoints",
  dataset: "Datasets",
  device: "Devices",
  job: "Jobs",
  login: "Failed logins",
  session: "Sessions",
  token: "Tokens",
  user: "Users",
  webhook: "Webhooks",
};

export async function audit(place) {
  const who = h("input", {
    id: "audit-user",
    "aria-label": "User",
    placeholder: "User",
    maxlength: "64",
    autocomplete: "off",
  });
  const kind = choice("audit-kind", KINDS, "");
  kind.setAttribute("aria-label", "Action");
  const more = h("button", { type: "button", hidden: true, onclick: () => runAction(more, load) }, "Show older");
  const shown = table("Who did what, newest first", HEADS, []);
  const body = $("tbody", shown);
  let cursor = null;
  let filter = {};
  async function load() {
    const asked = filter;
    const found = await get(`/v1/audit${query({ ...filter, cursor })}`);
    if (asked !== filter) return; // the filter changed meanwhile
    if (!found.items.length && !cursor)
      body.append(h("tr", {}, h("td", { colspan: "5", class: "muted" }, h("span", {}, "No matching entries."))));
    body.append(
      ...found.items.map((entry) =>
        line(HEADS, [
          time(entry.at),
          entry.user ?? "the service",
          entry.action,
          target(entry.target),
          details(entry.data),
        ]),
      ),
    );
    cursor = found.next;
    more.hidden = !cursor;
  }
  async function again() {
    filter = { user: who.value.trim(), kind: kind.value };
    cursor = null;
    body.replaceChildren();
    await load();
  }
  who.addEventListener("change", again);
  kind.addEventListener("change", again);
  setContent(
    place,
    h(
      "header",
      { class: "part" },
      h("div", {}, h("h2", {}, "Audit"), h("p", { class: "muted" }, "Who did what, newest first.")),
      h("div", { class: "row" }, who, kind),
    ),
  );
  place.append(shown, h("p", { class: "row" }, more));
  await again();
}

const target = (name) => (name.startsWith("job ") ? h("a", { href: `/jobs/${name.slice(4)}` }, name) : name);
const details = (data) =>
  h(
    "span",
    { class: "mono small" },
    Object.entries(data)
      .map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
      .join(", "),
  );

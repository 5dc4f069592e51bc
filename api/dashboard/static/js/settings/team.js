// For admins: who there is and what they may use, and who did what.
import { get, patch, post, query } from "../shared/api.js";
import { $, h, put } from "../shared/dom.js";
import { figure, time } from "../shared/format.js";
import { runAction, toast } from "../shared/messages.js";
import { ask, choice, field, line, table } from "./forms.js";
import { dot } from "../shared/badges.js";

const ROLES = { viewer: "Viewer: read only", member: "Member: submits jobs", admin: "Admin: full access" };
const LIMITS = { max_queued: "Queued at most", max_running: "Running at most", device_hours_week: "Hours in 7 days" };

// --- users ----------------------------------------------------------------------------------------------------------------
export async function users(place) {
  const { items } = await get("/v1/users");
  const of = (used, most) => (most === null ? figure(used) : `${figure(used)} of ${figure(most)}`);
  const heads = {
    User: "",
    Role: "",
    State: "",
    Running: "number",
    "Hours, 7 days": "number",
    "Queued at most": "number",
    "": "action",
  };
  const add = h("button", { type: "button", class: "primary", onclick: () => addUser(place) }, "New user");
  put(
    place,
    h(
      "header",
      { class: "part" },
      h("div", {}, h("h2", {}, "Users"), h("p", { class: "muted" }, "Empty limits use the defaults of the service.")),
      add,
    ),
  );
  place.append(
    table(
      "Users",
      heads,
      items.map((user) => [
        user.name,
        user.role,
        user.is_disabled
          ? dot("disabled", "failed")
          : user.has_password
            ? dot("active", "free")
            : dot("token only", "free"),
        of(user.use.running, user.effective_limits.max_running),
        of(user.use.device_hours_week, user.effective_limits.device_hours_week),
        user.effective_limits.max_queued ?? "no limit",
        h(
          "button",
          { type: "button", onclick: () => editUser(user, place), "aria-label": `Edit ${user.name}` },
          "Edit",
        ),
      ]),
    ),
  );
}

function addUser(place) {
  ask(
    "New user",
    [
      field("Name", h("input", { id: "user-name", maxlength: "64", autocomplete: "off" })),
      field("Role", choice("user-role", ROLES, "member")),
      field(
        "Password",
        h("input", { id: "user-password", type: "password", autocomplete: "new-password" }),
        "Without a password, the user can log in with a token only.",
      ),
    ],
    "Create user",
    async () => {
      await post("/v1/users", {
        name: $("#user-name").value.trim(),
        role: $("#user-role").value,
        password: $("#user-password").value || null,
      });
      await users(place);
    },
  );
}

function editUser(user, place) {
  const limit = ([name, label]) =>
    field(
      label,
      h("input", {
        id: `limit-${name}`,
        type: "number",
        min: "0",
        step: name === "device_hours_week" ? "any" : "1",
        value: user.limits[name] ?? "",
        placeholder: user.effective_limits[name] ?? "no limit",
      }),
    );
  const read = (name) => ($(`#limit-${name}`).value === "" ? null : Number($(`#limit-${name}`).value));
  ask(
    `Edit ${user.name}`,
    [
      field("Role", choice("edit-role", ROLES, user.role)),
      field(
        "New password",
        h("input", { id: "edit-password", type: "password", autocomplete: "new-password", placeholder: "unchanged" }),
      ),
      h("div", { class: "row" }, Object.entries(LIMITS).map(limit)),
      h("p", {}),
      h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", id: "edit-disabled", checked: user.is_disabled }),
        "Disabled: cannot log in",
      ),
    ],
    "Save",
    async () => {
      const body = {
        role: $("#edit-role").value,
        disabled: $("#edit-disabled").checked,
        limits: Object.fromEntries(Object.keys(LIMITS).map((name) => [name, read(name)])),
      };
      if ($("#edit-password").value) body.password = $("#edit-password").value;
      await patch(`/v1/users/${encodeURIComponent(user.name)}`, body, { headers: { "If-Match": `"${user.version}"` } });
      toast(`${user.name}: saved`);
      await users(place);
    },
  );
}

// --- audit ----------------------------------------------------------------------------------------------------------------
const HEADS = { When: "", Who: "", What: "word", On: "", Details: "" };
const KINDS = {
  "": "Everything",
  checkpoint: "Checkpoints",
  dataset: "Datasets",
  job: "Jobs",
  login: "Refused log-ins",
  session: "Sessions",
  token: "Tokens",
  user: "Users",
  webhook: "Webhooks",
};

export async function audit(place) {
  const who = h("input", {
    id: "audit-user",
    "aria-label": "Who",
    placeholder: "Who",
    maxlength: "64",
    autocomplete: "off",
  });
  const kind = choice("audit-kind", KINDS, "");
  kind.setAttribute("aria-label", "What");
  const more = h("button", { type: "button", hidden: true, onclick: () => runAction(more, load) }, "Older");
  const shown = table("Who did what, the newest first", HEADS, []);
  const body = $("tbody", shown);
  let cursor = null;
  let filter = {};
  async function load() {
    const asked = filter;
    const found = await get(`/v1/audit${query({ ...filter, cursor })}`);
    if (asked !== filter) return; // it has changed meanwhile
    if (!found.items.length && !cursor)
      body.append(h("tr", {}, h("td", { colspan: "5", class: "muted" }, h("span", {}, "Nothing of this kind."))));
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
  put(
    place,
    h(
      "header",
      { class: "part" },
      h("div", {}, h("h2", {}, "Audit"), h("p", { class: "muted" }, "Who did what, the newest first.")),
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

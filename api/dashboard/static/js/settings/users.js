// Users, their roles and their limits. For admins.
import { get, patch, post } from "../shared/api.js";
import { dot } from "../shared/badges.js";
import { $, h, setContent } from "../shared/dom.js";
import { figure } from "../shared/format.js";
import { toast } from "../shared/messages.js";
import { ask, choice, field, table } from "./forms.js";

const ROLES = { viewer: "Viewer: read only", member: "Member: submits jobs", admin: "Admin: full access" };
const LIMITS = { max_queued: "Max queued", max_running: "Max running", device_hours_week: "Device hours in 7 days" };

export async function users(place) {
  const { items } = await get("/v1/users");
  const of = (used, most) => (most === null ? figure(used) : `${figure(used)} of ${figure(most)}`);
  const heads = {
    User: "",
    Role: "",
    State: "",
    Running: "number",
    "Device hours, 7 days": "number",
    "Max queued": "number",
    "": "action",
  };
  const add = h("button", { type: "button", class: "primary", onclick: () => addUser(place) }, "New user");
  setContent(
    place,
    h(
      "header",
      { class: "part" },
      h(
        "div",
        {},
        h("h2", {}, "Users"),
        h("p", { class: "muted" }, "Users without their own limits get the service's defaults."),
      ),
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
        "Without a password, the user can log in only with a token.",
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
      toast(`Saved ${user.name}`);
      await users(place);
    },
  );
}

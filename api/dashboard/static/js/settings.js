// My tokens, my password, my webhooks; for admins the team, its limits, and who did what.
import { get, patch, post, put as send, remove, whoami } from "./api.js";
import { $, $$, h, put } from "./dom.js";
import { figure, time } from "./format.js";
import { confirmed, doing, toast } from "./frame.js";
import { pill } from "./parts.js";

const root = $("#settings");
const card = (title, ...children) => h("section", { class: "card", "aria-label": title }, h("header", {}, h("h2", {}, title)), ...children);
const field = (label, control, hint) => h("div", { class: "field" }, h("label", { for: control.id }, label), control, hint ? h("span", { class: "hint" }, hint) : null);
const table = (heads, rows) => h("div", { class: "table-wrap" }, h("table", { class: "stacks" }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)));
const row = (heads, ...cells) => h("tr", {}, cells.map((cell, index) => h("td", { "data-label": heads[index] }, h("span", {}, cell))));

/** A form that sends what `body` says and reports faults at its end. */
function form(fields, name, work) {
  const error = h("p", { class: "error", role: "alert" });
  const button = h("button", { class: "primary" }, name);
  const element = h("form", { novalidate: true }, h("div", { class: "row" }, fields), error, h("p", {}), button);
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    button.disabled = true;
    try {
      await work(element);
    } catch (problem) {
      error.textContent = problem.errors?.length ? problem.errors.map((one) => `${one.field}: ${one.message}`).join("; ") : problem.message;
    } finally {
      button.disabled = false;
    }
  });
  return element;
}

/** Shown once: a secret that is kept nowhere. */
function secret(title, text) {
  const dialog = h("dialog", { "aria-label": title }, h("h2", {}, title), h("p", {}, "It is shown this once. Copy it now."), h("pre", { class: "mono" }, text),
    h("form", { method: "dialog" }, h("menu", {}, h("button", { type: "button", onclick: async () => {
      await navigator.clipboard.writeText(text);
      toast("Copied");
    } }, "Copy"), h("button", { class: "primary" }, "Done"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// --- me ----------------------------------------------------------------------------------------------------------------
function account(me) {
  const limit = (used, most, unit) => (most === null || most === undefined ? `${used} ${unit}` : `${used} of ${most} ${unit}`);
  const facts = h("dl", { class: "facts" }, h("dt", {}, "User"), h("dd", {}, me.user), h("dt", {}, "Role"), h("dd", {}, me.role),
    me.use ? [h("dt", {}, "Use"), h("dd", {}, [limit(me.use.queued, me.limits.max_queued, "queued"), limit(me.use.running, me.limits.max_running, "running"), limit(figure(me.use.device_hours_week), me.limits.device_hours_week, "device hours this week")].join(", "))] : null);
  if (!me.csrf) return card("You", facts);
  const password = form([
    field("Current password", h("input", { id: "current", type: "password", autocomplete: "current-password" })),
    field("New password", h("input", { id: "new-password", type: "password", autocomplete: "new-password" })),
  ], "Change password", async (element) => {
    await send("/v1/users/me/password", { password: $("#new-password").value, current: $("#current").value || null });
    element.reset();
    toast("The password is changed; your other sessions have ended");
  });
  return card("You", facts, h("h3", {}, "Password"), password);
}

async function tokens(place) {
  const heads = ["Name", "User", "Scopes", "Last used", "Expires", ""];
  const { items } = await get("/v1/tokens");
  put(place, items.length ? table(heads, items.filter((token) => !token.revoked_at).map((token) => row(heads, token.name, token.user, token.scopes.join(", "), time(token.last_used_at), time(token.expires_at), ""))) : h("p", { class: "muted" }, "You have none."));
  $$("tbody tr", place).forEach((line, index) => {
    const token = items.filter((one) => !one.revoked_at)[index];
    line.lastElementChild.replaceChildren(h("button", { type: "button", class: "danger", onclick: (event) => doing(event.target, async () => {
      if (!(await confirmed(`Revoke “${token.name}”? Whoever uses it is refused from then on.`, "Revoke it"))) return;
      await remove(`/v1/tokens/${token.id}`);
      await tokens(place);
    }) }, "Revoke"));
  });
}
function tokensCard(me) {
  const place = h("div", {});
  const made = form([
    field("Name", h("input", { id: "token-name", maxlength: "64", required: true, placeholder: "laptop" })),
    field("May", h("select", { id: "token-scope" }, h("option", { value: "read" }, "read"), me.scopes.includes("submit") ? h("option", { value: "submit", selected: true }, "read and submit") : null, me.scopes.includes("admin") ? h("option", { value: "admin" }, "everything") : null)),
    field("Days until it ends", h("input", { id: "token-days", type: "number", min: "1", max: "3650", value: "90" })),
  ], "New token", async (element) => {
    const token = await post("/v1/tokens", { name: $("#token-name").value.trim(), scopes: [$("#token-scope").value], expires_in_days: Number($("#token-days").value) || null });
    element.reset();
    secret(`Token “${token.name}”`, token.token);
    await tokens(place);
  });
  tokens(place).catch(failed);
  return card("Tokens", h("p", { class: "muted" }, "For scripts and the command line: Authorization: Bearer …"), place, me.scopes.includes("submit") ? [h("h3", {}, "Another one"), made] : null);
}

// --- webhooks ------------------------------------------------------------------------------------------------------------
const KINDS = { "job.succeeded": "succeeded", "job.failed": "failed", "job.replanned": "re-planned" };
async function webhooks(place) {
  const heads = ["Address", "Told of", "State", ""];
  const { items } = await get("/v1/webhooks");
  put(place, items.length ? table(heads, items.map((hook) => row(heads, hook.url, hook.kinds.map((kind) => KINDS[kind] ?? kind).join(", "), hook.disabled_at ? pill(hook.disabled_reason ?? "off", "failed") : hook.failing_since ? pill("failing", "warn") : pill("on", "free"), ""))) : h("p", { class: "muted" }, "There is none."));
  $$("tbody tr", place).forEach((line, index) => {
    const hook = items[index];
    line.lastElementChild.replaceChildren(
      h("button", { type: "button", onclick: (event) => doing(event.target, async () => {
        await post(`/v1/webhooks/${hook.id}/test`);
        toast("A test message is on its way");
      }) }, "Test"), " ",
      h("button", { type: "button", class: "danger", onclick: (event) => doing(event.target, async () => {
        if (!(await confirmed(`Remove the webhook to ${hook.url}?`, "Remove it"))) return;
        await remove(`/v1/webhooks/${hook.id}`);
        await webhooks(place);
      }) }, "Remove"));
  });
}
function webhooksCard() {
  const place = h("div", {});
  const made = form([
    field("Address", h("input", { id: "hook-url", type: "url", placeholder: "https://…", maxlength: "1000" })),
    h("div", { class: "field" }, h("span", {}, "When a job has"), Object.entries(KINDS).map(([kind, words]) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, value: kind, class: "hook-kind" }), words))),
  ], "New webhook", async (element) => {
    const hook = await post("/v1/webhooks", { url: $("#hook-url").value.trim(), kinds: $$(".hook-kind").filter((box) => box.checked).map((box) => box.value) });
    element.reset();
    secret("The webhook's secret", hook.secret);
    await webhooks(place);
  });
  webhooks(place).catch(failed);
  return card("Webhooks", h("p", { class: "muted" }, "Signed messages about your jobs (Standard Webhooks)."), place, h("h3", {}, "Another one"), made);
}

// --- the team -------------------------------------------------------------------------------------------------------------
async function users(place) {
  const heads = ["User", "Role", "Use", "Limits", ""];
  const { items } = await get("/v1/users");
  const limits = (user) => [["max_queued", "queued"], ["max_running", "running"], ["device_hours_week", "h a week"]].filter(([name]) => user.effective_limits[name] !== null).map(([name, words]) => `${user.effective_limits[name]} ${words}`).join(", ") || "none";
  put(place, table(heads, items.map((user) => row(heads, [user.name, user.is_disabled ? [" ", pill("disabled", "failed")] : null], user.role, `${user.use.running} running, ${figure(user.use.device_hours_week)} h this week`, limits(user), ""))));
  $$("tbody tr", place).forEach((line, index) => {
    const user = items[index];
    line.lastElementChild.replaceChildren(h("button", { type: "button", onclick: () => edit(user, place) }, "Change"));
  });
}
function edit(user, place) {
  const number = (name, label) => field(label, h("input", { id: `limit-${name}`, type: "number", min: "0", value: user.limits[name] ?? "", placeholder: user.effective_limits[name] ?? "no limit" }));
  const read = (name) => ($(`#limit-${name}`).value === "" ? null : Number($(`#limit-${name}`).value));
  const change = form([
    field("Role", h("select", { id: "edit-role" }, ["viewer", "member", "admin"].map((role) => h("option", { value: role, selected: role === user.role }, role)))),
    field("New password", h("input", { id: "edit-password", type: "password", autocomplete: "new-password", placeholder: "unchanged" })),
    number("max_queued", "Queued at most"), number("max_running", "Running at most"), number("device_hours_week", "Device hours a week"),
    h("label", { class: "check" }, h("input", { type: "checkbox", id: "edit-disabled", checked: user.is_disabled }), "disabled: cannot get in"),
  ], "Save", async () => {
    const body = { role: $("#edit-role").value, disabled: $("#edit-disabled").checked, limits: { max_queued: read("max_queued"), max_running: read("max_running"), device_hours_week: read("device_hours_week") } };
    if ($("#edit-password").value) body.password = $("#edit-password").value;
    await patch(`/v1/users/${encodeURIComponent(user.name)}`, body, { headers: { "If-Match": `"${user.version}"` } });
    dialog.close();
    toast(`${user.name}: saved`);
    await users(place);
  });
  const dialog = h("dialog", { "aria-label": `Change ${user.name}` }, h("h2", {}, user.name), change, h("form", { method: "dialog" }, h("menu", {}, h("button", {}, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
function usersCard() {
  const place = h("div", {});
  const made = form([
    field("Name", h("input", { id: "user-name", maxlength: "64", autocomplete: "off" })),
    field("Role", h("select", { id: "user-role" }, h("option", { value: "member" }, "member: has jobs"), h("option", { value: "viewer" }, "viewer: looks"), h("option", { value: "admin" }, "admin: may do all"))),
    field("Password", h("input", { id: "user-password", type: "password", autocomplete: "new-password" })),
  ], "New user", async (element) => {
    await post("/v1/users", { name: $("#user-name").value.trim(), role: $("#user-role").value, password: $("#user-password").value || null });
    element.reset();
    await users(place);
  });
  users(place).catch(failed);
  return card("Users", place, h("h3", {}, "Another one"), made);
}
function auditCard() {
  const heads = ["When", "Who", "What", "On", "Details"];
  const body = h("tbody", {});
  const more = h("button", { type: "button", hidden: true, onclick: (event) => doing(event.target, load) }, "Older");
  let cursor = null;
  async function load() {
    const found = await get(`/v1/audit${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`);
    body.append(...found.items.map((entry) => row(heads, time(entry.at), entry.user ?? "the service", entry.action, entry.target, h("span", { class: "mono small" }, Object.entries(entry.data).map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ")))));
    cursor = found.next;
    more.hidden = !cursor;
  }
  load().catch(failed);
  return card("Audit", h("div", { class: "table-wrap" }, h("table", { class: "stacks" }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), body)), more);
}

function failed(error) {
  put($("#problem"), error.message);
  $("#problem").hidden = false;
}

whoami().then((me) => {
  root.append(account(me), tokensCard(me));
  if (me.scopes.includes("submit")) root.append(webhooksCard());
  if (me.role === "admin" && me.scopes.includes("admin")) root.append(usersCard(), auditCard());
}).catch(failed);

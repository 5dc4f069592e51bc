// My account, my tokens, my webhooks; for admins the team and who did what. A part is loaded when it is looked at.
import { get, patch, post, put as send, remove, whoami } from "../shared/api.js";
import { $, $$, h, put } from "../shared/dom.js";
import { figure, time } from "../shared/format.js";
import { confirmed, openDialog } from "../shared/dialogs.js";
import { runAction, toast } from "../shared/messages.js";
import { tabs } from "../shared/tabs.js";
import { ask, choice, field, secret, table } from "../settings/forms.js";
import { dot } from "../shared/badges.js";
import { audit, users } from "../settings/team.js";

const day = (moment) => new Date(moment).toLocaleDateString();
const act = (words, work, kind = "") =>
  h("button", { type: "button", class: kind, onclick: (event) => runAction(event.target, work) }, words);
const head = (title, words, action) =>
  h("header", { class: "part" }, h("div", {}, h("h2", {}, title), h("p", { class: "muted" }, words)), action);
const none = (words) => h("div", { class: "card empty" }, words);

// --- account ------------------------------------------------------------------------------------------------------------
async function account(place) {
  const me = await whoami();
  const use = (name, used, most) =>
    h(
      "div",
      { class: "use" },
      h("span", { class: "muted" }, name),
      h("b", { class: "number" }, used),
      h("span", { class: "muted small" }, most === null ? "no limit" : `of ${most}`),
      most ? h("progress", { max: most, value: Math.min(most, Number(used)), "aria-label": name }) : null,
    );
  const change = () =>
    ask(
      "Change password",
      [
        field(
          "Current password",
          h("input", { id: "current", type: "password", autocomplete: "current-password" }),
          "Leave it empty if you have none yet.",
        ),
        field("New password", h("input", { id: "new-password", type: "password", autocomplete: "new-password" })),
      ],
      "Change password",
      async () => {
        await send("/v1/users/me/password", {
          password: $("#new-password").value,
          current: $("#current").value || null,
        });
        toast("Password changed. Your other sessions were logged out.");
      },
    );
  put(
    place,
    head(
      "Account",
      `${me.user}, ${me.role}`,
      me.csrf ? h("button", { type: "button", onclick: change }, "Change password") : null,
    ),
    h(
      "div",
      { class: "card uses" },
      use("Queued jobs", String(me.use.queued), me.limits.max_queued),
      use("Running jobs", String(me.use.running), me.limits.max_running),
      use("Device hours, 7 days", figure(me.use.device_hours_week), me.limits.device_hours_week),
    ),
  );
}

// --- tokens -------------------------------------------------------------------------------------------------------------
const SCOPES = { read: "read", submit: "read and submit", admin: "everything" };
async function tokens(place) {
  const me = await whoami();
  const items = (await get("/v1/tokens")).items.filter((token) => !token.revoked_at);
  const mine = Object.fromEntries(Object.entries(SCOPES).filter(([scope]) => me.scopes.includes(scope)));
  const add = () =>
    ask(
      "New token",
      [
        field(
          "Name",
          h("input", { id: "token-name", maxlength: "64", placeholder: "laptop", autocomplete: "off" }),
          "So that you can tell your tokens apart.",
        ),
        field("Permission", choice("token-scope", mine, me.scopes.includes("submit") ? "submit" : "read")),
        field(
          "Expires after",
          choice("token-days", { 7: "7 days", 30: "30 days", 90: "90 days", 365: "1 year", "": "never" }, "90"),
        ),
      ],
      "Create token",
      async () => {
        const days = $("#token-days").value;
        const token = await post("/v1/tokens", {
          name: $("#token-name").value.trim(),
          scopes: [$("#token-scope").value],
          expires_in_days: days ? Number(days) : null,
        });
        secret(`Token “${token.name}”`, token.token);
        await tokens(place);
      },
    );
  const revoke = (token) =>
    act(
      "Revoke",
      async () => {
        if (!(await confirmed(`Revoke “${token.name}”? Everything that uses it is refused from then on.`, "Revoke it")))
          return;
        await remove(`/v1/tokens/${token.id}`);
        await tokens(place);
      },
      "danger",
    );
  const heads = { Name: "", User: "", Permission: "", Created: "", "Last used": "", Expires: "", "": "action" };
  put(
    place,
    head(
      "Tokens",
      "For scripts and the command line: Authorization: Bearer …",
      me.scopes.includes("submit")
        ? h("button", { type: "button", class: "primary", onclick: add }, "New token")
        : null,
    ),
  );
  place.append(
    items.length
      ? table(
          "Tokens",
          heads,
          items.map((token) => [
            token.name,
            token.user,
            SCOPES[token.scopes.at(-1)] ?? token.scopes.join(", "),
            time(token.created_at, day),
            token.last_used_at ? time(token.last_used_at) : "never",
            token.expires_at ? time(token.expires_at) : "never",
            revoke(token),
          ]),
        )
      : none("You have no token."),
  );
}

// --- webhooks ------------------------------------------------------------------------------------------------------------
const KINDS = { "job.succeeded": "succeeded", "job.failed": "failed", "job.replanned": "re-planned" };
async function webhooks(place) {
  const { items } = await get("/v1/webhooks");
  const add = () =>
    ask(
      "New webhook",
      [
        field("Address", h("input", { id: "hook-url", type: "url", placeholder: "https://…", maxlength: "1000" })),
        h(
          "fieldset",
          {},
          h("legend", {}, "Send a message when a job"),
          Object.entries(KINDS).map(([kind, words]) =>
            h(
              "label",
              { class: "check" },
              h("input", { type: "checkbox", checked: true, value: kind, class: "hook-kind" }),
              words,
            ),
          ),
          h("p", {}),
        ),
      ],
      "Create webhook",
      async () => {
        const hook = await post("/v1/webhooks", {
          url: $("#hook-url").value.trim(),
          kinds: $$(".hook-kind")
            .filter((box) => box.checked)
            .map((box) => box.value),
        });
        secret("The webhook's secret", hook.secret);
        await webhooks(place);
      },
    );
  const actions = (hook) => [
    act("Deliveries", () => deliveries(hook)),
    " ",
    act("Test", async () => {
      await post(`/v1/webhooks/${hook.id}/test`);
      toast("A test message is on its way: see its deliveries");
    }),
    " ",
    act(hook.disabled_at ? "Enable" : "Disable", async () => {
      await patch(`/v1/webhooks/${hook.id}`, { disabled: !hook.disabled_at });
      await webhooks(place);
    }),
    " ",
    act(
      "Remove",
      async () => {
        if (!(await confirmed(`Remove the webhook to ${hook.url}?`, "Remove it"))) return;
        await remove(`/v1/webhooks/${hook.id}`);
        await webhooks(place);
      },
      "danger",
    ),
  ];
  const heads = { Address: "", Events: "", State: "", "": "action" };
  put(
    place,
    head(
      "Webhooks",
      "Signed messages about your jobs (Standard Webhooks).",
      h("button", { type: "button", class: "primary", onclick: add }, "New webhook"),
    ),
  );
  place.append(
    items.length
      ? table(
          "Webhooks",
          heads,
          items.map((hook) => [
            h("span", { class: "mono" }, hook.url),
            hook.kinds.map((kind) => KINDS[kind] ?? kind).join(", "),
            hookState(hook),
            actions(hook),
          ]),
        )
      : none("There is no webhook."),
  );
}
function hookState(hook) {
  if (hook.disabled_at)
    return h("span", { title: hook.disabled_reason ?? "" }, dot("disabled", "queued"), " ", time(hook.disabled_at));
  return hook.failing_since
    ? h("span", {}, dot("failing", "failed"), " since ", time(hook.failing_since))
    : dot("on", "free");
}
async function deliveries(hook) {
  const { items } = await get(`/v1/webhooks/${hook.id}/deliveries?limit=50`);
  const state = (one) =>
    one.sent_at
      ? dot(`delivered (${one.status})`, "succeeded")
      : one.next_at
        ? h("span", {}, dot("retrying", "busy"), " ", time(one.next_at))
        : dot("not delivered", "failed");
  const heads = { When: "", What: "", State: "", Tries: "number", Error: "" };
  const title = "Deliveries";
  openDialog(
    title,
    { class: "wide" },
    h("h2", {}, title),
    h("p", { class: "muted mono" }, hook.url),
    items.length
      ? table(
          title,
          heads,
          items.map((one) => [
            time(one.created_at),
            [one.kind, one.job ? [" · ", h("a", { href: `/jobs/${one.job}` }, `job ${one.job}`)] : null],
            state(one),
            String(one.tries),
            one.error ?? "",
          ]),
        )
      : h("p", {}, "Nothing was sent in the last 30 days."),
    h("form", { method: "dialog" }, h("menu", {}, h("button", {}, "Close"))),
  );
}

// --- the parts ------------------------------------------------------------------------------------------------------------
const PARTS = {
  account: ["Account", account],
  tokens: ["Tokens", tokens],
  webhooks: ["Webhooks", webhooks],
  users: ["Users", users],
  audit: ["Audit", audit],
};

function failed(error) {
  put($("#problem"), error.message);
  $("#problem").hidden = false;
}

whoami()
  .then((me) => {
    const may = {
      webhooks: me.scopes.includes("submit"),
      users: me.scopes.includes("admin"),
      audit: me.scopes.includes("admin"),
    };
    const names = Object.keys(PARTS).filter((name) => may[name] ?? true);
    const list = h(
      "div",
      { class: "tabs side", role: "tablist", "aria-label": "Parts of the settings" },
      names.map((name) =>
        h(
          "button",
          { type: "button", role: "tab", id: `tab-${name}`, dataset: { tab: name }, "aria-controls": name },
          PARTS[name][0],
        ),
      ),
    );
    const panels = names.map((name) =>
      h("section", { id: name, role: "tabpanel", "aria-labelledby": `tab-${name}`, tabindex: "0" }),
    );
    const isNarrow = matchMedia("(max-width: 700px)"); // as in the style sheet: side by side on a phone
    const turn = () => list.setAttribute("aria-orientation", isNarrow.matches ? "horizontal" : "vertical");
    isNarrow.addEventListener("change", turn);
    turn();
    put($("#settings"), list, h("div", {}, panels));
    tabs($("#settings"), (name) => {
      $("#problem").hidden = true;
      PARTS[name][1](document.getElementById(name)).catch(failed);
    });
  })
  .catch(failed);

// The user's webhooks and their deliveries.
import { get, patch, post, remove } from "../shared/api.js";
import { dot } from "../shared/badges.js";
import { confirmed, openDialog } from "../shared/dialogs.js";
import { $, $$, h, setContent } from "../shared/dom.js";
import { time } from "../shared/format.js";
import { toast } from "../shared/messages.js";
import { actionButton, ask, empty, field, heading, secret, table } from "./forms.js";

const KINDS = { "job.succeeded": "succeeded", "job.failed": "failed", "job.replanned": "re-planned" };
export async function webhooks(place) {
  const { items } = await get("/v1/webhooks");
  const add = () =>
    ask(
      "New webhook",
      [
        field("URL", h("input", { id: "hook-url", type: "url", placeholder: "https://…", maxlength: "1000" })),
        h(
          "fieldset",
          {},
          h("legend", {}, "Events to send"),
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
        secret("Webhook secret", hook.secret);
        await webhooks(place);
      },
    );
  const actions = (hook) => [
    actionButton("Deliveries", () => deliveries(hook)),
    " ",
    actionButton("Test", async () => {
      await post(`/v1/webhooks/${hook.id}/test`);
      toast("Test event queued. See Deliveries for the result.");
    }),
    " ",
    actionButton(hook.disabled_at ? "Enable" : "Disable", async () => {
      await patch(`/v1/webhooks/${hook.id}`, { disabled: !hook.disabled_at });
      await webhooks(place);
    }),
    " ",
    actionButton(
      "Remove",
      async () => {
        if (!(await confirmed(`Remove the webhook to ${hook.url}?`, "Remove webhook"))) return;
        await remove(`/v1/webhooks/${hook.id}`);
        await webhooks(place);
      },
      "danger",
    ),
  ];
  const heads = { URL: "", Events: "", State: "", "": "action" };
  setContent(
    place,
    heading(
      "Webhooks",
      "Get signed events about your jobs (Standard Webhooks).",
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
      : empty("You have no webhooks yet."),
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
  const heads = { Time: "", Event: "", State: "", Tries: "number", Error: "" };
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
      : h("p", {}, "No deliveries in the last 30 days."),
    h("form", { method: "dialog" }, h("menu", {}, h("button", {}, "Close"))),
  );
}

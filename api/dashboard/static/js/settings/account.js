// The user's account: limits, use, and password.
import { whoami, put as send } from "../shared/api.js";
import { $, h, setContent } from "../shared/dom.js";
import { figure } from "../shared/format.js";
import { toast } from "../shared/messages.js";
import { ask, field, heading } from "./forms.js";

export async function account(place) {
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
          "Leave empty if you have no password yet.",
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
  setContent(
    place,
    heading(
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

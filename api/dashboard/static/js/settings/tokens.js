// The user's API tokens.
import { get, post, remove, whoami } from "../shared/api.js";
import { confirmed } from "../shared/dialogs.js";
import { $, h, setContent } from "../shared/dom.js";
import { time } from "../shared/format.js";
import { actionButton, ask, choice, empty, field, heading, secret, table } from "./forms.js";

const day = (moment) => new Date(moment).toLocaleDateString();
const SCOPES = { read: "read", submit: "read and submit", admin: "full access" };
export async function tokens(place) {
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
          "Helps you tell your tokens apart.",
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
    actionButton(
      "Revoke",
      async () => {
        const question = `Revoke “${token.name}”? Anything that uses it loses access immediately.`;
        if (!(await confirmed(question, "Revoke token"))) return;
        await remove(`/v1/tokens/${token.id}`);
        await tokens(place);
      },
      "danger",
    );
  const heads = { Name: "", User: "", Permission: "", Created: "", "Last used": "", Expires: "", "": "action" };
  setContent(
    place,
    heading(
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
      : empty("You have no tokens yet."),
  );
}

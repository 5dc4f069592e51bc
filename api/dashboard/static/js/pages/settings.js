// Settings: a tab each for the account, tokens and webhooks; for admins also users and the audit log.
import { account } from "../settings/account.js";
import { audit } from "../settings/audit.js";
import { tokens } from "../settings/tokens.js";
import { users } from "../settings/users.js";
import { webhooks } from "../settings/webhooks.js";
import { whoami } from "../shared/api.js";
import { $, h, setContent } from "../shared/dom.js";
import { tabs } from "../shared/tabs.js";

const PARTS = {
  account: ["Account", account],
  tokens: ["Tokens", tokens],
  webhooks: ["Webhooks", webhooks],
  users: ["Users", users],
  audit: ["Audit", audit],
};

function failed(error) {
  setContent($("#problem"), error.message);
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
    const isNarrow = matchMedia("(max-width: 700px)"); // as in settings.css, which puts the tabs in a row then
    const turn = () => list.setAttribute("aria-orientation", isNarrow.matches ? "horizontal" : "vertical");
    isNarrow.addEventListener("change", turn);
    turn();
    setContent($("#settings"), list, h("div", {}, panels));
    tabs($("#settings"), (name) => {
      $("#problem").hidden = true;
      PARTS[name][1](document.getElementById(name)).catch(failed);
    });
  })
  .catch(failed);

// The header of every page: the connection's state, the theme and the account menu.
import { maySubmit, remove, whoami } from "../shared/api.js";
import { $, $$ } from "../shared/dom.js";
import { listen } from "../shared/events.js";
import { updateTimes } from "../shared/format.js";
import { runAction, toast } from "../shared/messages.js";
import { removeShortcut, showShortcuts } from "./shortcuts.js";

updateTimes();
listen(() => {}); // every page shows whether it is live

const THEMES = { system: "system", light: "light", dark: "dark" };
const themeButton = $("#theme");
themeButton.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(theme()) + 1) % names.length];
  if (next === "system") localStorage.removeItem("theme");
  else localStorage.setItem("theme", next);
  showTheme();
  dispatchEvent(new Event("themechosen"));
});
function theme() {
  return localStorage.getItem("theme") ?? "system";
}
function showTheme() {
  themeButton.dataset.theme = theme();
  themeButton.title = `Theme: ${THEMES[theme()]}`;
  themeButton.lastElementChild.textContent = themeButton.title;
}
showTheme();

const menu = $("#me");
whoami()
  .then((me) => {
    $(".name", menu).textContent = me.user;
    $(".avatar", menu).textContent = me.user[0];
    $("#role").textContent = `${me.user}, ${me.role}`;
    for (const link of $$(".bar a[href='/jobs/new']")) link.hidden = !maySubmit(me);
    if (!maySubmit(me)) removeShortcut("n");
    const leave = $("#leave");
    leave.hidden = !me.csrf;
    leave.addEventListener("click", () =>
      runAction(leave, async () => {
        await remove("/v1/session");
        location.assign("/login");
      }),
    );
  })
  .catch((error) => toast(error.message, "bad"));
addEventListener("click", (event) => {
  if (!menu.contains(event.target)) menu.open = false;
});
menu.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  menu.open = false;
  $("summary", menu).focus();
});

$("#keys").addEventListener("click", () => {
  menu.open = false;
  showShortcuts();
});

// What every page has: who is here, the theme, the keys, and short messages.
import { whoami, remove } from "./api.js";
import { $, $$, h } from "./dom.js";
import { listen } from "./events.js";
import { keepTimes } from "./format.js";

keepTimes();
listen(() => {}); // so that every page says whether it is live

export function toast(text, kind = "") {
  const element = h("div", { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" }, text);
  $(".toasts").append(element);
  setTimeout(() => element.remove(), kind === "bad" ? 9000 : 4000);
}

/** Runs what a click asks for; an error becomes a message, and the button cannot be pressed twice meanwhile. */
export async function doing(button, work) {
  button.disabled = true;
  try {
    return await work();
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
}

/** Asks before something that cannot be taken back; resolves to whether it is to be done. */
export function confirmed(question, action) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": action },
      h("p", {}, question),
      h("form", { method: "dialog" },
        h("menu", {}, h("button", { value: "" }, "Keep"), h("button", { value: "yes", class: "danger" }, action))));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const THEMES = ["system", "light", "dark"];
const themeButton = $("#theme");
themeButton?.addEventListener("click", () => {
  const now = localStorage.getItem("theme") ?? "system";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  if (next === "system") localStorage.removeItem("theme");
  else localStorage.setItem("theme", next);
  showTheme();
  dispatchEvent(new Event("themechosen"));
});
function showTheme() {
  if (themeButton) themeButton.textContent = { system: "Auto", light: "Light", dark: "Dark" }[localStorage.getItem("theme") ?? "system"];
}
showTheme();

const who = $("#who");
if (who) {
  whoami().then((me) => {
    who.textContent = me.user;
    who.title = me.role;
    if (me.csrf) {
      const leave = $("#leave");
      leave.hidden = false;
      leave.addEventListener("click", () => doing(leave, async () => {
        await remove("/v1/session");
        location.assign("/login");
      }));
    }
  }).catch((error) => toast(error.message, "bad"));
}

/** Keys of a page, shown by `?` with those of all pages: {key: [what it does, function]}. */
const keys = {
  "/": ["search", () => $("[data-search]")?.focus()],
  "?": ["this list", showKeys],
  "g j": ["jobs", () => location.assign("/")],
  "g d": ["devices", () => location.assign("/devices")],
  "n": ["a new job", () => location.assign("/jobs/new")],
};
export function onKeys(more) {
  Object.assign(keys, more);
}
let first = "";
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable], dialog")) {
    if (event.key === "Escape" && event.target.matches("[data-search]")) event.target.blur();
    return;
  }
  const found = keys[`${first} ${event.key}`] ?? keys[event.key];
  first = event.key === "g" && !found ? "g" : "";
  if (found) {
    event.preventDefault();
    found[1](event);
  }
});
function showKeys() {
  const dialog = h("dialog", { "aria-labelledby": "keys" },
    h("h2", { id: "keys" }, "Keys"),
    h("dl", { class: "facts" }, Object.entries(keys).map(([key, [what]]) => [
      h("dt", {}, key.split(" ").map((one) => h("kbd", {}, one))), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("menu", {}, h("button", {}, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Tabs of a page, the chosen one in the URL's hash. Buttons have data-tab, panels the same as their id. */
export function tabs(container, onShow) {
  const buttons = $$("[role=tab]", container);
  function show(name, focus = false) {
    const chosen = buttons.find((button) => button.dataset.tab === name.split(":")[0]) ?? buttons[0]; // log:2:17 is a place in it
    for (const button of buttons) {
      const is = button === chosen;
      button.setAttribute("aria-selected", String(is));
      button.tabIndex = is ? 0 : -1;
      document.getElementById(button.getAttribute("aria-controls")).hidden = !is;
    }
    if (focus) chosen.focus();
    onShow(chosen.dataset.tab);
  }
  container.addEventListener("click", (event) => {
    const button = event.target.closest("[role=tab]");
    if (button) {
      history.replaceState(null, "", `#${button.dataset.tab}`);
      show(button.dataset.tab);
    }
  });
  container.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const now = buttons.findIndex((button) => button.getAttribute("aria-selected") === "true");
    const next = buttons[(now + step + buttons.length) % buttons.length];
    history.replaceState(null, "", `#${next.dataset.tab}`);
    show(next.dataset.tab, true);
  });
  addEventListener("hashchange", () => show(location.hash.slice(1)));
  show(location.hash.slice(1));
}

// What every page has: who is here, the theme, the keys, and short messages.
import { maySubmit, remove, whoami } from "./api.js";
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
    const dialog = h(
      "dialog",
      { class: "narrow", "aria-label": action },
      h("p", {}, question),
      h(
        "form",
        { method: "dialog" },
        h("menu", {}, h("button", { value: "" }, "Keep"), h("button", { value: "yes", class: "danger" }, action)),
      ),
    );
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const THEMES = { system: "as the system", light: "light", dark: "dark" };
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
    if (!maySubmit(me)) delete keys.n;
    const leave = $("#leave");
    leave.hidden = !me.csrf;
    leave.addEventListener("click", () =>
      doing(leave, async () => {
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

/** For those who do not see the page: one sentence now and then, the newest one. */
export function announce(text) {
  $("#news").textContent = text;
}

/** Keys of a page, shown by `?` with those of all pages: {key: [what it does, function]}. No function: the browser does it. */
const keys = {
  "/": ["search", () => $("[data-search]")?.focus()],
  "g j": ["go to jobs", () => location.assign("/")],
  "g d": ["go to devices", () => location.assign("/devices")],
  "g t": ["go to datasets", () => location.assign("/datasets")],
  "g m": ["go to models", () => location.assign("/models")],
  "g s": ["go to settings", () => location.assign("/settings")],
  n: ["new job", () => location.assign("/jobs/new")],
  "?": ["this list", showKeys],
};
export function onKeys(more) {
  Object.assign(keys, more);
}
$("#keys").addEventListener("click", () => {
  menu.open = false;
  showKeys();
});
let first = "";
addEventListener("keydown", (event) => {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.target.closest("input, textarea, select, [contenteditable], dialog")
  ) {
    if (event.key === "Escape" && event.target.matches("[data-search]")) event.target.blur();
    return;
  }
  const found = keys[`${first} ${event.key}`] ?? keys[event.key];
  first = event.key === "g" && !found ? "g" : "";
  if (found?.[1]) {
    event.preventDefault();
    found[1](event);
  }
});
function showKeys() {
  const dialog = h(
    "dialog",
    { class: "narrow", "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h(
      "dl",
      { class: "facts" },
      Object.entries(keys).map(([key, [what]]) => [
        h(
          "dt",
          {},
          key.split(" ").map((one) => h("kbd", {}, one)),
        ),
        h("dd", {}, what),
      ]),
    ),
    h("form", { method: "dialog" }, h("menu", {}, h("button", {}, "Close"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const isColumn = (list) => list.getAttribute("aria-orientation") === "vertical";

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
    const list = event.target.closest("[role=tab]")?.closest("[role=tablist]"); // in a panel, arrows move and choose
    const step = list && (isColumn(list) ? { ArrowDown: 1, ArrowUp: -1 } : { ArrowRight: 1, ArrowLeft: -1 })[event.key];
    if (!step) return;
    event.preventDefault();
    const now = buttons.findIndex((button) => button.getAttribute("aria-selected") === "true");
    const next = buttons[(now + step + buttons.length) % buttons.length];
    history.replaceState(null, "", `#${next.dataset.tab}`);
    show(next.dataset.tab, true);
  });
  addEventListener("hashchange", () => show(location.hash.slice(1)));
  show(location.hash.slice(1));
}

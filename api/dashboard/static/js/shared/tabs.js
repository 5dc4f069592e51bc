// Tabs with their panels.
import { $$ } from "./dom.js";

const isColumn = (list) => list.getAttribute("aria-orientation") === "vertical";

/** Keeps the selected tab in the URL's hash. A button's data-tab is the id of its panel. */
export function tabs(container, onShow) {
  const buttons = $$("[role=tab]", container);
  function show(name, focus = false) {
    const [tab] = name.split(":"); // a hash such as log:2:17 names a line in a tab
    const chosen = buttons.find((button) => button.dataset.tab === tab) ?? buttons[0];
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
    // Not in a panel: there, arrow keys scroll and select.
    const list = event.target.closest("[role=tab]")?.closest("[role=tablist]");
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

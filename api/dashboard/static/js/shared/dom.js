// Builds elements without a framework. Never sets innerHTML, so that a job's name cannot inject markup.

/** Example: h("td", {class: "number", onclick: f, dataset: {id: 1}}, "text", element, null, [more]) */
export function h(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** The same for SVG. */
export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name in element && !(element instanceof SVGElement) && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Replaces the children of `element`. Does nothing if the markup is the same, to keep the user's selection. */
export function setContent(element, ...children) {
  // Not a clone of a select: removing its options one by one would change the selected one.
  const fresh = document.createElement("div");
  fresh.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  if (fresh.innerHTML !== element.innerHTML) element.replaceChildren(...fresh.childNodes);
  return element;
}

/** Sets the text if it differs, to keep the user's selection. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Gives `parent` one child for each item, in order. Existing children are reused, so they keep focus, selection and
 * scroll position. `make(item)` creates a child; `update(element, item)` brings it up to date.
 */
export function keyed(parent, items, key, make, update) {
  const names = new Set(items.map((item) => String(key(item))));
  // Remove old children first. Otherwise the others would have to be moved, which loses focus and selection.
  for (const child of Array.from(parent.children)) if (!names.has(child.dataset.key)) child.remove();
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let element = old.get(name);
    if (!element) {
      element = make(item);
      element.dataset.key = name;
    }
    update?.(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}

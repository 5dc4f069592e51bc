// Browsers give the clipboard to pages over TLS or from this machine only; over plain HTTP there is the old way.
import { h } from "./dom.js";
import { toast } from "./messages.js";

export async function copy(text, said = "Copied") {
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copyTheOldWay(text);
  toast(said);
}

function copyTheOldWay(text) {
  const place = h("textarea", { class: "visually-hidden", "aria-hidden": "true" }, text);
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(place); // beside an open dialog nothing can be chosen
  place.select();
  document.execCommand("copy");
  place.remove();
  focused?.focus();
}

// Browsers offer navigator.clipboard only over TLS or on localhost. Plain HTTP needs document.execCommand.
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
  // While a modal dialog is open, nothing outside it can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(place);
  place.select();
  document.execCommand("copy");
  place.remove();
  focused?.focus();
}
// The header that authenticates a curl command. The shell stops with the message if TOKEN is not set.
export const CURL_TOKEN = '-H "Authorization: Bearer ${TOKEN:?set it to one of your tokens, see Settings}"';

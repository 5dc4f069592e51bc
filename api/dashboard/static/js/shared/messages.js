// Short messages for the user.
import { $, h } from "./dom.js";

export function toast(text, kind = "") {
  const element = h("div", { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" }, text);
  $(".toasts").append(element);
  setTimeout(() => element.remove(), kind === "bad" ? 9000 : 4000);
}

/** Runs what a click asks for; an error becomes a message, and the button cannot be pressed twice meanwhile. */
export async function runAction(button, work) {
  button.disabled = true;
  try {
    return await work();
  } catch (error) {
    toast(error.message, "bad");
  } finally {
    button.disabled = false;
  }
}

/** For those who do not see the page: one sentence now and then, the newest one. */
export function announce(text) {
  $("#news").textContent = text;
}

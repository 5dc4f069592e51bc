// Short messages for the user.
import { $, h } from "./dom.js";

export function toast(text, kind = "") {
  const element = h("div", { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" }, text);
  $(".toasts").append(element);
  setTimeout(() => element.remove(), kind === "bad" ? 9000 : 4000);
}

/** Runs `work` with the button disabled, and shows an error as a toast. */
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

/** For screen readers. Replaces the previous announcement. */
export function announce(text) {
  $("#announcements").textContent = text;
}

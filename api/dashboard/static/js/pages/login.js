// Logs in with user and password, or with a token.
import { post } from "../shared/api.js";
import { $ } from "../shared/dom.js";

/** Prevents an open redirect: checks the origin, because a path can be //example.com. */
function next() {
  const wanted = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
  return wanted.origin === location.origin && wanted.pathname !== "/login" ? wanted.href : "/";
}

function enter(form, body) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = $("button", form);
    button.disabled = true;
    $("#error").textContent = "";
    try {
      await post("/v1/session", body());
      location.assign(next());
    } catch (error) {
      $("#error").textContent = error.message;
      $("#password").value = "";
    } finally {
      button.disabled = false;
    }
  });
}

enter($("#login"), () => ({ user: $("#user").value.trim(), password: $("#password").value }));
enter($("#with-token"), () => ({ token: $("#token").value.trim() }));

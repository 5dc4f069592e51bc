// The client of the public API, /v1. The session's cookie authenticates it.

class Problem extends Error {
  /** `errors`: [{field, message}] for invalid fields. */
  constructor(status, body) {
    super(body.detail || body.title || `the service answered ${status}`);
    this.status = status;
    this.code = body.code ?? "";
    this.errors = body.errors ?? [];
  }
}

let csrf = null;

/** The current user. Requested once per page. */
export const whoami = once(async () => {
  const found = await get("/v1/whoami");
  csrf = found.csrf ?? null;
  return found;
});

/** Checks scopes, not the role: a session from a token may have fewer. */
export const maySubmit = (me) => me.scopes.includes("submit");
export const mayChange = (me, job) => maySubmit(me) && (me.scopes.includes("admin") || job.owner === me.user);

export const get = (path, options) => ask("GET", path, undefined, options);
export const post = (path, body, options) => ask("POST", path, body, options);
export const patch = (path, body, options) => ask("PATCH", path, body, options);
export const put = (path, body, options) => ask("PUT", path, body, options);
export const remove = (path, options) => ask("DELETE", path, undefined, options);

async function ask(method, path, body, { signal, headers = {} } = {}) {
  const isChange = method !== "GET";
  if (isChange && csrf === null && path !== "/v1/session") await whoami();
  const sent = { Accept: "application/json", ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (isChange && csrf) sent["X-CSRF-Token"] = csrf;
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "cannot reach the service: check that it is running and that you are online" });
  }
  const kind = answer.headers.get("Content-Type") ?? "";
  return content(path, answer.status, kind.includes("json") && answer.status !== 204, await answer.text());
}

/**
 * Posts a file. Calls `progress(sent, total)` while it is sent; with `sent === total` the service has all of it.
 * `fetch` cannot tell the progress.
 */
export async function upload(path, file, { type, signal, progress }) {
  if (csrf === null) await whoami();
  const request = new XMLHttpRequest();
  request.open("POST", path);
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("Content-Type", type);
  if (csrf) request.setRequestHeader("X-CSRF-Token", csrf);
  request.upload.addEventListener("progress", (event) => progress(event.loaded, file.size));
  request.upload.addEventListener("load", () => progress(file.size, file.size));
  signal.addEventListener("abort", () => request.abort());
  await new Promise((resolve, reject) => {
    request.addEventListener("load", resolve);
    request.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
    request.addEventListener("error", () => {
      const detail =
        "the connection was lost while the file was sent: check that the service is running, and try again";
      reject(new Problem(0, { detail }));
    });
    progress(0, file.size);
    request.send(file);
  });
  const kind = request.getResponseHeader("Content-Type") ?? "";
  return content(path, request.status, kind.includes("json"), request.responseText);
}

/** What was answered. Throws a Problem if it is an error. */
function content(path, status, isJson, text) {
  if (status === 401 && path !== "/v1/session") {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);
    return new Promise(() => {}); // never resolves: the browser is leaving the page
  }
  if (status === 204) return null; // no content, whatever its Content-Type
  const found = isJson ? JSON.parse(text) : text;
  if (status < 200 || status > 299) throw new Problem(status, isJson ? found : { detail: text });
  return found;
}

/** A query string such as `?a=1&b=2`. Leaves out empty values; repeats the name for each item of a list. */
export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") found.append(name, one);
    }
  }
  const text = found.toString();
  return text && `?${text}`;
}

function once(make) {
  let promise = null;
  return () =>
    (promise ??= make().catch((error) => {
      promise = null;
      throw error;
    }));
}

// The tab's event stream. The browser reconnects with the last event id it saw, so no event is lost. When the service
// can no longer replay from that id, it sends "reset" and listeners load everything again.
import { get } from "./api.js";

const listeners = new Set();
let source = null;
let isGreeted = false;
let newest = null; // id of the last event

/** Calls listener({kind, id, job, attempt, at, data}) for each event. */
export function listen(listener) {
  listeners.add(listener);
  if (!source) open();
}

const KINDS = [
  "hello",
  "reset",
  "submitted",
  "edited",
  "planned",
  "stop_requested",
  "state",
  "phase",
  "device",
  "probe",
  "progress",
  "checkpoint",
  "eval",
  "image",
  "warning",
  "outcome",
  "ended",
  "replanned",
  "queue",
  "device",
  "job",
];

function open() {
  source = new EventSource(newest === null ? "/v1/events" : `/v1/events?since=${newest}`);
  source.addEventListener("open", () => show("live"));
  source.addEventListener("error", () => {
    // The service refused the connection, for example while it restarts. The browser does not retry after that.
    if (source.readyState === EventSource.CLOSED) reconnect();
    else show(navigator.onLine ? "lost" : "offline");
  });
  for (const kind of KINDS) {
    source.addEventListener(kind, (message) => {
      const event = { kind, ...JSON.parse(message.data) };
      newest = event.id ?? newest;
      isGreeted ||= kind === "hello";
      for (const listener of listeners) listener(event);
    });
  }
}
// Without these, a lost network may go unnoticed for minutes: nothing closes the stream.
addEventListener("offline", () => show("offline"));
addEventListener("online", () => show(source?.readyState === EventSource.OPEN ? "live" : "lost"));
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => {
  if (!event.persisted || !source) return;
  open(); // restored from the back/forward cache: events since then were missed
  for (const listener of listeners) listener({ kind: "reset" });
});

function reconnect(seconds = 5) {
  show(navigator.onLine ? "lost" : "offline", seconds);
  if (seconds) setTimeout(reconnect, 1000, seconds - 1);
  else get("/v1/whoami").then(open, () => reconnect()); // redirects to the login page when the session has ended
}

const STATES = {
  live: ["live", "This page updates live"],
  lost: [
    "reconnecting",
    "The service is not responding. This page may be out of date and catches up when the service is back",
  ],
  offline: ["offline", "You are offline. This page may be out of date"],
};
function show(state, seconds = 0) {
  const element = document.querySelector(".live");
  if (!element) return;
  const [words, meaning] = STATES[state];
  const was = element.dataset.state;
  // For screen readers: the changes, not the countdown.
  if (was !== state && was !== "connecting") document.querySelector("#announcements").textContent = words;
  element.dataset.state = state;
  element.title = meaning;
  element.textContent = seconds ? `${words} in ${seconds} s` : words;
}

const GREETING_MS = 300;

/**
 * Calls `load()` once the stream is open, so that no change is missed in between, and again after each event for which
 * `concerns(event)` is true, at most every `least` ms. If the stream is slow to open, loads right away and again then.
 */
export function follow(load, concerns, least = 400) {
  let timer = null;
  let running = false;
  let again = false;
  async function run() {
    timer = null;
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await load();
    } finally {
      running = false;
      if (again) {
        again = false;
        later();
      }
    }
  }
  function later() {
    timer ??= setTimeout(run, least);
  }
  let isWaiting = !isGreeted;
  timer = setTimeout(run, isWaiting ? GREETING_MS : 0);
  listen((event) => {
    if (event.kind === "hello" && isWaiting) {
      isWaiting = false;
      clearTimeout(timer);
      run();
    } else if (event.kind === "reset" || concerns(event)) later();
  });
}

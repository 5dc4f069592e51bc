// One stream for the tab. The browser comes back by itself with the last number it has seen, so nothing is missed;
// where the service says that it cannot replay from there, listeners are told to load afresh ("reset").
import { get } from "./api.js";

const listeners = new Set();
let source = null;
let isGreeted = false;
let newest = null; // the last number seen

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
    // Refused, e.g. while it restarts: the browser itself gives up then.
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
// A stream that nobody ends may say nothing for minutes after the network has gone.
addEventListener("offline", () => show("offline"));
addEventListener("online", () => show(source?.readyState === EventSource.OPEN ? "live" : "lost"));
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => {
  if (!event.persisted || !source) return;
  open(); // back from the browser's history: as it was then, and nobody told it what came since
  for (const listener of listeners) listener({ kind: "reset" });
});

function reconnect(seconds = 5) {
  show(navigator.onLine ? "lost" : "offline", seconds);
  if (seconds) setTimeout(reconnect, 1000, seconds - 1);
  else get("/v1/whoami").then(open, () => reconnect()); // who is no longer logged in is led to where one logs in
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
  if (was !== state && was !== "connecting") document.querySelector("#news").textContent = words; // not every second
  element.dataset.state = state;
  element.title = meaning;
  element.textContent = seconds ? `${words} in ${seconds} s` : words;
}

const GREETING_MS = 300;

/**
 * `load()` as soon as the stream tells what comes after it, and again at most every `least` ms while events come that
 * `concerns(event)`. Where the stream is slow to open it loads all the same, and once more when that is open.
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

// Formats numbers, sizes and times.
import { h } from "./dom.js";

export const MB = 2 ** 20;

/** "1500 MB", "24,576 MB", "9.4 MB", "812 KB": the same text as services/domain/sizes.py. */
export function bytes(count) {
  if (count === null || count === undefined) return "–";
  if (count === 0) return "0 MB";
  const tenths = Math.floor((10 * count + MB / 2) / MB);
  if (tenths >= 100) return `${megabytes(Math.floor((count + MB / 2) / MB))} MB`;
  if (tenths >= 10) return `${tenths / 10} MB`;
  return count >= 1024 ? `${Math.floor((count + 512) / 1024)} KB` : `${count} B`;
}
export const megabytes = (whole) => (whole >= 10_000 ? whole.toLocaleString("en") : String(whole));

/** "3 min", "2 h 5 min", "4 d". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 && hours < 10 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} d`;
}

function ago(moment) {
  const seconds = (Date.now() - Date.parse(moment)) / 1000;
  if (seconds < 0) return `in ${duration(-seconds)}`;
  return seconds < 10 ? "just now" : `${duration(seconds)} ago`;
}

/** A relative time, with the exact time on hover. `updateTimes` updates it. */
export function time(moment, words = ago) {
  if (!moment) return h("span", { class: "muted" }, "–");
  const element = h("time", { datetime: moment, title: new Date(moment).toLocaleString() }, words(moment));
  element.words = words;
  return element;
}

export function updateTimes() {
  setInterval(() => {
    for (const element of document.querySelectorAll("time")) {
      const text = (element.words ?? ago)(element.dateTime);
      if (element.textContent !== text) element.textContent = text;
    }
  }, 10_000);
}

export const percent = (share, digits = 0) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;

export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1000 || size < 0.001 ? value.toExponential(2) : Number(value.toPrecision(4)).toString();
}

export const wholeNumber = (value) => value.toLocaleString("en");
export const size = (pair) => `${pair[0]}×${pair[1]}`;
const ENDINGS = { one: "st", two: "nd", few: "rd", other: "th" };
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
export const ordinal = (number) => `${number}${ENDINGS[ordinals.select(number)]}`;
export const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

// Small labels with a colour for a state.
import { h } from "./dom.js";

export const pill = (text, kind = text) => h("span", { class: `pill ${kind}` }, text);
export const dot = (text, kind = text) => h("span", { class: `dot ${kind}` }, text);

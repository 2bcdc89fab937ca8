// Lag in words: what is not known is said to be unknown, never counted as nothing.

import { chip, h } from "./dom.js";
import { count } from "./format.js";

export function lagCell(lag) {
  if (lag === null) return h("span", { class: "soft" }, "unknown");
  return lag > 0 ? chip(count(lag), "warn") : count(lag);
}

export function totalLag(group) {
  if (group.lag !== null) return count(group.lag);
  return group.knownLag > 0 ? `at least ${count(group.knownLag)}` : "unknown";
}

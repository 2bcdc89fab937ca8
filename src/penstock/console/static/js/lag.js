// Lag as text: an unknown lag is shown as unknown, not as zero.

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

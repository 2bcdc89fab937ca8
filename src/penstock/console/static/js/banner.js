// Warnings above every page: disks that are full or have failed, damaged records.

import { get } from "./api.js";
import { h, notice, put } from "./dom.js";
import { every } from "./live.js";

const INTERVAL_MS = 3000;

export function banner(signal) {
  const element = h("div", { class: "banner", "aria-live": "polite" });
  let shown = "";
  every(signal, INTERVAL_MS, async () => {
    const { troubles } = await get("troubles", {}, signal);
    if (troubles.join() === shown) return;
    shown = troubles.join();
    put(element, troubles.map((text) => notice(text, "bad")));
  });
  return element;
}

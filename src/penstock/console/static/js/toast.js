// Short messages at the edge of the screen, read out by screen readers.

import { h } from "./dom.js";

const SHOWN_MS = 6000;
const MOST = 4;
const place = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
document.body.append(place);

export function toast(text, kind = "") {
  const element = h("div", { class: `toast ${kind}` }, text);
  place.append(element);
  while (place.children.length > MOST) place.firstElementChild.remove();
  setTimeout(() => element.remove(), SHOWN_MS);
}

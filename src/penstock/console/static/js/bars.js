// A bar for each row, with its name and its number: read out as a list.

import { h } from "./dom.js";

const MOST = 50;

export function bars(title, rows) {
  const shown = rows.slice(0, MOST);
  const most = Math.max(...shown.map(([, value]) => Math.abs(value)), 1e-9);
  return h("section", { class: "card" },
    h("h2", {}, title),
    h("ul", { class: "bars", "aria-label": title }, shown.map(([name, value]) => h("li", {},
      h("span", { class: "bar-name" }, name === null ? "null" : String(name)),
      h("progress", { max: String(most), value: Math.abs(value), "aria-hidden": "true" }),
      h("span", { class: "bar-value" }, value.toLocaleString("en"))))),
    rows.length > MOST ? h("p", { class: "soft" }, `The first ${MOST} of ${rows.length} rows.`) : null);
}

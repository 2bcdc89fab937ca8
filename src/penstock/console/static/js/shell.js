// The frame around all pages: name, navigation, theme, user.

import { post } from "./api.js";
import { banner } from "./banner.js";
import { h, put, svg } from "./dom.js";

const ICONS = {
  overview: "M3 13h4l3-8 4 14 3-6h4",
  topics: "M4 6h16M4 12h16M4 18h10",
  groups: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20a6.5 6.5 0 0 1 13 0M16 4.6a3.5 3.5 0 0 1 0 6.3M17.5 14.6a6.5 6.5 0 0 1 4 5.4",
  brokers: "M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01",
  mirrors: "M12 3v18M9 8L4 12l5 4zM15 8l5 4-5 4z",
  acls: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 12l2 2 4-4",
  sql: "M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3ZM4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  pipelines: "M4 6h5a3 3 0 0 1 3 3v6a3 3 0 0 0 3 3h5M17 15l3 3-3 3",
};
const SECTIONS = [
  ["overview", "#/", "Overview"],
  ["topics", "#/topics", "Topics"],
  ["groups", "#/groups", "Groups"],
  ["brokers", "#/brokers", "Brokers"],
  ["mirrors", "#/mirrors", "Mirrors"],
  ["acls", "#/acls", "ACLs"],
  ["pipelines", "#/pipelines", "Pipelines"],
  ["sql", "#/sql", "SQL"],
];

export function makeShell(root, session, again, signal) {
  const main = h("main", { id: "main", tabindex: "-1" }, h("p", { class: "soft" }, "Loading…"));
  const links = SECTIONS.map(([section, href, text]) => h("a", { href, "data-section": section }, icon(ICONS[section]), text));
  const theme = h("button", { type: "button", class: "quiet", title: "Light or dark", "aria-label": "Switch between light and dark" }, "◐");
  theme.addEventListener("click", () => window.penstockToggleTheme());
  const logout = session.user
    ? h("button", { type: "button", onclick: async () => { await post("logout").catch(() => {}); again(); } }, "Log out")
    : null;
  put(root, h("div", { class: "shell" },
    h("header", { class: "side" },
      h("a", { class: "brand", href: "#/" }, h("img", { src: "icon.svg", alt: "" }), "Penstock"),
      h("nav", { "aria-label": "Pages" }, links),
      h("div", { class: "side-foot" },
        h("span", { class: "cluster-name" }, session.cluster),
        h("div", { class: "row" }, session.user ? h("span", { class: "mono" }, session.user) : null, logout, theme))),
    h("div", { class: "content" }, banner(signal), main)));
  return main;
}

function icon(path) {
  return svg("svg", { viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": "1.8", "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" }, svg("path", { d: path }));
}

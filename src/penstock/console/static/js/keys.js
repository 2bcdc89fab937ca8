// Keyboard shortcuts on every page: / searches, ? shows help, g and a letter opens a page.

import { h } from "./dom.js";
import { openDialog } from "./dialog.js";

const PLACES = { o: "#/", t: "#/topics", g: "#/groups", b: "#/brokers", a: "#/acls", p: "#/pipelines", s: "#/sql" };
const WAIT_MS = 1200;

const HELP = [
  ["/", "Search on this page"],
  ["↑ ↓ Home End", "Move through the rows of a table"],
  ["Enter", "Open a row"],
  ["Esc", "Close a dialog, leave the search"],
  ["g then o, t, g, b, a, p, s", "Overview, topics, groups, brokers, ACLs, pipelines, SQL"],
  ["d", "Switch between light and dark"],
  ["?", "Show this help"],
];

export function listenForKeys() {
  let lastG = -Infinity;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.timeStamp - lastG < WAIT_MS && PLACES[event.key]) {
      window.location.hash = PLACES[event.key];
      lastG = -Infinity;
    } else if (event.key === "g") lastG = event.timeStamp;
    else if (event.key === "/") focusSearch(event);
    else if (event.key === "d") window.penstockToggleTheme();
    else if (event.key === "?") help();
  });
}

function focusSearch(event) {
  const search = document.querySelector("main input[type=search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
}

function help() {
  openDialog("Keyboard shortcuts", h("dl", { class: "facts" }, HELP.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])));
}

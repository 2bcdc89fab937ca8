// All consumer groups.

import { get } from "../api.js";
import { chip, h } from "../dom.js";
import { every } from "../live.js";
import { address, go } from "../router.js";
import { table } from "../table.js";

const INTERVAL_MS = 5000;

export async function show(_, signal) {
  const search = h("input", { type: "search", class: "grow", placeholder: "Search groups", "aria-label": "Search groups" });
  const list = table([
    { title: "Group", kind: "name", cell: (row) => h("a", { href: address("groups", row.id) }, row.id) },
    { title: "State", cell: (row) => stateChip(row.state) },
    { title: "Protocol", narrow: false, cell: (row) => row.type },
    { title: "Coordinator", kind: "number", narrow: false, cell: (row) => row.coordinator },
  ], { label: "Groups", onOpen: (row) => go("groups", row.id) });
  let groups = [];

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    list.show(groups.filter((row) => row.id.toLowerCase().includes(wanted)), groups.length === 0 ? "No groups yet: they appear when a consumer joins or commits." : "No group matches.");
  }
  async function refresh() {
    groups = (await get("groups", {}, signal)).groups;
    filter();
  }
  search.addEventListener("input", filter);
  await refresh();
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  return {
    title: "Groups",
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("h1", {}, "Groups")),
      h("div", { class: "row" }, search),
      h("section", { class: "card flush" }, list.element)),
  };
}

export function stateChip(state) {
  const kind = { Stable: "good", Empty: "", Dead: "bad" }[state] ?? "warn";
  return chip(state || "unknown", kind);
}

// One group: its members, its lag, and resetting its offsets.

import { get, path, remove } from "../api.js";
import { confirmByName } from "../dialog.js";
import { chip, h, put, stat } from "../dom.js";
import { count } from "../format.js";
import { lagCell, totalLag } from "../lag.js";
import { every } from "../live.js";
import { askReset } from "../reset.js";
import { address, go } from "../router.js";
import { table } from "../table.js";
import { toast } from "../toast.js";
import { stateChip } from "./groups.js";

const INTERVAL_MS = 3000;

export async function show([name], signal) {
  const head = h("div", { class: "stats" });
  const offsets = table([
    { title: "Topic", kind: "name", cell: (row) => h("a", { href: address("topics", row.topic) }, row.topic) },
    { title: "Partition", kind: "number", cell: (row) => row.partition },
    { title: "Offset", kind: "number", cell: (row) => count(row.committed) },
    { title: "End", kind: "number", narrow: false, cell: (row) => count(row.end) },
    { title: "Lag", kind: "number", cell: (row) => lagCell(row.lag) },
    { title: "Member", kind: "name", narrow: false, cell: (row) => row.member ?? h("span", { class: "soft" }, "none") },
  ], { label: `Offsets of ${name}`, empty: "No committed offsets." });
  const members = table([
    { title: "Client", kind: "name", cell: (row) => [row.clientId, row.instanceId ? [" ", chip(row.instanceId)] : null] },
    { title: "Host", cell: (row) => row.host },
    { title: "Assignment", kind: "name", cell: (row) => row.assignment.map((each) => `${each.topic}: ${each.partitions.join(", ")}`).join(" · ") || "nothing" },
    { title: "Member id", kind: "name mono", narrow: false, cell: (row) => row.memberId },
  ], { label: `Members of ${name}`, empty: "No active members." });
  let group;

  async function refresh() {
    group = await get(path`groups/${name}`, {}, signal);
    put(head, stat("State", stateChip(group.state)), stat("Members", count(group.members.length)),
      stat("Lag", totalLag(group)),
      stat("Protocol", group.type), stat("Assignor", group.protocol || "–"));
    offsets.show(group.offsets);
    members.show(group.members);
  }
  await refresh();
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  return {
    title: name,
    element: h("div", { class: "page" },
      h("div", { class: "page-head" },
        h("div", {}, h("div", { class: "crumbs" }, h("a", { href: "#/groups" }, "Groups"), " /"), h("h1", {}, name)),
        h("div", { class: "row" },
          h("button", { onclick: () => askReset(group, refresh) }, "Reset offsets"),
          h("button", { class: "danger", onclick: () => askDelete(name) }, "Delete"))),
      head,
      h("section", { class: "card flush" }, h("h2", {}, "Offsets"), offsets.element),
      h("section", { class: "card flush" }, h("h2", {}, "Members"), members.element)),
  };
}

function askDelete(name) {
  confirmByName(`Delete group ${name}?`, "Its committed offsets are deleted. Consumers that join later start as their auto.offset.reset says.", name, async () => {
    await remove(path`groups/${name}`);
    toast(`Group ${name} was deleted.`);
    go("groups");
  });
}

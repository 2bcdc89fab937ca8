// Brokers with their disks, and the metadata quorum.

import { get } from "../api.js";
import { chip, h, notice, put, stat } from "../dom.js";
import { ago, bytes, count } from "../format.js";
import { every } from "../live.js";
import { address, go } from "../router.js";
import { table } from "../table.js";

const INTERVAL_MS = 5000;

export async function show(_, signal) {
  const head = h("div", { class: "stats" });
  let controller = -1;
  const brokers = table([
    { title: "Broker", cell: (row) => h("a", { href: address("brokers", row.id) }, row.id) },
    { title: "Address", kind: "name mono", cell: (row) => [`${row.host}:${row.port}`, " ", row.id === controller ? chip("controller", "accent") : null, row.answers ? null : chip("no answer", "bad")] },
    { title: "Rack", narrow: false, cell: (row) => row.rack ?? "–" },
    { title: "Leaders", kind: "number", cell: (row) => count(row.leaders) },
    { title: "Replicas", kind: "number", narrow: false, cell: (row) => count(row.replicas) },
    { title: "In sync", kind: "number", narrow: false, cell: (row) => (row.inSync < row.replicas ? chip(count(row.inSync), "warn") : count(row.inSync)) },
    { title: "Data", kind: "number", cell: (row) => (row.logDirs.length ? bytes(sum(row.logDirs, "sizeBytes")) : row.logDirsError ?? "–") },
    { title: "Disk", narrow: false, cell: disks },
  ], { label: "Brokers", onOpen: (row) => go("brokers", row.id) });
  const quorum = h("div");

  async function refresh() {
    const now = await get("brokers", {}, signal);
    controller = now.controller;
    put(head, stat("Cluster", h("span", { class: "mono" }, now.clusterId)), stat("Brokers", count(now.brokers.length)), stat("Controller", count(now.controller)));
    brokers.show(now.brokers);
    put(quorum, quorumView(now.quorum));
  }
  await refresh();
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  return {
    title: "Brokers",
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("h1", {}, "Brokers")),
      head,
      h("section", { class: "card flush" }, brokers.element),
      h("section", { class: "card flush" }, h("h2", {}, "Metadata quorum"), quorum)),
  };
}

const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);

function disks(row) {
  const known = row.logDirs.filter((each) => each.totalBytes > 0);
  if (known.length === 0) return "–";
  const total = sum(known, "totalBytes");
  const used = total - sum(known, "usableBytes");
  const bar = h("i");
  bar.style.width = `${Math.round((100 * used) / total)}%`;
  return [h("span", { class: "meter", role: "img", "aria-label": `${Math.round((100 * used) / total)} percent of the disk used` }, bar), ` ${bytes(total - used)} free`];
}

function quorumView(quorum) {
  if (quorum.error) return h("div", { class: "empty" }, notice(quorum.error, "warn"));
  const list = table([
    { title: "Node", cell: (row) => row.id },
    { title: "Role", cell: (row) => chip(row.role, row.role === "leader" ? "accent" : "") },
    { title: "Log end", kind: "number", cell: (row) => count(row.logEnd) },
    { title: "Lag", kind: "number", cell: (row) => count(row.behind) },
    { title: "Last fetch", narrow: false, cell: (row) => (row.lastFetchMs === null ? "–" : ago(row.lastFetchMs)) },
  ], { label: "Metadata quorum" });
  list.show(quorum.replicas);
  return [h("p", { class: "soft quorum-line" }, `Leader ${quorum.leader} in epoch ${quorum.epoch}, committed up to ${count(quorum.highWatermark)}.`), list.element];
}

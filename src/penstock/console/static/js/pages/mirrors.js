// Mirrors of other clusters, with the lag of each partition.

import { get } from "../api.js";
import { chip, h, notice, put } from "../dom.js";
import { bytes, count } from "../format.js";
import { every } from "../live.js";
import { address } from "../router.js";
import { table } from "../table.js";

const INTERVAL_MS = 2000;
const KINDS = { running: "good", promoted: "accent", paused: "warn" };

export async function show(_, signal) {
  const list = h("div");
  async function refresh() {
    const { mirrors } = await get("mirrors", {}, signal);
    put(list, mirrors.length ? mirrors.map(card) : h("p", { class: "soft" }, "No mirrors. Create one with penstock mirror create."));
  }
  await refresh();
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  return { title: "Mirrors", element: h("div", { class: "page" }, h("div", { class: "page-head" }, h("h1", {}, "Mirrors")), list) };
}

function card(mirror) {
  const partitions = table([
    { title: "Topic", kind: "name mono", cell: (row) => h("a", { href: address("topics", row.topic) }, row.topic) },
    { title: "Partition", kind: "number", cell: (row) => count(row.partition) },
    { title: "Leader", kind: "number", narrow: false, cell: (row) => count(row.leader) },
    { title: "End", kind: "number", cell: (row) => count(row.end) },
    { title: "Source", kind: "number", narrow: false, cell: (row) => (row.source === null ? "–" : count(row.source)) },
    { title: "Lag", kind: "number", cell: (row) => (row.lag === null ? "–" : row.trouble ? chip(count(row.lag), "bad") : count(row.lag)) },
  ], { label: `Partitions of ${mirror.name}` });
  partitions.show(mirror.partitions);
  const lag = mirror.lag === null ? "lag unknown" : `${count(mirror.lag)} behind`;
  return h("section", { class: "card flush" },
    h("h2", {}, mirror.name, " ", chip(mirror.state, KINDS[mirror.state] ?? "")),
    h("p", { class: "soft quorum-line" }, `From ${mirror.servers}, ${lag}, ${bytes(mirror.copiedBytes)} copied.`),
    mirror.failures.map((each) => h("div", { class: "empty" }, notice(each, "bad"))),
    partitions.element);
}

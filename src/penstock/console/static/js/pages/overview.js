// The state of the cluster: counts, live throughput, the busiest topics.

import { get } from "../api.js";
import { chart } from "../chart.js";
import { h, put, stat } from "../dom.js";
import { bytes, count, short } from "../format.js";
import { every } from "../live.js";
import { address, go } from "../router.js";
import { table } from "../table.js";

const INTERVAL_MS = 2000;
const BUSIEST = 8;

export async function show(_, signal) {
  const stats = h("div", { class: "stats" });
  const messages = chart("Messages in", { kind: "one", format: (value) => `${short(value)}/s` });
  const volume = chart("Bytes in", { kind: "two", format: (value) => `${bytes(value)}/s` });
  const busiest = table([
    { title: "Topic", kind: "name", cell: (row) => h("a", { href: address("topics", row.name) }, row.name) },
    { title: "Messages/s", kind: "number", cell: (row) => short(row.rate) },
    { title: "Bytes/s", kind: "number", cell: (row) => bytes(row.bytesRate) },
    { title: "Written", kind: "number", narrow: false, cell: (row) => count(row.written) },
    { title: "Size", kind: "number", narrow: false, cell: (row) => bytes(row.sizeBytes) },
  ], { label: "Busiest topics", onOpen: (row) => go("topics", row.name), empty: "No topics yet." });
  const state = { last: null };

  async function turn() {
    const now = await get("overview", {}, signal);
    put(stats, ...figures(now));
    const rates = ratesBetween(state.last, now);
    state.last = now;
    if (rates) {
      messages.push(rates.reduce((sum, row) => sum + row.rate, 0));
      volume.push(rates.reduce((sum, row) => sum + row.bytesRate, 0));
    }
    const rows = rates ?? now.topics.map((topic) => ({ ...facts(topic), rate: 0, bytesRate: 0 }));
    busiest.show(rows.sort((a, b) => b.rate - a.rate || b.written - a.written).slice(0, BUSIEST));
  }

  await turn();
  setTimeout(() => every(signal, INTERVAL_MS, turn), INTERVAL_MS / 2);
  return {
    title: "Overview",
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("h1", {}, "Overview"), h("span", { class: "live" }, "live")),
      stats,
      h("div", { class: "split" }, messages.element, volume.element),
      h("section", { class: "card flush" }, h("h2", {}, "Busiest topics"), busiest.element)),
  };
}

function figures(now) {
  return [
    stat("Brokers", count(now.brokers)),
    stat("Topics", count(now.topicCount)),
    stat("Partitions", count(now.partitions)),
    stat("Under-replicated", count(now.underReplicated), now.underReplicated > 0),
    stat("Offline partitions", count(now.offline), now.offline > 0),
    stat("Groups", count(now.groups)),
    stat("Data", bytes(now.sizeBytes)),
  ];
}

// Messages are counted by log end offsets, bytes by log sizes. Retention does not count as traffic, nor does a partition
// that is missing from the previous response.
export function ratesBetween(before, now) {
  if (!before || now.atMs <= before.atMs) return null;
  const seconds = (now.atMs - before.atMs) / 1000;
  const known = new Map(before.topics.map((topic) => [topic.name, topic]));
  return now.topics.map((topic) => {
    const last = known.get(topic.name);
    return {
      ...facts(topic),
      rate: last ? growth(last.ends, topic.ends) / seconds : 0,
      bytesRate: last ? growth(last.sizes, topic.sizes) / seconds : 0,
    };
  });
}

const facts = (topic) => ({ name: topic.name, written: sum(topic.ends), sizeBytes: sum(topic.sizes) });
const sum = (numbers) => numbers.reduce((total, number) => total + (number ?? 0), 0);

function growth(before, now) {
  return now.reduce((total, number, index) => {
    const last = before[index] ?? null;
    return number === null || last === null ? total : total + Math.max(0, number - last);
  }, 0);
}

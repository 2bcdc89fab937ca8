// Pipelines: the progress of their queries, and how many records they rejected.

import { get } from "../api.js";
import { chip, h, put } from "../dom.js";
import { count, plural } from "../format.js";
import { lagCell } from "../lag.js";
import { every } from "../live.js";
import { address } from "../router.js";
import { table } from "../table.js";

const INTERVAL_MS = 3000;

export async function show(_, signal) {
  const place = h("div", { class: "page" });
  async function refresh() {
    const { pipelines } = await get("pipelines", {}, signal);
    put(place, pipelines.length ? pipelines.map(card) : h("div", { class: "card empty" },
      "No pipeline has read from this cluster yet. ", h("code", {}, "penstock pipeline run FILE"), " starts one."));
  }
  await refresh();
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  return { title: "Pipelines", element: h("div", { class: "page" }, h("div", { class: "page-head" }, h("h1", {}, "Pipelines")), place) };
}

function card(pipeline) {
  const rejected = pipeline.deadLetters?.count ?? 0;
  const bound = pipeline.deadLetters && !pipeline.deadLetters.isExact ? "at most " : "";
  return h("section", { class: "card flush" },
    h("div", { class: "card-head" },
      h("h2", {}, h("a", { href: address("pipelines", pipeline.name) }, pipeline.name)),
      h("div", { class: "row" }, runChip(pipeline.status), chip(bound + plural(rejected, "dead letter", "dead letters"), rejected ? "warn" : "good"))),
    queryTable(pipeline).element);
}

export function runChip(status) {
  if (!status) return null;
  if (status.running) return chip("running", "good");
  return chip(status.exit_code === 0 ? "ended" : status.ended_ms === null ? "died" : `failed (${status.exit_code})`, status.exit_code === 0 ? "" : "bad");
}

export function queryTable(pipeline) {
  const statuses = new Map((pipeline.status?.queries ?? []).map((query) => [query.name, query]));
  const list = table([
    { title: "Query", kind: "name", cell: (row) => [row.name, " ", statuses.get(row.name) ? chip(statuses.get(row.name).state) : null] },
    { title: "Reads", kind: "name", narrow: false, cell: (row) => row.topics.join(", ") },
    { title: "Progress", cell: progress },
    { title: "Lag", kind: "number", cell: (row) => lagCell(row.lag) },
    { title: "Rows/s", kind: "number", narrow: false, cell: (row) => count(Math.round(statuses.get(row.name)?.processed_rows_per_second ?? 0)) },
    { title: "Group", kind: "name mono", narrow: false, cell: (row) => h("a", { href: address("groups", row.group) }, row.group) },
  ], { label: `Queries of ${pipeline.name}`, empty: "No query has committed yet." });
  list.show(pipeline.queries);
  return list;
}

function progress(row) {
  if (row.lag === null) return "unknown";
  const part = row.total > 0 ? Math.min(1, (row.total - row.lag) / row.total) : 1;
  const bar = h("i");
  bar.style.width = `${Math.round(100 * part)}%`;
  return [h("span", { class: "meter", role: "img", "aria-label": `${Math.round(100 * part)} percent read` }, bar), ` ${Math.floor(100 * part)} %`];
}

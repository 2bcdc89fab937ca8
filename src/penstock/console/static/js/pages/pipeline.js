// One pipeline: its queries, the status of its last run, and the records that it rejected.

import { get, path } from "../api.js";
import { h, notice } from "../dom.js";
import { ago, count, time } from "../format.js";
import { openRecord } from "../record_dialog.js";
import { preview } from "../record_table.js";
import { address } from "../router.js";
import { table } from "../table.js";
import { toast } from "../toast.js";
import { queryTable, runChip } from "./pipelines.js";

export async function show([name], signal) {
  const { pipelines } = await get("pipelines", {}, signal);
  const pipeline = pipelines.find((each) => each.name === name) ?? { name, queries: [], deadLetters: null, status: null };
  const rejected = pipeline.deadLetters ? await get(path`pipelines/${name}/dead-letters`, {}, signal) : null;
  return {
    title: name,
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("div", {}, h("div", { class: "crumbs" }, h("a", { href: "#/pipelines" }, "Pipelines"), " /"), h("h1", {}, name, " ", runChip(pipeline.status)))),
      pipeline.status ? runFacts(pipeline.status) : null,
      h("section", { class: "card flush" }, h("h2", {}, "Queries"), queryTable(pipeline).element),
      h("section", { class: "card flush" }, h("h2", {}, "Dead letters"), rejected ? rejectedTable(rejected) : h("div", { class: "empty" }, "No record was rejected."))),
  };
}

function runFacts(status) {
  const failed = status.queries.filter((query) => query.last_error);
  return h("section", { class: "card" }, h("h2", {}, "Last run"),
    h("dl", { class: "facts" },
      h("dt", {}, "File"), h("dd", { class: "mono" }, status.file),
      h("dt", {}, "Process"), h("dd", {}, `${status.pid}, started ${time(status.started_ms)}, last update ${ago(status.updated_ms)}`),
      h("dt", {}, "Rows"), h("dd", {}, count(status.queries.reduce((sum, query) => sum + query.rows, 0)))),
    failed.map((query) => notice(`${query.name}: ${query.last_error}`, "bad")));
}

function rejectedTable({ topic, records }) {
  const list = table([
    { title: "Time", kind: "time", narrow: false, cell: (row) => time(row.timestampMs) },
    { title: "Step", cell: (row) => row.step ?? "–" },
    { title: "Reason", kind: "name", cell: (row) => row.error ?? "not a dead letter" },
    { title: "From", narrow: false, cell: (row) => (row.origin ? h("a", { href: address("topics", row.origin.topic) }, `${row.origin.topic}-${row.origin.partition} @ ${row.origin.offset}`) : "–") },
    { title: "Value", kind: "key mono", cell: (row) => preview(row.value) },
  ], { label: "Dead letters", onOpen: (row) => openRecord(topic, row.partition, row.offset).catch((error) => toast(error.message, "bad")), empty: "The dead-letter topic is empty." });
  list.show(records);
  return list.element;
}

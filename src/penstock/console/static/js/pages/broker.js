// One broker: its log directories and its settings.

import { get, path } from "../api.js";
import { configTable } from "../config_table.js";
import { h, notice } from "../dom.js";
import { bytes, count } from "../format.js";
import { table } from "../table.js";

export async function show([id], signal) {
  const all = await get("brokers", {}, signal);
  const broker = all.brokers.find((each) => String(each.id) === id);
  const directories = table([
    { title: "Directory", kind: "name mono", cell: (row) => row.path },
    { title: "Partitions", kind: "number", cell: (row) => count(row.partitions) },
    { title: "Data", kind: "number", cell: (row) => bytes(row.sizeBytes) },
    { title: "Free", kind: "number", narrow: false, cell: (row) => bytes(row.usableBytes) },
    { title: "Disk", kind: "number", narrow: false, cell: (row) => bytes(row.totalBytes) },
  ], { label: "Log directories", empty: broker?.logDirsError ?? "The broker did not respond." });
  directories.show(broker?.logDirs ?? []);
  return {
    title: `Broker ${id}`,
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("div", {}, h("div", { class: "crumbs" }, h("a", { href: "#/brokers" }, "Brokers"), " /"), h("h1", {}, `Broker ${id}`))),
      broker ? null : notice(`Broker ${id} is not in the cluster now.`, "warn"),
      h("section", { class: "card flush" }, h("h2", {}, "Log directories"), directories.element),
      await configTable(path`brokers/${id}/config`, `Configuration of broker ${id}`, signal)),
  };
}

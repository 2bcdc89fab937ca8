// The partitions of a topic: leader, replicas, offsets, size. Partitions can be added.

import { path, post } from "../api.js";
import { openForm } from "../dialog.js";
import { chip, field, h } from "../dom.js";
import { bytes, count } from "../format.js";
import { go } from "../router.js";
import { table } from "../table.js";
import { toast } from "../toast.js";

export async function show(topic) {
  const list = table([
    { title: "Partition", cell: (row) => row.index },
    { title: "Leader", kind: "number", cell: (row) => (row.leader < 0 ? chip("none", "bad") : row.leader) },
    { title: "Replicas", cell: (row) => row.replicas.join(", ") },
    { title: "In sync", cell: (row) => (row.isr.length < row.replicas.length ? chip(row.isr.join(", "), "warn") : row.isr.join(", ")) },
    { title: "Epoch", kind: "number", narrow: false, cell: (row) => row.epoch },
    { title: "First offset", kind: "number", narrow: false, cell: (row) => count(row.start) },
    { title: "End offset", kind: "number", cell: (row) => count(row.end) },
    { title: "Messages", kind: "number", narrow: false, cell: (row) => count(row.end === null ? null : row.end - row.start) },
    { title: "Size", kind: "number", cell: (row) => bytes(row.sizeBytes) },
  ], { label: `Partitions of ${topic.name}` });
  list.show(topic.partitions);
  return h("div", { class: "page" },
    h("div", { class: "row end" }, h("button", { onclick: () => askMore(topic) }, "Add partitions")),
    h("section", { class: "card flush" }, list.element));
}

function askMore(topic) {
  const total = h("input", { type: "number", min: topic.partitions.length + 1, value: topic.partitions.length + 1 });
  openForm("Add partitions", [
    h("p", {}, "New messages of a key may go to another partition than its old ones. Partitions cannot be removed."),
    field(`Total partitions (now ${topic.partitions.length})`, total),
  ], {
    button: "Add",
    submit: async () => {
      await post(path`topics/${topic.name}/partitions`, { count: Number(total.value) });
      toast(`${topic.name} has ${total.value} partitions.`);
      go("topics", topic.name, "messages");
      go("topics", topic.name, "partitions");
    },
  });
}

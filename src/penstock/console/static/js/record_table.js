// Messages in rows; Enter or a click opens one.

import { h } from "./dom.js";
import { fromBase64, oneLine, time } from "./format.js";
import { openRecord } from "./record_dialog.js";
import { table } from "./table.js";
import { toast } from "./toast.js";

export function recordTable(topic, label) {
  return table([
    { title: "Partition", kind: "number", cell: (row) => row.partition },
    { title: "Offset", kind: "number", cell: (row) => row.offset },
    { title: "Time", kind: "time", narrow: false, cell: (row) => time(row.timestampMs) },
    { title: "Key", kind: "key mono", cell: (row) => preview(row.key) },
    { title: "Value", kind: "clip mono", cell: (row) => preview(row.value) },
  ], {
    label,
    onOpen: (row) => openRecord(topic, row.partition, row.offset).catch((error) => toast(error.message, "bad")),
    empty: "No messages.",
  });
}

export function preview(part) {
  if (part === null) return h("span", { class: "null" }, "null");
  const line = oneLine(fromBase64(part.data)).slice(0, 400);
  return line === "" ? h("span", { class: "null" }, "empty") : line;
}

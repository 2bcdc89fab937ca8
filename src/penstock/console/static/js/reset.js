// The dialog that resets a group's offsets: a dry run first, which shows old and new offsets.

import { path, post } from "./api.js";
import { openForm } from "./dialog.js";
import { field, h, notice, put, select } from "./dom.js";
import { count } from "./format.js";
import { table } from "./table.js";
import { toast } from "./toast.js";

const WHERE = [["earliest", "Earliest"], ["latest", "Latest"], ["time", "Time"], ["offset", "Offset"]];

export function askReset(group, done) {
  const topics = [...new Set(group.offsets.map((row) => row.topic))];
  const known = h("datalist", { id: "reset-topics" }, topics.map((name) => h("option", { value: name })));
  const topic = h("input", { value: topics[0] ?? "", list: "reset-topics", autocomplete: "off" });
  const partitions = h("input", { placeholder: "all", autocomplete: "off" });
  const to = select(WHERE, "earliest");
  const moment = h("input", { type: "datetime-local", step: 1, "aria-label": "Time", hidden: true });
  const offset = h("input", { type: "number", min: 0, value: "0", "aria-label": "Offset", hidden: true });
  const preview = h("div");
  let isPreviewed = false;

  function changed() {
    isPreviewed = false;
    moment.hidden = to.value !== "time";
    offset.hidden = to.value !== "offset";
    put(preview);
    dialog.querySelector("button[type=submit]").textContent = "Preview";
  }

  const dialog = openForm(`Reset ${group.id}`, [
    h("div", { class: "fields" }, field("Topic", topic), field("Partitions", partitions, "Numbers with commas; empty for all.")),
    h("div", { class: "fields" }, field("To", to), moment, offset), known, preview,
  ], {
    button: "Preview",
    wide: true,
    submit: async () => {
      const answer = await post(path`groups/${group.id}/reset`, {
        topic: topic.value.trim(),
        partitions: partitions.value.trim() === "" ? null : numbers(partitions.value),
        to: to.value,
        number: to.value === "time" ? momentOf(moment.value) : Number(offset.value),
        dryRun: !isPreviewed,
      });
      if (isPreviewed) {
        toast(`Group ${group.id} was reset.`);
        await done();
        return "done";
      }
      isPreviewed = true;
      put(preview, movesTable(answer.moves), notice("This was a dry run. Press “Reset offsets” to apply it."));
      dialog.querySelector("button[type=submit]").textContent = "Reset offsets";
      return "stay";
    },
  });
  for (const each of [topic, partitions, to, moment, offset]) each.addEventListener("input", changed);
}

function movesTable(moves) {
  const list = table([
    { title: "Topic", kind: "name", cell: (row) => row.topic },
    { title: "Partition", kind: "number", cell: (row) => row.partition },
    { title: "Now", kind: "number", cell: (row) => count(row.old) },
    { title: "New", kind: "number", cell: (row) => count(row.new) },
  ], { label: "New offsets" });
  list.show(moves);
  return list.element;
}

function numbers(text) {
  const found = text.split(",").map((part) => part.trim());
  if (!found.every((part) => /^\d+$/.test(part))) throw new Error("Partitions are numbers, separated by commas.");
  return found.map(Number);
}

function momentOf(text) {
  const time = new Date(text).getTime();
  if (Number.isNaN(time)) throw new Error("Choose a time.");
  return time;
}

// All topics: searched, created, deleted.

import { get, path, post, remove } from "../api.js";
import { confirmByName, openForm } from "../dialog.js";
import { chip, field, h } from "../dom.js";
import { bytes, count } from "../format.js";
import { every } from "../live.js";
import { address, go } from "../router.js";
import { table } from "../table.js";
import { toast } from "../toast.js";

const INTERVAL_MS = 5000;

export async function show(_, signal) {
  const search = h("input", { type: "search", class: "grow", placeholder: "Search topics", "aria-label": "Search topics" });
  const internal = h("input", { type: "checkbox" });
  const list = table([
    { title: "Topic", kind: "name", cell: (row) => [h("a", { href: address("topics", row.name) }, row.name), " ", row.internal ? chip("internal") : null] },
    { title: "Partitions", kind: "number", cell: (row) => count(row.partitions) },
    { title: "Replicas", kind: "number", narrow: false, cell: (row) => count(row.replicas) },
    { title: "Messages", kind: "number", cell: (row) => count(row.messages) },
    { title: "Size", kind: "number", cell: (row) => bytes(row.sizeBytes) },
    { title: "State", narrow: false, cell: health },
    { title: "", kind: "actions", narrow: false, cell: (row) => h("button", { class: "quiet danger", "aria-label": `Delete ${row.name}`, onclick: () => askDelete(row.name, refresh) }, "Delete") },
  ], { label: "Topics", onOpen: (row) => go("topics", row.name) });
  let topics = [];

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    const rows = topics.filter((row) => (internal.checked || !row.internal) && row.name.toLowerCase().includes(wanted));
    list.show(rows, topics.length === 0 ? "No topics yet. Create the first one." : "No topic matches.");
  }
  async function refresh() {
    topics = (await get("topics", {}, signal)).topics;
    filter();
  }
  search.addEventListener("input", filter);
  internal.addEventListener("change", filter);
  await refresh();
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  const create = h("button", { class: "primary", onclick: () => askCreate() }, "Create topic");
  return {
    title: "Topics",
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("h1", {}, "Topics"), create),
      h("div", { class: "row" }, search, h("label", { class: "row" }, internal, "internal")),
      h("section", { class: "card flush" }, list.element)),
  };
}

function health(row) {
  if (row.error) return chip(row.error, "bad");
  if (row.offline > 0) return chip(`${row.offline} without leader`, "bad");
  if (row.underReplicated > 0) return chip(`${row.underReplicated} under-replicated`, "warn");
  return chip("in sync", "good");
}

function askCreate() {
  const name = h("input", { autocomplete: "off", spellcheck: "false" });
  const partitions = h("input", { type: "number", min: 1, placeholder: "broker's default" });
  const replicas = h("input", { type: "number", min: 1, placeholder: "broker's default" });
  const configs = h("textarea", { spellcheck: "false", placeholder: "cleanup.policy=compact\nretention.ms=86400000" });
  openForm("Create topic", [
    field("Name", name),
    h("div", { class: "fields" }, field("Partitions", partitions), field("Replicas", replicas)),
    field("Configuration", configs, "One name=value per line; leave empty for the defaults."),
  ], {
    button: "Create",
    submit: async () => {
      const wanted = name.value.trim();
      await post("topics", {
        name: wanted,
        partitions: partitions.value ? Number(partitions.value) : -1,
        replicas: replicas.value ? Number(replicas.value) : -1,
        configs: pairs(configs.value),
      });
      toast(`Topic ${wanted} was created.`);
      go("topics", wanted);
    },
  });
}

function pairs(text) {
  const found = {};
  for (const line of text.split("\n").map((each) => each.trim()).filter(Boolean)) {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`“${line}” is not a setting: write name=value.`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}

export function askDelete(name, done) {
  confirmByName(`Delete ${name}?`, "The topic and every message in it are deleted. This cannot be undone.", name, async () => {
    await remove(path`topics/${name}`);
    toast(`Topic ${name} was deleted.`);
    await done();
  });
}

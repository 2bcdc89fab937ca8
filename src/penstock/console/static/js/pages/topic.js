// One topic: its messages, its partitions, its configuration.

import { get, path } from "../api.js";
import { chip, h, put, stat } from "../dom.js";
import { bytes, count } from "../format.js";
import { every } from "../live.js";
import { address, go } from "../router.js";
import { askDelete } from "./topics.js";
import { askProduce } from "../produce.js";

const INTERVAL_MS = 5000;
const TABS = [["messages", "Messages", () => import("./topic_messages.js")],
  ["partitions", "Partitions", () => import("./topic_partitions.js")],
  ["config", "Configuration", () => import("./topic_config.js")]];

export async function show([name, tab = "messages"], signal) {
  const topic = await get(path`topics/${name}`, {}, signal);
  const [, , load] = TABS.find(([key]) => key === tab);
  const content = await (await load()).show(topic, signal);
  const head = put(h("div", { class: "stats" }), figures(topic));
  const refresh = async () => put(head, figures(await get(path`topics/${name}`, {}, signal)));
  setTimeout(() => every(signal, INTERVAL_MS, refresh), INTERVAL_MS);
  return {
    title: name,
    element: h("div", { class: "page" },
      h("div", { class: "page-head" },
        h("div", {}, h("div", { class: "crumbs" }, h("a", { href: "#/topics" }, "Topics"), " /"),
          h("h1", {}, name, " ", topic.internal ? chip("internal") : null)),
        h("div", { class: "row" },
          h("button", { class: "primary", onclick: () => askProduce(topic) }, "Produce message"),
          h("button", { class: "danger", onclick: () => askDelete(name, () => go("topics")) }, "Delete"))),
      head,
      h("nav", { class: "tabs", "aria-label": "Parts of the topic" },
        TABS.map(([key, text]) => h("a", { href: address("topics", name, key), "aria-current": key === tab ? "page" : null }, text))),
      content),
  };
}

function figures(topic) {
  const messages = topic.partitions.reduce((sum, each) => sum + (each.end ?? 0) - (each.start ?? 0), 0);
  const behind = topic.partitions.filter((each) => each.isr.length < each.replicas.length).length;
  const sizes = topic.partitions.map((each) => each.sizeBytes).filter((size) => size !== null);
  return [
    stat("Partitions", count(topic.partitions.length)),
    stat("Messages", count(messages)),
    stat("Size", sizes.length ? bytes(sizes.reduce((sum, size) => sum + size, 0)) : "–"),
    stat("Under-replicated", count(behind), behind > 0),
  ];
}

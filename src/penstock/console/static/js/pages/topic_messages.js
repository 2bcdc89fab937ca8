// The messages of a topic: browsed by offset or time, searched, or followed live.

import { events, get, path } from "../api.js";
import { h, notice, put, select } from "../dom.js";
import { count } from "../format.js";
import { recordTable } from "../record_table.js";

const TAIL_ROWS = 500;
const FROM = [["newest", "Newest"], ["oldest", "Oldest"], ["offset", "From offset"], ["time", "From time"]];
const FIELDS = [["any", "key or value"], ["key", "key"], ["value", "value"]];

export async function show(topic, signal) {
  const partition = select([["all", "all partitions"], ...topic.partitions.map((each) => [String(each.index), `partition ${each.index}`])], "all", { "aria-label": "Partition" });
  const from = select(FROM, "newest", { "aria-label": "Where to begin" });
  const offset = h("input", { type: "number", min: 0, value: "0", "aria-label": "Offset", hidden: true });
  const moment = h("input", { type: "datetime-local", step: 1, "aria-label": "Time", hidden: true });
  const search = h("input", { type: "search", class: "grow", placeholder: "Search messages", "aria-label": "Search messages" });
  const searchIn = select(FIELDS, "any", { "aria-label": "Search in" });
  const follow = h("button", { type: "button", "aria-pressed": "false" }, "Live tail");
  const status = h("div", { class: "row", role: "status" });
  const list = recordTable(topic.name, `Messages of ${topic.name}`);
  const more = h("button", { type: "button", hidden: true }, "More");
  let running = new AbortController();
  let cursor = null;
  signal.addEventListener("abort", () => running.abort());

  function restart() {
    running.abort();
    running = new AbortController();
    follow.setAttribute("aria-pressed", "false");
    more.hidden = true;
    put(status);
    return running.signal;
  }

  function query() {
    return {
      partition: partition.value,
      from: from.value,
      offset: from.value === "offset" ? offset.value : undefined,
      time: from.value === "time" ? new Date(moment.value).getTime() : undefined,
    };
  }

  async function browse(isMore = false) {
    const at = isMore ? cursor : undefined;
    const aborted = restart();
    try {
      const answer = await get(path`topics/${topic.name}/messages`, { ...query(), cursor: at }, aborted);
      if (isMore) list.addLast(answer.records);
      else list.show(answer.records);
      cursor = answer.cursor;
      more.hidden = cursor === null;
      more.textContent = from.value === "newest" ? "Older" : "Newer";
    } catch (error) {
      if (error.name !== "AbortError") put(status, notice(error.message, "bad"));
    }
  }

  function scan() {
    const text = search.value;
    if (text === "") { browse(); return; }
    const aborted = restart();
    const bar = h("progress", { max: 1, value: 0 });
    const words = h("span", {}, "Searching…");
    const cancel = h("button", { type: "button", onclick: () => { running.abort(); finish("Cancelled"); } }, "Cancel");
    let last = { scanned: 0, matches: 0 };
    list.show([], "No match so far.");
    put(status, bar, words, cancel);
    function finish(how) {
      put(status, h("span", {}, `${how}: ${count(last.matches)} of ${count(last.scanned)} messages match.`));
      if (list.length === 0) list.show([], "No message matches.");
    }
    events(path`topics/${topic.name}/search`, { ...query(), text, field: searchIn.value }, {
      match: (records) => list.addLast(records),
      progress: (now) => {
        last = now;
        bar.value = now.total > 0 ? now.scanned / now.total : 1;
        words.textContent = `${count(now.scanned)} of about ${count(now.total)} searched, ${count(now.matches)} found`;
      },
      done: (end) => { last = end; finish(end.reason); },
      refused: (problem) => put(status, notice(problem.message, "bad")),
      lost: () => finish("The connection was lost"),
    }, aborted);
  }

  function tail() {
    if (follow.getAttribute("aria-pressed") === "true") { browse(); return; }
    const aborted = restart();
    follow.setAttribute("aria-pressed", "true");
    list.show([], "Waiting for messages…");
    let seen = 0;
    const words = h("span", { class: "soft" }, "connecting…");
    const live = h("span", { class: "live" }, "live");
    put(status, live, words);
    events(path`topics/${topic.name}/tail`, { partition: partition.value }, {
      begun: () => { words.textContent = "waiting for messages"; status.dataset.tail = "open"; },
      records: ({ records, skipped }) => {
        seen += records.length + skipped;
        list.addFirst(records, TAIL_ROWS);
        words.textContent = `${count(seen)} arrived${skipped ? "; too many to show them all" : ""}`;
      },
      refused: (problem) => put(status, notice(problem.message, "bad")),
      lost: () => { put(status, notice("The live tail was disconnected. Start it again.", "warn")); follow.setAttribute("aria-pressed", "false"); },
    }, aborted);
  }

  function place() {
    offset.hidden = from.value !== "offset";
    moment.hidden = from.value !== "time";
    if (from.value === "time" && !moment.value) moment.value = localNow();
    browse();
  }

  from.addEventListener("change", place);
  for (const each of [partition, offset, moment]) each.addEventListener("change", () => browse());
  follow.addEventListener("click", tail);
  window.addEventListener("penstock-produced", () => {
    if (follow.getAttribute("aria-pressed") === "false" && search.value === "") browse();
  }, { signal });
  more.addEventListener("click", () => browse(true));
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") scan(); });
  search.addEventListener("search", () => { if (search.value === "") browse(); });
  const refresh = h("button", { type: "button", onclick: () => browse() }, "Refresh");
  await browse();
  return h("div", { class: "page" },
    h("div", { class: "row" }, partition, from, offset, moment, refresh, follow),
    h("form", { class: "row", role: "search", onsubmit: (event) => event.preventDefault() }, search, searchIn, h("button", { type: "button", onclick: scan }, "Search")),
    status,
    h("section", { class: "card flush" }, list.element),
    h("div", { class: "row" }, more));
}

function localNow() {
  const now = new Date(Date.now() - 3600_000);
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

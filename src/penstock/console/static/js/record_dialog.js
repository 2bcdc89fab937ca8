// One message: key and value as JSON, text, hex or Avro, and its headers.

import { get, path, post } from "./api.js";
import { openDialog } from "./dialog.js";
import { h, notice, put } from "./dom.js";
import { bytes, fromBase64, hexDump, oneLine, time, utc, utf8 } from "./format.js";
import { jsonView, parseJson } from "./json_view.js";

const VIEWS = ["JSON", "Text", "Hex", "Avro"];

export async function openRecord(topic, partition, offset) {
  const where = path`topics/${topic}/records/${partition}/${offset}`;
  const { record } = await get(where);
  const state = { part: "value", view: firstView(record.value) };
  const place = h("div");
  const choose = h("div", { class: "row" });

  function button(group, name, text) {
    const isOn = state[group] === name;
    return h("button", { type: "button", "aria-pressed": String(isOn), onclick: () => { state[group] = name; draw(); choose.querySelector(`[data-name="${name}"]`).focus(); }, "data-name": name }, text);
  }
  function draw() {
    put(choose, button("part", "value", "Value"), button("part", "key", "Key"), h("span", { class: "grow" }), VIEWS.map((name) => button("view", name, name)));
    put(place, viewOf(record[state.part], state.view, where, topic, state.part));
  }
  draw();
  openDialog(`${topic} · partition ${partition} · offset ${offset}`, h("div", { class: "page" },
    h("dl", { class: "facts" },
      h("dt", {}, "Time"), h("dd", {}, time(record.timestampMs), " ", h("span", { class: "soft" }, utc(record.timestampMs))),
      h("dt", {}, "Sizes"), h("dd", {}, `key ${sizeOf(record.key)}, value ${sizeOf(record.value)}`)),
    choose, place, headers(record.headers)), { wide: true });
}

const sizeOf = (part) => (part === null ? "null" : bytes(part.size));

function firstView(part) {
  const text = part === null ? null : utf8(fromBase64(part.data));
  if (text === null) return part === null ? "Text" : part.avro ? "Avro" : "Hex";
  return isJson(text) ? "JSON" : "Text";
}

function isJson(text) {
  if (!/^\s*[[{]/.test(text)) return false;
  try { JSON.parse(text); return true; } catch { return false; }
}

function viewOf(part, view, where, topic, which) {
  if (part === null) return h("div", { class: "payload null" }, "null");
  const data = fromBase64(part.data);
  const cut = part.size > data.length ? notice(`Only the first ${bytes(data.length)} of ${bytes(part.size)} are shown.`, "warn") : null;
  if (view === "Hex") return h("div", {}, h("pre", { class: "payload hex", tabindex: "0" }, hexDump(data) || "(empty)"), cut);
  if (view === "Avro") return avroView(part, where, topic, which);
  const text = utf8(data);
  if (text === null) return notice("These bytes are not UTF-8 text: use the hex view.");
  if (view === "Text") return h("div", {}, h("pre", { class: "payload", tabindex: "0" }, text || "(empty)"), cut);
  try {
    return h("div", {}, h("pre", { class: "payload", tabindex: "0" }, jsonView(parseJson(text))), cut);
  } catch (error) {
    return notice(`Not JSON: ${error.message}`);
  }
}

// Schemas are kept for the session of the browser tab, one a topic: the next message is likely to have the same.
function avroView(part, where, topic, which) {
  const key = `penstock-avro:${topic}:${which}`;
  const schema = h("textarea", { "aria-label": "Avro schema", placeholder: '{"type": "record", "name": "Order", "fields": […]}', spellcheck: "false", value: sessionStorage.getItem(key) ?? "" });
  const result = h("div");
  const decode = h("button", { type: "button", class: "primary", onclick: run }, "Decode");
  const about = part.avro?.kind === "container"
    ? "An Avro object container: it carries its schema."
    : part.avro?.kind === "framed" ? `Confluent framing with schema id ${part.avro.schemaId}. Paste that schema to decode it.` : "No framing detected. Paste the schema that the value was written with.";

  async function run() {
    sessionStorage.setItem(key, schema.value);
    try {
      const answer = await post(`${where}/avro`, { part: which, schema: schema.value });
      put(result, h("pre", { class: "payload", tabindex: "0" }, jsonView(answer.decoded)));
    } catch (error) {
      put(result, notice(error.message, "bad"));
    }
  }
  if (part.avro?.kind === "container" || (schema.value && part.avro)) run();
  return h("div", { class: "page" }, h("p", { class: "soft" }, about), part.avro?.kind === "container" ? null : schema, h("div", { class: "row" }, decode), result);
}

function headers(list) {
  if (list.length === 0) return h("p", { class: "soft" }, "No headers.");
  return h("dl", { class: "facts" }, list.map(({ name, value }) => [
    h("dt", { class: "mono" }, name),
    h("dd", { class: "mono" }, value === null ? h("span", { class: "null" }, "null") : oneLine(fromBase64(value.data)))]));
}

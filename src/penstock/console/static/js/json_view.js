// A JSON value as indented, coloured text nodes. Bounded: a value of any size must not stop the page.

import { h } from "./dom.js";

const MOST = 5000;

class Written {
  constructor(text) { this.text = text; }
}

// JSON with its numbers as they were written: a double would lose the last digits of a 64-bit id.
export function parseJson(text) {
  return JSON.parse(text, (_, value, context) => (typeof value === "number" && context?.source ? new Written(context.source) : value));
}

export function jsonView(value) {
  const parts = [];
  walk(value, "", parts);
  if (parts.length >= MOST) parts.push("\n… truncated; see the text view.");
  return parts;
}

function walk(value, indent, out) {
  if (out.length >= MOST) return;
  if (value instanceof Written) out.push(h("span", { class: "json-number" }, value.text));
  else if (Array.isArray(value)) list(value.map((each) => [null, each]), "[", "]", indent, out);
  else if (value !== null && typeof value === "object") list(Object.entries(value), "{", "}", indent, out);
  else if (typeof value === "string") out.push(h("span", { class: "json-string" }, JSON.stringify(value)));
  else out.push(h("span", { class: typeof value === "number" ? "json-number" : "json-word" }, String(value)));
}

function list(entries, open, close, indent, out) {
  if (entries.length === 0) { out.push(open + close); return; }
  const deeper = `${indent}  `;
  out.push(`${open}\n`);
  entries.forEach(([key, value], index) => {
    if (out.length >= MOST) return;
    out.push(deeper);
    if (key !== null) out.push(h("span", { class: "json-key" }, JSON.stringify(key)), ": ");
    walk(value, deeper, out);
    out.push(index < entries.length - 1 ? ",\n" : "\n");
  });
  out.push(indent + close);
}

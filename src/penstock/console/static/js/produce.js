// The dialog that produces one message.

import { path, post } from "./api.js";
import { openForm } from "./dialog.js";
import { field, h, select } from "./dom.js";
import { toast } from "./toast.js";

const FORMS = [["text", "Text"], ["json", "JSON (checked)"], ["hex", "Hex"], ["base64", "Base64"], ["null", "Null"]];

export function askProduce(topic) {
  const partition = select([["-1", "by key"], ...topic.partitions.map((each) => [String(each.index), String(each.index)])], "-1");
  const keyForm = select(FORMS, "text", { "aria-label": "Form of the key" });
  const key = h("input", { class: "mono grow", spellcheck: "false", autocomplete: "off", "aria-label": "Key", placeholder: "empty: no key" });
  const valueForm = select(FORMS, "text", { "aria-label": "Form of the value" });
  const value = h("textarea", { spellcheck: "false", "aria-label": "Value" });
  const headers = h("div", { class: "page" });
  const addHeader = h("button", { type: "button", onclick: () => headers.append(headerLine()) }, "Add header");

  openForm(`Produce to ${topic.name}`, [
    h("div", { class: "field" }, h("span", {}, "Key"), h("div", { class: "row" }, key, keyForm)),
    h("div", { class: "field" }, h("div", { class: "row" }, h("span", { class: "grow" }, "Value"), valueForm), value),
    headers,
    h("div", { class: "row" }, addHeader, h("span", { class: "grow" }), field("Partition", partition)),
  ], {
    button: "Produce",
    submit: async () => {
      const answer = await post(path`topics/${topic.name}/messages`, {
        key: key.value === "" && keyForm.value === "text" ? { form: "null", data: "" } : { form: keyForm.value, data: key.value },
        value: { form: valueForm.value, data: value.value },
        headers: [...headers.children].map(readHeader),
        partition: Number(partition.value),
      });
      toast(`Written to partition ${answer.partition} at offset ${answer.offset}.`);
      window.dispatchEvent(new Event("penstock-produced"));
    },
  });
}

function headerLine() {
  const line = h("div", { class: "row" },
    h("input", { placeholder: "header", "aria-label": "Header name", class: "grow mono" }),
    h("input", { placeholder: "value", "aria-label": "Header value", class: "grow mono" }),
    h("button", { type: "button", class: "quiet", "aria-label": "Remove header", onclick: () => line.remove() }, "✕"));
  return line;
}

function readHeader(line) {
  const [name, value] = line.querySelectorAll("input");
  return { name: name.value, value: { form: "text", data: value.value } };
}

// Settings of a topic or a broker: searched, changed, reset to their defaults.

import { get, post } from "./api.js";
import { openForm } from "./dialog.js";
import { chip, field, h } from "./dom.js";
import { table } from "./table.js";
import { toast } from "./toast.js";

export async function configTable(where, label, signal) {
  const search = h("input", { type: "search", class: "grow", placeholder: "Search settings", "aria-label": "Search settings" });
  const changed = h("input", { type: "checkbox" });
  const list = table([
    { title: "Setting", kind: "name", cell: (row) => [h("span", { class: "mono" }, row.name), row.documentation ? h("div", { class: "hint narrow-hidden" }, row.documentation) : null] },
    { title: "Value", kind: "name mono", cell: (row) => (row.sensitive ? h("span", { class: "null" }, "hidden") : row.value ?? h("span", { class: "null" }, "not set")) },
    { title: "Source", narrow: false, cell: (row) => chip(row.source, row.isOwn ? "accent" : "") },
    { title: "", kind: "actions", cell: (row) => actions(row) },
  ], { label, empty: "No setting matches." });
  let settings = [];

  function actions(row) {
    if (row.readOnly) return h("span", { class: "soft" }, "read only");
    return h("div", { class: "row" },
      h("button", { onclick: () => askChange(row), "aria-label": `Change ${row.name}` }, "Change"),
      row.isOwn ? h("button", { onclick: () => change({ reset: [row.name] }, `${row.name} was reset to its default.`), "aria-label": `Reset ${row.name}` }, "Reset") : null);
  }
  function filter() {
    const wanted = search.value.trim().toLowerCase();
    list.show(settings.filter((row) => (!changed.checked || row.isOwn) && `${row.name} ${row.value ?? ""}`.toLowerCase().includes(wanted)));
  }
  async function refresh() {
    settings = (await get(where, {}, signal)).settings;
    filter();
  }
  async function change(body, text) {
    try {
      await post(where, body);
      toast(text);
      await refresh();
    } catch (error) {
      toast(error.message, "bad");
    }
  }
  function askChange(row) {
    const value = h("input", { value: row.value ?? "", class: "mono", spellcheck: "false", autocomplete: "off" });
    openForm(row.name, [row.documentation ? h("p", { class: "soft" }, row.documentation) : null, field("Value", value)], {
      submit: async () => {
        await post(where, { set: { [row.name]: value.value } });
        toast(`${row.name} was changed.`);
        await refresh();
      },
    });
  }
  search.addEventListener("input", filter);
  changed.addEventListener("change", filter);
  await refresh();
  return h("div", { class: "page" },
    h("div", { class: "row" }, search, h("label", { class: "row" }, changed, "changed only")),
    h("section", { class: "card flush" }, list.element));
}

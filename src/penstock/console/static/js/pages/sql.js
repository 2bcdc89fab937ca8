// A query of topics: its rows as a table or a chart, and as a file.

import { get, post, download } from "../api.js";
import { bars } from "../bars.js";
import { h, notice, put } from "../dom.js";
import { table } from "../table.js";

const NUMBER = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/;
const kept = { query: "" }; // of this visit: the page is left and opened again

export async function show(_, signal) {
  const names = await get("topics", {}, signal).then((answer) => answer.topics.map((topic) => topic.name), () => []);
  const query = h("textarea", { class: "mono sql-query", rows: "5", spellcheck: "false", "aria-label": "Query", placeholder: "SELECT * FROM orders LIMIT 50" });
  query.value = kept.query;
  const run = h("button", { class: "primary", onclick: () => start() }, "Run");
  const kinds = ["csv", "json", "parquet"].map((form) => h("button", { disabled: true, onclick: () => save(form) }, form.toUpperCase()));
  const view = h("button", { disabled: true, "aria-pressed": "false", onclick: () => toggle() }, "Chart");
  const said = h("span", { class: "soft grow", role: "status" });
  const problem = h("div");
  const shown = h("div");
  let answer = null;

  async function attempt(action) {
    kept.query = query.value;
    put(problem);
    run.disabled = true;
    said.textContent = "Running…";
    try {
      await action();
    } catch (error) {
      said.textContent = "";
      put(problem, notice(error.message, "bad"));
    } finally {
      run.disabled = false;
    }
  }

  const start = () => attempt(async () => {
    answer = await post("sql", { query: query.value });
    const scanned = answer.stats.map((each) => `${each.topic}: ${each.records.toLocaleString("en")} records scanned, ${each.bytes.toLocaleString("en")} bytes fetched`);
    said.textContent = [`${answer.rows.length} row(s)${answer.isCut ? ", and more that are not shown" : ""}`, ...scanned].join("; ");
    for (const each of kinds) each.disabled = false;
    view.disabled = chartColumns() === null;
    view.setAttribute("aria-pressed", "false");
    draw();
  });

  const save = (form) => attempt(async () => {
    await download("sql", { query: query.value, form }, `query.${form}`);
    said.textContent = `query.${form} was saved.`;
  });

  function chartColumns() {
    const value = answer.columns.findIndex((column, index) => NUMBER.test(column.type) && (index > 0 || answer.columns.length === 1));
    return value < 0 || answer.rows.length === 0 ? null : [0, value];
  }

  function toggle() {
    view.setAttribute("aria-pressed", String(view.getAttribute("aria-pressed") !== "true"));
    draw();
  }

  function draw() {
    if (view.getAttribute("aria-pressed") === "true") {
      const [name, value] = chartColumns();
      put(shown, bars(answer.columns[value].name, answer.rows.map((row) => [row[name], Number(row[value])])));
      return;
    }
    const columns = answer.columns.map((column, index) => ({ title: column.name, kind: NUMBER.test(column.type) ? "number" : "mono", cell: (row) => cell(row[index]) }));
    const rows = table(columns, { label: "Rows", empty: "No rows." });
    rows.show(answer.rows);
    put(shown, h("section", { class: "card flush" }, rows.element));
  }

  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    start();
  });
  return {
    title: "SQL",
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("h1", {}, "SQL")),
      h("p", { class: "soft" }, "Topics are tables; nothing is written. DESCRIBE shows the columns of a topic. ", names.length ? `Topics: ${names.slice(0, 12).join(", ")}${names.length > 12 ? " …" : ""}` : ""),
      query,
      h("div", { class: "row" }, run, view, said, h("span", { class: "soft" }, "Download"), kinds),
      problem, shown),
  };
}

function cell(value) {
  return value === null ? h("span", { class: "null" }, "null") : String(value);
}

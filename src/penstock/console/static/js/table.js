// Tables with keyboard navigation: the arrow keys move between rows, Enter opens one.

import { h, put } from "./dom.js";

const MOST = 1000;

// columns: [{title, cell(row) -> child, kind?, narrow?}]; kind is a class of the cells ("number", "mono", …).
export function table(columns, { label, onOpen, empty = "Nothing here yet." } = {}) {
  const body = h("tbody");
  const none = h("div", { class: "empty", hidden: true }, empty);
  const rest = h("div", { class: "empty", hidden: true });
  let last = null; // the rows shown; unchanged rows are not drawn again, so that a refresh keeps focus and selection
  const head = h("tr", {}, columns.map((column) => h("th", { scope: "col", class: classes(column) }, column.title)));
  const element = h("div", { class: "table-scroll" }, h("table", { "aria-label": label }, h("thead", {}, head), body), none, rest);
  body.addEventListener("keydown", walk);

  function render(row, isFresh) {
    const line = h("tr", { class: [onOpen ? "openable" : "", isFresh ? "fresh" : ""].join(" "), tabindex: "-1" },
      columns.map((column) => h("td", { class: classes(column) }, column.cell(row))));
    if (onOpen) {
      line.addEventListener("click", (event) => { if (!event.target.closest("a, button, input, select")) onOpen(row); });
      line.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target === line) onOpen(row); });
    }
    return line;
  }

  function settle() {
    none.hidden = body.children.length > 0;
    if (body.firstElementChild && !body.querySelector('tr[tabindex="0"]')) body.firstElementChild.tabIndex = 0;
  }

  return {
    element,
    show(rows, emptyText = empty) {
      const now = JSON.stringify(rows);
      none.textContent = emptyText;
      if (now === last) return;
      last = now;
      const back = focusedPlace(body);
      put(body, rows.slice(0, MOST).map((row) => render(row, false)));
      rest.hidden = rows.length <= MOST;
      rest.textContent = `${rows.length - MOST} more are not shown: search for them.`;
      settle();
      back();
    },
    addFirst(rows, most) {
      last = null;
      for (const row of rows) body.prepend(render(row, true));
      while (body.children.length > most) body.lastElementChild.remove();
      settle();
    },
    addLast(rows) {
      last = null;
      for (const row of rows) body.append(render(row, false));
      settle();
    },
    get length() { return body.children.length; },
  };
}

function classes(column) {
  return [column.kind ?? "", column.narrow === false ? "narrow-hidden" : ""].join(" ").trim() || undefined;
}

function walk(event) {
  const line = event.target.closest("tr");
  if (event.target !== line) return;
  const lines = [...line.parentElement.children];
  const at = lines.indexOf(line);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  focusRow(lines[Math.max(0, Math.min(lines.length - 1, to))]);
}

// Where the focus is in the table, as a function that puts it back there after the rows were drawn anew.
function focusedPlace(body) {
  const line = document.activeElement?.closest("tr");
  if (!line || !body.contains(line)) return () => {};
  const at = [...body.children].indexOf(line);
  const within = [...line.querySelectorAll("a, button, input")].indexOf(document.activeElement);
  return () => {
    const again = body.children[Math.min(at, body.children.length - 1)];
    if (within < 0) focusRow(again);
    else again?.querySelectorAll("a, button, input")[within]?.focus();
  };
}

function focusRow(line) {
  if (!line) return;
  for (const other of line.parentElement.children) other.tabIndex = -1;
  line.tabIndex = 0;
  line.focus();
}

// Modal dialogs over <dialog>: the browser keeps the focus inside, gives it back, and closes on Escape. Each has an entry
// in the browser's history, so that Back closes it and stays on the page.

import { h, notice, put } from "./dom.js";

const open = [];

if (window.history.state?.dialogs) window.history.replaceState(null, ""); // of a page that was loaded again

window.addEventListener("popstate", () => {
  const left = window.history.state?.dialogs ?? 0;
  while (open.length > left) open.pop().close();
});

function closed(dialog) {
  dialog.remove();
  const depth = open.indexOf(dialog) + 1;
  if (depth === 0) return; // closed by Back, or by going elsewhere
  open.length = depth - 1;
  if (window.history.state?.dialogs >= depth) window.history.back();
}

export function openDialog(title, content, { wide = false } = {}) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close" }, "✕");
  const body = h("div", { class: "dialog-body" }, h("div", { class: "dialog-head" }, heading, close), content);
  const dialog = h("dialog", { class: wide ? "wide" : "", "aria-labelledby": "dialog-title" }, body);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => closed(dialog));
  document.body.append(dialog);
  open.push(dialog);
  window.history.pushState({ dialogs: open.length }, "");
  dialog.showModal();
  return dialog;
}

// A form in a dialog. `submit` does the work; what it throws is shown in the dialog, which then stays open, as it does
// when `submit` gives back "stay".
export function openForm(title, fields, { submit, button = "Save", danger = false, wide = false }) {
  const problem = h("div");
  const send = h("button", { type: "submit", class: danger ? "danger primary" : "primary" }, button);
  const cancel = h("button", { type: "button" }, "Cancel");
  const form = h("form", { class: "dialog-form", novalidate: true }, fields, problem, h("div", { class: "dialog-foot" }, cancel, send));
  form.style.display = "contents";
  const dialog = openDialog(title, form, { wide });
  cancel.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    put(problem);
    try {
      if ((await submit(dialog)) !== "stay") dialog.close();
    } catch (error) {
      put(problem, notice(error.message, "bad"));
    } finally {
      send.disabled = false;
    }
  });
  form.querySelector("input, select, textarea")?.focus();
  return dialog;
}

// Deleting is confirmed by typing the name of what is deleted.
export function confirmByName(title, warning, name, submit) {
  const typed = h("input", { autocomplete: "off", spellcheck: "false", "aria-label": `Type ${name} to confirm` });
  return openForm(title, [h("p", {}, warning), h("p", {}, "Type ", h("code", {}, name), " to confirm."), typed], {
    button: "Delete",
    danger: true,
    submit: async (dialog) => {
      if (typed.value !== name) throw new Error(`That is not ${name}.`);
      await submit(dialog);
    },
  });
}

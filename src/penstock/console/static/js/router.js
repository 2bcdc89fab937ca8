// Maps the address after # to a page. Pages are loaded on demand; leaving a page aborts its requests.

import { ApiError } from "./api.js";
import { h, notice, put } from "./dom.js";

const PAGES = [
  [/^$/, () => import("./pages/overview.js"), "overview"],
  [/^topics$/, () => import("./pages/topics.js"), "topics"],
  [/^topics\/([^/]+)(?:\/(messages|partitions|config))?$/, () => import("./pages/topic.js"), "topics"],
  [/^groups$/, () => import("./pages/groups.js"), "groups"],
  [/^groups\/([^/]+)$/, () => import("./pages/group.js"), "groups"],
  [/^brokers$/, () => import("./pages/brokers.js"), "brokers"],
  [/^brokers\/(\d+)$/, () => import("./pages/broker.js"), "brokers"],
  [/^mirrors$/, () => import("./pages/mirrors.js"), "mirrors"],
  [/^acls$/, () => import("./pages/acls.js"), "acls"],
  [/^sql$/, () => import("./pages/sql.js"), "sql"],
  [/^pipelines$/, () => import("./pages/pipelines.js"), "pipelines"],
  [/^pipelines\/([^/]+)$/, () => import("./pages/pipeline.js"), "pipelines"],
];

export function address(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts) {
  if (!window.history.state?.dialogs) {
    window.location.hash = address(...parts);
    return;
  }
  // From a dialog: replace its entry in the history, so that Back does not reopen it.
  window.history.replaceState(null, "", address(...parts));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function follow(main) {
  let visit = new AbortController();

  async function show() {
    visit.abort();
    visit = new AbortController();
    const { signal } = visit;
    const where = window.location.hash.replace(/^#\/?/, "");
    const [pattern, load, section] = PAGES.find(([each]) => each.test(where)) ?? [/^/, async () => ({ show: noSuchPage }), ""];
    const found = pattern.exec(where);
    mark(section);
    try {
      const page = await load();
      if (signal.aborted) return;
      const shown = await page.show(found.slice(1).map((part) => (part === undefined ? part : decodeURIComponent(part))), signal);
      if (signal.aborted) return;
      put(main, shown.element);
      document.title = `${shown.title} · Penstock`;
      // The focused element may be gone with the last page: move the focus to the top of this one.
      if (main.dataset.at !== undefined && document.activeElement === document.body) main.focus({ preventScroll: true });
      if (main.dataset.at !== where) window.scrollTo(0, 0);
      main.dataset.at = where;
      shown.shown?.();
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.status === 401)) return;
      put(main, h("div", { class: "page" }, notice(error.message, "bad"), h("p", {}, h("button", { onclick: show }, "Try again"))));
    }
  }

  window.addEventListener("hashchange", show);
  show();
  return () => {
    visit.abort();
    window.removeEventListener("hashchange", show);
  };
}

function noSuchPage() {
  const words = `There is no page ${window.location.hash} in this console.`;
  return { title: "No such page", element: h("div", { class: "page" }, notice(words, "bad"), h("p", {}, h("a", { href: "#/" }, "Go to the overview"))) };
}

function mark(section) {
  for (const link of document.querySelectorAll("[data-section]")) {
    if (link.dataset.section === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

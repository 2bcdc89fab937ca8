// Access control lists.

import { get, post, remove } from "../api.js";
import { openForm } from "../dialog.js";
import { chip, field, h, notice, select } from "../dom.js";
import { table } from "../table.js";
import { toast } from "../toast.js";

const words = (list) => list.map((word) => [word, word]);
const RESOURCES = words(["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"]);
const OPERATIONS = words(["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT", "ALL"]);

export async function show(_, signal) {
  const search = h("input", { type: "search", class: "grow", placeholder: "Search ACLs", "aria-label": "Search ACLs" });
  const list = table([
    { title: "Principal", kind: "name", cell: (row) => row.principal },
    { title: "Permission", cell: (row) => chip(row.permission === "ALLOW" ? "allow" : "deny", row.permission === "ALLOW" ? "good" : "bad") },
    { title: "Operation", cell: (row) => row.operation },
    { title: "Resource", kind: "name", cell: (row) => [row.resource.toLowerCase(), " ", h("span", { class: "mono" }, row.name), row.pattern === "PREFIXED" ? "…" : ""] },
    { title: "From host", narrow: false, cell: (row) => row.host },
    { title: "", kind: "actions", cell: (row) => h("button", { class: "danger", "aria-label": `Delete the ACL of ${row.principal}`, onclick: () => askDelete(row, refresh) }, "Delete") },
  ], { label: "ACLs" });
  const problem = h("div");
  let acls = [];

  function filter() {
    const wanted = search.value.trim().toLowerCase();
    list.show(acls.filter((row) => Object.values(row).join(" ").toLowerCase().includes(wanted)), acls.length === 0 ? "No ACLs." : "No ACL matches.");
  }
  async function refresh() {
    problem.replaceChildren();
    try {
      const answer = await get("acls", {}, signal);
      acls = answer.acls;
      if (answer.disabled) problem.replaceChildren(notice(answer.disabled, "warn"));
    } catch (error) {
      if (error.status === 401 || error.name === "AbortError") throw error;
      acls = [];
      problem.replaceChildren(notice(error.message, "bad"));
    }
    filter();
  }
  search.addEventListener("input", filter);
  await refresh();
  return {
    title: "ACLs",
    element: h("div", { class: "page" },
      h("div", { class: "page-head" }, h("h1", {}, "Access control"), h("button", { class: "primary", onclick: () => askCreate(refresh) }, "Create ACL")),
      problem,
      h("div", { class: "row" }, search),
      h("section", { class: "card flush" }, list.element)),
  };
}

function askCreate(done) {
  const principal = h("input", { value: "User:", autocomplete: "off", spellcheck: "false" });
  const permission = select([["ALLOW", "allow"], ["DENY", "deny"]], "ALLOW");
  const operation = select(OPERATIONS, "READ");
  const resource = select(RESOURCES, "TOPIC");
  const name = h("input", { autocomplete: "off", spellcheck: "false", placeholder: "* for all" });
  const pattern = select([["LITERAL", "literal"], ["PREFIXED", "prefixed"]], "LITERAL");
  const host = h("input", { value: "*", autocomplete: "off" });
  openForm("Create ACL", [
    h("div", { class: "fields" }, field("Principal", principal), field("Permission", permission), field("Operation", operation)),
    h("div", { class: "fields" }, field("Resource", resource), field("Name", name), field("Pattern type", pattern), field("From host", host)),
    h("p", { class: "hint" }, "The only resource of type CLUSTER is kafka-cluster."),
  ], {
    button: "Create",
    wide: true,
    submit: async () => {
      await post("acls", { principal: principal.value.trim(), permission: permission.value, operation: operation.value, resource: resource.value, name: name.value.trim(), pattern: pattern.value, host: host.value.trim() });
      toast("The ACL was created.");
      await done();
    },
  });
}

function askDelete(row, done) {
  const said = `${row.permission === "ALLOW" ? "Allow" : "Deny"} ${row.principal} ${row.operation} on ${row.resource.toLowerCase()} ${row.name}`;
  openForm("Delete this ACL?", [h("p", {}, said)], {
    button: "Delete",
    danger: true,
    submit: async () => {
      await remove("acls", row);
      toast("The ACL was deleted.");
      await done();
    },
  });
}

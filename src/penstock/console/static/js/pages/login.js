// The login page, for clusters that require SASL.

import { post } from "../api.js";
import { field, h, notice, put } from "../dom.js";

export function showLogin(root, session, done) {
  const user = h("input", { name: "username", autocomplete: "username", required: true });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const problem = h("div");
  const button = h("button", { type: "submit", class: "primary" }, "Log in");
  const form = h("form", { class: "card", method: "post" },
    h("div", { class: "row" }, h("img", { src: "icon.svg", alt: "", width: 28, height: 28 }), h("h1", {}, "Penstock")),
    h("p", { class: "soft" }, `Log in as a user of ${session.cluster}. The ACLs of the cluster apply to you here.`),
    field("User", user), field("Password", password), problem, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await post("login", { username: user.value, password: password.value });
      await done();
    } catch (error) {
      put(problem, notice(error.message, "bad"));
      password.value = "";
      password.focus();
    } finally {
      button.disabled = false;
    }
  });
  put(root, h("main", { class: "login", id: "main", tabindex: "-1" }, form));
  document.title = "Log in · Penstock";
  user.focus();
}

// Entry point: reads the session, shows the login or the shell, and starts the router.

import { get } from "./api.js";
import { h, notice, put } from "./dom.js";
import { listenForKeys } from "./keys.js";
import { follow } from "./router.js";
import { makeShell } from "./shell.js";

const root = document.getElementById("shell");
let stopFollowing = null;

async function begin() {
  stopFollowing?.();
  stopFollowing = null;
  try {
    const session = await get("session");
    if (session.needsLogin && !session.user) {
      const { showLogin } = await import("./pages/login.js");
      showLogin(root, session, begin);
      return;
    }
    const shown = new AbortController();
    const stop = follow(makeShell(root, session, begin, shown.signal));
    stopFollowing = () => { shown.abort(); stop(); };
  } catch (error) {
    put(root, h("main", {}, notice(error.message, "bad"), h("p", {}, h("button", { onclick: begin }, "Try again"))));
  }
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.querySelector("main")?.focus();
});
window.addEventListener("penstock-login", begin);
listenForKeys();
begin();

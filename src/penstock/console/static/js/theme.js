// Sets the theme before anything is painted: the stored choice, else what the system prefers.
"use strict";
(() => {
  const KEY = "penstock-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const apply = () => {
    document.documentElement.dataset.theme = stored() ?? (system.matches ? "dark" : "light");
  };
  window.penstockToggleTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(KEY, next); } catch { /* a private window: the choice lasts for this page */ }
    document.documentElement.dataset.theme = next;
    return next;
  };
  system.addEventListener("change", apply);
  apply();
})();

// Repeats a refresh while a page is open and visible; the interval begins after each refresh.

export function every(signal, intervalMs, turn) {
  let timer = 0;
  const run = async () => {
    if (signal.aborted) return;
    if (!document.hidden) await turn().catch((error) => { if (error.name !== "AbortError") console.debug(error.message); });
    if (!signal.aborted) timer = setTimeout(run, intervalMs);
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  return run();
}

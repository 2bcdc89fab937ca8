// Requests to the JSON API, and its event streams. All addresses are relative to the page.

const BASE = new URL("api/", document.baseURI);

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function path(strings, ...values) {
  return strings.reduce((text, part, index) => text + encodeURIComponent(values[index - 1]) + part);
}

export const get = (where, query, signal) => call("GET", where, undefined, query, signal);
export const post = (where, body = {}) => call("POST", where, body);
export const remove = (where, body = {}) => call("DELETE", where, body);

// Save what a request answers under this name.
export async function download(where, body, name) {
  const response = await send("POST", where, body);
  if (!response.ok) throw await problemOf(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function call(method, where, body, query, signal) {
  const response = await send(method, where, body, query, signal);
  if (!response.ok) throw await problemOf(response);
  return response.json().catch(() => ({}));
}

async function send(method, where, body, query, signal) {
  try {
    return await fetch(address(where, query), {
      method,
      signal,
      credentials: "same-origin",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "UNREACHABLE", "The console's server does not respond. Is it still running?");
  }
}

async function problemOf(response) {
  const problem = (await response.json().catch(() => ({}))).error ?? {};
  if (problem.code === "LOGIN_NEEDED") window.dispatchEvent(new Event("penstock-login"));
  return new ApiError(response.status, problem.code ?? String(response.status), problem.message ?? `The server answered ${response.status}.`);
}

function address(where, query) {
  const url = new URL(where, BASE);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

// Server-sent events, until the signal aborts or the server says `done`. Never reconnects by itself: the page decides.
export function events(where, query, handlers, signal) {
  const source = new EventSource(address(where, query));
  const close = () => source.close();
  signal.addEventListener("abort", close);
  for (const [name, handle] of Object.entries(handlers)) {
    if (name === "lost") continue;
    source.addEventListener(name, (event) => {
      if (name === "done" || name === "refused") close();
      handle(JSON.parse(event.data));
    });
  }
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED && signal.aborted) return;
    close();
    handlers.lost?.();
  });
  return close;
}

// Formats numbers, sizes, times and bytes.

const COUNT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export const count = (number) => (number === null || number === undefined ? "–" : COUNT.format(number));
export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
export const short = (number) => (number < 1000 ? String(Math.round(number * 10) / 10) : SHORT.format(number));

export function bytes(number) {
  if (number === null || number === undefined || number < 0) return "–";
  let unit = 0;
  let rest = number;
  while (rest >= 1024 && unit < UNITS.length - 1) { rest /= 1024; unit += 1; }
  return `${unit === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${UNITS[unit]}`;
}

export function time(timestampMs) {
  if (timestampMs === null || timestampMs === undefined || timestampMs < 0) return "–";
  const date = new Date(timestampMs);
  if (Number.isNaN(date.getTime())) return String(timestampMs);
  const two = (part) => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${day} ${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

export function utc(timestampMs) {
  const date = new Date(timestampMs);
  return timestampMs < 0 || Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

export function ago(timestampMs, nowMs = Date.now()) {
  const seconds = Math.max(0, Math.round((nowMs - timestampMs) / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

export function fromBase64(text) {
  return text === null ? null : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// UTF-8 as text; null when it is not UTF-8, so that replacement characters are not mistaken for the message.
export function utf8(data) {
  try { return new TextDecoder("utf-8", { fatal: true }).decode(data); } catch { return null; }
}

export function oneLine(data) {
  const text = utf8(data);
  if (text === null) return Array.from(data.slice(0, 64), hex2).join(" ");
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ");
}

export function hexDump(data) {
  const lines = [];
  for (let at = 0; at < data.length; at += 16) {
    const row = data.slice(at, at + 16);
    const digits = Array.from(row, hex2);
    const letters = Array.from(row, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    const left = digits.slice(0, 8).join(" ").padEnd(23);
    const right = digits.slice(8).join(" ").padEnd(23);
    lines.push(`${at.toString(16).padStart(8, "0")}  ${left}  ${right}  ${letters}`);
  }
  return lines.join("\n");
}

const hex2 = (byte) => byte.toString(16).padStart(2, "0");

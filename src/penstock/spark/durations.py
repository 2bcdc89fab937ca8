"""Parses and formats durations: `10 minutes`, `5s`, `500 ms`, `1 hour 30 minutes`."""

import re

_SECOND_MS = 1_000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS

_UNITS_MS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), _SECOND_MS),
    **dict.fromkeys(("m", "min", "minute", "minutes"), _MINUTE_MS),
    **dict.fromkeys(("h", "hour", "hours"), _HOUR_MS),
    **dict.fromkeys(("d", "day", "days"), _DAY_MS),
    **dict.fromkeys(("week", "weeks"), 7 * _DAY_MS),
}
_SHOWN = (("day", _DAY_MS), ("hour", _HOUR_MS), ("minute", _MINUTE_MS), ("second", _SECOND_MS), ("ms", 1))
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def parse_duration_ms(text: str) -> int:
    """Return milliseconds. A ValueError says what to write instead."""
    at, total_ms, stripped = 0, 0.0, text.strip()
    while match := _PART.match(stripped, at):
        unit_ms = _UNITS_MS.get(match[2].lower())
        if unit_ms is None:
            break
        total_ms += float(match[1]) * unit_ms
        at = match.end()
    if at == 0 or at != len(stripped) or total_ms != int(total_ms):
        raise ValueError(
            f"`{text}` is not a duration: write a number and a unit (ms, seconds, minutes, hours, days), "
            "such as `10 minutes` or `500 ms`"
        )
    return int(total_ms)


def format_duration(duration_ms: int) -> str:
    """Return the shortest exact form: `10 minutes`, `1 hour 30 minutes`."""
    parts = []
    for unit, unit_ms in _SHOWN:
        count, duration_ms = divmod(duration_ms, unit_ms)
        if count:
            parts.append(f"{count} {unit}" if unit == "ms" or count == 1 else f"{count} {unit}s")
    return " ".join(parts) or "0 ms"

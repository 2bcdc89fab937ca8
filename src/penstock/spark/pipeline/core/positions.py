"""Parses the start of a topic source: `earliest`, `latest`, a time in ISO 8601, or offsets as JSON."""

from datetime import UTC, datetime

import msgspec


def starting_problem(starting: str) -> str | None:
    if starting in {"earliest", "latest"}:
        return None
    if starting.lstrip().startswith("{"):
        try:
            msgspec.json.decode(starting, type=dict[str, dict[str, int]])
        except msgspec.DecodeError as reason:
            return f'is not a map of offsets: {reason}; write {{"topic": {{"0": 42}}}}'
        return None
    try:
        time_ms(starting)
    except ValueError:
        return (
            f"cannot be `{starting}`: write `earliest`, `latest`, a time such as `2024-05-01T12:00:00Z`, "
            'or offsets such as {"topic": {"0": 42}}'
        )
    return None


def time_ms(text: str) -> int:
    """Parse a time in ISO 8601, in UTC by default, to milliseconds since 1970."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"`{text}` is not a time: write it like 2026-01-31T08:00:00Z") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)

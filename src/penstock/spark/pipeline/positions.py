"""Where a topic source begins to read: `earliest`, `latest`, a time in ISO 8601, or offsets as JSON."""

from datetime import UTC, datetime

import msgspec


def starting_problem(starting: str) -> str | None:
    """What is wrong with the text, or None."""
    if starting in {"earliest", "latest"}:
        return None
    if starting.lstrip().startswith("{"):
        try:
            msgspec.json.decode(starting, type=dict[str, dict[str, int]])
        except msgspec.DecodeError as reason:
            return f'is no map of offsets: {reason}; write {{"topic": {{"0": 42}}}}'
        return None
    if time_ms(starting) is None:
        return (
            f"cannot be `{starting}`: write `earliest`, `latest`, a time such as `2024-05-01T12:00:00Z`, "
            'or offsets such as {"topic": {"0": 42}}'
        )
    return None


def time_ms(text: str) -> int | None:
    """Milliseconds since 1970 of a time in ISO 8601; without a zone it is UTC. None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)

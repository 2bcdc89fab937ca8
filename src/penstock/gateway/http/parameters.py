"""Validated query parameters. Each function raises `Problem` with the name of the wrong one."""

import contextlib
import datetime as dt
from collections.abc import Mapping, Sequence

from penstock.client.positions import is_number
from penstock.gateway.http.problems import bad_request

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def check_names(query: Mapping[str, str], known: Sequence[str]) -> None:
    """Reject unknown parameters: a misspelt one would be ignored silently."""
    for name in query:
        if name not in known:
            raise bad_request(f"Unknown parameter {name!r}: use {', '.join(known)}.")


def integer(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    number = whole_number(text)
    if number is None or not least <= number <= most:
        raise bad_request(f"{name} is {text!r}: it must be a number from {least} to {most}.")
    return number


def one_of(query: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    """The first choice is the default."""
    text = query.get(name, choices[0])
    if text not in choices:
        raise bad_request(f"{name} is {text!r}: it must be one of {', '.join(choices)}.")
    return text


def whole_number(text: str) -> int | None:
    return int(text) if is_number(text.removeprefix("-")) else None


def time_ms(text: str, name: str) -> int:
    """Milliseconds since 1970, or an ISO 8601 time; one without a zone is UTC."""
    number = whole_number(text)
    if number is not None and number >= 0:
        return number
    with contextlib.suppress(ValueError):
        moment = dt.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        if moment >= _EPOCH:  # brokers give negative timestamps a special meaning
            return int(moment.timestamp() * 1000)
    raise bad_request(
        f"{name} is {text!r}: it must be milliseconds since 1970 or a time like 2026-01-31T12:00:00Z."
    )

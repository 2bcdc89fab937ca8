"""Requests pass through three services, each of which logs; some of them fail in the last."""

import datetime as dt
import json
import random
from collections.abc import Iterator

from examples.messages import Message

TOPICS = {"logs.gateway": 1, "logs.auth": 1, "logs.db": 1}
FAILS_EVERY = 9
START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def messages(requests: int = 100, seed: int = 2) -> Iterator[Message]:
    """The lines of so many requests, in the order of their times; one line is not JSON."""
    rng = random.Random(seed)
    lines = []
    for number in range(requests):
        at = START + dt.timedelta(milliseconds=number * 350)
        trace = f"req-{number:05d}"
        does_fail = number % FAILS_EVERY == 4
        lines += [
            (at, "gateway", "INFO", trace, f"GET /accounts/{rng.randrange(1000)}"),
            (_after(at, 5), "auth", "DEBUG", trace, "token checked"),
            (_after(at, 12), "db", "INFO", trace, "select account"),
        ]
        if does_fail:
            lines.append((_after(at, 80), "db", "ERROR", trace, "connection pool exhausted"))
            lines.append((_after(at, 90), "gateway", "WARN", trace, "answered 503"))
    for at, service, level, trace, message in sorted(lines):
        value = {
            "at": at.isoformat(),
            "service": service,
            "level": level,
            "correlationId": trace,
            "message": message,
        }
        yield Message(f"logs.{service}", json.dumps(value).encode(), trace.encode())
    yield Message("logs.db", b"Traceback (most recent call last):", b"not json")


def failures(requests: int) -> list[str]:
    """The correlation ids of the requests that fail."""
    return [f"req-{number:05d}" for number in range(requests) if number % FAILS_EVERY == 4]


def _after(at: dt.datetime, milliseconds: int) -> dt.datetime:
    return at + dt.timedelta(milliseconds=milliseconds)

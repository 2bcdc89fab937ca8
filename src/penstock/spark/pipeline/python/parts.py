"""Small parts of the Python form: expectations, watermarks. Each function returns a value of the model."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_origin

import msgspec

from penstock.spark.decode.settings import EnvelopeDecoder
from penstock.spark.durations import parse_duration_ms
from penstock.spark.pipeline.core.model import (
    Compact,
    Expectation,
    Lineage,
    Maintain,
    OnFailure,
    Otherwise,
    Restart,
    Watermark,
)
from penstock.spark.pipeline.core.problems import choice_problems, invalid_choice

_S = TypeVar("_S", bound=msgspec.Struct)


def envelope(payload: str | None = None, *, event_types: Iterable[str] = ()) -> EnvelopeDecoder:
    """Decode event envelopes; `payload` is the DDL of their payload."""
    return EnvelopeDecoder(payload=payload, event_types=tuple(event_types))


def expect(rule: str, *, name: str = "", otherwise: str = Otherwise.DEAD_LETTER.value) -> Expectation:
    """Require a SQL condition of each row; `otherwise` is warn, drop, dead-letter or stop."""
    actions = [each.value for each in Otherwise]
    if otherwise not in actions:
        raise ValueError(f"`otherwise` {invalid_choice(otherwise, actions)}")
    return Expectation(name=name or rule, rule=rule, otherwise=Otherwise(otherwise))


def watermark(column: str, delay: str) -> Watermark:
    """Limit how late a row may be by the time in `column`: `watermark("at", "10 minutes")`."""
    return make_struct(Watermark, column=column, delay=delay)


def restart(*, attempts: int = 5, within: str = "10 minutes", backoff: str = "1 second") -> Restart:
    """Limit how often a failed query is restarted."""
    return make_struct(Restart, attempts=attempts, within=within, backoff=backoff)


def on_failure(
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    command: str | None = None,
    restarts: bool = False,
    timeout: str = "10 seconds",
) -> OnFailure:
    """Notify a webhook or a command when a query fails permanently, or with `restarts` at every failure."""
    given = {"url": url, "headers": headers, "command": command, "restarts": restarts, "timeout": timeout}
    return make_struct(OnFailure, **given)


def lineage(
    *,
    file: str | None = None,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    topic: str | None = None,
    namespace: str = "penstock",
    interval: str = "1 minute",
) -> Lineage:
    """Send OpenLineage events to a file, a URL or a topic."""
    given = {"file": file, "url": url, "headers": headers, "topic": topic}
    return make_struct(Lineage, namespace=namespace, interval=interval, **given)


def maintain(
    *,
    when_files: int = 50,
    target_mb: int = 128,
    keep_versions: str = "7 days",
    every: str = "10 minutes",
) -> Maintain:
    """Look after a table: merge small files, and remove versions that are older."""
    compact = Compact(when_files=when_files, target_mb=target_mb)
    return make_struct(Maintain, compact=compact, keep_versions=keep_versions, every=every)


def make_struct(kind: type[_S], **given: Any) -> _S:
    """Make a value of the model from arguments as a person writes them. None: use the default.

    A field `delay_ms` is the argument `delay`, a duration; a single name is a list of one. Raises ValueError for a word
    that a field does not accept.
    """
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if f"{name}_ms" in types:
            values[f"{name}_ms"] = parse_duration_ms(value)
        elif get_origin(types[name]) is tuple:
            values[name] = (value,) if isinstance(value, str) else tuple(value)
        else:
            values[name] = dict(value) if isinstance(value, Mapping) else value
    return validated(kind(**values))


def validated(struct: _S) -> _S:
    for problem in choice_problems(struct):
        raise ValueError(problem)
    return struct

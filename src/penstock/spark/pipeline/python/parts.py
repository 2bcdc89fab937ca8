"""Small parts of the Python form: decoders, expectations, watermarks. Each function returns a value of the model."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from penstock.spark.decode.settings import (
    AvroDecoder,
    EnvelopeDecoder,
    JsonDecoder,
    ProtobufDecoder,
    RawDecoder,
)
from penstock.spark.pipeline.core.durations import parse_duration_ms
from penstock.spark.pipeline.core.model import Expectation, Otherwise, Restart, Watermark
from penstock.spark.pipeline.core.problems import not_one_of, word_problems

_S = TypeVar("_S", bound=msgspec.Struct)


def json(schema: str, *, allow_null: bool = False) -> JsonDecoder:
    """Decode JSON objects with these columns, in Spark's DDL."""
    return JsonDecoder(schema=schema, allow_null=allow_null)


def raw(*, text: bool = False, allow_null: bool = True) -> RawDecoder:
    """Keep `key` and `value` as they are: binary, or text."""
    return RawDecoder(text=text, allow_null=allow_null)


def envelope(payload: str | None = None, *, event_types: Iterable[str] = ()) -> EnvelopeDecoder:
    """Decode event envelopes; `payload` is the DDL of their payload."""
    return EnvelopeDecoder(payload=payload, event_types=tuple(event_types))


def avro(
    *,
    reader_schema: str | None = None,
    schemas: Mapping[int, str] | None = None,
    registry_url: str | None = None,
    framed: bool = True,
    allow_null: bool = False,
) -> AvroDecoder:
    """Decode Avro, in Confluent's framing unless `framed` is false."""
    return AvroDecoder(
        reader_schema=reader_schema,
        schemas=dict(schemas or {}),
        registry_url=registry_url,
        framed=framed,
        allow_null=allow_null,
    )


def protobuf(
    descriptors: str, message: str, *, framed: bool = True, allow_null: bool = False
) -> ProtobufDecoder:
    """Decode Protobuf, in Confluent's framing unless `framed` is false."""
    return ProtobufDecoder(descriptors=descriptors, message=message, framed=framed, allow_null=allow_null)


def expect(rule: str, *, name: str = "", otherwise: str = Otherwise.DEAD_LETTER.value) -> Expectation:
    """Require a SQL condition of each row; `otherwise` is warn, drop, dead-letter or stop."""
    actions = [each.value for each in Otherwise]
    if otherwise not in actions:
        raise ValueError(f"`otherwise` {not_one_of(otherwise, actions)}")
    return Expectation(name=name or rule, rule=rule, otherwise=Otherwise(otherwise))


def watermark(column: str, delay: str) -> Watermark:
    """Limit how late a row may be by the time in `column`: `watermark("at", "10 minutes")`."""
    return Watermark(column=column, delay_ms=parse_duration_ms(delay))


def restart(*, attempts: int = 5, within: str = "10 minutes", backoff: str = "1 second") -> Restart:
    """Limit how often a failed query is restarted."""
    return Restart(
        attempts=attempts, within_ms=parse_duration_ms(within), backoff_ms=parse_duration_ms(backoff)
    )


def checked(struct: _S) -> _S:
    """Raise ValueError for a field that does not accept its word."""
    for problem in word_problems(struct):
        raise ValueError(problem)
    return struct


def optional_ms(duration: str | None) -> int | None:
    return None if duration is None else parse_duration_ms(duration)


def many(values: str | Iterable[str]) -> tuple[str, ...]:
    """Return a tuple; a single name is a list of one."""
    return (values,) if isinstance(values, str) else tuple(values)

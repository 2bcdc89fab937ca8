"""Small parts of the Python form: decoders, expectations, watermarks. Each gives a value of the model."""

from collections.abc import Iterable, Mapping, Sequence

from penstock.spark.pipeline.durations import parse_duration_ms
from penstock.spark.pipeline.model import (
    AvroDecoder,
    EnvelopeDecoder,
    Expectation,
    JsonDecoder,
    Otherwise,
    ProtobufDecoder,
    RawDecoder,
    Restart,
    Watermark,
)
from penstock.spark.pipeline.problems import did_you_mean


def json(schema: str, *, allow_null: bool = False) -> JsonDecoder:
    """Values are JSON objects with these columns, in Spark's DDL."""
    return JsonDecoder(schema=schema, allow_null=allow_null)


def raw(*, text: bool = False, allow_null: bool = True) -> RawDecoder:
    """`key` and `value` as they are: binary, or text."""
    return RawDecoder(text=text, allow_null=allow_null)


def envelope(payload: str | None = None, *, event_types: Iterable[str] = ()) -> EnvelopeDecoder:
    """Values are event envelopes; `payload` is the DDL of what they carry."""
    return EnvelopeDecoder(payload=payload, event_types=tuple(event_types))


def avro(
    *,
    reader_schema: str | None = None,
    schemas: Mapping[int, str] | None = None,
    registry_url: str | None = None,
    framed: bool = True,
    allow_null: bool = False,
) -> AvroDecoder:
    """Values are Avro, in Confluent's framing unless `framed` is false."""
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
    """Values are Protobuf, in Confluent's framing unless `framed` is false."""
    return ProtobufDecoder(descriptors=descriptors, message=message, framed=framed, allow_null=allow_null)


def expect(rule: str, *, name: str = "", otherwise: str = Otherwise.DEAD_LETTER.value) -> Expectation:
    """A SQL condition that rows keep, and what becomes of one that does not: warn, drop, dead-letter or stop."""
    chosen = one_of("otherwise", otherwise, [each.value for each in Otherwise])
    return Expectation(name=name or rule, rule=rule, otherwise=Otherwise(chosen))


def watermark(column: str, delay: str) -> Watermark:
    """How late a row may be by the time in `column`: `watermark("at", "10 minutes")`."""
    return Watermark(column=column, delay_ms=parse_duration_ms(delay))


def restart(*, attempts: int = 5, within: str = "10 minutes", backoff: str = "1 second") -> Restart:
    """How often a failed query is started again."""
    return Restart(
        attempts=attempts, within_ms=parse_duration_ms(within), backoff_ms=parse_duration_ms(backoff)
    )


def one_of(what: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices; else a ValueError says what to write."""
    if value not in choices:
        listed = ", ".join(f"`{each}`" for each in choices)
        raise ValueError(
            f"`{what}` cannot be `{value}`{did_you_mean(value, choices) or f': write one of {listed}'}"
        )
    return value


def optional_ms(duration: str | None) -> int | None:
    return None if duration is None else parse_duration_ms(duration)


def many(values: str | Iterable[str]) -> tuple[str, ...]:
    """A single name is a list of one."""
    return (values,) if isinstance(values, str) else tuple(values)

"""Decodes JSON objects with a schema in Spark's DDL. The event envelope is one such schema."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import DecoderError, Rejected, Skipped
from penstock.spark.decode.framing import split_frame
from penstock.spark.decode.json.mismatch import explain_mismatch
from penstock.spark.decode.json.types import EPOCH_MS_COMMENT, JSON_COMMENT, comment_of, row_type
from penstock.spark.decode.settings import EnvelopeDecoder, JsonDecoder

_ENVELOPE_FIELDS = (
    ("eventId", T.StringType(), False, None),
    ("eventType", T.StringType(), False, None),
    ("timestamp", T.TimestampType(), False, EPOCH_MS_COMMENT),
    ("correlationId", T.StringType(), True, None),
    ("sender", T.StringType(), True, None),
)


def row_decoder(settings: JsonDecoder | EnvelopeDecoder, directory: str) -> "JsonRowDecoder":  # noqa: ARG001 - no files
    if isinstance(settings, JsonDecoder):
        return JsonRowDecoder(
            parse_ddl(settings.schema), allows_null=settings.allow_null, framed=settings.framed
        )
    payload = parse_ddl(settings.payload) if settings.payload is not None else None
    return JsonRowDecoder(envelope_schema(payload), event_types=frozenset(settings.event_types))


def parse_ddl(schema: str) -> T.StructType:
    parsed = T.StructType.fromDDL(schema)
    if not isinstance(parsed, T.StructType):
        raise DecoderError(f"`{schema}` is one type and no list of columns: write `name TYPE, …`")
    return parsed


class JsonRowDecoder:
    """Decodes JSON objects. With `event_types`, events of other types are skipped."""

    reads_records = False

    def __init__(
        self,
        schema: T.StructType,
        *,
        allows_null: bool = False,
        framed: bool = False,
        event_types: frozenset[str] = frozenset(),
    ) -> None:
        self._framed = framed
        self.schema = schema
        self.allows_null = allows_null
        self._event_types = event_types
        row_type(schema)  # fails here, and not in a worker, for a type that JSON cannot hold

    def reader(self) -> Callable[[bytes], Any]:
        decode = msgspec.json.Decoder(row_type(self.schema)).decode
        schema = self.schema

        def read(value: bytes) -> Any:
            try:
                row = decode(value)
                # msgspec does not validate the strings that it skips.
                if not value.isascii():
                    value.decode()
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise Rejected(explain_mismatch(value, schema, str(error))) from None
            return row

        if self._framed:
            return lambda value: read(split_frame(value)[1])
        return self._skip_other_events(read) if self._event_types else read

    def _skip_other_events(self, read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        """Read the type first: the payload of another type has another schema."""
        peek = msgspec.json.Decoder(_EventType).decode
        wanted = self._event_types

        def read_wanted(value: bytes) -> Any:
            try:
                event_type = peek(value).eventType
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return read(value)  # rejects it with the reason
            if event_type not in wanted:
                raise Skipped
            return read(value)

        return read_wanted

    def column(self, rows: Sequence[Any], index: int) -> list[Any]:
        name = f"f{index}"
        if None in rows:
            values = [None if row is None else getattr(row, name) for row in rows]
        else:
            values = list(map(attrgetter(name), rows))
        comment = comment_of(self.schema.fields[index])
        if comment == JSON_COMMENT:
            return [None if value is None else _text(value) for value in values]
        if comment == EPOCH_MS_COMMENT:
            return [value * 1000 if isinstance(value, int) else value for value in values]
        return values


class _EventType(msgspec.Struct):
    eventType: str  # noqa: N815 - its name in JSON


def _text(raw: msgspec.Raw) -> str | None:
    """Return the JSON text; JSON null becomes SQL null."""
    text = bytes(raw).decode()
    return None if text == "null" else text


def envelope_schema(payload: T.StructType | None) -> T.StructType:
    """Return the columns of an event; without a schema the payload is JSON text."""
    schema = T.StructType()
    for name, kind, nullable, comment in _ENVELOPE_FIELDS:
        schema.add(name, kind, nullable, metadata={"comment": comment} if comment else None)
    if payload is None:
        return schema.add("payload", T.StringType(), metadata={"comment": JSON_COMMENT})
    return schema.add("payload", payload)

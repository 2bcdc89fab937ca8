"""The decoders and their settings. A new decoder is a class here, listed in `DECODERS`, and the module that it names.

The fields of a class are its keys in a YAML file. Nothing here imports Spark: a pipeline file is read without it.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec


class Decoder(msgspec.Struct, frozen=True, kw_only=True):
    kind: ClassVar[str]  # its name in pipeline files
    module: ClassVar[str] = ""  # has `row_decoder(settings, directory)`; imported on use
    shorthand: ClassVar[str] = ""  # the field that `{kind: text}` sets
    main: ClassVar[str] = ""  # the field whose line an error names
    needs_settings: ClassVar[bool] = True

    line: int = 0

    @property
    def label(self) -> str:
        return self.kind

    @property
    def accepts_all(self) -> bool:
        """Whether no record can be rejected."""
        return False


class RawDecoder(Decoder, frozen=True):
    """`key` and `value` as they are: binary, or text when `text` is set."""

    kind = "raw"
    needs_settings = False

    text: bool = False
    allow_null: bool = True

    @property
    def label(self) -> str:
        return "text" if self.text else self.kind

    @property
    def accepts_all(self) -> bool:
        return self.allow_null and not self.text


class JsonDecoder(Decoder, frozen=True):
    kind = "json"
    module = "penstock.spark.decode.json.rows"
    shorthand = main = "schema"

    schema: str  # Spark's DDL; NOT NULL marks required fields
    framed: bool = False  # Confluent's framing, as its serializer for JSON Schema writes it
    allow_null: bool = False  # a tombstone is a row of nulls, not a dead letter


class EnvelopeDecoder(Decoder, frozen=True):
    """The event envelope of `penstock.events`: eventId, eventType, timestamp, correlationId, sender, payload."""

    kind = "envelope"
    module = "penstock.spark.decode.json.rows"
    main = "payload"
    needs_settings = False

    payload: str | None = None  # DDL of the payload; without it `payload` is the JSON text
    event_types: tuple[str, ...] = ()  # events of other types are skipped; empty: all types

    allow_null: ClassVar[bool] = False


class AvroDecoder(Decoder, frozen=True):
    """Confluent's framing (a zero byte, the schema's id, the body), or with `framed=False` the body alone."""

    kind = "avro"
    module = "penstock.spark.decode.avro.rows"

    reader_schema: str | None = None  # a file; without it rows have the newest of `schemas`
    schemas: dict[int, str] = {}  # id -> file
    registry_url: str | None = None
    framed: bool = True
    allow_null: bool = False


class ProtobufDecoder(Decoder, frozen=True):
    """Confluent's framing with message indexes, or with `framed=False` the body alone."""

    kind = "protobuf"
    module = "penstock.spark.decode.protobuf"

    descriptors: str  # a file made by `protoc --descriptor_set_out --include_imports`
    message: str  # full name
    framed: bool = True
    allow_null: bool = False


class DebeziumDecoder(Decoder, frozen=True):
    """Change events of a database: JSON with and without schemas, or with `registry_url` Avro."""

    kind = "debezium"
    module = "penstock.spark.decode.debezium.decoder"
    shorthand = main = "schema"
    needs_settings = False

    schema: str | None = None  # the table's columns as DDL; by default they are read from the newest events
    registry_url: str | None = None
    before: bool = False  # adds `_before`
    transaction: bool = False  # adds `_transaction`
    other_events: Annotated[str, ("skip", "keep")] = "skip"  # keep: transactions and the like, with `_event`

    allow_null: ClassVar[bool] = False


DECODERS: Mapping[str, type[Decoder]] = {
    each.kind: each
    for each in (JsonDecoder, EnvelopeDecoder, AvroDecoder, ProtobufDecoder, DebeziumDecoder, RawDecoder)
}

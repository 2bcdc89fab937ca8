"""Avro and Protobuf, by the pipeline's decoders: they need a Python object for each record, unlike JSON."""

import os
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.spark.decode.avro.rows import AvroRowDecoder
from penstock.spark.decode.batch import BatchDecoder, DecoderError, Rejected
from penstock.spark.decode.framing import split_frame
from penstock.spark.decode.protobuf import ProtobufRowDecoder
from penstock.spark.decode.schema_registry import RegistryUnreachable, fetch_schema
from penstock.spark.decode.settings import AvroDecoder, ProtobufDecoder
from penstock.sql.columns import ERROR, RECORD_COLUMNS
from penstock.sql.errors import SqlError
from penstock.sql.schema import TopicSchema

_BARE = "bare"


class DecodedValues:
    """The columns of a decoder, for a scan. A null value is a row of nulls."""

    def __init__(self, decoder: AvroRowDecoder | ProtobufRowDecoder) -> None:
        taken = {*RECORD_COLUMNS, ERROR}
        if clash := sorted(taken.intersection(decoder.columns.names)):
            raise SqlError(f"a field is named {clash[0]}, which is a column of every topic")
        self.schema = pa.schema([field.with_nullable(True) for field in decoder.columns])
        self._decoder = BatchDecoder(decoder, self.schema)

    def decode(self, values: Any, columns: Sequence[str]) -> dict[str, Any]:
        """Return the wanted columns, and the reasons why values do not decode."""
        try:
            arrays, errors, _ = self._decoder.decode(values.to_pylist())
        except RegistryUnreachable as error:
            raise SqlError(str(error)) from error
        made = dict(zip(self.schema.names, arrays, strict=True))
        made[ERROR] = pa.array(errors, pa.string())
        return {name: made[name] for name in columns}


def decoding_of(schema: TopicSchema, sample: Sequence[bytes], *, registry_url: str | None) -> DecodedValues:
    """Raises `SqlError`."""
    try:
        if schema.kind == "avro":
            return DecodedValues(_avro(schema.argument, sample, registry_url))
        return DecodedValues(_protobuf(schema.argument))
    except (DecoderError, RegistryUnreachable) as error:
        raise SqlError(str(error)) from error


def _avro(file: str, sample: Sequence[bytes], registry_url: str | None) -> AvroRowDecoder:
    if file:
        settings = AvroDecoder(reader_schema=_read(file).decode(), framed=False, allow_null=True)
        return AvroRowDecoder(settings)
    if registry_url is None:
        raise SqlError("Avro needs --registry URL for Confluent's framing, or avro(FILE) for bare bodies")
    newest = max(_schema_ids(sample), default=None)
    found = None if newest is None else fetch_schema(registry_url, newest)
    if newest is None or found is None:
        raise SqlError(
            "its newest records do not name a schema of the registry, so its columns are not known: use avro(FILE)"
        )
    if found.references:
        raise SqlError(f"schema {newest} refers to other schemas: use avro(FILE) with the whole schema")
    return AvroRowDecoder(
        AvroDecoder(reader_schema=found.text, registry_url=registry_url, framed=True, allow_null=True)
    )


def _schema_ids(sample: Sequence[bytes]) -> set[int]:
    ids: set[int] = set()
    for value in sample:
        try:
            ids.add(split_frame(value)[0])
        except Rejected:
            continue
    return ids


def _protobuf(argument: str) -> ProtobufRowDecoder:
    file, _, rest = argument.partition(",")
    message, _, framing = (part.strip() for part in rest.partition(","))
    if not file.strip() or not message or framing not in ("", _BARE):
        raise SqlError(
            "write protobuf(FILE, MESSAGE), or protobuf(FILE, MESSAGE, bare) for bodies without framing"
        )
    settings = ProtobufDecoder(
        descriptors=file.strip(), message=message, framed=framing != _BARE, allow_null=True
    )
    return ProtobufRowDecoder(_read(file.strip()), settings)


def _read(path: str) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read()
    except OSError as error:
        raise SqlError(f"cannot read {path}: {error.strerror}") from None

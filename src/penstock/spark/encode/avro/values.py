"""Encodes Avro with fastavro: one body for each value, without a container."""

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa

from penstock.spark.decode.avro.rows import parse_schema
from penstock.spark.decode.batch import DecoderError
from penstock.spark.decode.framing import frame_header
from penstock.spark.decode.schema_registry import AVRO, RegisteredSchema
from penstock.spark.encode.avro.fitting import Fitting
from penstock.spark.encode.avro.schema import infer_schema
from penstock.spark.encode.batch import EncoderError, Unencodable, ValueEncoder
from penstock.spark.encode.schemas import Place, newest_schema, read_schema_file, schema_id
from penstock.spark.encode.settings import AvroEncoder
from penstock.spark.text import one_line

_REASON_LENGTH_MAX = 200


def value_encoder(settings: AvroEncoder, kind: pa.DataType, place: Place) -> ValueEncoder | None:
    """Return the encoder of a column; None: its schema is in a registry that may not be asked now."""
    schema = _find_schema(settings, kind, place)
    if schema is None:
        return None
    encoder = AvroValueEncoder(schema, kind)
    header = b""
    if settings.framed:
        header = frame_header(schema_id(settings, place, schema, encoder.record_name))
    elif settings.register:
        schema_id(settings, place, schema, encoder.record_name)
    encoder.header = header
    return encoder


def _find_schema(settings: AvroEncoder, kind: pa.DataType, place: Place) -> RegisteredSchema | None:
    if settings.schema is not None:
        try:
            text = read_schema_file(settings.schema, place).decode()
            return RegisteredSchema(text=json.dumps(json.loads(text)), kind=AVRO)
        except ValueError as error:
            raise EncoderError(f"{settings.schema} is not an Avro schema: {error}") from None
    if settings.register or settings.registry_url is None:
        inferred = infer_schema(kind, settings.record_name or place.record_name)
        return RegisteredSchema(text=json.dumps(inferred), kind=AVRO)
    return newest_schema(settings, place)


class AvroValueEncoder:
    def __init__(self, schema: RegisteredSchema, kind: pa.DataType) -> None:
        self._schema = schema
        self._kind = kind
        self.header = b""
        parsed, _ = self._fit()  # on the driver, so that errors show there
        self.record_name = str(parsed.get("name", "")) if isinstance(parsed, dict) else ""

    def _fit(self) -> tuple[Any, Callable[[Any], Any] | None]:
        named: dict[str, Any] = {}
        try:
            parsed = parse_schema(self._schema, named=named)
        except DecoderError as error:
            raise EncoderError(str(error)) from None
        return parsed, Fitting(named).fit(self._kind, parsed, nullable=False)

    def writer(self) -> Callable[[Any], bytes]:
        schema, prepare = self._fit()
        header, write_value = self.header, fastavro.schemaless_writer

        def write(value: Any) -> bytes:
            out = io.BytesIO()
            out.write(header)
            try:
                write_value(out, schema, value if prepare is None else prepare(value))
            except (ValueError, TypeError, OverflowError, KeyError, AttributeError) as error:
                raise Unencodable(one_line(f"does not fit the schema: {error}", _REASON_LENGTH_MAX)) from None
            return out.getvalue()

        return write

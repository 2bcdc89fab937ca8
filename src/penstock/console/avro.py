"""Avro values decoded with a schema that the user gives, or that an object container carries."""

import base64
import importlib
import io
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from penstock.console.broker_errors import CONFLICT
from penstock.console.record_view import avro_hint
from penstock.console.refusals import Refused, bad_request
from penstock.distribution import pip_install

_ROWS_MAX: Final = 1000
_FRAME_BYTES: Final = 5
_EXACT_MAX: Final = 2**53  # browsers read numbers as doubles
_FAULTS: Final = (
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
)


def decode_avro(data: bytes, schema_text: str) -> Any:
    """Decode a value to JSON types. Raises `Refused`."""
    fastavro = _fastavro()
    hint = avro_hint(data) or {}
    try:
        if hint.get("kind") == "container":
            rows = [row for row, _ in zip(fastavro.reader(io.BytesIO(data)), range(_ROWS_MAX), strict=False)]
            return json_ready(rows)
        schema = _parsed(fastavro, schema_text)
        body = data[_FRAME_BYTES:] if hint.get("kind") == "framed" else data
        return json_ready(_decoded(fastavro, body, schema))
    except _FAULTS as error:
        raise bad_request(
            f"The value does not fit the schema: {str(error) or type(error).__name__}."
        ) from None


def _decoded(fastavro: Any, body: bytes, schema: Any) -> Any:
    stream = io.BytesIO(body)
    value = fastavro.schemaless_reader(stream, schema)
    if stream.tell() != len(body):
        raise bad_request(f"The value does not fit the schema: {len(body) - stream.tell()} bytes follow it.")
    return value


def _parsed(fastavro: Any, schema_text: str) -> Any:
    if not schema_text.strip():
        raise bad_request("Paste the schema that the value was written with.")
    try:
        return fastavro.parse_schema(json.loads(schema_text))
    except (*_FAULTS, fastavro.schema.SchemaParseException) as error:
        raise bad_request(f"This is not an Avro schema: {error}.") from None


def _fastavro() -> Any:
    try:
        return importlib.import_module("fastavro")
    except ImportError:
        raise Refused(
            CONFLICT,
            "EXTRA_MISSING",
            f"Avro needs the package fastavro, which is not installed here: {pip_install('spark')}.",
        ) from None


def json_ready(value: Any) -> Any:
    """Convert a value of fastavro to JSON types; bytes to Base64."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(each) for each in value]
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, datetime | date | time | Decimal | UUID):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) > _EXACT_MAX:
        return str(value)
    return value

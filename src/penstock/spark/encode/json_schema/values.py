"""Encodes JSON. Values are validated where the schema is given; an inferred one holds by construction.

Timestamps and dates are RFC 3339 text, binary is base64, decimals are numbers with all their digits.
"""

import json
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import msgspec
import pyarrow as pa

from penstock.spark.decode.framing import frame_header
from penstock.spark.decode.schema_registry import JSON, RegisteredSchema
from penstock.spark.encode.batch import EncoderError, Unencodable, ValueEncoder
from penstock.spark.encode.json_schema.fitting import Prepare, fit
from penstock.spark.encode.json_schema.schema import infer_schema
from penstock.spark.encode.schemas import Place, newest_schema, read_schema_file, schema_id
from penstock.spark.encode.settings import JsonSchemaEncoder
from penstock.spark.text import one_line

_REASON_LENGTH_MAX = 200


def value_encoder(settings: JsonSchemaEncoder, kind: pa.DataType, place: Place) -> ValueEncoder | None:
    """Return the encoder of a column; None: its schema is in a registry that may not be asked now."""
    is_inferred = settings.schema is None and (settings.register or settings.registry_url is None)
    if settings.schema is not None:
        schema = RegisteredSchema(text=read_schema_file(settings.schema, place).decode(), kind=JSON)
    elif is_inferred:
        inferred = infer_schema(kind, settings.record_name or place.record_name)
        schema = RegisteredSchema(text=json.dumps(inferred), kind=JSON)
    else:
        found = newest_schema(settings, place)
        if found is None:
            return None
        schema = found
    encoder = JsonValueEncoder(schema, kind, validates=not is_inferred)
    if settings.framed or settings.register:
        known = schema_id(settings, place, schema, encoder.record_name)
        encoder.header = frame_header(known) if settings.framed else b""
    return encoder


class JsonValueEncoder:
    def __init__(self, schema: RegisteredSchema, kind: pa.DataType, *, validates: bool) -> None:
        self._schema = schema
        self._kind = kind
        self._validates = validates
        self.header = b""
        parsed, _ = self._fit()  # on the driver, so that errors show there
        self.record_name = str(parsed.get("title", "")) if isinstance(parsed, dict) else ""
        self._validator()

    def _fit(self) -> tuple[Any, Prepare]:
        try:
            parsed = json.loads(self._schema.text)
        except ValueError as error:
            raise EncoderError(f"not a JSON Schema: {error}") from None
        return parsed, fit(self._kind, parsed)

    def _validator(self) -> Any:
        if not self._validates:
            return None
        texts = zip(self._schema.reference_names, self._schema.references, strict=True)
        known = {name: json.loads(text) for name, text in texts}

        def retrieve(uri: str) -> Any:
            for name, schema in known.items():
                if uri == name or uri.endswith(f"/{name}"):
                    return schema
            raise ValueError(f"there is no schema {uri}")

        try:
            return jsonschema_rs.validator_for(json.loads(self._schema.text), retriever=retrieve)
        except (ValueError, jsonschema_rs.ValidationError) as error:
            raise EncoderError(f"not a JSON Schema: {one_line(str(error), _REASON_LENGTH_MAX)}") from None

    def writer(self) -> Callable[[Any], bytes]:
        _, prepare = self._fit()
        validator, header = self._validator(), self.header
        encode = msgspec.json.Encoder(decimal_format="number").encode

        def write(value: Any) -> bytes:
            body = encode(value if prepare is None else prepare(value))
            if validator is not None:
                document = msgspec.json.decode(body)
                if not validator.is_valid(document):
                    raise Unencodable(_describe_errors(validator, document))
            return header + body

        return write


def _describe_errors(validator: Any, document: Any) -> str:
    error = next(iter(validator.iter_errors(document)))
    place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.instance_path)
    return one_line(f"{place.lstrip('.') or 'the value'}: {error.message}", _REASON_LENGTH_MAX)

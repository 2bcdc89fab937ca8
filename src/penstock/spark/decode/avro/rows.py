"""Decodes Avro: reads each body with the writer's schema and resolves it to the reader's, which has the columns."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import msgspec
import pyarrow as pa
from fastavro.read import SchemaResolutionError

from penstock.spark.decode.avro.types import keep_supported_logical_types, refuse_zero_size_items, row_schema
from penstock.spark.decode.batch import DecoderError, Rejected, spark_schema
from penstock.spark.decode.framing import split_frame
from penstock.spark.decode.schema_registry import RegisteredSchema, fetch_schema
from penstock.spark.decode.settings import AvroDecoder

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def row_decoder(settings: AvroDecoder, directory: str) -> "AvroRowDecoder":
    def text(path: str) -> str:
        return Path(directory, path).read_text(encoding="utf-8")

    reader_schema = None if settings.reader_schema is None else text(settings.reader_schema)
    schemas = {schema_id: text(path) for schema_id, path in settings.schemas.items()}
    return AvroRowDecoder(msgspec.structs.replace(settings, reader_schema=reader_schema, schemas=schemas))


class AvroRowDecoder:
    """The settings have the text of schemas instead of files. `reader_schema`, by default the newest of `schemas`,
    defines the columns. With `registry_url`, each worker fetches each id that is not in `schemas` once.
    """

    reads_records = False

    def __init__(self, settings: AvroDecoder) -> None:
        if settings.reader_schema is None and not settings.schemas:
            raise DecoderError("avro: set a schema file as `reader_schema`, or in `schemas`")
        self._settings = settings
        newest = settings.schemas.get(max(settings.schemas, default=0), "")
        self._reader_text = newest if settings.reader_schema is None else settings.reader_schema
        self.allows_null = settings.allow_null
        self.columns: pa.Schema = row_schema(
            parse_schema(RegisteredSchema(text=self._reader_text), expand=True)
        )
        for schema_id, text in settings.schemas.items():
            try:
                parse_schema(RegisteredSchema(text=text))
            except DecoderError as error:
                raise DecoderError(f"schema {schema_id}: {error}") from None

    @property
    def schema(self) -> "StructType":
        return spark_schema(self.columns)

    def reader(self) -> Callable[[bytes], Any]:
        wanted = parse_schema(RegisteredSchema(text=self._reader_text))
        if not self._settings.framed:
            return lambda value: decode_body(value, wanted, None, "the schema")
        parsed: dict[int, Any] = {}

        def read(value: bytes) -> Any:
            schema_id, body = split_frame(value)
            if schema_id not in parsed:
                parsed[schema_id] = self._writer_schema(schema_id)
            return decode_body(body, parsed[schema_id], wanted, f"schema {schema_id}")

        return read

    def _writer_schema(self, schema_id: int) -> Any:
        if schema_id in self._settings.schemas:
            return parse_schema(RegisteredSchema(text=self._settings.schemas[schema_id]))
        url = self._settings.registry_url
        found = fetch_schema(url, schema_id) if url is not None else None
        if found is None:
            raise Rejected(f"unknown schema id {schema_id}")
        try:
            return parse_schema(found)
        except DecoderError as error:
            raise Rejected(f"schema {schema_id} cannot be used: {error}") from None

    def column(self, rows: Sequence[Any], index: int) -> list[Any]:
        name = self.columns.names[index]
        return [None if row is None else row.get(name) for row in rows]


def parse_schema(
    schema: RegisteredSchema, *, expand: bool = False, named: dict[str, Any] | None = None
) -> Any:
    """Return the schema in fastavro's form; `named` gets the types that have names."""
    named = {} if named is None else named
    try:
        for text in (*schema.references, schema.text):
            kept = keep_supported_logical_types(json.loads(text))
            parsed = fastavro.parse_schema(kept, named_schemas=named, expand=expand)
            refuse_zero_size_items(parsed, named)
    except DecoderError:
        raise
    except fastavro.schema.UnknownType as error:
        raise DecoderError(f"not an Avro schema: there is no type {error.name}") from None
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise DecoderError(f"not an Avro schema: {type(error).__name__}: {error}") from None
    return parsed


def decode_body(body: bytes, written: Any, wanted: Any, name: str) -> Any:
    stream = io.BytesIO(body)
    try:
        row = fastavro.schemaless_reader(stream, written, wanted)
    except EOFError:
        raise Rejected(f"truncated: the Avro body of {len(body)} bytes ends before {name} does") from None
    except SchemaResolutionError as error:
        raise Rejected(f"{name} does not fit the columns: {_one_line(error)}") from None
    except UnicodeDecodeError:
        raise Rejected(f"not Avro of {name}: a string is not UTF-8") from None
    except (IndexError, KeyError, ValueError, OverflowError, TypeError, MemoryError, RecursionError) as error:
        raise Rejected(f"not Avro of {name}: {_one_line(error)}") from None
    if stream.tell() < len(body):
        raise Rejected(f"{len(body) - stream.tell()} bytes after the end of the Avro body of {name}")
    return row


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

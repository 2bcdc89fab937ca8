"""Finds the columns of sources that do not declare them, in the newest events of their topics."""

import json
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from penstock.spark.decode.batch import Rejected
from penstock.spark.decode.debezium.events import make_form
from penstock.spark.decode.debezium.merging import merge_columns
from penstock.spark.decode.debezium.peek import ChangesOfManyTables, columns_of_message
from penstock.spark.decode.settings import DebeziumDecoder, Decoder
from penstock.spark.pipeline.core.model import Pipeline, TopicSource

SAMPLE_RECORDS = 100  # of each partition

ReadSample = Callable[[TopicSource], Sequence[bytes]]  # the values of the newest records


def with_columns(pipeline: Pipeline, read_sample: ReadSample) -> Pipeline:
    """Return the pipeline with decoders that know their columns, or that leave them to each batch."""
    sources = tuple(
        replace(source, decoder=_decoder(pipeline, source, source.decoder, read_sample))
        if isinstance(source, TopicSource)
        else source
        for source in pipeline.sources
    )
    return replace(pipeline, sources=sources)


def _decoder(pipeline: Pipeline, source: TopicSource, decoder: Decoder, read_sample: ReadSample) -> Decoder:
    if not isinstance(decoder, DebeziumDecoder) or decoder.schema is not None:
        return decoder
    if any(output.input == source.name and output.target.is_for_each_topic for output in pipeline.outputs):
        return ChangesOfManyTables(**{name: getattr(decoder, name) for name in decoder.__struct_fields__})
    found = sampled_columns(decoder, read_sample(source))
    return decoder if found is None else replace(decoder, schema=found)


def sampled_columns(decoder: DebeziumDecoder, values: Sequence[bytes]) -> str | None:
    """Return the columns of the table that these events change, as DDL; None if no event shows them."""
    form = make_form(decoder.registry_url)
    texts = set()
    for value in values:
        try:
            message = form.read(value)
        except Rejected:
            continue  # a dead letter later
        if message.is_change:
            texts.add(columns_of_message(message))
    schemas = [parse_columns(text) for text in sorted(filter(None, texts))]
    merged = merge_columns(None, [to_arrow_schema(each, timezone="UTC") for each in schemas])
    fields = from_arrow_schema(merged, prefer_timestamp_ntz=True).fields
    return ", ".join(f"{_quoted(field.name)} {_ddl(field.dataType)}" for field in fields) or None


def _ddl(kind: T.DataType) -> str:
    """Return the type as DDL. Spark's own function for it asks the JVM, and quotes no names."""
    if isinstance(kind, T.StructType):
        return f"STRUCT<{', '.join(f'{_quoted(each.name)}: {_ddl(each.dataType)}' for each in kind.fields)}>"
    if isinstance(kind, T.ArrayType):
        return f"ARRAY<{_ddl(kind.elementType)}>"
    if isinstance(kind, T.MapType):
        return f"MAP<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
    return kind.simpleString().upper()


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def parse_columns(text: str) -> T.StructType:
    return T.StructType.fromJson(json.loads(text))

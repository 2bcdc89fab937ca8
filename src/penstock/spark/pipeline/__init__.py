"""Pipelines declared in a file and run on Spark. These names are for pipeline files in Python (docs/pipelines.md)."""

from penstock.spark.decode import settings
from penstock.spark.encode import settings as encoders
from penstock.spark.pipeline.python.definition import PipelineDefinition, define
from penstock.spark.pipeline.python.parts import (
    envelope,
    expect,
    lineage,
    maintain,
    on_failure,
    restart,
    watermark,
)

avro = settings.AvroDecoder
debezium = settings.DebeziumDecoder
json = settings.JsonDecoder
protobuf = settings.ProtobufDecoder
raw = settings.RawDecoder
encode_avro = encoders.AvroEncoder
encode_json_schema = encoders.JsonSchemaEncoder
encode_protobuf = encoders.ProtobufEncoder

__all__ = [
    "PipelineDefinition",
    "avro",
    "debezium",
    "define",
    "encode_avro",
    "encode_json_schema",
    "encode_protobuf",
    "envelope",
    "expect",
    "json",
    "lineage",
    "maintain",
    "on_failure",
    "protobuf",
    "raw",
    "restart",
    "watermark",
]

"""Pipelines declared in a file and run on Spark. These names are for pipeline files in Python (docs/pipelines.md)."""

from penstock.spark.decode import settings
from penstock.spark.pipeline.python.definition import PipelineDefinition, define
from penstock.spark.pipeline.python.parts import envelope, expect, maintain, restart, watermark

avro = settings.AvroDecoder
json = settings.JsonDecoder
protobuf = settings.ProtobufDecoder
raw = settings.RawDecoder

__all__ = [
    "PipelineDefinition",
    "avro",
    "define",
    "envelope",
    "expect",
    "json",
    "maintain",
    "protobuf",
    "raw",
    "restart",
    "watermark",
]

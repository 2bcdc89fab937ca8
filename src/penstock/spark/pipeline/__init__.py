"""Pipelines declared in a file and run on Spark. These names are for pipeline files in Python (docs/pipelines.md)."""

from penstock.spark.pipeline.python.definition import PipelineDefinition, define
from penstock.spark.pipeline.python.parts import (
    avro,
    envelope,
    expect,
    json,
    protobuf,
    raw,
    restart,
    watermark,
)

__all__ = [
    "PipelineDefinition",
    "avro",
    "define",
    "envelope",
    "expect",
    "json",
    "protobuf",
    "raw",
    "restart",
    "watermark",
]

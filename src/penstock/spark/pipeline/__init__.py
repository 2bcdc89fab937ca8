"""Pipelines declared in a file, run on Spark. These names are for Python pipeline files; see docs/pipelines.md."""

from penstock.spark.pipeline.python_define import define
from penstock.spark.pipeline.python_form import PipelineDefinition
from penstock.spark.pipeline.python_parts import (
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

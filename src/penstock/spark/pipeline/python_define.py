"""`define`: where a pipeline in Python begins."""

import os
from collections.abc import Mapping

from penstock.spark.pipeline.choices import SOURCE_FORMATS
from penstock.spark.pipeline.durations import parse_duration_ms
from penstock.spark.pipeline.model import Pipeline, Restart
from penstock.spark.pipeline.python_caller import caller_outside
from penstock.spark.pipeline.python_form import PipelineDefinition
from penstock.spark.pipeline.python_parts import one_of

_RESTART = Restart()


def define(
    name: str,
    *,
    bootstrap_servers: str = "127.0.0.1:9092",
    source_format: str = "penstock",
    checkpoints: str = "",
    dead_letter_topic: str = "",
    trigger: str = "1 second",
    kafka: Mapping[str, str] | None = None,
    spark: Mapping[str, str] | None = None,
    restart: Restart = _RESTART,
) -> PipelineDefinition:
    """Begin a pipeline. Relative paths in it are relative to the file in which this is called."""
    path, line = caller_outside(__file__)
    return PipelineDefinition(
        Pipeline(
            line=line,
            name=name,
            bootstrap_servers=bootstrap_servers,
            source_format=one_of("source_format", source_format, SOURCE_FORMATS),
            checkpoints=checkpoints,
            dead_letter_topic=dead_letter_topic,
            trigger_ms=parse_duration_ms(trigger),
            kafka=dict(kafka or {}),
            spark=dict(spark or {}),
            sources=(),
            outputs=(),
            restart=restart,
            directory=os.path.dirname(path) or ".",
            path=path,
        )
    )

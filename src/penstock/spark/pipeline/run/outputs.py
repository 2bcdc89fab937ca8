"""The frame that a planned query writes, its sink and its mode."""

from collections.abc import Sequence

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.dead_letters import dead_letters
from penstock.spark.pipeline.compile.frames import Compiled, compile_frames
from penstock.spark.pipeline.compile.sources import read_streams
from penstock.spark.pipeline.core.graph import upstream
from penstock.spark.pipeline.core.model import Pipeline, Sink
from penstock.spark.pipeline.core.queries import PlannedQuery, dead_letter_topic, rejects_of
from penstock.spark.pipeline.outputs import TopicTarget
from penstock.spark.pipeline.progress import batch as progress
from penstock.spark.pipeline.run.topic_tables import TopicTablesWriter
from penstock.spark.pipeline.run.writers import OutputIdentity, OutputWriter, output_writer


def sink_of(pipeline: Pipeline, planned: PlannedQuery) -> tuple[Sink, str]:
    if planned.output is None:
        return TopicTarget(topic=dead_letter_topic(pipeline)).sink(pipeline), "append"
    return planned.output.target.sink(pipeline), planned.output.stream_mode


def frame_of(pipeline: Pipeline, compiled: Compiled, planned: PlannedQuery) -> DataFrame:
    if planned.output is not None:
        return compiled.outputs[planned.output.name]
    rejected = compiled.rejected[planned.rejecting].observe(
        progress.DEAD_LETTER_METRICS, F.count(F.lit(1)).alias("rows")
    )
    return dead_letters(rejected, pipeline=pipeline.name, step=planned.rejecting)


def compile_batch(batch: DataFrame, pipeline: Pipeline, source: str) -> Compiled:
    """Compile a pipeline with this topic source over a decoded batch of it."""
    spark = batch.sparkSession
    compiled = compile_frames(spark, pipeline, read_streams(spark, pipeline), decoded={source: batch})
    compiled.raise_problems(pipeline)
    return compiled


def part_of(pipeline: Pipeline, queries: Sequence[PlannedQuery]) -> Pipeline:
    """Return the pipeline with only what these queries need."""
    chosen = [query.output for query in queries]
    rejecting = [query.rejecting for query in queries]
    outputs = tuple(each for each in pipeline.outputs if each in chosen or rejects_of(each) in rejecting)
    needed = upstream(pipeline, [query.input for query in queries])
    return msgspec.structs.replace(
        pipeline,
        sources=tuple(each for each in pipeline.sources if each.name in needed),
        steps=tuple(each for each in pipeline.steps if each.name in needed),
        outputs=outputs,
    )


def writer_of(pipeline: Pipeline, planned: PlannedQuery, identity: OutputIdentity) -> OutputWriter:
    if planned.output is not None and planned.output.target.is_for_each_topic:
        return TopicTablesWriter(pipeline, planned.output, identity)
    sink, mode = sink_of(pipeline, planned)
    return output_writer(sink, mode, identity)

"""Explains a checked pipeline: a table of its parts, and a table of its queries. No I/O."""

from collections.abc import Mapping
from typing import assert_never

from penstock.spark.durations import format_duration
from penstock.spark.pipeline.check import Report
from penstock.spark.pipeline.core import model
from penstock.spark.pipeline.core.queries import (
    PlannedQuery,
    checkpoint_root,
    dead_letter_topic,
    plan_queries,
)
from penstock.spark.pipeline.outputs.topic import describe_topic, describe_written
from penstock.spark.text import counted, one_line

PART_COLUMNS = ("line", "name", "what it is", "reads", "columns")
QUERY_COLUMNS = ("line", "query", "from", "to", "mode", "trigger", "checkpoint")

_TEXT_MAX = 40

Row = tuple[object, ...]


def part_rows(report: Report) -> list[Row]:
    pipeline = report.pipeline
    rows: list[Row] = []
    for source in pipeline.sources:
        if isinstance(source, model.TableSource):
            what, reads = "table", f"{source.path} ({source.format})"
        else:
            what, reads = f"topic, {source.decoder.label}", _topics(source, report.partitions)
        rows.append((source.line or None, source.name, what, reads, _columns(report, source.name)))
    for step in pipeline.steps:
        reads = ", ".join(step.inputs)
        rows.append((step.line or None, step.name, _step(step), reads, _columns(report, step.name)))
    return rows


def query_rows(report: Report) -> list[Row]:
    return [_query(query, report) for query in plan_queries(report.pipeline)]


def summary(pipeline: model.Pipeline) -> str:
    parts = (("source", pipeline.sources), ("step", pipeline.steps), ("output", pipeline.outputs))
    counts = ", ".join(counted(len(some), kind) for kind, some in parts)
    return (
        f"pipeline {pipeline.name}: {counts}; brokers at {pipeline.bootstrap_servers}; "
        f"checkpoints in {checkpoint_root(pipeline)}"
    )


def _columns(report: Report, name: str) -> str:
    known = report.analysis.columns.get(name)
    return "?" if known is None else ", ".join(f"{column} {kind}" for column, kind in known)


def _topics(source: model.TopicSource, partitions: Mapping[str, int] | None) -> str:
    if source.pattern is not None:
        return f"topics that match {source.pattern}"
    return ", ".join(describe_topic(topic, partitions) for topic in source.topics)


def _step(step: model.Step) -> str:
    kind = _operation(step.operation)
    if step.watermark is not None:
        kind += f", rows at most {format_duration(step.watermark.delay_ms)} late by {step.watermark.column}"
    return kind


def _operation(operation: model.Operation) -> str:
    match operation:
        case model.SqlStep():
            return "sql"
        case model.FilterStep():
            return f"filter {one_line(operation.condition, _TEXT_MAX)}"
        case model.PythonStep():
            function = operation.function
            return f"python {function if isinstance(function, str) else function.__qualname__}"
        case model.DedupeStep():
            within = "" if operation.within_ms is None else f" within {format_duration(operation.within_ms)}"
            return f"dedupe by {', '.join(operation.by)}{within}"
        case model.WindowStep():
            return _window(operation)
        case model.JoinStep():
            return f"{operation.how} join on {one_line(operation.on, _TEXT_MAX)}"
        case model.StateStep():
            processor = operation.processor
            return f"state of {processor if isinstance(processor, str) else processor.__qualname__}"
        case _:
            assert_never(operation)


def _window(window: model.WindowStep) -> str:
    if window.session_gap_ms is not None:
        return f"sessions by {window.on} with gaps of {format_duration(window.session_gap_ms)}"
    every = "" if window.slide_ms is None else f" every {format_duration(window.slide_ms)}"
    return f"windows of {format_duration(window.size_ms or 0)}{every} by {window.on}"


def _query(query: PlannedQuery, report: Report) -> Row:
    pipeline, partitions = report.pipeline, report.partitions
    every = format_duration(query.trigger_ms)
    checkpoint = f"{checkpoint_root(pipeline)}/{report.analysis.checkpoints.get(query.key, query.key)}"
    if query.output is None:
        to = f"topic {describe_written(dead_letter_topic(pipeline), None, partitions)}"
        return None, query.name, f"rejects of {query.rejecting}", to, "append", every, checkpoint
    output = query.output
    to = output.target.describe(partitions)
    return output.line or None, query.name, output.input, to, output.mode, every, checkpoint

"""A checked pipeline in words: a table of what is read and made, and a table of the queries that will run. Pure."""

from collections.abc import Mapping

from penstock.spark.pipeline.check import Report
from penstock.spark.pipeline.durations import format_duration
from penstock.spark.pipeline.model import (
    Decoder,
    DedupeStep,
    FilterStep,
    JoinStep,
    Operation,
    Output,
    Pipeline,
    PythonStep,
    RawDecoder,
    SqlStep,
    StateStep,
    Step,
    TableSource,
    TableTarget,
    TopicSource,
    TopicTarget,
    WindowStep,
)
from penstock.spark.pipeline.queries import PlannedQuery, checkpoint_root, dead_letter_topic, plan_queries

PART_COLUMNS = ("line", "name", "what it is", "reads", "columns")
QUERY_COLUMNS = ("line", "query", "from", "to", "mode", "trigger", "checkpoint")

_TEXT_MAX = 40

Row = tuple[object, ...]


def part_rows(report: Report) -> list[Row]:
    """A row for each source and step."""
    pipeline = report.pipeline
    rows: list[Row] = []
    for source in pipeline.sources:
        if isinstance(source, TableSource):
            what, reads = "table", f"{source.path} ({source.format})"
        else:
            what, reads = f"topic, {_decoder(source.decoder)}", _topics(source, report.partitions)
        rows.append((source.line or None, source.name, what, reads, _columns(report, source.name)))
    for step in pipeline.steps:
        reads = ", ".join(step.inputs)
        rows.append((step.line or None, step.name, _step(step), reads, _columns(report, step.name)))
    return rows


def query_rows(report: Report) -> list[Row]:
    """A row for each streaming query: the outputs, and the places that send dead letters."""
    pipeline = report.pipeline
    return [_query(query, pipeline, report.partitions) for query in plan_queries(pipeline)]


def summary(pipeline: Pipeline) -> str:
    counts = ", ".join(
        f"{len(parts)} {kind}{'' if len(parts) == 1 else 's'}"
        for kind, parts in (
            ("source", pipeline.sources),
            ("step", pipeline.steps),
            ("output", pipeline.outputs),
        )
    )
    return (
        f"pipeline {pipeline.name}: {counts}; brokers at {pipeline.bootstrap_servers}; "
        f"checkpoints in {checkpoint_root(pipeline)}"
    )


def _columns(report: Report, name: str) -> str:
    known = report.analysis.columns.get(name)
    return "?" if known is None else ", ".join(f"{column} {kind}" for column, kind in known)


def _topics(source: TopicSource, partitions: Mapping[str, int] | None) -> str:
    if source.pattern is not None:
        return f"topics that match {source.pattern}"
    return ", ".join(_topic(topic, partitions) for topic in source.topics)


def _topic(topic: str, partitions: Mapping[str, int] | None) -> str:
    if partitions is None:
        return topic
    count = partitions.get(topic)
    return (
        f"{topic} (missing)" if count is None else f"{topic} ({count} partition{'' if count == 1 else 's'})"
    )


def _decoder(decoder: Decoder) -> str:
    name = type(decoder).__name__.removesuffix("Decoder").lower()
    return "text" if isinstance(decoder, RawDecoder) and decoder.text else name


def _step(step: Step) -> str:
    kind = _operation(step.operation)
    if step.watermark is not None:
        kind += f", rows at most {format_duration(step.watermark.delay_ms)} late by {step.watermark.column}"
    return kind


def _operation(operation: Operation) -> str:
    match operation:
        case SqlStep():
            return "sql"
        case FilterStep():
            return f"filter {_short(operation.condition)}"
        case PythonStep():
            function = operation.function
            return f"python {function if isinstance(function, str) else function.__qualname__}"
        case DedupeStep():
            within = "" if operation.within_ms is None else f" within {format_duration(operation.within_ms)}"
            return f"dedupe by {', '.join(operation.by)}{within}"
        case WindowStep():
            return _window(operation)
        case JoinStep():
            return f"{operation.how} join on {_short(operation.on)}"
        case StateStep():
            processor = operation.processor
            return f"state of {processor if isinstance(processor, str) else processor.__qualname__}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_MAX else f"{line[: _TEXT_MAX - 1]}…"


def _window(window: WindowStep) -> str:
    if window.session_gap_ms is not None:
        return f"sessions by {window.on} with gaps of {format_duration(window.session_gap_ms)}"
    every = "" if window.slide_ms is None else f" every {format_duration(window.slide_ms)}"
    return f"windows of {format_duration(window.size_ms)}{every} by {window.on}"


def _query(query: PlannedQuery, pipeline: Pipeline, partitions: Mapping[str, int] | None) -> Row:
    every = format_duration(query.trigger_ms)
    checkpoint = f"{checkpoint_root(pipeline)}/{query.key}"
    if query.output is None:
        to = f"topic {_written(dead_letter_topic(pipeline), None, partitions)}"
        return None, query.name, f"rejects of {query.rejecting}", to, "append", every, checkpoint
    output = query.output
    to = _target(output, partitions)
    return output.line or None, query.name, output.input, to, output.mode, every, checkpoint


def _target(output: Output, partitions: Mapping[str, int] | None) -> str:
    target = output.target
    if isinstance(target, TopicTarget):
        return f"topic {_written(target.topic, target.partitions, partitions)}, {target.delivery}"
    if isinstance(target, TableTarget):
        return f"table {target.path} ({target.format})"
    return "console"


def _written(topic: str, wanted: int | None, partitions: Mapping[str, int] | None) -> str:
    """A topic that is missing is made when the pipeline starts."""
    if partitions is None or topic in partitions:
        return _topic(topic, partitions)
    count = "the broker's number of" if wanted is None else wanted
    return f"{topic} (will be made with {count} partition{'' if wanted == 1 else 's'})"

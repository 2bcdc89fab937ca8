"""Checks streams: which operations need a watermark, and which output modes fit. No I/O.

A SQL or Python step may change watermarks in ways that do not show here. So a rule reports a missing watermark only
where no part upstream declares one. Spark checks the rest in `check`.
"""

from collections.abc import Iterator

from penstock.spark.durations import format_duration
from penstock.spark.pipeline.core import model
from penstock.spark.pipeline.core.graph import outputs_of, streaming_names, topological_order, upstream
from penstock.spark.pipeline.core.problems import Problem, error, prefixed, warning
from penstock.spark.pipeline.core.queries import dead_letter_topic

_ADD_WATERMARK = "write `watermark: {column: …, delay: 10 minutes}` on its source or on the step"

# The watermarks of a source or step; None where a SQL or Python step may have changed them.
Watermarks = tuple[model.Watermark, ...] | None


def stream_problems(pipeline: model.Pipeline) -> list[Problem]:
    streaming = streaming_names(pipeline)
    watermarks = _watermarks(pipeline)
    problems: list[Problem] = []
    for step in pipeline.steps:
        if step.name in streaming:
            problems += prefixed(f"step {step.name}", _step_problems(step, pipeline, streaming, watermarks))
    for output in pipeline.outputs:
        problems += prefixed(f"output {output.name}", _output_problems(output, pipeline, streaming))
    return problems


def _watermarks(pipeline: model.Pipeline) -> dict[str, Watermarks]:
    known: dict[str, Watermarks] = {
        source.name: (source.watermark,) if isinstance(source, model.TopicSource) and source.watermark else ()
        for source in pipeline.sources
    }
    for step in topological_order(pipeline.steps):
        before = _watermarks_before(step, known)
        keeps = isinstance(step.operation, model.FilterStep | model.DedupeStep | model.JoinStep)
        adds = isinstance(step.operation, model.PythonStep)
        known[step.name] = before if keeps or (before == () and not adds) else None
    return known


def _watermarks_before(step: model.Step, known: dict[str, Watermarks]) -> Watermarks:
    """Return the watermarks of a step's inputs, and the step's own."""
    found: tuple[model.Watermark, ...] = (step.watermark,) if step.watermark is not None else ()
    for name in step.inputs:
        of_input = known.get(name)
        if of_input is None:
            return None
        found += of_input
    return found


def _step_problems(
    step: model.Step, pipeline: model.Pipeline, streaming: set[str], watermarks: dict[str, Watermarks]
) -> Iterator[Problem]:
    before, operation = _watermarks_before(step, watermarks), step.operation
    if isinstance(operation, model.WindowStep):
        yield from _window_problems(step, operation, pipeline, before)
    elif isinstance(operation, model.DedupeStep):
        yield from _dedupe_problems(step, operation, before)
    elif isinstance(operation, model.StateStep):
        if operation.time_mode == "EventTime" and before == ():
            yield error(operation.line, f"event time needs a watermark, and there is none: {_ADD_WATERMARK}")
    elif isinstance(operation, model.JoinStep) and all(name in streaming for name in step.inputs):
        yield from _stream_join_problems(step, operation, watermarks)


def _window_problems(
    step: model.Step, window: model.WindowStep, pipeline: model.Pipeline, before: Watermarks
) -> Iterator[Problem]:
    if before == ():
        appending = [output.name for output in outputs_of(pipeline, step.name) if output.mode == "append"]
        if appending:
            yield error(
                window.line,
                f"the window needs a watermark, because output {appending[0]} appends and must know when "
                f"a window is complete: {_ADD_WATERMARK}, or let the output have `mode: update`",
            )
        else:
            yield warning(window.line, f"without a watermark its state grows without bound: {_ADD_WATERMARK}")
    elif before is not None and all(each.column != window.on for each in before):
        marked = ", ".join(f"`{each.column}`" for each in before)
        message = f"the window is on `{window.on}`, but the watermark is on {marked}: use one column"
        yield error(window.line, message)


def _dedupe_problems(step: model.Step, dedupe: model.DedupeStep, before: Watermarks) -> Iterator[Problem]:
    if dedupe.within_ms is None:
        advice = "write `dedupe: {by: …, within: 1 hour}` to drop old ones"
        yield warning(dedupe.line, f"every key is kept forever: {advice}")
    elif before == ():
        yield error(dedupe.line, f"`within` needs a watermark, and there is none: {_ADD_WATERMARK}")
    elif before and step.watermark is None:
        delay_ms = max(each.delay_ms for each in before)
        if delay_ms < dedupe.within_ms:
            yield warning(
                dedupe.line,
                f"duplicates are found for {format_duration(delay_ms)} only, the delay of the watermark, "
                f"not for {format_duration(dedupe.within_ms)}: make the watermark's delay as long",
            )


def _stream_join_problems(
    step: model.Step, join: model.JoinStep, watermarks: dict[str, Watermarks]
) -> Iterator[Problem]:
    bare = [name for name in step.inputs if watermarks.get(name) == ()]
    if not bare or step.watermark is not None:
        return
    without = f"{bare[0]} has no watermark" if len(bare) == 1 else f"{' and '.join(bare)} have no watermarks"
    if join.how == "inner":
        yield warning(
            join.line,
            f"joins two streams, and {without}, so rows are kept forever: "
            "set one on each source, and bound the time between the two in `on`",
        )
    elif join.how in {"left", "right", "full", "left_semi", "left_anti"}:
        yield error(
            join.line,
            f"a {join.how} join of two streams must know when no match can come anymore, and "
            f"{without}: set one on each source, and bound the time in `on`",
        )


def _output_problems(
    output: model.Output, pipeline: model.Pipeline, streaming: set[str]
) -> Iterator[Problem]:
    names = upstream(pipeline, [output.input])
    tables = {source.name for source in pipeline.sources if isinstance(source, model.TableSource)}
    if output.input not in streaming and names & tables:
        yield error(output.line, "reads tables only: an output must read at least one topic")
    yield from (error(output.line, wrong) for wrong in output.target.mode_problems(output.mode))
    aggregating = (model.WindowStep, model.SqlStep, model.PythonStep)
    may_aggregate = any(
        isinstance(step.operation, aggregating) for step in pipeline.steps if step.name in names
    )
    if output.mode == "complete" and not may_aggregate:
        message = "complete mode is for aggregates, and nothing upstream aggregates: use `append`"
        yield error(output.line, message)
    letters = dead_letter_topic(pipeline)
    for source in pipeline.sources:
        if isinstance(source, model.TopicSource) and source.pattern is not None and source.reads(letters):
            yield error(
                source.line,
                f"its source {source.name} reads the dead-letter topic {letters} too, by its pattern, and its dead "
                "letters would come in again: narrow `pattern`, or set `dead_letter_topic`",
            )
    topic = output.target.writes_topic
    for source in pipeline.sources:
        if isinstance(source, model.TopicSource) and source.name in names and topic in source.topics:
            message = f"writes to topic {topic}, which its own source {source.name} reads: its results come in again"
            yield warning(output.target.line, message)

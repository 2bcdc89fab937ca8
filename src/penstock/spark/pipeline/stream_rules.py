"""Rules about streams: which operations need a watermark, and which output modes fit. Pure.

What a SQL or Python step does to a watermark cannot be told from here, so rules speak up only where it is certain that
there is none: no part upstream has declared one. Spark judges the rest in `check`.
"""

from collections.abc import Iterator

from penstock.spark.pipeline.durations import format_duration
from penstock.spark.pipeline.graph import in_reading_order, outputs_of, streams, upstream
from penstock.spark.pipeline.model import (
    DedupeStep,
    FilterStep,
    JoinStep,
    Output,
    Pipeline,
    PythonStep,
    SqlStep,
    StateStep,
    Step,
    TableSource,
    TableTarget,
    TopicSource,
    TopicTarget,
    Watermark,
    WindowStep,
)
from penstock.spark.pipeline.problems import Problem, error, warning

_HOW_TO = "write `watermark: {column: …, delay: 10 minutes}` on its source or on the step"

# What is known of a name: its watermarks, or None where a SQL or Python step may have changed them.
Watermarks = tuple[Watermark, ...] | None


def stream_problems(pipeline: Pipeline) -> list[Problem]:
    streaming = streams(pipeline)
    known = _watermarks(pipeline)
    problems = [
        problem
        for step in pipeline.steps
        if step.name in streaming
        for problem in _of_step(step, pipeline, streaming, known)
    ]
    for output in pipeline.outputs:
        problems += _of_output(output, pipeline, streaming)
    return problems


def _watermarks(pipeline: Pipeline) -> dict[str, Watermarks]:
    known: dict[str, Watermarks] = {
        source.name: (source.watermark,) if isinstance(source, TopicSource) and source.watermark else ()
        for source in pipeline.sources
    }
    for step in in_reading_order(pipeline.steps):
        before = _before(step, known)
        keeps = isinstance(step.operation, FilterStep | DedupeStep | JoinStep)
        adds = isinstance(step.operation, PythonStep)
        known[step.name] = before if keeps or (before == () and not adds) else None
    return known


def _before(step: Step, known: dict[str, Watermarks]) -> Watermarks:
    """What the operation of a step finds: the watermarks of its inputs, and the step's own."""
    found: tuple[Watermark, ...] = (step.watermark,) if step.watermark is not None else ()
    for name in step.inputs:
        of_input = known.get(name)
        if of_input is None:
            return None
        found += of_input
    return found


def _of_step(
    step: Step, pipeline: Pipeline, streaming: set[str], known: dict[str, Watermarks]
) -> Iterator[Problem]:
    before, operation, what = _before(step, known), step.operation, f"step {step.name}"
    if isinstance(operation, WindowStep):
        yield from _of_window(step, operation, pipeline, before)
    elif isinstance(operation, DedupeStep):
        yield from _of_dedupe(step, operation, before)
    elif isinstance(operation, StateStep):
        if operation.time_mode == "EventTime" and before == ():
            yield error(operation.line, f"{what}: event time needs a watermark, and there is none: {_HOW_TO}")
    elif isinstance(operation, JoinStep) and all(name in streaming for name in step.inputs):
        yield from _of_stream_join(step, operation, known)


def _of_window(step: Step, window: WindowStep, pipeline: Pipeline, before: Watermarks) -> Iterator[Problem]:
    what = f"step {step.name}"
    if before == ():
        appending = [output.name for output in outputs_of(pipeline, step.name) if output.mode == "append"]
        if appending:
            yield error(
                window.line,
                f"{what}: the window needs a watermark, because output {appending[0]} appends and must know when "
                f"a window is complete: {_HOW_TO}, or let the output have `mode: update`",
            )
        else:
            yield warning(window.line, f"{what}: without a watermark its state grows for ever: {_HOW_TO}")
    elif before is not None and all(each.column != window.on for each in before):
        marked = ", ".join(f"`{each.column}`" for each in before)
        yield error(
            window.line,
            f"{what}: the window is on `{window.on}`, but the watermark is on {marked}: use one column",
        )


def _of_dedupe(step: Step, dedupe: DedupeStep, before: Watermarks) -> Iterator[Problem]:
    what = f"step {step.name}"
    if dedupe.within_ms is None:
        yield warning(
            dedupe.line,
            f"{what}: every key is kept for ever: write `dedupe: {{by: …, within: 1 hour}}` to forget",
        )
    elif before == ():
        yield error(dedupe.line, f"{what}: `within` needs a watermark, and there is none: {_HOW_TO}")
    elif before and step.watermark is None:
        delay_ms = max(each.delay_ms for each in before)
        if delay_ms < dedupe.within_ms:
            yield warning(
                dedupe.line,
                f"{what}: duplicates are found for {format_duration(delay_ms)} only, the delay of the watermark, "
                f"not for {format_duration(dedupe.within_ms)}: make the watermark's delay as long",
            )


def _of_stream_join(step: Step, join: JoinStep, known: dict[str, Watermarks]) -> Iterator[Problem]:
    what = f"step {step.name}"
    bare = [name for name in step.inputs if known.get(name) == ()]
    if not bare or step.watermark is not None:
        return
    without = f"{bare[0]} has no watermark" if len(bare) == 1 else f"{' and '.join(bare)} have no watermarks"
    if join.how == "inner":
        yield warning(
            join.line,
            f"{what}: joins two streams, and {without}, so rows are kept for ever: "
            "set one on each source, and bound the time between the two in `on`",
        )
    elif join.how in {"left", "right", "full", "left_semi", "left_anti"}:
        yield error(
            join.line,
            f"{what}: a {join.how} join of two streams must know when no match can come any more, and "
            f"{without}: set one on each source, and bound the time in `on`",
        )


def _of_output(output: Output, pipeline: Pipeline, streaming: set[str]) -> Iterator[Problem]:
    what = f"output {output.name}"
    names = upstream(pipeline, [output.input])
    parts = {step.name: step for step in pipeline.steps}
    tables = {source.name for source in pipeline.sources if isinstance(source, TableSource)}
    if output.input not in streaming and names & tables:
        yield error(output.line, f"{what}: reads tables only, and no topic: nothing would ever start it")
    if isinstance(output.target, TableTarget) and output.mode != "append":
        yield error(
            output.line,
            f"{what}: a table cannot be written in {output.mode} mode, because rows once written stay: "
            "use `mode: append`, or write to a topic",
        )
    aggregating = (WindowStep, SqlStep, PythonStep)
    may_aggregate = any(isinstance(parts[name].operation, aggregating) for name in names if name in parts)
    if output.mode == "complete" and not may_aggregate:
        yield error(
            output.line,
            f"{what}: complete mode is for aggregates, and nothing upstream aggregates: use `append`",
        )
    if isinstance(output.target, TopicTarget):
        for source in pipeline.sources:
            if (
                isinstance(source, TopicSource)
                and source.name in names
                and output.target.topic in source.topics
            ):
                yield warning(
                    output.target.line,
                    f"{what}: writes to topic {output.target.topic}, which its own source {source.name} reads: "
                    "its results come in again",
                )

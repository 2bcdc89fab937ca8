"""What must hold for a pipeline to make sense, as far as that can be told without Spark and without a broker. Pure.

Whatever depends on columns and their types is Spark's to judge (`check/`). Rules about watermarks and modes are in
`stream_rules.py`.
"""

import re
from collections.abc import Collection, Iterator

from penstock.spark.pipeline.model import (
    Expectation,
    JoinStep,
    Output,
    Pipeline,
    PythonStep,
    Source,
    SqlStep,
    StateStep,
    Step,
    TopicSource,
    TopicTarget,
    WindowStep,
)
from penstock.spark.pipeline.names import file_name_problem, topic_name_problem, view_name_problem
from penstock.spark.pipeline.positions import starting_problem
from penstock.spark.pipeline.problems import Problem, error

_SERVER = re.compile(r"\s*(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):\d{1,5}\s*")


def rule_problems(pipeline: Pipeline, *, broken: Collection[str] = ()) -> list[Problem]:
    """All broken rules; parts in `broken` (outputs as `output NAME`) are known to be wrong and are passed over."""
    problems = [*_of_pipeline(pipeline), *_doubled_names(pipeline)]
    if not pipeline.sources and not broken:
        problems.append(error(pipeline.line, "`sources` must name at least one topic or table"))
    if not pipeline.outputs and not broken:
        problems.append(error(pipeline.line, "`outputs` must name at least one topic, table or console"))
    for source in pipeline.sources:
        if source.name not in broken:
            problems += _of_source(source)
    for step in pipeline.steps:
        if step.name not in broken:
            problems += _of_step(step)
    for output in pipeline.outputs:
        if f"output {output.name}" not in broken:
            problems += _of_output(output)
    return problems


def _of_pipeline(pipeline: Pipeline) -> Iterator[Problem]:
    line = pipeline.line
    if pipeline.name and (wrong := file_name_problem(pipeline.name)):
        yield error(line, f"pipeline {pipeline.name}: {wrong}")
    for server in pipeline.bootstrap_servers.split(","):
        if not _SERVER.fullmatch(server):
            yield error(line, f"bootstrap_servers: `{server.strip()}` is no address: write HOST:PORT")
    if pipeline.dead_letter_topic and (wrong := topic_name_problem(pipeline.dead_letter_topic)):
        yield error(line, f"dead_letter_topic: {wrong}")
    for key, instead in (("bootstrap.servers", "bootstrap_servers"), ("group.id", "")):
        if key in pipeline.kafka:
            what = (
                f"write `{instead}` at the top of the file"
                if instead
                else "each query has a group of its own"
            )
            yield error(line, f"kafka: `{key}` does not belong here: {what}")


def _doubled_names(pipeline: Pipeline) -> Iterator[Problem]:
    """Sources and steps share one namespace, in which upper and lower case are the same. Outputs have their own."""
    views = [("source", source) for source in pipeline.sources]
    spaces: tuple[list[tuple[str, Source | Step | Output]], ...] = (
        [*views, *(("step", step) for step in pipeline.steps)],
        [("output", output) for output in pipeline.outputs],
    )
    for parts in spaces:
        first: dict[str, tuple[str, int]] = {}
        for kind, part in sorted(parts, key=lambda each: each[1].line):
            taken = first.setdefault(part.name.casefold(), (kind, part.line))
            if taken != (kind, part.line):
                by = f"the {taken[0]} on line {taken[1]}" if taken[1] else f"a {taken[0]}"
                yield error(part.line, f"{kind} {part.name}: the name is taken by {by}: choose another")


def _of_source(source: Source) -> Iterator[Problem]:
    what = f"source {source.name}"
    if wrong := view_name_problem(source.name):
        yield error(source.line, f"{what}: {wrong}")
    if not isinstance(source, TopicSource):
        return
    if source.pattern is not None:
        try:
            re.compile(source.pattern)
        except re.error as reason:
            yield error(source.line, f"{what}: `pattern` is no regular expression: {reason}")
    elif not source.topics:
        yield error(source.line, f"{what}: `topics` names no topic")
    for topic in source.topics:
        if wrong := topic_name_problem(topic):
            yield error(source.line, f"{what}: {wrong}")
    if wrong := starting_problem(source.starting):
        yield error(source.line, f"{what}: `starting` {wrong}")
    for option in source.options:
        if option.lower() in {
            "subscribe",
            "subscribepattern",
            "assign",
            "startingoffsets",
            "maxoffsetspertrigger",
        }:
            yield error(source.line, f"{what}: the option `{option}` has a key of its own in the file")
    yield from _of_expectations(what, source.expectations)


def _of_expectations(what: str, expectations: Collection[Expectation]) -> Iterator[Problem]:
    seen: set[str] = set()
    for expectation in expectations:
        if expectation.name in seen:
            yield error(expectation.line, f"{what}: there are two expectations named `{expectation.name}`")
        seen.add(expectation.name)


def _of_step(step: Step) -> Iterator[Problem]:
    what, operation = f"step {step.name}", step.operation
    if wrong := view_name_problem(step.name):
        yield error(step.line, f"{what}: {wrong}")
    if isinstance(operation, SqlStep):
        if not step.inputs:
            yield error(operation.line, f"{what}: the query reads no source and no step")
    elif isinstance(operation, JoinStep):
        if len(step.inputs) != 2:
            yield error(step.line, f"{what}: a join reads two inputs: write `from: [left, right]`")
        elif step.inputs[0] == step.inputs[1]:
            yield error(
                step.line, f"{what}: joins {step.inputs[0]} with itself: use `sql` with aliases for that"
            )
    elif not isinstance(operation, PythonStep) and len(step.inputs) != 1:
        yield error(step.line, f"{what}: reads one input, not {len(step.inputs)}")
    if isinstance(operation, WindowStep):
        yield from _of_window(what, operation)
    for reference in _references(operation):
        place, colon, name = reference.rpartition(":")
        if not (colon and place and name):
            yield error(
                operation.line, f"{what}: `{reference}` names nothing: write `file.py:name` or `module:name`"
            )
    yield from _of_expectations(what, step.expectations)


def _references(operation: object) -> list[str]:
    if isinstance(operation, PythonStep) and isinstance(operation.function, str):
        return [operation.function]
    if isinstance(operation, StateStep) and isinstance(operation.processor, str):
        return [operation.processor]
    return []


def _of_window(what: str, window: WindowStep) -> Iterator[Problem]:
    if window.session_gap_ms is None:
        if window.size_ms <= 0:
            yield error(window.line, f"{what}: the `size` of a window must be longer than nothing")
        if window.slide_ms is not None and not 0 < window.slide_ms <= window.size_ms:
            yield error(window.line, f"{what}: `slide` must be longer than nothing and at most `size`")
    elif window.session_gap_ms <= 0:
        yield error(window.line, f"{what}: `session_gap` must be longer than nothing")
    if not window.aggregates:
        yield error(window.line, f"{what}: `aggregates` names nothing: write `aggregates: {{n: count(*)}}`")
    columns = ["window_start", "window_end", *window.by, *window.aggregates]
    for column in sorted({name for name in columns if columns.count(name) > 1}):
        yield error(window.line, f"{what}: the result would have two columns `{column}`: rename one")


def _of_output(output: Output) -> Iterator[Problem]:
    what = f"output {output.name}"
    if wrong := file_name_problem(output.name):
        yield error(output.line, f"{what}: {wrong}")
    if isinstance(output.target, TopicTarget) and (wrong := topic_name_problem(output.target.topic)):
        yield error(output.target.line, f"{what}: {wrong}")

"""Checks each part of a pipeline individually, without Spark and without a broker. No I/O.

Spark checks columns and their types (`check/`); `rules/streams.py` checks watermarks and output modes.
"""

import re
from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

from penstock.spark.pipeline.core import model
from penstock.spark.pipeline.core.names import file_name_problem, topic_name_problem, view_name_problem
from penstock.spark.pipeline.core.positions import starting_problem
from penstock.spark.pipeline.core.problems import Problem, error, prefixed
from penstock.spark.pipeline.outputs import TARGETS
from penstock.spark.pipeline.outputs.table import maintain_problems

_REFUSED_PROPERTIES = {
    "bootstrap.servers": "write `bootstrap_servers` at the top of the file",
    "group.id": "each query has a group of its own",
}
_REFUSED_OPTIONS = {"subscribe", "subscribepattern", "assign", "startingoffsets", "maxoffsetspertrigger"}
_SERVER = re.compile(r"\s*(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):\d{1,5}\s*")


def rule_problems(pipeline: model.Pipeline, *, broken: Collection[str] = ()) -> list[Problem]:
    """Return all broken rules; skip the parts in `broken` (outputs as `output NAME`), which are known to be wrong."""
    problems = [*_pipeline_problems(pipeline), *_duplicate_name_problems(pipeline)]
    if not pipeline.sources and not broken:
        problems.append(error(pipeline.line, "`sources` must name at least one topic or table"))
    if not pipeline.outputs and not broken:
        *kinds, last = TARGETS
        problems.append(
            error(pipeline.line, f"`outputs` must name at least one {', '.join(kinds)} or {last}")
        )
    for source in pipeline.sources:
        if source.name not in broken:
            problems += prefixed(f"source {source.name}", _source_problems(source))
    for step in pipeline.steps:
        if step.name not in broken:
            problems += prefixed(f"step {step.name}", _step_problems(step))
    for output in pipeline.outputs:
        if f"output {output.name}" not in broken:
            problems += prefixed(f"output {output.name}", _output_problems(output))
    return problems


def _pipeline_problems(pipeline: model.Pipeline) -> Iterator[Problem]:
    line = pipeline.line
    if pipeline.name and (wrong := file_name_problem(pipeline.name)):
        yield error(line, f"pipeline {pipeline.name}: {wrong}")
    for server in pipeline.bootstrap_servers.split(","):
        if not _SERVER.fullmatch(server):
            yield error(line, f"bootstrap_servers: `{server.strip()}` is not an address: write HOST:PORT")
    if pipeline.dead_letter_topic and (wrong := topic_name_problem(pipeline.dead_letter_topic)):
        yield error(line, f"dead_letter_topic: {wrong}")
    if pipeline.history_topic and (wrong := topic_name_problem(pipeline.history_topic)):
        yield error(line, f"history_topic: {wrong}")
    if pipeline.on_failure is not None:
        yield from prefixed("on_failure", _on_failure_problems(pipeline.on_failure))
    if pipeline.lineage is not None:
        yield from prefixed("lineage", _lineage_problems(pipeline.lineage))
    if pipeline.maintain is not None:
        yield from (error(line, wrong) for wrong in maintain_problems(pipeline.maintain))
    for key, reason in _REFUSED_PROPERTIES.items():
        if key in pipeline.kafka:
            yield error(line, f"kafka: `{key}` does not belong here: {reason}")


def _on_failure_problems(given: model.OnFailure) -> Iterator[Problem]:
    if given.url is None and given.command is None:
        yield error(given.line, "write `url: https://…` or `command: …`")
    yield from _url_problems(given.url, given.line)


def _lineage_problems(given: model.Lineage) -> Iterator[Problem]:
    if sum(each is not None for each in (given.file, given.url, given.topic)) != 1:
        yield error(given.line, "needs exactly one of `file`, `url` or `topic`")
    yield from _url_problems(given.url, given.line)
    if given.topic is not None and (wrong := topic_name_problem(given.topic)):
        yield error(given.line, wrong)


def _url_problems(url: str | None, line: int) -> Iterator[Problem]:
    if url is not None and urlsplit(url).scheme not in {"http", "https"}:
        yield error(line, f"`{url}` is not a URL: it must begin with http:// or https://")


def _duplicate_name_problems(pipeline: model.Pipeline) -> Iterator[Problem]:
    """Find names used twice. Sources and steps share one namespace, outputs have their own; case is ignored."""
    views = [("source", source) for source in pipeline.sources]
    spaces: tuple[list[tuple[str, model.Source | model.Step | model.Output]], ...] = (
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


def _source_problems(source: model.Source) -> Iterator[Problem]:
    if wrong := view_name_problem(source.name):
        yield error(source.line, wrong)
    if not isinstance(source, model.TopicSource):
        return
    if source.pattern is not None:
        try:
            re.compile(source.pattern)
        except re.error as reason:
            yield error(source.line, f"`pattern` is not a regular expression: {reason}")
    elif not source.topics:
        yield error(source.line, "`topics` names no topic")
    for topic in source.topics:
        if wrong := topic_name_problem(topic):
            yield error(source.line, wrong)
    if wrong := starting_problem(source.starting):
        yield error(source.line, f"`starting` {wrong}")
    for option in source.options:
        if option.lower() in _REFUSED_OPTIONS:
            yield error(source.line, f"the option `{option}` has a key of its own in the file")
    yield from _expectation_problems(source.expectations)


def _expectation_problems(expectations: Collection[model.Expectation]) -> Iterator[Problem]:
    seen: set[str] = set()
    for expectation in expectations:
        if expectation.name in seen:
            yield error(
                expectation.line, f"there are two expectations named `{expectation.name}`: rename one"
            )
        seen.add(expectation.name)


def _step_problems(step: model.Step) -> Iterator[Problem]:
    operation = step.operation
    if wrong := view_name_problem(step.name):
        yield error(step.line, wrong)
    if isinstance(operation, model.SqlStep):
        if not step.inputs:
            yield error(operation.line, "the query reads no source and no step")
    elif isinstance(operation, model.JoinStep):
        if not operation.on and operation.how != "cross":
            yield error(operation.line, "join: `on` is missing")
        if len(step.inputs) != 2:
            yield error(step.line, "a join reads two inputs: write `from: [left, right]`")
        elif step.inputs[0] == step.inputs[1]:
            yield error(step.line, f"joins {step.inputs[0]} with itself: use `sql` with aliases for that")
    elif not isinstance(operation, model.PythonStep) and len(step.inputs) != 1:
        yield error(step.line, f"reads one input, not {len(step.inputs)}")
    if isinstance(operation, model.WindowStep):
        yield from prefixed("window", _window_problems(operation))
    code = getattr(operation, "function", None) or getattr(operation, "processor", None)
    if isinstance(code, str) and not re.fullmatch(r".+:[^:]+", code):
        message = f"`{code}` is not a reference to code: write `file.py:name` or `module:name`"
        yield error(operation.line, message)
    yield from _expectation_problems(step.expectations)


def _window_problems(window: model.WindowStep) -> Iterator[Problem]:
    size_ms, slide_ms, gap_ms = window.size_ms, window.slide_ms, window.session_gap_ms
    if gap_ms is not None:
        if size_ms is not None or slide_ms is not None:
            yield error(window.line, "`session_gap` replaces `size` and `slide`: keep one kind of window")
        if gap_ms <= 0:
            yield error(window.line, "`session_gap` must be longer than zero")
    elif size_ms is None:
        message = "`size` is missing: a window has either `size` (and `slide`) or `session_gap`"
        yield error(window.line, message)
    elif size_ms <= 0:
        yield error(window.line, "`size` must be longer than zero")
    elif slide_ms is not None and not 0 < slide_ms <= size_ms:
        yield error(window.line, "`slide` must be longer than zero and at most `size`")
    if not window.aggregates:
        yield error(window.line, "`aggregates` is missing: write `aggregates: {total: sum(amount)}`")
    columns = ["window_start", "window_end", *window.by, *window.aggregates]
    for column in sorted({name for name in columns if columns.count(name) > 1}):
        yield error(window.line, f"the result would have two columns `{column}`: rename one")


def _output_problems(output: model.Output) -> Iterator[Problem]:
    if wrong := file_name_problem(output.name):
        yield error(output.line, wrong)
    yield from (error(output.target.line, wrong) for wrong in output.target.problems())

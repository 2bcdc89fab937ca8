"""Makes a pipeline of the parts that a form has read: finds what SQL reads, orders the steps, refuses nonsense.

Both forms end here, so a pipeline that exists is one whose names are unique, whose inputs are there and whose steps
stand in the order in which they are read.
"""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from penstock.spark.pipeline.graph import as_declared, connection_problems, in_reading_order
from penstock.spark.pipeline.model import Pipeline, SqlStep, Step
from penstock.spark.pipeline.problems import PipelineError, Problem
from penstock.spark.pipeline.rules import rule_problems
from penstock.spark.pipeline.sql_names import referenced_tables
from penstock.spark.pipeline.stream_rules import stream_problems


def assemble(draft: Pipeline, found: Iterable[Problem] = (), *, broken: Collection[str] = ()) -> Pipeline:
    """The pipeline with the inputs of its SQL steps and its steps in order, or a PipelineError with all problems.

    `found` is what the form has found already, in the parts named `broken`; nothing more is said of those.
    """
    declared = [
        *(source.name for source in draft.sources),
        *(step.name for step in draft.steps),
        *broken,
    ]
    lines: dict[tuple[str, str], int] = {}
    steps = [_with_inputs(step, declared, lines) for step in draft.steps]
    pipeline = replace(draft, steps=in_reading_order(steps))
    unconnected = connection_problems(steps, draft.outputs, known=declared, lines=lines)
    problems = [*found, *unconnected, *rule_problems(pipeline, broken=broken)]
    if not broken and not unconnected:  # what is a stream is known only now
        problems += [problem for problem in stream_problems(pipeline) if not problem.is_warning]
    if problems:
        raise PipelineError(draft.path, problems)
    return pipeline


def _with_inputs(step: Step, declared: Collection[str], lines: dict[tuple[str, str], int]) -> Step:
    if not isinstance(step.operation, SqlStep):
        return step
    references = referenced_tables(step.operation.query)
    inputs = tuple(as_declared(reference.name, declared) for reference in references)
    for name, reference in zip(inputs, references, strict=True):
        if step.operation.line:
            lines[step.name, name] = step.operation.line + reference.line
    return replace(step, inputs=inputs)

"""Turns the parts that a pipeline file declares into a checked pipeline.

The YAML form and the Python form both end here. So every `Pipeline` has unique names and known inputs, and its steps
are in the order in which they are read.
"""

import re
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from penstock.spark.pipeline.core.graph import connection_problems, declared_spelling, topological_order
from penstock.spark.pipeline.core.model import Pipeline, SqlStep, Step
from penstock.spark.pipeline.core.problems import PipelineError, Problem, error
from penstock.spark.pipeline.rules.parts import rule_problems
from penstock.spark.pipeline.rules.sql_tables import WrongSql, referenced_tables
from penstock.spark.pipeline.rules.streams import stream_problems

_PART = re.compile(r"(source|step|output) ([^\s:]+)")  # how the message of a problem begins


def assemble(draft: Pipeline, found: Iterable[Problem] = (), *, broken: Collection[str] = ()) -> Pipeline:
    """Find the inputs of SQL steps and order the steps; raise PipelineError with all problems.

    `found` has the problems of the parts named in `broken`; these parts are not checked again.
    """
    declared = [*(part.name for part in (*draft.sources, *draft.steps)), *broken]
    problems, broken = list(found), set(broken)
    lines: dict[tuple[str, str], int] = {}
    steps = []
    for step in draft.steps:
        try:
            steps.append(_with_inputs(step, declared, lines))
        except WrongSql as wrong:
            line = step.operation.line + wrong.line if step.operation.line else step.line
            problems.append(error(line, f"step {step.name}: {wrong}"))
            broken.add(step.name)
    pipeline = replace(draft, steps=topological_order(steps))
    problems += connection_problems(steps, draft.outputs, known=declared, lines=lines)
    problems += rule_problems(pipeline, broken=broken)
    if not problems:  # only then is it known which parts are streams
        problems += [problem for problem in stream_problems(pipeline) if not problem.is_warning]
    if problems:
        raise PipelineError(draft.path, problems, healthy=_healthy_part(pipeline, problems))
    return pipeline


def _healthy_part(pipeline: Pipeline, problems: Iterable[Problem]) -> Pipeline | None:
    """Return the pipeline without the parts that have problems, and without the parts that read them."""
    wrong = {match.group(1, 2) for each in problems if (match := _PART.match(each.message))}
    sources = tuple(each for each in pipeline.sources if ("source", each.name) not in wrong)
    known = {each.name for each in sources}
    steps = []
    for step in pipeline.steps:  # in the order in which they are read
        if ("step", step.name) not in wrong and step.inputs and known.issuperset(step.inputs):
            steps.append(step)
            known.add(step.name)
    outputs = tuple(
        each for each in pipeline.outputs if ("output", each.name) not in wrong and each.input in known
    )
    healthy = replace(pipeline, sources=sources, steps=tuple(steps), outputs=outputs)
    return healthy if pipeline.name and sources else None


def _with_inputs(step: Step, declared: Collection[str], lines: dict[tuple[str, str], int]) -> Step:
    if not isinstance(step.operation, SqlStep):
        return step
    references = referenced_tables(step.operation.query, declared)
    inputs = tuple(declared_spelling(reference.name, declared) for reference in references)
    for name, reference in zip(inputs, references, strict=True):
        if step.operation.line:
            lines[step.name, name] = step.operation.line + reference.line
    return replace(step, inputs=inputs)

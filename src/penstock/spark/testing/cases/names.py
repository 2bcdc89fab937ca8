"""Checks the names in a case against its pipeline: sources, outputs, and rules. No I/O."""

from collections.abc import Iterable, Iterator

from penstock.spark.pipeline.core.model import Pipeline, TableSource, TopicSource
from penstock.spark.pipeline.core.problems import Problem, did_you_mean, error
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.testing.cases.model import Case, CaseStep, ExpectedBroken, GivenSource
from penstock.spark.testing.cases.read import RESERVED


def name_problems(case: Case, pipeline: Pipeline) -> list[Problem]:
    found = [*_reserved(pipeline, case)]
    for step in case.steps:
        for given in step.given:
            found += _given_problems(given, pipeline)
        found += _output_problems(step, pipeline)
        for broken in step.broken:
            found += _rule_problems(broken, pipeline)
    return [error(each.line, f"case {case.name}: {each.message}") for each in found]


def _reserved(pipeline: Pipeline, case: Case) -> Iterator[Problem]:
    for output in pipeline.outputs:
        if output.name in RESERVED:
            message = (
                f"output {output.name} of {pipeline.name} has a name that means something else in a case"
            )
            yield error(case.line, f"{message}: rename the output")


def _unknown(kind: str, name: str, known: Iterable[str], line: int) -> Problem:
    names = list(known)
    hint = did_you_mean(name, names) or f": it has {', '.join(f'`{each}`' for each in names)}"
    return error(line, f"the pipeline has no {kind} `{name}`{hint}")


def _given_problems(given: GivenSource, pipeline: Pipeline) -> Iterator[Problem]:
    source = next((each for each in pipeline.sources if each.name == given.name), None)
    if source is None:
        yield _unknown("source", given.name, (each.name for each in pipeline.sources), given.line)
    elif isinstance(source, TableSource):
        if not given.is_table:
            yield error(given.line, f"`{given.name}` is a table: write `{given.name}: {{rows: […]}}`")
    elif given.is_table:
        yield error(given.line, f"`{given.name}` is a topic: write a list of records, each with a `value`")
    else:
        yield from _topic_problems(given, source)


def _topic_problems(given: GivenSource, source: TopicSource) -> Iterator[Problem]:
    """A record needs its topic where the source reads several."""
    for each in given.records:
        if each.topic and not source.reads(each.topic):
            yield error(given.line, f"source {source.name} does not read topic `{each.topic}`")
        elif not each.topic and len(source.topics) != 1:
            message = f"source {source.name} reads several topics: write `topic: …` in each of its records"
            yield error(given.line, message)
            return


def _output_problems(step: CaseStep, pipeline: Pipeline) -> Iterator[Problem]:
    outputs = {each.name: each for each in pipeline.outputs}
    for expected in step.outputs:
        if expected.name not in outputs:
            yield _unknown("output", expected.name, (*outputs, *RESERVED), expected.line)
        elif (
            expected.rows is not None
            and expected.rows.is_ordered
            and isinstance(outputs[expected.name].target, TableTarget)
        ):
            message = f"`ordered` is for topics: the rows of table {expected.name} have no order"
            yield error(expected.line, message)


def _rule_problems(broken: ExpectedBroken, pipeline: Pipeline) -> Iterator[Problem]:
    owners = {
        each.name: each.expectations
        for each in (*pipeline.sources, *pipeline.steps)
        if not isinstance(each, TableSource)
    }
    if broken.owner not in owners:
        yield _unknown("source or step", broken.owner, owners, broken.line)
        return
    rules = [each.name for each in owners[broken.owner]]
    if broken.rule not in rules:
        yield _unknown(f"expectation of {broken.owner} named", broken.rule, rules, broken.line)

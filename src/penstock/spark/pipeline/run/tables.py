"""Checks that the tables and the checkpoints of a pipeline can be reached and written, before anything is."""

from collections.abc import Iterator

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.formats import open_table
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.problems import Problem, error
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.run.checkpoint_store import checkpoint_problem


def store_problems(pipeline: Pipeline) -> Iterator[Problem]:
    """Report stores and catalogs that refuse this pipeline, and tables of another format."""
    yield from checkpoint_problems(pipeline)
    lines = {output.name: output.target.line for output in pipeline.outputs}
    for name, reason in refused_tables(pipeline).items():
        yield error(lines[name], f"output {name}: {reason}")


def checkpoint_problems(pipeline: Pipeline) -> Iterator[Problem]:
    if wrong_checkpoints := checkpoint_problem(pipeline):
        yield error(pipeline.line, wrong_checkpoints)


def refused_tables(pipeline: Pipeline) -> dict[str, str]:
    """Return the reason for each output whose table cannot be written, by its name."""
    refused: dict[str, str] = {}
    for output in pipeline.outputs:
        target = output.target
        if isinstance(target, TableTarget):
            try:
                open_table(target.location(pipeline), target.table_format).verify()
            except TableError as wrong:
                refused[output.name] = str(wrong)
    return refused

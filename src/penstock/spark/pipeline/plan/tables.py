"""Compares the columns that an output writes with its table as it is now."""

from collections.abc import Iterator

import msgspec
from pyspark.sql import DataFrame

from penstock.spark.lake.datasource import PenstockLakeDataSource
from penstock.spark.lake.errors import SchemaMismatch, TableError
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.options import LakeOptions, parse_options
from penstock.spark.lake.table import Commit, WritePlan
from penstock.spark.lake.writer import arrow_schema
from penstock.spark.pipeline.core.model import Sink
from penstock.spark.pipeline.plan.findings import Finding, Ways

_NEW_TABLE = "write to another table (another `table:`), and let the readers use that one"


def table_findings(sink: Sink, frame: DataFrame, ways: Ways) -> Iterator[Finding]:
    if sink.format != PenstockLakeDataSource.name():
        return
    try:
        options = parse_options(sink.options)
        plan = _plan(options, frame, merge_schema=options.merge_schema)
    except SchemaMismatch as wrong:
        yield _mismatch(options, frame, str(wrong), ways)
    except TableError as wrong:
        yield ways.cannot_go_on(str(wrong), _NEW_TABLE, ways.undo)
    else:
        if plan is not None and plan.change:
            changed = ", ".join((*plan.change.added, *plan.change.widened))
            yield ways.goes_on(f"table {options.location} gets column {changed}, because of `merge_schema`")


def _plan(options: LakeOptions, frame: DataFrame, *, merge_schema: bool) -> WritePlan | None:
    table = open_table(options.location, options.table_format)
    state = table.state()
    if state is None:
        return None
    commit = Commit(
        schema=arrow_schema(frame.schema), partition_by=options.partition_by, merge_schema=merge_schema
    )
    return table.plan_write(state, commit)


def _mismatch(options: LakeOptions, frame: DataFrame, reason: str, ways: Ways) -> Finding:
    try:
        _plan(msgspec.structs.replace(options), frame, merge_schema=True)
    except TableError:
        return ways.cannot_go_on(reason, "cast the column to the type of the table", _NEW_TABLE, ways.undo)
    return ways.needs_change(reason, "write `merge_schema: true` at the output", _NEW_TABLE, ways.undo)

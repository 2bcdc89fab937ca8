"""Empties a table for a truncate event: every row that the table has, and that is older, is deleted as a change.

So a truncate is part of the batch's one commit, and rows that are newer stay, whatever batch brought them.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.debezium.rows import OP, ORDER, TRUNCATE
from penstock.spark.lake.datasource import FORMAT_NAME
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.merge.rules import IS_CURRENT
from penstock.spark.lake.options import LakeOptions
from penstock.spark.record_columns import DELETED


def may_truncate(options: LakeOptions, frame: DataFrame) -> bool:
    rules = options.merge_rules
    return rules is not None and rules.order_by == (ORDER,) and {OP, ORDER}.issubset(frame.columns)


def newest_truncate(frame: DataFrame) -> str | None:
    """Return the order of the newest truncate event."""
    row = frame.filter(F.col(OP) == TRUNCATE).agg(F.max(ORDER)).first()
    return None if row is None else row[0]


def apply_truncate(frame: DataFrame, options: LakeOptions, order: str | None) -> DataFrame:
    """Return the changes without truncate events, and with the deletes that the newest one, at `order`, means."""
    changes = frame.filter(F.col(OP) != TRUNCATE)
    if order is None:
        return changes
    newer = changes.filter(F.col(ORDER) > order)
    rules = options.merge_rules
    if rules is None or open_table(options.location, options.table_format).state() is None:
        return newer
    reader = frame.sparkSession.read.format(FORMAT_NAME)
    table = (
        reader.options(**options.location.spark_options())
        .option("table_format", options.table_format or "")
        .load()
    )
    stored = table.filter(F.col(ORDER) < order)
    if rules.has_history:
        stored = stored.filter(F.col(IS_CURRENT))
    deletes = stored.select(
        *[F.col(f"`{name}`") for name in rules.key],
        F.lit(TRUNCATE).alias(OP),
        F.lit(order).alias(ORDER),
        F.lit(True).alias(DELETED),
    )
    return newer.unionByName(deletes, allowMissingColumns=True)

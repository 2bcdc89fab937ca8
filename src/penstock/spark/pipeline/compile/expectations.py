"""Compiles expectations: filters rows that break a rule, and counts them.

Rules are checked in order; the first broken rule that drops, rejects or stops decides, and `warn` only counts.
Counts are observed metrics named `expectations:<step>`, with a column for each rule, in each query's progress. A row
that breaks a `stop` rule fails the query with a message that begins with `STOP_MARK`.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql.types import BooleanType

from penstock.spark.pipeline.compile.errors import report_as
from penstock.spark.pipeline.core.model import Expectation, Otherwise
from penstock.spark.pipeline.progress.batch import EXPECTATION_METRICS, REJECTED_METRICS
from penstock.spark.record_columns import ERROR, RECORD, STOP

STOP_MARK = "penstock stopped:"

_ROW_CHARACTERS_MAX = 300


def check_rules(frame: DataFrame, owner: str, expectations: Sequence[Expectation]) -> None:
    """Raise CompileError for the first rule that is not a condition."""
    for each in expectations:
        with report_as("expectation", f"{each.name} of {owner}", each.line):
            kind = frame.select(F.expr(each.rule).alias("rule")).schema["rule"].dataType
            if not isinstance(kind, BooleanType):
                raise ValueError(  # noqa: TRY004 - about the user's rule
                    f"`{each.rule}` is not a condition: its type is {kind.simpleString()}, not boolean"
                )


def accepted_rows(frame: DataFrame, owner: str, expectations: Sequence[Expectation]) -> DataFrame:
    counted = [each for each in expectations if each.otherwise is not Otherwise.STOP]
    if counted:
        counts = [F.count_if(_is_violated(each)).alias(each.name) for each in counted]
        frame = frame.observe(EXPECTATION_METRICS + owner, *counts)
    deciding = [each for each in expectations if each.otherwise is not Otherwise.WARN]
    if not deciding:
        return frame
    columns = frame.columns
    condition: Column = F.lit(True)
    for each in reversed(deciding):
        refused = _raise_stop(each, owner, columns) if each.otherwise is Otherwise.STOP else F.lit(False)
        condition = F.when(_is_violated(each), refused).otherwise(condition)
    if any(each.otherwise is Otherwise.STOP for each in deciding):
        # Spark may evaluate a later filter first, and a row that it drops would not stop the query. It keeps the order
        # of conditions that are not deterministic. (It simplifies `rand() >= 0`, and refuses row ids in streams.)
        condition = (F.rand(0) + 1 > 0) & condition
    return frame.filter(condition)


def is_written(owner: str, columns: Sequence[str]) -> Column:
    """Return the condition of rows without a reason against them; a reason in `_stop` fails the query."""
    message = F.concat(F.lit(f"{STOP_MARK} {owner}: "), F.col(STOP), F.lit("; by "), _describe_row(columns))
    return F.when(F.col(STOP).isNotNull(), F.raise_error(message).cast("boolean")).otherwise(
        F.col(ERROR).isNull()
    )


def count_rejects(frame: DataFrame, owner: str, reason: Column) -> DataFrame:
    return frame.observe(REJECTED_METRICS + owner, F.count(reason).alias("rows"))


def rejection_reason(expectations: Sequence[Expectation]) -> Column:
    reason: Column = F.lit(None).cast("string")
    for each in reversed(expectations):
        if each.otherwise is Otherwise.DEAD_LETTER:
            reason = F.when(
                _is_violated(each), F.lit(f"expectation broken: {each.name} ({each.rule})")
            ).otherwise(reason)
        elif each.otherwise is not Otherwise.WARN:
            reason = F.when(_is_violated(each), F.lit(None).cast("string")).otherwise(reason)
    return reason


def _is_violated(expectation: Expectation) -> Column:
    return ~F.coalesce(F.expr(expectation.rule), F.lit(False))  # null counts as broken


def _raise_stop(expectation: Expectation, owner: str, columns: Sequence[str]) -> Column:
    place = f" (line {expectation.line})" if expectation.line else ""
    message = (
        f"{STOP_MARK} {owner} broke the expectation `{expectation.name}`{place}: {expectation.rule}; by "
    )
    return F.raise_error(F.concat(F.lit(message), _describe_row(columns))).cast("boolean")


def _describe_row(columns: Sequence[str]) -> Column:
    if RECORD in columns:
        parts = [F.col(f"{RECORD}.{name}").cast("string") for name in ("topic", "partition", "offset")]
        return F.concat(
            F.lit("the record at offset "), parts[2], F.lit(" of "), parts[0], F.lit("-"), parts[1]
        )
    row = F.to_json(F.struct(*[F.col(f"`{name}`") for name in columns]))
    return F.concat(F.lit("the row "), F.substring(row, 1, _ROW_CHARACTERS_MAX))

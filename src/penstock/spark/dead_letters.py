"""Turns rejected rows into records of the dead-letter topic (`dead_letter_format`)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark import dead_letter_format as dlq
from penstock.spark.record_columns import ERROR, HEADERS_TYPE, RECORD


def dead_letters(rejected: DataFrame, *, pipeline: str, step: str) -> DataFrame:
    """Return the columns `key`, `value` and `headers` for rows that have a reason in `_error`."""
    reason = [
        _header(dlq.PIPELINE, F.lit(pipeline)),
        _header(dlq.STEP, F.lit(step)),
        _header(dlq.ERROR, F.col(ERROR)),
    ]
    if RECORD not in rejected.columns:
        row = F.to_json(F.struct(*[F.col(f"`{name}`") for name in rejected.columns if name != ERROR]))
        return rejected.select(
            F.lit(None).cast("binary").alias("key"),
            row.cast("binary").alias("value"),
            F.array(*reason).cast(HEADERS_TYPE).alias("headers"),
        )
    record = F.col(RECORD)
    origin = [
        _header(dlq.TOPIC, record["topic"]),
        _header(dlq.PARTITION, record["partition"]),
        _header(dlq.OFFSET, record["offset"]),
        _header(dlq.TIMESTAMP, F.unix_millis(record["timestamp"])),
    ]
    before = F.coalesce(record["headers"], F.array().cast(HEADERS_TYPE))
    # After an outer join the record may be null: then there is no origin.
    after = F.when(record["topic"].isNull(), F.array(*reason)).otherwise(F.array(*reason, *origin))
    return rejected.select(
        record["key"].alias("key"),
        record["value"].alias("value"),
        F.concat(before, after.cast(HEADERS_TYPE)).alias("headers"),
    )


def _header(name: str, value: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))

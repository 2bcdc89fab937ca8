"""Outputs to tables: what fits together, and what the sink is given."""

import pytest

from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.lake.options import parse_options
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.outputs import TableTarget

PIPELINE = Pipeline(name="p", sources=(), outputs=(), directory="/d")


def test_the_keys_of_an_upsert_become_rules_of_the_sink() -> None:
    target = TableTarget(
        path="t", key=("id", "day"), order_by=("at",), history="scd2", delete_retention_ms=90_000
    )
    options = parse_options(target.sink(PIPELINE).options)
    assert options.merge_rules == MergeRules(
        key=("id", "day"), order_by=("at",), has_history=True, delete_retention_ms=90_000
    )
    assert parse_options(TableTarget(path="t").sink(PIPELINE).options).merge_rules is None


@pytest.mark.parametrize(
    ("target", "mode", "problem"),
    [
        (TableTarget(path="t"), "upsert", "needs `key`"),
        (TableTarget(path="t"), "update", "needs `key`"),
        (TableTarget(path="t", key=("id",)), "append", "`key` is for `mode: upsert`"),
        (TableTarget(path="t", history="scd2"), "complete", "`history` is for `mode: upsert`"),
        (TableTarget(path="t", key=("id",), format="parquet"), "upsert", "would see replaced rows twice"),
    ],
)
def test_keys_that_do_not_fit_the_mode_are_refused(target: TableTarget, mode: str, problem: str) -> None:
    (found,) = target.mode_problems(mode)
    assert problem in found


def test_each_mode_fits_a_table() -> None:
    keyed = TableTarget(path="t", key=("id",))
    for target, mode in (
        (keyed, "upsert"),
        (keyed, "update"),
        (TableTarget(path="t"), "append"),
        (TableTarget(path="t"), "complete"),
    ):
        assert not list(target.mode_problems(mode))


def test_rows_without_the_named_columns_or_without_an_order_are_refused() -> None:
    target = TableTarget(path="t", key=("id",))
    with pytest.raises(ValueError, match="key names `id`"):
        target.check_rows(["name"], "upsert")
    with pytest.raises(
        ValueError, match=r"write `order_by: \[column, …\]`, or let the steps before keep .*`_record`"
    ):
        target.check_rows(["id"], "upsert")
    target.check_rows(["id", "_record"], "upsert")
    target.check_rows(["id"], "update")

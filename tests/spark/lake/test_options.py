import os

import pytest

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.lake.options import parse_options


def test_both_spellings_of_a_name_are_one_option() -> None:
    snake = parse_options(
        {"path": "/t", "partition_by": "a, b", "merge_schema": "true", "table_format": "iceberg"}
    )
    camel = parse_options(
        {"path": "/t", "partitionBy": "a,b", "mergeSchema": "True", "tableFormat": "ICEBERG"}
    )
    assert snake == camel
    assert snake.partition_by == ("a", "b")
    assert snake.merge_schema
    assert snake.table_format == "iceberg"


def test_options_of_other_parts_of_spark_are_left_alone() -> None:
    assert parse_options({"path": "/t", "checkpointlocation": "/c"}).location.path == "/t"


def test_a_relative_path_is_of_the_working_directory_and_a_file_uri_is_a_path() -> None:
    assert parse_options({"path": "t"}).location.path == os.path.join(os.getcwd(), "t")
    assert parse_options({"path": "file:/a/t"}).location.path == "/a/t"
    assert parse_options({"path": "file:///a/t"}).location.path == "/a/t"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no path: use .save"),
        ({"path": "ftp://host/t"}, "ftp://host/t: tables can be in directories and at s3://"),
        (
            {"path": "/t", "table_format": "hudi"},
            "table_format must be one of delta, iceberg, parquet, not 'hudi'",
        ),
        ({"path": "/t", "compression": "rar"}, "compression must be one of zstd"),
        ({"path": "/t", "merge_schema": "yes"}, "merge_schema must be true or false, not 'yes'"),
        ({"path": "/t", "file_size_mb": "0"}, "file_size_mb must be at least 1, not 0"),
        ({"path": "/t", "batch_id": "-1"}, "batch_id must be at least 0, not -1"),
    ],
)
def test_a_wrong_option_is_refused_with_what_would_be_right(given: dict[str, str], message: str) -> None:
    with pytest.raises(TableError, match=message):
        parse_options(given)


def test_the_options_of_upserts_are_one_set_of_rules() -> None:
    given = {"path": "/t", "mode": "upsert", "key": "id, day", "orderBy": "at", "deleteRetention": "1 hour"}
    found = parse_options(given)
    assert found.merge_rules == MergeRules(key=("id", "day"), order_by=("at",), delete_retention_ms=3_600_000)
    assert found.file_size_bytes < parse_options({"path": "/t"}).file_size_bytes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "upsert"}, "needs the option key"),
        ({"key": "id"}, "option key is for upserts: set the option mode=upsert"),
        ({"mode": "merge"}, "option mode must be append or upsert, not 'merge'"),
        ({"mode": "upsert", "key": "id", "history": "all"}, "option history must be none or scd2"),
        (
            {"mode": "upsert", "key": "id", "delete_retention": "7"},
            "option delete_retention: `7` is not a duration",
        ),
    ],
)
def test_options_of_upserts_that_do_not_fit_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(TableError, match=message):
        parse_options({"path": "/t", **given})

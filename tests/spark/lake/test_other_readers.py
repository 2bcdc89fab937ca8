"""The one-liners of docs/tables.md: DuckDB and pandas on tables of every format, without a network."""

from pathlib import Path

import deltalake
import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyiceberg.table import StaticTable

from penstock.spark.lake.formats import open_table
from tests.spark.lake.support import put, rows_of, schema_of

EXPECTED = [(1, "a b/é"), (2, None), (3, "x=y")]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def fill(path: str, table_format: str) -> None:
    table = open_table(path, table_format)
    first = [*rows_of(1, place="a b/é"), *rows_of(2, place=None)]
    put(table, first, batch=("q", 0), partition_by=("place",))
    put(table, rows_of(3, place="x=y"), batch=("q", 1))


def rows(frame: pd.DataFrame) -> list[tuple[object, object]]:
    found = frame.sort_values("id")
    return [
        (int(number), None if pd.isna(place) else str(place))
        for number, place in zip(found["id"], found["place"], strict=True)
    ]


def test_delta_in_pandas(path: str) -> None:
    fill(path, "delta")
    assert rows(deltalake.DeltaTable(path).to_pandas()) == EXPECTED


def test_delta_in_duckdb(path: str) -> None:
    fill(path, "delta")
    orders = deltalake.DeltaTable(path).to_pyarrow_dataset()
    assert duckdb.sql("select id, place from orders order by id").fetchall() == EXPECTED
    assert orders.count_rows() == 3


def test_iceberg_in_pandas(path: str) -> None:
    fill(path, "iceberg")
    assert rows(StaticTable.from_metadata(path).scan().to_pandas()) == EXPECTED


def test_iceberg_in_duckdb(path: str) -> None:
    fill(path, "iceberg")
    connection = StaticTable.from_metadata(path).scan().to_duckdb("orders")
    assert connection.sql("select id, place from orders order by id").fetchall() == EXPECTED


def test_the_hint_for_readers_without_the_catalog_is_right_after_merging_and_cleaning(path: str) -> None:
    fill(path, "iceberg")
    table = open_table(path)
    put(table, rows_of(4, place="x=y"))
    table.compact(1 << 20)
    table.vacuum(0, is_dry_run=False)
    assert rows(StaticTable.from_metadata(path).scan().to_pandas()) == [*EXPECTED, (4, "x=y")]


def test_parquet_in_pandas(path: str) -> None:
    fill(path, "parquet")
    assert rows(pd.read_parquet(path, partitioning=ds.partitioning(flavor="hive"))) == EXPECTED


def test_parquet_in_duckdb(path: str) -> None:
    fill(path, "parquet")
    query = f"select id, place from read_parquet('{path}/**/*.parquet', hive_partitioning=true) order by id"
    assert duckdb.sql(query).fetchall() == EXPECTED


def test_columns_added_later_are_seen_by_other_readers(tmp_path: Path) -> None:
    wider = schema_of(id=pa.int32(), place=pa.string(), more=pa.string())
    formats: tuple[str, ...] = ("delta", "iceberg", "parquet")
    for each in formats:
        table = open_table(str(tmp_path / each), each)
        put(table, rows_of(1))
        put(table, [{"id": 2, "place": "x", "more": "y"}], wider, merge_schema=True)
    frames = [
        deltalake.DeltaTable(str(tmp_path / "delta")).to_pandas(),
        StaticTable.from_metadata(str(tmp_path / "iceberg")).scan().to_pandas(),
        duckdb.sql(f"select * from read_parquet('{tmp_path}/parquet/*.parquet', union_by_name=true)").df(),
    ]
    for frame in frames:
        assert frame.sort_values("id")["more"].fillna("-").tolist() == ["-", "y"]

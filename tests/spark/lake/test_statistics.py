import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.spark.lake.statistics import COLUMNS_MAX, statistics_of


def stats(tmp_path: Path, table: pa.Table, **options: Any) -> dict[str, Any]:
    pq.write_table(table, tmp_path / "x.parquet", **options)
    found: dict[str, Any] = json.loads(statistics_of(pq.read_metadata(tmp_path / "x.parquet")))
    return found


def test_bounds_and_nulls_are_of_all_row_groups(tmp_path: Path) -> None:
    found = stats(tmp_path, pa.table({"n": [3, None, 1, 7], "s": ["b", "a", None, "z"]}), row_group_size=2)
    assert found == {
        "numRecords": 4,
        "minValues": {"n": 1, "s": "a"},
        "maxValues": {"n": 7, "s": "z"},
        "nullCount": {"n": 1, "s": 1},
    }


def test_a_column_of_nulls_has_a_count_and_no_bounds(tmp_path: Path) -> None:
    found = stats(tmp_path, pa.table({"n": pa.array([None, None], pa.int32())}))
    assert found["nullCount"] == {"n": 2}
    assert found["minValues"] == found["maxValues"] == {}


def test_times_and_dates_are_written_as_delta_writes_them(tmp_path: Path) -> None:
    at = dt.datetime(2024, 5, 6, 7, 8, 9, 123456)
    found = stats(
        tmp_path,
        pa.table(
            {
                "utc": pa.array([at], pa.timestamp("us", "UTC")),
                "local": pa.array([at], pa.timestamp("us")),
                "day": pa.array([at.date()], pa.date32()),
            }
        ),
    )
    assert found["minValues"] == {
        "utc": "2024-05-06T07:08:09.123456Z",
        "local": "2024-05-06T07:08:09.123456",
        "day": "2024-05-06",
    }


def test_a_bound_that_cannot_be_stated_exactly_is_left_out(tmp_path: Path) -> None:
    found = stats(
        tmp_path,
        pa.table(
            {
                "float": [1.0, float("inf")],
                "decimal": pa.array([decimal.Decimal("1.1"), decimal.Decimal("2.2")]),
                "binary": [b"a", b"b"],
                "bool": [True, False],
            }
        ),
    )
    assert found["minValues"] == found["maxValues"] == {}
    assert set(found["nullCount"]) == {"float", "decimal", "binary", "bool"}


def test_long_text_is_cut_so_that_the_bounds_still_hold(tmp_path: Path) -> None:
    text = "x" * 100
    found = stats(tmp_path, pa.table({"s": [text]}))
    low, high = found["minValues"]["s"], found["maxValues"]["s"]
    assert len(low) == 32
    assert low <= text <= high


def test_fields_of_structs_are_nested_and_elements_of_lists_left_out(tmp_path: Path) -> None:
    found = stats(
        tmp_path,
        pa.table(
            {
                "s": [{"a": 1, "l": [5]}],
                "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
                "n": [9],
            }
        ),
    )
    assert found["minValues"] == {"s": {"a": 1}, "n": 9}


def test_a_dot_in_a_name_makes_no_nested_field(tmp_path: Path) -> None:
    assert stats(tmp_path, pa.table({"a.b": [1]}))["minValues"] == {"a.b": 1}


def test_only_the_first_columns_have_statistics(tmp_path: Path) -> None:
    found = stats(tmp_path, pa.table({f"c{at}": [at] for at in range(COLUMNS_MAX + 5)}))
    assert len(found["minValues"]) == COLUMNS_MAX

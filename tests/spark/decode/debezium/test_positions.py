"""The order of changes: positions of each source, and offsets."""

from typing import Any

import pytest

from penstock.spark.decode.debezium.positions import order_of


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"connector": "postgresql", "lsn": 9}, {"connector": "postgresql", "lsn": 10}),
        (
            {"connector": "mysql", "file": "binlog.000009", "pos": 900, "row": 1},
            {"connector": "mysql", "file": "binlog.000010", "pos": 4, "row": 0},
        ),
        (
            {"connector": "mariadb", "file": "bin.000010", "pos": 4, "row": 0},
            {"connector": "mariadb", "file": "bin.000010", "pos": 4, "row": 1},
        ),
        (
            {"connector": "sqlserver", "commit_lsn": "00000025:00000448:0003", "change_lsn": "00000025:00000448:0002"},
            {"connector": "sqlserver", "commit_lsn": "0000002a:00000448:0003", "change_lsn": "00000025:00000448:0001"},
        ),
        ({"connector": "oracle", "scn": "99"}, {"connector": "oracle", "scn": "100"}),
        ({"connector": "mongodb", "ts_ms": 5, "ord": 1}, {"connector": "mongodb", "ts_ms": 5, "ord": 2}),
        ({"connector": "other", "ts_ms": 5}, {"connector": "other", "ts_ms": 6}),
        ({"connector": "other", "ts_ms": 5, "ts_us": 5_001}, {"connector": "other", "ts_ms": 5, "ts_us": 5_002}),
    ],
)  # fmt: skip
def test_a_later_position_comes_later_whatever_its_offset(
    earlier: dict[str, Any], later: dict[str, Any]
) -> None:
    assert order_of(earlier, 1, 99) < order_of(later, 1, 0)


def test_changes_at_one_position_are_ordered_by_their_offsets() -> None:
    source = {"connector": "postgresql", "lsn": 9}
    assert order_of(source, 1, 9) < order_of(source, 1, 10)


def test_a_source_without_a_position_is_ordered_by_time() -> None:
    assert order_of({}, 5, 9) < order_of({}, 6, 0)

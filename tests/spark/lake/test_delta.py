import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Reader
from deltalake import QueryBuilder

from penstock.spark.lake.delta import DeltaTable
from penstock.spark.lake.errors import TableError
from tests.spark.lake.support import ids, put, rows_of, schema_of

AT = dt.datetime(2024, 5, 6, 7, 8, 9, 123456, dt.UTC)


@pytest.mark.parametrize(
    "condition",
    [
        f"text = '{'x' * 40}2'",
        "at = timestamp '2024-05-06T07:08:09.123458Z'",
        "day = date '2024-05-08'",
        "real = 2.5",
        "price = 2.25",
        "inner['n'] = 2",
    ],
)
def test_delta_s_own_engine_finds_rows_by_the_statistics_written_here(tmp_path: Path, condition: str) -> None:
    schema = schema_of(
        id=pa.int32(),
        text=pa.string(),
        at=pa.timestamp("us", "UTC"),
        day=pa.date32(),
        real=pa.float64(),
        price=pa.decimal128(10, 2),
        inner=pa.struct([("n", pa.int32())]),
    )
    table = DeltaTable(str(tmp_path))
    for number in range(4):
        row = {
            "id": number,
            "text": f"{'x' * 40}{number}",
            "at": AT + dt.timedelta(microseconds=number),
            "day": AT.date() + dt.timedelta(days=number),
            "real": number + 0.5,
            "price": f"{number}.25",
            "inner": {"n": number},
        }
        as_arrow = pa.Table.from_pylist([{**row, "price": None}], schema=schema)
        prices = pa.array([row["price"]], pa.string()).cast(pa.decimal128(10, 2))
        put(table, as_arrow.set_column(5, "price", prices).to_pylist(), schema)
    engine = QueryBuilder().register("t", Reader(str(tmp_path)))
    found = pa.table(engine.execute(f"select id from t where {condition}"))
    assert found.column("id").to_pylist() == [2]


def test_the_first_batch_makes_the_table_and_is_recorded_in_one_commit(tmp_path: Path) -> None:
    put(DeltaTable(str(tmp_path)), rows_of(1), batch=("q", 7))
    log = sorted((tmp_path / "_delta_log").glob("*.json"))
    assert len(log) == 1
    actions = [json.loads(line) for line in log[0].read_text().splitlines()]
    assert {"txn": {"appId": "q", "version": 7}} in actions
    assert sum("add" in action for action in actions) == 1
    assert sum("metaData" in action for action in actions) == 1


def test_batches_are_known_after_the_log_was_folded_into_a_checkpoint(tmp_path: Path) -> None:
    table = DeltaTable(str(tmp_path))
    for batch_id in range(3):
        put(table, rows_of(batch_id), batch=("q", batch_id))
    Reader(str(tmp_path)).create_checkpoint()
    for log in sorted((tmp_path / "_delta_log").glob("*.json"))[:-1]:
        log.unlink()
    assert not put(table, rows_of(2), batch=("q", 2))
    assert put(table, rows_of(3), batch=("q", 3))
    assert ids(table) == [0, 1, 2, 3]


def test_a_damaged_log_is_reported_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020d}.json").write_text("nonsense")
    with pytest.raises(TableError, match="cannot be read"):
        DeltaTable(str(tmp_path)).state()

"""PostgreSQL, Debezium on Kafka Connect, our broker, a running pipeline: tables equal the database at every stage."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import SparkSession

from penstock.spark.pipeline.run.runner import run
from penstock.spark.pipeline.yaml.file import read_yaml
from tests.interop.debezium import shop
from tests.interop.debezium.processes import (
    Postgres,
    await_that,
    running_connect,
    running_postgres,
    running_registry,
)
from tests.interop.debezium.record_events import avro_converter, json_converter
from tests.support.broker import BrokerProcess

FORMS = ("json_schemas", "avro")
_EVERYTHING = (
    "id, small, big, d, flag, price::text, any_number::text, t, u, j::text, day::text, tm::text, ts::text, m, "
    "address"
)
QUERIES = {
    "customers": "SELECT * FROM customers",
    "everything": f"SELECT {_EVERYTHING} FROM everything",
    "full_identity": "SELECT * FROM full_identity",
    "late": "SELECT * FROM late",
}


def in_table(directory: Path, name: str) -> list[dict[str, Any]]:
    try:
        rows = DeltaTable(str(directory / "lake" / name)).to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return []
    return sorted(rows, key=lambda row: int(row["id"]))


def in_database(postgres: Postgres, name: str) -> list[dict[str, Any]]:
    rows = postgres.rows(QUERIES[name])
    return sorted(rows, key=lambda row: int(row["id"]))


def as_text(value: Any) -> str:
    """Return the value as PostgreSQL prints it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    text = str(value).removesuffix("/32")
    return text.rstrip("0").removesuffix(".") if "." in text and text.replace(".", "").isdecimal() else text


def are_equal(postgres: Postgres, directory: Path, name: str) -> bool:
    wanted, found = in_database(postgres, name), in_table(directory, name)
    kept = [{column: as_text(row.get(column)) for column in wanted[0]} for row in found] if wanted else found
    return kept == [{column: as_text(value) for column, value in row.items()} for row in wanted]


@contextlib.contextmanager
def running_pipeline(text: str, directory: Path, spark: SparkSession) -> Iterator[None]:
    stopping = threading.Event()
    pipeline = read_yaml(text, str(directory / "cdc.yaml"), {})
    results: list[int] = []

    def work() -> None:
        results.append(run(pipeline, spark=spark, quiet=True, stopping=stopping).exit_code)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
    assert results == [0]


@pytest.mark.parametrize("form", FORMS)
def test_tables_equal_the_database_after_each_stage(tmp_path: Path, spark: SparkSession, form: str) -> None:
    with contextlib.ExitStack() as running:
        broker = BrokerProcess(tmp_path / "broker").start()
        running.callback(broker.stop)
        decode, converter = "debezium", json_converter(schemas=True)
        if form == "avro":
            registry = running.enter_context(running_registry(tmp_path / "registry"))
            decode, converter = f"{{debezium: {{registry_url: '{registry}'}}}}", avro_converter(registry)
        postgres = running.enter_context(running_postgres())
        postgres.execute(shop.CREATE)
        running.enter_context(running_connect(tmp_path / "connect", broker.bootstrap, postgres, converter))
        text = (
            f"pipeline: cdc\nbootstrap_servers: {broker.bootstrap}\ntrigger: 200 ms\nsources:\n"
            f"  changes: {{pattern: 'shop[.]public[.].*', decode: {decode}}}\noutputs:\n"
            "  tables: {from: changes, table: './lake/{table}', for_each_topic: true, mode: upsert}\n"
        )
        running.enter_context(running_pipeline(text, tmp_path, spark))
        for stage in ("", *shop.STAGES):
            postgres.execute(stage)
            names = list(QUERIES) if stage in shop.STAGES[1:] else list(QUERIES)[:3]
            for name in names:
                await_that(lambda name=name: are_equal(postgres, tmp_path, name))

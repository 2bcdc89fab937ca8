"""Changes of a real pipeline: what the plan says, what the run does, and that each way out is one.

The comparison itself is tested without Spark (test_compare.py); `make soak` runs all kinds of change.
"""

import contextlib
import json
import os
import shutil
import uuid
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.client.blocking.client import BlockingClient
from penstock.spark.pipeline.backfill import (
    TimeRange,
    check_replaceable,
    replace,
    row_range,
    select_queries,
)
from penstock.spark.pipeline.check import check_pipeline
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.positions import time_ms
from penstock.spark.pipeline.plan.findings import Finding, Verdict
from penstock.spark.pipeline.plan.plan import accept, make_plan
from penstock.spark.pipeline.plan.reset import query_to_reset, reset_query
from penstock.spark.pipeline.run.runner import RunResult, run
from penstock.spark.pipeline.run.topics import client_settings
from penstock.spark.pipeline.yaml.file import read_yaml
from tests.spark.source.topics import delete_records, delete_topic, new_topic, produce
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]
soak = pytest.mark.soak

HEAD = """\
pipeline: shop
trigger: 100 ms
history_topic: none
restart: {attempts: 2, backoff: 100 ms}
"""
SOURCE = "id STRING, amount DOUBLE, at TIMESTAMP"


class Changing:
    """A pipeline over a topic of its own, whose file changes between runs."""

    def __init__(self, broker: BrokerProcess, spark: SparkSession, directory: Path) -> None:
        self.broker = broker
        self.spark = spark
        self.directory = directory
        self.topic = f"orders-{uuid.uuid4().hex[:8]}"
        new_topic(broker.bootstrap, partitions=2, name=self.topic)
        self.order("o1", 10)
        self.order("o2", 3)

    def order(self, name: str, amount: float, topic: str = "", second: int = 0) -> None:
        at = f"2026-01-01T00:00:{second:02}Z"
        value = json.dumps({"id": name, "amount": amount, "at": at}).encode()
        produce(self.broker.bootstrap, topic or self.topic, [value])

    def file(
        self,
        steps: str = "",
        outputs: str = "table: {from: orders, table: lake}",
        decode: str = SOURCE,
        source: str = "",
    ) -> Pipeline:
        text = f"{HEAD}bootstrap_servers: {self.broker.bootstrap}\nsources:\n"
        text += f"  orders: {{topic: {self.topic}, decode: {{json: '{decode}'}}{source}}}\n"
        text += f"steps:\n{steps}" if steps else ""
        text += "outputs:\n" + "".join(f"  {line}\n" for line in outputs.splitlines())
        return read_yaml(text, str(self.directory / "shop.yaml"), {})

    def sql(
        self, query: str, outputs: str = "table: {from: made, table: lake}", source: str = ""
    ) -> Pipeline:
        return self.file(f'  - {{name: made, sql: "{query}"}}\n', outputs, source=source)

    def run(self, pipeline: Pipeline) -> RunResult:
        return run(pipeline, once=True, spark=self.spark, quiet=True)

    def goes_on(self, pipeline: Pipeline) -> None:
        result = self.run(pipeline)
        assert result.given_up == {}

    def plan(self, pipeline: Pipeline) -> dict[str, list[Finding]]:
        with contextlib.closing(BlockingClient(client_settings(pipeline))) as cluster:
            found = make_plan(pipeline, self.spark, cluster)
        return {each.query: [one for one in found if one.query == each.query] for each in found}

    def verdict(self, pipeline: Pipeline, verdict: Verdict, says: str, query: str = "table") -> Finding:
        (finding,) = self.plan(pipeline)[query]
        assert finding.verdict is verdict, finding
        assert says in finding.message
        return finding

    def reset(self, pipeline: Pipeline, to: str = "earliest") -> None:
        reset_query(pipeline, query_to_reset(pipeline, "table"), to)

    def rows(self, path: str = "lake") -> list[tuple[object, ...]]:
        rows = DeltaTable(str(self.directory / path)).to_pyarrow_table().to_pylist()
        return sorted(tuple(row.values()) for row in rows)


@pytest.fixture
def shop(shared_broker: BrokerProcess, spark: SparkSession, tmp_path: Path) -> Changing:
    return Changing(shared_broker, spark, tmp_path)


UPDATES = "table: {{from: made, topic: {}, mode: update}}"


@soak
def test_another_key_of_an_aggregate_is_refused_until_the_output_is_reset(shop: Changing) -> None:
    out = UPDATES.format(f"{shop.topic}-totals")
    before = shop.sql("SELECT id, sum(amount) AS total FROM orders GROUP BY id", out)
    shop.goes_on(before)
    changed = shop.sql("SELECT date(at) AS id, sum(amount) AS total FROM orders GROUP BY date(at)", out)
    shop.verdict(changed, Verdict.CANNOT_GO_ON, "the keys of aggregate by id were id string")
    report = check_pipeline(changed, shop.spark, compares=True)
    assert ["table cannot go on" in each.message for each in report.problems if each.is_warning] == [True]

    result = shop.run(changed)
    assert "the keys of aggregate by id were id string" in result.given_up["shop.table"]
    failures = next(query.failures for query in result.status.queries if query.name == "shop.table")
    assert failures == 1  # it is not tried again
    assert "the keys of aggregate by id were" in shop.run(changed).given_up["shop.table"]

    shop.goes_on(before)  # undone
    shop.reset(changed)
    shop.verdict(changed, Verdict.GOES_ON, "it has no checkpoint and starts anew")
    shop.goes_on(changed)
    shop.verdict(changed, Verdict.GOES_ON, "nothing has changed")


@soak
def test_a_filter_applies_from_now_on_and_a_new_output_replays(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id, amount FROM orders"))
    changed = shop.sql("SELECT id, amount FROM orders WHERE amount > 5")
    finding = shop.verdict(changed, Verdict.GOES_ON, "its definition has changed (changed: made)")
    shop.order("o3", 1)
    shop.order("o4", 20)
    shop.goes_on(changed)
    assert shop.rows() == [("o1", 10.0), ("o2", 3.0), ("o4", 20.0)]
    assert finding.advice[0].startswith("replay into a new table")
    shop.goes_on(
        shop.sql("SELECT id, amount FROM orders WHERE amount > 5", "table2: {from: made, table: lake2}")
    )
    assert shop.rows("lake2") == [("o1", 10.0), ("o4", 20.0)]


@soak
def test_a_new_column_of_a_table_needs_merge_schema(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id FROM orders"))
    changed = shop.sql("SELECT id, amount FROM orders")
    found = shop.plan(changed)["table"]
    assert [each.verdict for each in found] == [Verdict.GOES_ON, Verdict.NEEDS_CHANGE]
    assert "write `merge_schema: true` at the output" in found[1].advice
    shop.order("o3", 7)
    result = shop.run(changed)
    assert "has no column amount (double): set the option merge_schema=true" in result.given_up["shop.table"]
    assert [query.failures for query in result.status.queries if query.name == "shop.table"] == [1]
    merging = shop.sql(
        "SELECT id, amount FROM orders", "table: {from: made, table: lake, merge_schema: true}"
    )
    assert all(each.verdict is Verdict.GOES_ON for each in shop.plan(merging)["table"])
    shop.goes_on(merging)
    assert sorted(str(row) for row in shop.rows()) == ["('o1', None)", "('o2', None)", "('o3', 7.0)"]


@soak
def test_another_type_of_a_column_cannot_go_on_but_a_cast_or_a_new_table_can(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id, amount FROM orders"))
    changed = "SELECT id, cast(amount AS STRING) AS amount FROM orders"
    found = shop.plan(shop.sql(changed))["table"]
    assert [each.verdict for each in found] == [Verdict.GOES_ON, Verdict.CANNOT_GO_ON]
    assert found[1].advice[0] == "cast the column to the type of the table"
    shop.order("o3", 7)
    assert "cannot store column amount" in shop.run(shop.sql(changed)).given_up["shop.table"]
    shop.goes_on(shop.sql("SELECT id, cast(amount + 1 AS DOUBLE) AS amount FROM orders"))
    assert shop.rows() == [("o1", 10.0), ("o2", 3.0), ("o3", 8.0)]
    shop.order("o4", 1)
    shop.goes_on(shop.sql(changed, "table: {from: made, table: lake2}"))
    assert shop.rows("lake2") == [("o4", "1.0")]


WINDOW = "  - {{name: made, from: orders, window: {{on: at, size: {}, aggregates: {{n: count(*)}}}}}}\n"
LATE = ", watermark: {column: at, delay: 1 s}"


@soak
def test_windows_of_another_size_cannot_go_on_though_spark_would(shop: Changing) -> None:
    out = UPDATES.format(f"{shop.topic}-windows")
    before = shop.file(WINDOW.format("10 s"), out, source=LATE)
    shop.goes_on(before)
    changed = shop.file(WINDOW.format("1 m"), out, source=LATE)
    shop.verdict(changed, Verdict.CANNOT_GO_ON, "another size, slide or gap (changed: made)")
    assert "another size, slide or gap" in shop.run(changed).given_up["shop.table"]
    accept(changed, shop.spark, "table")  # the last way out: the user knows better
    shop.verdict(changed, Verdict.GOES_ON, "nothing has changed")
    shop.goes_on(changed)


@soak
def test_a_new_source_of_an_output_cannot_go_on(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id FROM orders"))
    more = f"{shop.topic}-more"
    new_topic(shop.broker.bootstrap, name=more)
    text = f"}}\n  more: {{topic: {more}, decode: {{json: 'id STRING'}}"
    changed = shop.sql("SELECT id FROM orders UNION ALL SELECT id FROM more", source=text)
    shop.verdict(changed, Verdict.CANNOT_GO_ON, "it read 1 streams")
    assert "it read 1 streams" in shop.run(changed).given_up["shop.table"]
    shop.reset(changed, "latest")
    shop.goes_on(changed)
    shop.order("m1", 1, topic=more)
    shop.order("o3", 1)
    shop.goes_on(changed)
    assert shop.rows() == [("m1",), ("o1",), ("o2",), ("o3",)]  # `latest`: nothing twice


@soak
def test_another_topic_of_a_source_cannot_go_on_unless_the_old_one_is_left_behind(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id FROM orders"))
    old, shop.topic = shop.topic, f"{shop.topic}-v2"
    new_topic(shop.broker.bootstrap, name=shop.topic)
    shop.order("n1", 1)
    changed = shop.sql("SELECT id FROM orders")
    shop.verdict(changed, Verdict.CANNOT_GO_ON, f"no longer reads topic {old}")
    assert f"no longer reads topic {old}" in shop.run(changed).given_up["shop.table"]
    shop.goes_on(shop.sql("SELECT id FROM orders", source=", options: {failOnDataLoss: 'false'}"))
    assert shop.rows() == [("n1",), ("o1",), ("o2",)]
    shop.goes_on(changed)


@soak
def test_a_renamed_output_keeps_its_place_if_its_checkpoint_is_moved(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id FROM orders"))
    changed = shop.sql("SELECT id FROM orders", "history: {from: made, table: lake}")
    finding = shop.verdict(changed, Verdict.NEEDS_CHANGE, "it is what `table` was", query="history")
    old, new = finding.advice[1].split("`")[1].removeprefix("mv ").split(" ")
    shutil.move(old, new)
    shop.order("o3", 1)
    shop.goes_on(changed)
    assert shop.rows() == [("o1",), ("o2",), ("o3",)]


@soak
def test_a_topic_that_was_created_again_with_fewer_partitions_stops_the_query(shop: Changing) -> None:
    pipeline = shop.sql("SELECT id FROM orders")
    shop.goes_on(pipeline)
    delete_topic(shop.broker.bootstrap, shop.topic)
    new_topic(shop.broker.bootstrap, name=shop.topic, partitions=1)
    for name in ("n1", "n2", "n3"):
        shop.order(name, 1)
    shop.verdict(pipeline, Verdict.CANNOT_GO_ON, "was deleted and created again")
    result = shop.run(pipeline)
    assert "was deleted and created again" in result.given_up["shop.table"]
    assert [query.failures for query in result.status.queries if query.name == "shop.table"] == [1]
    shop.goes_on(shop.sql("SELECT id FROM orders", source=", options: {failOnDataLoss: 'false'}"))
    assert shop.rows() == [("n1",), ("n2",), ("n3",), ("o1",), ("o2",)]
    shop.goes_on(pipeline)


@soak
def test_records_lost_by_retention_stop_the_query(shop: Changing) -> None:
    pipeline = shop.sql("SELECT id FROM orders")
    shop.goes_on(pipeline)
    for name in ("o3", "o4", "o5"):
        shop.order(name, 1)
    delete_records(shop.broker.bootstrap, shop.topic, before=4)
    shop.verdict(pipeline, Verdict.CANNOT_GO_ON, f"{shop.topic}-0 (2 records)")
    assert "no longer has offset 2" in shop.run(pipeline).given_up["shop.table"]
    shop.goes_on(shop.sql("SELECT id FROM orders", source=", options: {failOnDataLoss: 'false'}"))
    assert shop.rows() == [("o1",), ("o2",), ("o5",)]


@soak
def test_another_decode_schema_applies_from_now_on(shop: Changing) -> None:
    step = '  - {name: made, sql: "SELECT id FROM orders"}\n'
    shop.goes_on(shop.file(step, "table: {from: made, table: lake}"))
    changed = shop.file(step, "table: {from: made, table: lake}", decode="id STRING, note STRING")
    shop.verdict(changed, Verdict.GOES_ON, "its definition has changed (changed: orders)")
    shop.order("o3", 1)
    shop.goes_on(changed)
    assert shop.rows() == [("o1",), ("o2",), ("o3",)]


@soak
def test_state_keeps_its_shuffle_partitions(shop: Changing) -> None:
    pipeline = shop.sql(
        "SELECT id, sum(amount) AS total FROM orders GROUP BY id", UPDATES.format(f"{shop.topic}-totals")
    )
    shop.goes_on(pipeline)
    before = shop.spark.conf.get("spark.sql.shuffle.partitions")
    shop.spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        shop.verdict(
            pipeline, Verdict.GOES_ON, f"it keeps the {before} shuffle partitions that its state has, not 7"
        )
        shop.order("o1", 1)
        shop.goes_on(pipeline)
    finally:
        shop.spark.conf.set("spark.sql.shuffle.partitions", before or "1")
    state = shop.directory / ".penstock" / "shop" / "table" / "state" / "0"
    assert len([name for name in os.listdir(state) if name.isdecimal()]) == int(before or 1)


@soak
def test_another_output_mode_of_an_aggregate_cannot_go_on(shop: Changing) -> None:
    query = "SELECT id, sum(amount) AS total FROM orders GROUP BY id"
    out = f"table: {{from: made, topic: {shop.topic}-totals, mode: MODE}}"
    shop.goes_on(shop.sql(query, out.replace("MODE", "update")))
    changed = shop.sql(query, out.replace("MODE", "complete"))
    shop.verdict(changed, Verdict.CANNOT_GO_ON, "its mode was update and is complete now")
    assert "its mode was update" in shop.run(changed).given_up["shop.table"]
    shop.reset(changed)
    shop.goes_on(changed)


@soak
def test_a_backfill_replaces_the_rows_of_a_range(shop: Changing) -> None:
    shop.goes_on(shop.sql("SELECT id, amount, at FROM orders"))
    shop.order("o3", 5, second=30)
    shop.goes_on(shop.sql("SELECT id, amount, at FROM orders"))
    changed = shop.sql("SELECT id, amount * 2 AS amount, at FROM orders")
    (query,) = select_queries(changed, "table")
    at = time_ms("2026-01-01T00:00:00Z")
    where = row_range("at", TimeRange(from_ms=at, to_ms=at + 10_000))
    with contextlib.closing(BlockingClient(client_settings(changed))) as cluster:
        for _ in range(2):  # and again changes nothing
            assert replace(shop.spark, changed, query, where, cluster) == 2
            assert [row[:2] for row in shop.rows()] == [("o1", 20.0), ("o2", 6.0), ("o3", 5.0)]


def test_records_of_a_topic_cannot_be_replaced(tmp_path: Path) -> None:
    text = f"{HEAD}sources: {{orders: {{topic: a}}}}\noutputs: {{copies: {{from: orders, topic: b}}}}\n"
    (query,) = select_queries(read_yaml(text, str(tmp_path / "shop.yaml"), {}), "copies")
    with pytest.raises(ValueError, match="writes to topic b, where nothing can be replaced"):
        check_replaceable(query)

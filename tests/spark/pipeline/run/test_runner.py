"""Pipelines against a real broker, in the shared session: everything that is there is read, once."""

import json
import threading
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.spark.dead_letter_format import DeadLetter, read_headers
from penstock.spark.decode.settings import JsonDecoder
from penstock.spark.pipeline.core.model import (
    Expectation,
    Lineage,
    OnFailure,
    Otherwise,
    Output,
    Pipeline,
    Restart,
    SqlStep,
    Step,
    TopicSource,
)
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.history.read import read_runs
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.pipeline.progress.status import (
    DONE,
    FAILED,
    STOPPED,
    QueryStatus,
    is_running,
    read_status,
)
from penstock.spark.pipeline.progress.terminal import Display
from penstock.spark.pipeline.run.runner import RunResult, run
from tests.spark.source.topics import cluster_of
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

ORDER = "id STRING NOT NULL, amount DOUBLE"


class RecordingDisplay(Display):
    """Keeps what a run shows and tells."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.seen = threading.Condition()
        self.queries: tuple[QueryStatus, ...] = ()

    def show(self, queries: Iterable[QueryStatus]) -> None:
        with self.seen:
            self.queries = tuple(queries)
            self.seen.notify_all()

    def print(self, line: str) -> None:
        self.lines.append(line)

    def await_rows(self, query: str, rows: int) -> None:
        def is_there() -> bool:
            return any(each.name == query and each.rows >= rows for each in self.queries)

        with self.seen:
            assert self.seen.wait_for(is_there, timeout=120), self.queries


class Shop:
    """A broker with topics of its own, and a pipeline over them."""

    def __init__(self, broker: BrokerProcess, directory: Path, spark: SparkSession) -> None:
        self.bootstrap = broker.bootstrap
        self.directory = directory
        self.spark = spark
        self.name = f"shop{uuid.uuid4().hex[:8]}"
        self.display = RecordingDisplay()

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def create(self, name: str, partitions: int = 2) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_topics([NewTopic(self.topic(name), partitions, 1)]).values():
            future.result(30)

    def produce(self, name: str, values: Iterable[str | None]) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for value in values:
            producer.produce(self.topic(name), value=value, headers=[("from", b"test")])
        assert producer.flush(30) == 0

    def read(self, topic: str) -> list[Any]:
        """The values of everything committed in a topic, as JSON."""
        return [json.loads(message.value()) for message in self.messages(topic)]

    def dead_letters(self) -> dict[str, DeadLetter]:
        """By the value that was rejected."""
        found = {
            str(message.value()): read_headers(message.headers())
            for message in self.messages(f"{self.name}.dlq")
        }
        return {value: letter for value, letter in found.items() if letter is not None}

    def messages(self, topic: str) -> list[Any]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": uuid.uuid4().hex,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        found, waiting = [], set(partitions)
        while waiting:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                waiting.discard(message.partition())
            else:
                found.append(message)
        consumer.close()
        return found

    def committed(self, group: str) -> int:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        return sum(each.offset for each in future.result(30).topic_partitions)

    def source(self, name: str, **more: Any) -> TopicSource:
        decoder = JsonDecoder(schema=ORDER)
        return TopicSource(name=name, topics=(self.topic(name),), decoder=decoder, **more)

    def pipeline(
        self, *outputs: Output, sources: tuple[TopicSource, ...], steps: tuple[Step, ...] = ()
    ) -> Pipeline:
        return Pipeline(
            name=self.name,
            bootstrap_servers=self.bootstrap,
            directory=str(self.directory),
            trigger_ms=100,
            sources=sources,
            steps=steps,
            outputs=outputs,
            restart=Restart(backoff_ms=100),
        )

    def run_once(self, pipeline: Pipeline) -> RunResult:
        return run(pipeline, once=True, spark=self.spark, display=self.display)

    def table(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = DeltaTable(str(self.directory / name)).to_pyarrow_table().to_pylist()
        return rows


@pytest.fixture
def shop(shared_broker: BrokerProcess, tmp_path: Path, spark: SparkSession) -> Shop:
    return Shop(shared_broker, tmp_path, spark)


def order(number: int, amount: float = 10) -> str:
    return json.dumps({"id": f"o{number}", "amount": amount})


def ids(rows: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(row["id"] for row in rows)


def states(result: RunResult) -> dict[str, str]:
    return {query.name.partition(".")[2]: query.state for query in result.status.queries}


def test_good_records_reach_every_output_once_and_bad_ones_are_dead_letters_once(shop: Shop) -> None:
    shop.create("orders")
    positive = Expectation(name="positive", rule="amount > 0", otherwise=Otherwise.DEAD_LETTER)
    big = Step(
        name="big",
        inputs=("orders",),
        operation=SqlStep(query="SELECT id, amount FROM orders WHERE amount > 5"),
    )
    pipeline = shop.pipeline(
        Output(name="table", input="orders", target=TableTarget(path="lake/orders")),
        Output(
            name="topic", input="big", target=TopicTarget(topic=shop.topic("big"), key="id", partitions=3)
        ),
        sources=(shop.source("orders", expectations=(positive,)),),
        steps=(big,),
    )
    shop.produce("orders", [order(1), order(2, 3), "no json", order(3, -1), None])
    first = shop.run_once(pipeline)
    assert first.exit_code == 0
    assert states(first) == {"table": DONE, "topic": DONE, "dead-letters.orders": DONE}

    shop.produce("orders", [order(4), '{"amount": 1}'])
    second = shop.run_once(pipeline)  # goes on from its checkpoints
    third = shop.run_once(pipeline)  # and there is nothing new
    assert (second.exit_code, third.exit_code) == (0, 0)

    assert ids(shop.table("lake/orders")) == ["o1", "o2", "o4"]
    assert "_record" not in shop.table("lake/orders")[0]
    assert ids(shop.read(shop.topic("big"))) == ["o1", "o4"]
    assert len(shop.messages(f"{shop.name}.dlq")) == 4
    letters = shop.dead_letters()
    assert {letter.step for letter in letters.values()} == {"orders"}
    assert letters[str(order(3, -1).encode())].error == "expectation broken: positive (amount > 0)"
    assert letters["None"].headers == (("from", b"test"),)
    # seen from outside: the status after the end, and the consumer group
    status = read_status(str(shop.directory / ".penstock" / shop.name))
    assert status is not None
    assert (status.exit_code, [query.lag_records for query in status.queries]) == (0, [0, 0, 0])
    assert shop.committed(f"penstock-pipeline.{shop.name}.table") == 7
    rejects = next(query for query in first.status.queries if query.name.endswith("dead-letters.orders"))
    assert (rejects.rows, rejects.dead_letters) == (5, 3)


def test_in_update_mode_changed_rows_are_written_though_a_replayed_batch_writes_nothing(shop: Shop) -> None:
    shop.create("orders", partitions=1)
    query = "SELECT id, sum(amount) AS total FROM orders GROUP BY id"
    pipeline = shop.pipeline(
        Output(
            name="totals",
            input="totals",
            target=TopicTarget(topic=shop.topic("totals"), partitions=1),
            mode="update",
        ),
        sources=(shop.source("orders"),),
        steps=(Step(name="totals", inputs=("orders",), operation=SqlStep(query=query)),),
    )

    def totals() -> list[tuple[str, float]]:
        return [(row["id"], row["total"]) for row in shop.read(shop.topic("totals"))]

    shop.produce("orders", [order(1), order(1), order(2)])
    assert shop.run_once(pipeline).exit_code == 0
    assert sorted(totals()) == [("o1", 20), ("o2", 10)]
    (commits,) = (shop.directory / ".penstock").glob("**/totals/commits")
    for name in ("0", ".0.crc"):  # as if Spark had died before it wrote this
        (commits / name).unlink()
    shop.produce("orders", [order(1)])
    assert shop.run_once(pipeline).exit_code == 0
    assert sorted(totals()[:2]) == [("o1", 20), ("o2", 10)]
    assert totals()[2:] == [("o1", 30)]


def test_a_stop_ends_its_query_with_the_reason_and_leaves_the_others_alone(shop: Shop) -> None:
    shop.create("orders")
    shop.create("returns")
    strict = Expectation(name="positive", rule="amount > 0", otherwise=Otherwise.STOP, line=12)
    pipeline = shop.pipeline(
        Output(name="orders", input="orders", target=TableTarget(path="lake/orders")),
        Output(name="returns", input="returns", target=TableTarget(path="lake/returns")),
        sources=(shop.source("orders", expectations=(strict,)), shop.source("returns")),
    )
    shop.produce("orders", [order(1, -1)])
    shop.produce("returns", [order(2)])
    pipeline = msgspec.structs.replace(
        pipeline,
        on_failure=OnFailure(command="tee notified.json"),
        lineage=Lineage(file="lineage.jsonl"),
    )
    result = shop.run_once(pipeline)
    assert result.exit_code == 1
    reason = result.given_up[f"{shop.name}.orders"]
    notified = json.loads((shop.directory / "notified.json").read_text())
    assert (notified["query"], notified["isPermanent"]) == (f"{shop.name}.orders", True)
    assert notified["reason"] == reason
    events = [json.loads(line) for line in (shop.directory / "lineage.jsonl").read_text().splitlines()]
    ends = {each["job"]["name"]: each["eventType"] for each in events}
    assert (ends[f"{shop.name}.orders"], ends[f"{shop.name}.returns"]) == ("FAIL", "COMPLETE")
    (run_status,) = read_runs(cluster_of(shop.bootstrap), f"{shop.name}.runs", shop.name) or []
    assert (run_status.exit_code, run_status.queries[0].last_error) == (1, reason)
    assert reason.startswith(
        "orders broke the expectation `positive` (line 12): amount > 0; by the record at offset 0"
    )
    assert states(result)["orders"] == FAILED
    assert states(result)["returns"] == DONE
    assert ids(shop.table("lake/returns")) == ["o2"]


def test_a_missing_topic_is_reported_before_anything_starts(shop: Shop) -> None:
    shop.create("orders")
    source = msgspec.structs.replace(shop.source("orders"), topics=(shop.topic("order"),), line=4)
    output = Output(name="table", input="orders", target=TableTarget(path="lake"))
    with pytest.raises(PipelineError) as caught:
        shop.run_once(shop.pipeline(output, sources=(source,)))
    (problem,) = caught.value.problems
    assert problem.line == 4
    assert (
        f"reads topic {shop.topic('order')}, which does not exist; did you mean `{shop.topic('orders')}`?"
        in problem.message
    )


def in_background(work: Callable[[], RunResult]) -> tuple[threading.Thread, list[RunResult]]:
    results: list[RunResult] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def test_a_running_pipeline_takes_what_comes_until_it_is_stopped(shop: Shop) -> None:
    shop.create("orders")
    output = Output(name="table", input="orders", target=TableTarget(path="lake/orders"))
    pipeline = shop.pipeline(output, sources=(shop.source("orders"),))
    stopping = threading.Event()
    thread, results = in_background(
        lambda: run(pipeline, spark=shop.spark, display=shop.display, stopping=stopping)
    )
    try:
        shop.produce("orders", [order(1), order(2)])
        shop.display.await_rows(f"{shop.name}.table", 2)
        assert is_running(str(shop.directory / ".penstock" / shop.name))
        shop.produce("orders", [order(3)])
        shop.display.await_rows(f"{shop.name}.table", 3)
    finally:
        stopping.set()
        thread.join(120)
    assert results[0].exit_code == 0
    assert set(states(results[0]).values()) == {STOPPED}
    assert ids(shop.table("lake/orders")) == ["o1", "o2", "o3"]

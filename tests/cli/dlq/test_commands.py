"""`penstock dlq` against a real broker."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.conftest import TIMEOUT_SECONDS, Penstock
from tests.support.broker import BrokerProcess

Put = Callable[..., None]


@pytest.fixture
def pipeline(shared_broker: BrokerProcess) -> str:
    """A pipeline's name; its dead-letter topic, and the topic `<pipeline>-in` that it reads, are there."""
    name = f"dlq-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    for future in admin.create_topics(
        [NewTopic(f"{name}.dlq", 1, 1), NewTopic(f"{name}-in", 3, 1), NewTopic(f"{name}-other", 1, 1)]
    ).values():
        future.result(TIMEOUT_SECONDS)
    return name


@pytest.fixture
def put(shared_broker: BrokerProcess, pipeline: str) -> Put:
    """Write rejected records, one for each error, in transactions as Spark's sink does: markers are between them."""

    def produce(*errors: str, step: str = "orders", has_origin: bool = True) -> None:
        producer = Producer(
            {"bootstrap.servers": shared_broker.bootstrap, "transactional.id": f"{pipeline}-sink"}
        )
        producer.init_transactions(TIMEOUT_SECONDS)
        for number, error in enumerate(errors):
            producer.begin_transaction()
            origin = [
                ("dlq.topic", f"{pipeline}-in".encode()),
                ("dlq.partition", b"2"),
                ("dlq.offset", str(number).encode()),
                ("dlq.timestamp", b"1777896000000"),
            ]
            headers = [
                ("trace", b"\xff"),
                ("dlq.pipeline", pipeline.encode()),
                ("dlq.step", step.encode()),
                ("dlq.error", error.encode()),
                *(origin if has_origin else []),
            ]
            producer.produce(f"{pipeline}.dlq", error.encode(), f"key {number}".encode(), headers=headers)
            producer.commit_transaction(TIMEOUT_SECONDS)

    return produce


def records_of(broker: BrokerProcess, topic: str, partition: int) -> list[Any]:
    """What a reader of committed records finds in a partition."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20})
    consumer.list_topics(timeout=TIMEOUT_SECONDS)  # the library would ask by itself, but only a second later
    consumer.assign([TopicPartition(topic, partition, 0)])
    found = []
    while (message := consumer.poll(TIMEOUT_SECONDS)) is not None and message.error() is None:
        found.append(message)
    consumer.close()
    return found


def values_of(broker: BrokerProcess, topic: str, partition: int) -> list[str]:
    return [message.value().decode() for message in records_of(broker, topic, partition)]


def test_rejected_records_are_shown_with_their_reason_and_origin(
    penstock: Penstock, pipeline: str, put: Put
) -> None:
    put("a: required, but missing", "not JSON: text after the end")
    out = penstock("dlq", "show", pipeline).stdout
    first, second = out.splitlines()[1:3]
    assert first.split() == (
        f"0:0 2026-05-04T12:00:00.000Z orders {pipeline}-in-2:0 key 0 a: required, but missing".split()
    )
    assert "not JSON: text after the end" in second
    assert out.endswith(f"2 rejected record(s) in {pipeline}.dlq\n")


def test_json_has_the_whole_record(penstock: Penstock, pipeline: str, put: Put) -> None:
    put("bad")
    printed = json.loads(penstock("dlq", "show", f"{pipeline}.dlq", "--format", "json").stdout)
    assert printed["origin"] == {
        "topic": f"{pipeline}-in",
        "partition": 2,
        "offset": 0,
        "timestamp": 1777896000000,
    }
    assert (printed["pipeline"], printed["step"], printed["error"]) == (pipeline, "orders", "bad")
    assert (printed["key"], printed["value"]) == ("key 0", "bad")
    assert printed["headers"] == [{"name": "trace", "valueBase64": "/w=="}]


def test_records_are_selected_by_error_and_step(penstock: Penstock, pipeline: str, put: Put) -> None:
    put("red apple", "green apple")
    put("red pear", step="pears")

    def shown(*options: str) -> list[str]:
        lines = penstock("dlq", "show", pipeline, "--format", "json", *options).stdout.splitlines()
        return [json.loads(line)["error"] for line in lines]

    assert shown("--error", "RED") == ["red apple", "red pear"]
    assert shown("--error", "red", "--step", "pears") == ["red pear"]
    assert shown("-n", "1") == ["red apple"]
    assert "no matching records" in penstock("dlq", "show", pipeline, "--step", "plums").stdout


def test_an_unknown_pipeline_is_answered_with_the_dead_letter_topics(
    penstock: Penstock, pipeline: str, put: Put
) -> None:
    assert (
        "there is no dead-letter topic nobody.dlq: there are "
        in penstock("dlq", "show", "nobody", fails=True).stderr
    )


def test_a_replay_sends_the_records_as_they_were_and_only_once(
    penstock: Penstock, pipeline: str, put: Put, shared_broker: BrokerProcess
) -> None:
    put("one", "two")
    assert penstock("dlq", "replay", pipeline).stdout == f"replayed 2 record(s) of {pipeline}.dlq\n"
    first, second = records_of(shared_broker, f"{pipeline}-in", 2)
    assert (first.key(), first.value(), first.headers()) == (b"key 0", b"one", [("trace", b"\xff")])
    assert second.value() == b"two"
    assert penstock("dlq", "replay", pipeline).stdout.startswith("replayed 0 ")
    put("three")
    assert penstock("dlq", "replay", pipeline).stdout.startswith("replayed 1 ")
    assert values_of(shared_broker, f"{pipeline}-in", 2) == ["one", "two", "three"]
    assert penstock("dlq", "replay", pipeline, "--include-replayed").stdout.startswith("replayed 3 ")


def test_a_filter_leaves_the_others_for_later(
    penstock: Penstock, pipeline: str, put: Put, shared_broker: BrokerProcess
) -> None:
    put("a1", "b1", "a2", "b2", "a3")
    for options, expected in ((["--error", "b"], 2), (["-n", "1"], 1), (["--error", "b"], 0), ([], 2)):
        out = penstock("dlq", "replay", pipeline, *options).stdout
        assert out.startswith(f"replayed {expected} ")
    assert values_of(shared_broker, f"{pipeline}-in", 2) == ["b1", "b2", "a1", "a2", "a3"]


def test_a_dry_run_shows_records_and_targets_and_sends_nothing(
    penstock: Penstock, pipeline: str, put: Put, shared_broker: BrokerProcess
) -> None:
    put("one")
    out = penstock("dlq", "replay", pipeline, "--to", f"{pipeline}-other", "--dry-run").stdout
    assert out.splitlines()[1].endswith(f"{pipeline}-other")
    assert out.endswith(f"would replay 1 record(s) of {pipeline}.dlq\n")
    assert values_of(shared_broker, f"{pipeline}-other", 0) == []
    assert penstock("dlq", "replay", pipeline, "--to", f"{pipeline}-other").stdout.startswith("replayed 1 ")
    assert values_of(shared_broker, f"{pipeline}-other", 0) == ["one"]


def test_rows_without_a_record_are_skipped_and_counted(
    penstock: Penstock, pipeline: str, put: Put, shared_broker: BrokerProcess
) -> None:
    put("row", has_origin=False)
    put("record")
    out = penstock("dlq", "replay", pipeline).stdout
    assert out.startswith("replayed 1 ")
    assert "cannot replay 1 record(s): they hold rows of a step" in out
    assert values_of(shared_broker, f"{pipeline}-in", 2) == ["record"]


def test_an_unknown_target_fails_before_anything_is_sent(penstock: Penstock, pipeline: str, put: Put) -> None:
    put("one")
    printed = penstock("dlq", "replay", pipeline, "--to", "nowhere-at-all", fails=True).stderr
    assert "cannot replay record 0:0: there is no topic nowhere-at-all" in printed
    assert penstock("dlq", "replay", pipeline).stdout.startswith("replayed 1 ")

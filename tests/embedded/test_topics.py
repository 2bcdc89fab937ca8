"""The operations of a topic in a test; on one broker for all."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from penstock.client.errors import BrokerError
from penstock.embedded import Broker, Topic


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> Topic:
    return broker.create_topic(request.node.name, 3)


def test_a_topic_can_be_used_as_its_name(topic: Topic) -> None:
    assert topic == "test_a_topic_can_be_used_as_its_name"
    assert topic.partitions == 3


def test_records_round_trip(topic: Topic) -> None:
    topic.produce(
        b"v", key=b"k", partition=2, headers=[("h", b"1"), ("n", None)], timestamp_ms=1_700_000_000_000
    )
    topic.produce(None)
    tombstone, record = topic.records()
    assert (tombstone.value, tombstone.partition) == (None, 0)
    assert (record.topic, record.partition, record.offset) == (topic, 2, 0)
    assert (record.key, record.value, record.headers) == (b"k", b"v", (("h", b"1"), ("n", None)))
    assert record.timestamp_ms == 1_700_000_000_000


def test_a_key_selects_the_same_partition_as_in_other_clients(broker: Broker, topic: Topic) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random", "log_level": 0}
    )
    for number in range(20):
        key = b"key-%d" % number
        topic.produce(b"ours", key=key)
        producer.produce(topic, b"theirs", key=key)
    producer.flush(10)
    chosen: dict[bytes | None, set[int]] = {}
    for record in topic.records():
        chosen.setdefault(record.key, set()).add(record.partition)
    assert all(len(partitions) == 1 for partitions in chosen.values())


def test_a_wait_ends_when_the_records_have_arrived(broker: Broker) -> None:
    late = broker.topic("comes-later")
    writing = threading.Timer(
        0.05, lambda: broker.create_topic("comes-later").produce(b"one", b"two", b"three")
    )
    writing.start()
    found = late.wait_for_records(2, which=lambda record: record.value != b"two")
    writing.join()
    assert [each.value for each in found] == [b"one", b"three"]


def test_a_wait_does_not_block_the_event_loop_of_an_application(topic: Topic) -> None:
    async def wait() -> list[bytes | None]:
        waiting = asyncio.create_task(topic.await_records(2))
        await asyncio.sleep(0)
        topic.produce(b"one", partition=0)
        topic.produce(b"two", partition=1)
        return sorted((each.value for each in await waiting), key=str)

    assert asyncio.run(wait()) == [b"one", b"two"]


def test_a_timeout_reports_the_records_that_arrived(topic: Topic) -> None:
    topic.produce(b"one")
    with pytest.raises(
        AssertionError, match=r"2 records were to come to .* within 0.05 s; it has 1 records: b'one'"
    ):
        topic.wait_for_records(2, timeout_s=0.05)
    with pytest.raises(AssertionError, match="of which 0 were accepted"):
        topic.wait_for_records(which=lambda _: False, timeout_s=0.05)


def test_reading_an_unknown_topic_raises_an_error_with_its_name(broker: Broker) -> None:
    absent = broker.topic("absent")
    assert absent.partitions == 0
    absent.assert_empty()
    with pytest.raises(AssertionError, match="there is no such topic"):
        absent.wait_for_records(timeout_s=0.05)


def test_values_are_compared_without_their_order(topic: Topic) -> None:
    topic.produce(b"b", partition=0)
    topic.produce(b"a", partition=1)
    topic.assert_values([b"a", b"b"])
    with pytest.raises(AssertionError, match=r"holds 2 records: b'a', b'b', not 2 records: b'a', b'c'"):
        topic.assert_values([b"a", b"c"])
    with pytest.raises(AssertionError, match="is not empty, it holds 2 records"):
        topic.assert_empty()


def test_a_read_committed_reader_sees_nothing_of_an_aborted_transaction(broker: Broker, topic: Topic) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "t", "log_level": 0}
    )
    producer.init_transactions(10)
    for value, ends in (
        (b"aborted", producer.abort_transaction),
        (b"committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(10)
        ends(10)
    assert [each.value for each in topic.records(committed_only=True)] == [b"committed"]
    assert [each.value for each in topic.records()] == [b"aborted", b"committed"]
    assert topic.wait_for_records(committed_only=True)[0].value == b"committed"


def test_many_records_are_read_to_the_end(topic: Topic) -> None:
    for partition in range(3):
        topic.produce(*(bytes(1000) for _ in range(500)), partition=partition)
        topic.produce(*(bytes(1000) for _ in range(700)), partition=partition)
    assert len(topic.records()) == 3600


def test_refused_records_raise_an_error(broker: Broker) -> None:
    small = broker.create_topic("small", 1, config={"max.message.bytes": 100})
    with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
        small.produce(bytes(1000))


def test_a_deleted_topic_does_not_exist(broker: Broker) -> None:
    topic = broker.create_topic("deleted", 1)
    broker.delete_topic("deleted")
    broker.delete_topic("deleted")  # once more does nothing
    assert topic.partitions == 0

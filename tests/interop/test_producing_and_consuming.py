"""Acknowledgements, idempotence, timestamps, limits and long polls, as clients rely on them."""

import threading
from collections.abc import Callable

import pytest

from tests.interop.conftest import Clients
from tests.interop.model import Message, Received
from tests.support.plugin import require_tool

NAMES = ("confluent-kafka", "kafka-python", "aiokafka", "kcat", "kafkajs", "platformatic")
OLD_MS = 1_600_000_000_000


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    if chosen == "kcat":
        require_tool("kcat")
    return chosen


with_each_client = pytest.mark.parametrize("name", NAMES, indirect=True)


def _numbered(count: int, size: int = 0) -> list[Message]:
    return [Message(b"k%d" % n, (b"v%d" % n).ljust(size, b".")) for n in range(count)]


def _values(received: list[Received]) -> list[bytes | None]:
    return [r.value for r in received]


@with_each_client
def test_every_acks_setting_stores_the_records(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    messages = _numbered(5)
    for number, acks in enumerate((0, 1, -1)):
        clients[name].produce(topic, messages, acks=acks)
        received = clients[name].consume(topic, 5, offset=5 * number)
        assert _values(received) == [m.value for m in messages], acks


@with_each_client
def test_an_idempotent_producer_writes_each_message_once_and_in_order(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    messages = _numbered(5 if name == "kcat" else 200)
    clients[name].produce(topic, messages, idempotent=True, codec="gzip")
    received = clients[name].consume(topic, len(messages))
    assert [r.offset for r in received] == list(range(len(messages)))
    assert _values(received) == [m.value for m in messages]
    assert clients.setup_admin.offsets(topic, 0) == (0, len(messages))


@with_each_client
def test_a_message_over_the_topics_limit_is_refused_and_not_stored(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(max_message_bytes="2000")
    with pytest.raises(Exception, match=r"(?i)too.?large|message.?size"):
        clients[name].produce(topic, [Message(b"k", b"x" * 5000)])
    assert clients.setup_admin.offsets(topic, 0) == (0, 0)


@with_each_client
def test_log_append_time_replaces_the_producers_time(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    for codec in ("none", "zstd"):
        clients[name].produce(topic, [Message(b"k", b"v", timestamp_ms=OLD_MS)], codec=codec)
    # @platformatic/kafka's consumer shows the producer's time, whatever the batch says (seen in 2.12.1).
    reader = clients["kafkajs" if name == "platformatic" else name]
    assert all(r.timestamp_ms > OLD_MS + 1_000_000 for r in reader.consume(topic, 2))


@with_each_client
def test_the_topics_codec_wins_over_the_producers(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(compression_type="lz4")
    messages = _numbered(3, size=2000)
    clients[name].produce(topic, messages, codec="gzip")
    received = clients[name].consume(topic, 3)
    assert [(r.key, r.value) for r in received] == [(m.key, m.value) for m in messages]


@with_each_client
def test_producing_to_an_unknown_topic_creates_it(name: str, clients: Clients) -> None:
    topic = f"made-by-producing-{name}"
    clients[name].produce(topic, [Message(b"k", b"first")])
    assert _values(clients[name].consume(topic, 1)) == [b"first"]
    assert topic in clients.setup_admin.topics()


@with_each_client
def test_reading_starts_in_the_middle_of_a_compressed_batch(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    clients["confluent-kafka"].produce(topic, _numbered(50), codec="snappy")
    received = clients[name].consume(topic, 10, offset=37)
    assert [r.offset for r in received] == list(range(37, 47))
    assert _values(received) == [b"v%d" % n for n in range(37, 47)]


@with_each_client
def test_a_large_backlog_is_read_completely(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(segment_bytes="1048576")
    clients["confluent-kafka"].produce(topic, _numbered(5_000, size=2_000))
    received = clients[name].consume(topic, 5_000)
    assert [r.offset for r in received] == list(range(5_000))
    assert _values(received) == [(b"v%d" % n).ljust(2_000, b".") for n in range(5_000)]


@with_each_client
def test_a_waiting_consumer_gets_records_that_arrive_later(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    received: list[Received] = []
    reader = threading.Thread(target=lambda: received.extend(clients[name].consume(topic, 3)), daemon=True)
    reader.start()
    for n in range(3):
        clients["confluent-kafka"].produce(topic, [Message(b"k", b"%d" % n)])
    reader.join(60)
    assert _values(received) == [b"0", b"1", b"2"]


@with_each_client
def test_the_partitions_of_a_topic_are_kept_apart(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(100)
    for partition in (0, 57, 99):
        clients[name].produce(topic, [Message(b"k", b"%d" % partition)], partition=partition)
    for partition in (0, 57, 99):
        assert _values(clients[name].consume(topic, 1, partition=partition)) == [b"%d" % partition]

"""The JSON-lines dialect over a real socket to a real broker, next to Kafka clients on the same port."""

import itertools
import json
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker

TIMEOUT_S = 20.0
_numbers = itertools.count()


class Client:
    """A client like `nc`."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._lines = self._socket.makefile("rb")

    def send(self, text: str | bytes) -> None:
        self._socket.sendall(text.encode() if isinstance(text, str) else text)

    def line(self) -> str:
        return self._lines.readline().decode().rstrip("\n")

    def ask(self, **request: object) -> str:
        self.send(json.dumps(request) + "\n")
        return self.line()

    def ask_bad(self, text: str) -> dict[str, str]:
        self.send(text + "\n")
        answer: dict[str, str] = json.loads(self.line())
        return answer

    def fetch(self, **request: object) -> list[dict[str, object]]:
        """All lines of a fetch in JSON, the last of which marks the end."""
        self.send(json.dumps({"type": "fetch", "format": "json", **request}) + "\n")
        lines: list[dict[str, object]] = [json.loads(self.line())]
        while "next_offset" not in lines[-1] and "error" not in lines[-1]:
            lines.append(json.loads(self.line()))
        return lines

    def end(self) -> bytes:
        """Close our side, as `nc -N` does at the end of its input, and read the outstanding answers."""
        self._socket.shutdown(socket.SHUT_WR)
        return self._lines.read()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@pytest.fixture
def client(shared_broker: BrokerProcess) -> Iterator[Client]:
    client = Client(shared_broker.port)
    yield client
    client.close()


@pytest.fixture
def topic() -> str:
    return f"lines-{next(_numbers)}"


def test_the_session_of_gologs_documentation_works(client: Client, topic: str) -> None:
    request = {"type": "produce", "topic": topic, "partition": 0, "message": "order-123"}
    assert client.ask(**request) == "ack offset 0"
    assert client.ask(**request | {"message": "order-124"}) == "ack offset 1"
    client.send(json.dumps({"type": "fetch", "topic": topic, "partition": 0, "offset": 0}) + "\n")
    assert client.line() == "offset 0: order-123"
    assert client.line() == "offset 1: order-124"


def test_a_request_may_be_spread_over_lines_as_in_gologs_readme(client: Client, topic: str) -> None:
    for offset, message in enumerate(("hello", "world")):
        client.send(
            json.dumps({"type": "produce", "topic": topic, "partition": 0, "message": message}, indent=2)
        )
        assert client.line() == f"ack offset {offset}"


def test_many_requests_at_once_are_answered_in_order(client: Client, topic: str) -> None:
    lines = [json.dumps({"type": "produce", "topic": topic, "message": f"m{n}"}) for n in range(1_000)]
    client.send("\n".join(lines) + "\n")
    assert [client.line() for _ in lines] == [f"ack offset {n}" for n in range(1_000)]


def test_a_fetch_returns_records_produced_right_before_it(client: Client, topic: str) -> None:
    produce = json.dumps({"type": "produce", "topic": topic, "message": "seen"})
    fetch = json.dumps({"type": "fetch", "topic": topic, "offset": 0})
    client.send(produce + "\n" + fetch + "\n")
    assert client.line() == "ack offset 0"
    assert client.line() == "offset 0: seen"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("not json", "INVALID_JSON"),
        ("{not json}", "INVALID_JSON"),
        ('{"type":"produce","topic":"open string}', "INVALID_JSON"),
        ('{"type":"dance"}', "UNKNOWN_TYPE"),
        ('{"topic":"t"}', "UNKNOWN_TYPE"),
        ('{"type":"produce","topic":"t","message":7}', "INVALID_REQUEST"),
        ('{"type":"produce","topic":"no spaces","message":"m"}', "INVALID_TOPIC_EXCEPTION"),
        ('{"type":"fetch","topic":"unknown-topic"}', "UNKNOWN_TOPIC_OR_PARTITION"),
        ('{"type":"commit","topic":"unknown-topic","group":"g","offset":1}', "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_an_error_is_answered_in_one_line_and_the_connection_stays_open(
    text: str, error: str, client: Client, topic: str
) -> None:
    client.send("{}\n")  # the first byte chooses the dialect
    assert json.loads(client.line())["error"] == "UNKNOWN_TYPE"
    answer = client.ask_bad(text)
    assert answer["error"] == error
    assert answer["message"]
    assert client.ask(type="produce", topic=topic, message="still here") == "ack offset 0"


def test_the_error_of_a_wrong_partition_names_the_valid_ones(client: Client, topic: str) -> None:
    assert client.ask(type="produce", topic=topic, message="m") == "ack offset 0"
    answer = client.ask_bad(json.dumps({"type": "produce", "topic": topic, "partition": 9, "message": "m"}))
    assert answer["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert "0 to 0" in answer["message"]
    assert client.ask(type="produce", topic=topic, message="m") == "ack offset 1"


def test_an_offset_beyond_the_end_is_an_error_and_the_end_itself_is_not(client: Client, topic: str) -> None:
    client.ask(type="produce", topic=topic, message="m")
    assert client.fetch(topic=topic, offset=1) == [{"next_offset": 1, "count": 0}]
    assert client.fetch(topic=topic, offset=2)[0]["error"] == "OFFSET_OUT_OF_RANGE"
    assert client.fetch(topic=topic, offset=-5)[0]["error"] == "INVALID_REQUEST"


def test_each_group_continues_from_its_own_committed_offset(client: Client, topic: str) -> None:
    for n in range(5):
        client.ask(type="produce", topic=topic, message=f"m{n}")
    assert client.ask(type="commit", group="g1", topic=topic, partition=0, offset=3) == "committed offset 3"
    first = client.fetch(topic=topic, group="g1")
    assert [line.get("message") for line in first] == ["m3", "m4", None]
    other = client.fetch(topic=topic, group="g2")
    assert len(other) == 6, "a group that committed nothing reads from the start"
    assert client.ask(type="commit", group="g1", topic=topic, partition=0, offset=5) == "committed offset 5"
    assert client.fetch(topic=topic, group="g1") == [{"next_offset": 5, "count": 0}]


def test_committed_offsets_survive_a_crash(own_broker: BrokerProcess) -> None:
    client = Client(own_broker.port)
    for n in range(3):
        client.ask(type="produce", topic="t", message=f"m{n}")
    for group, offset in (("g1", 1), ("g2", 2), ("g1", 2)):
        client.ask(type="commit", group=group, topic="t", offset=offset)
    client.close()
    own_broker.kill()
    own_broker.start()
    client = Client(own_broker.port)
    assert [line.get("message") for line in client.fetch(topic="t", group="g1")] == ["m2", None]
    assert [line.get("message") for line in client.fetch(topic="t", group="g2")] == ["m2", None]
    assert len(client.fetch(topic="t", group="g3")) == 4
    client.close()


def test_commits_are_stored_as_kafka_stores_them(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    client.ask(type="produce", topic=topic, message="m")
    client.ask(type="commit", group="the-group", topic=topic, offset=1)
    partition = 1812139485 % 50  # "the-group".hashCode() in Java is -1812139485, and Kafka drops the sign
    (found,) = [
        (key, value)
        for key, value in _read(shared_broker, "__consumer_offsets", partition)
        if key is not None and topic.encode() in key
    ]
    key, value = found
    assert key == b"\x00\x01" + _string("the-group") + _string(topic) + struct.pack(">i", 0)
    assert value is not None
    assert value[:14] == struct.pack(">hqi", 4, 1, -1)


def test_a_kafka_consumer_continues_from_an_offset_committed_in_json(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    for number in range(4):
        client.ask(type="produce", topic=topic, message=f"m{number}")
    client.ask(type="commit", group=f"of-{topic}", topic=topic, offset=3)
    consumer = Consumer({"bootstrap.servers": shared_broker.bootstrap, "group.id": f"of-{topic}"})
    consumer.subscribe([topic])
    record = consumer.poll(TIMEOUT_S)

    assert record is not None
    assert (record.offset(), record.value()) == (3, b"m3")
    refused = client.ask_bad(
        json.dumps({"type": "commit", "group": f"of-{topic}", "topic": topic, "offset": 0})
    )
    assert refused["error"] == "UNKNOWN_MEMBER_ID", "only its members commit while a group has some"
    consumer.close()


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _read(broker: BrokerProcess, topic: str, partition: int) -> list[tuple[bytes | None, bytes | None]]:
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "not-joined", "enable.auto.commit": False}
    consumer = Consumer(settings)
    try:
        _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT_S)
        consumer.assign([TopicPartition(topic, partition, 0)])
        messages = consumer.consume(high, TIMEOUT_S)
        return [(message.key(), message.value()) for message in messages]
    finally:
        consumer.close()


def test_both_dialects_share_topics_on_one_port(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    assert client.ask(type="produce", topic=topic, message="from json", key="k") == "ack offset 0"
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap, "compression.type": "zstd"})
    for n in range(3):
        producer.produce(topic, key=b"k", value=b"from kafka %d" % n, headers=[("h", b"v")], partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    lines = client.fetch(topic=topic, offset=0)
    assert [line.get("message") for line in lines[:-1]] == [
        "from json",
        "from kafka 0",
        "from kafka 1",
        "from kafka 2",
    ]
    assert lines[1]["headers"] == [{"name": "h", "value": "v"}]
    assert lines[-1] == {"next_offset": 4, "count": 4}
    assert _read(shared_broker, topic, 0)[0] == (b"k", b"from json")


def test_a_fetch_starts_inside_a_batch_and_stops_at_its_limit(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    client.ask(type="produce", topic=topic, message="first")
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap, "linger.ms": 100})
    for n in range(20):
        producer.produce(topic, b"%d" % n, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    lines = client.fetch(topic=topic, offset=5, max_messages=3)
    assert [line.get("offset") for line in lines] == [5, 6, 7, None]
    assert lines[-1] == {"next_offset": 8, "count": 3}


def test_a_backlog_larger_than_any_buffer_is_streamed_completely(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    client.ask(type="produce", topic=topic, message="first")
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    for n in range(8_000):
        producer.produce(topic, (b"%d " % n).ljust(1_000, b"x"), partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    lines = client.fetch(topic=topic, offset=0)
    assert [line.get("offset") for line in lines[:-1]] == list(range(8_001))
    assert lines[-1] == {"next_offset": 8_001, "count": 8_001}


def test_a_message_of_a_megabyte_goes_both_ways(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    new = NewTopic(topic, 1, 1, config={"max.message.bytes": "3000000"})
    admin.create_topics([new])[topic].result(TIMEOUT_S)
    message = 'ä\\"\n' * (1024 * 1024 // 5)
    assert client.ask(type="produce", topic=topic, message=message) == "ack offset 0"
    assert client.fetch(topic=topic, offset=0)[0]["message"] == message


def test_a_message_that_the_topic_refuses_is_answered_with_the_reason(client: Client, topic: str) -> None:
    client.ask(type="produce", topic=topic, message="small")
    answer = client.ask_bad(json.dumps({"type": "produce", "topic": topic, "message": "x" * 1_100_000}))
    assert answer["error"] == "MESSAGE_TOO_LARGE"
    assert client.ask(type="produce", topic=topic, message="small") == "ack offset 1"


def test_an_endless_request_is_refused_and_the_connection_stays_open(client: Client, topic: str) -> None:
    client.send('{"type":"produce","topic":"' + topic + '","message":"')
    for _ in range(9):
        client.send("x" * 1024 * 1024)
    client.send('"}\n')
    assert json.loads(client.line())["error"] == "INVALID_JSON"
    assert client.ask(type="produce", topic=topic, message="still here") == "ack offset 0"


def test_a_client_that_closes_after_the_last_request_gets_all_answers(client: Client, topic: str) -> None:
    lines = [json.dumps({"type": "produce", "topic": topic, "message": f"m{n}"}) for n in range(50)]
    client.send("\n".join(lines))
    assert client.end().decode().splitlines() == [f"ack offset {n}" for n in range(50)]


def test_a_truncated_last_request_is_answered_with_an_error(client: Client) -> None:
    client.send('{"type":"produce","topic":')
    assert json.loads(client.end())["error"] == "INVALID_JSON"


def test_a_client_that_disappears_does_not_affect_the_others(
    client: Client, topic: str, shared_broker: BrokerProcess
) -> None:
    for _ in range(20):
        rude = Client(shared_broker.port)
        rude.send(json.dumps({"type": "produce", "topic": topic, "message": "x"}) + "\n{")
        rude.close()
    assert client.ask(type="produce", topic=topic, message="m").startswith("ack offset ")
    assert shared_broker.is_running


def test_a_stopping_broker_answers_the_requests_that_it_has_read(own_broker: BrokerProcess) -> None:
    client = Client(own_broker.port)
    assert client.ask(type="produce", topic="t", message="m") == "ack offset 0"
    assert own_broker.terminate() == 0
    assert client.line() == "", "the connection is closed, not reset"
    client.close()


def test_unknown_topics_are_refused_without_auto_creation(tmp_path: Path) -> None:
    with running_broker(tmp_path, {"auto.create.topics.enable": "false"}) as broker:
        client = Client(broker.port)
        answer = client.ask_bad('{"type":"produce","topic":"t","message":"m"}')
        assert answer["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
        client.close()


def test_nc_itself_works(topic: str, shared_broker: BrokerProcess) -> None:
    nc = shutil.which("nc")
    command = [nc, "-N"] if nc else ["bash", "-c", _NC_IN_BASH, "nc"]
    done = subprocess.run(
        [*command, "127.0.0.1", str(shared_broker.port)],
        input=f'{{"type":"produce","topic":"{topic}","partition":0,"message":"order-123"}}\n',
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stdout == "ack offset 0\n"


# What `nc` does, for machines without it: one line out, one line in.
_NC_IN_BASH = 'exec 3<>"/dev/tcp/$1/$2"; cat >&3 <<<"$(cat)"; head -n 1 <&3'

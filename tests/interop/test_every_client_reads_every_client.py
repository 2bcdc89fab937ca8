"""Every client reads the records of every other client unchanged, with each codec."""

from collections.abc import Callable

import pytest

from tests.interop import sample
from tests.interop.conftest import Clients
from tests.interop.model import CODECS, Message, Received
from tests.support.plugin import require_tool

NAMES = ("confluent-kafka", "kafka-python", "aiokafka", "kcat", "kafkajs", "platformatic")

# What each writer wrote so far, in this worker: its topic (one partition a codec) and the messages in it.
_written: dict[str, tuple[str, list[Message]]] = {}


def _written_by(name: str, clients: Clients, new_topic: Callable[..., str]) -> tuple[str, list[Message]]:
    if name not in _written:
        writer = clients[name]
        topic = new_topic(len(CODECS))
        expressed = [writer.writable(m) for m in sample.messages(seed=7)]
        messages = [m for m in expressed if m is not None]
        for partition, codec in enumerate(CODECS):
            writer.produce(topic, messages, partition=partition, codec=codec)
        _written[name] = (topic, messages)
    return _written[name]


@pytest.mark.parametrize("reader_name", NAMES)
@pytest.mark.parametrize("writer_name", NAMES)
def test_records_of_one_client_are_read_unchanged_by_another(
    writer_name: str, reader_name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    if "kcat" in (writer_name, reader_name):
        require_tool("kcat")
    topic, messages = _written_by(writer_name, clients, new_topic)
    reader = clients[reader_name]
    for partition, codec in enumerate(CODECS):
        received = reader.consume(topic, len(messages), partition=partition)
        assert [r.offset for r in received] == list(range(len(messages))), codec
        for message, got in zip(messages, received, strict=True):
            expected = Received(
                got.offset,
                message.key,
                message.value,
                reader.readable(message.headers),
                got.timestamp_ms if message.timestamp_ms is None else message.timestamp_ms,
            )
            assert got == expected, f"{codec}, offset {got.offset}"

"""The first consumers of a fresh broker, with partitions that they assign themselves and a group for their offsets."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.broker import BrokerProcess

_CONSUMERS = 4
_TIMEOUT_S = 10.0  # librdkafka waited for 20 s when a coordinator was named that did not serve yet
# librdkafka asks for the coordinator on two connections, the second time while the topic is being made. More partitions
# than usual make that take as long as on a slow disk.
_SETTINGS = {"offsets.topic.num.partitions": "1000"}


def test_the_first_consumers_of_a_fresh_broker_read_at_once(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, settings=_SETTINGS).start()
    try:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"first")
        assert producer.flush(_TIMEOUT_S) == 0

        def read(number: int) -> bytes | None:
            settings = {"bootstrap.servers": broker.bootstrap, "auto.offset.reset": "earliest"}
            consumer = Consumer({**settings, "group.id": f"group-{number}"})
            try:
                consumer.assign([TopicPartition("orders", 0)])
                message = consumer.poll(_TIMEOUT_S)
                return None if message is None or message.error() else message.value()
            finally:
                consumer.close()

        with ThreadPoolExecutor(_CONSUMERS) as threads:
            assert list(threads.map(read, range(_CONSUMERS))) == [b"first"] * _CONSUMERS
    finally:
        broker.stop()

"""confluent-kafka (librdkafka)."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.interop.model import (
    CALL_TIMEOUT_S,
    CODECS,
    MESSAGE_BYTES_MAX,
    Cluster,
    Headers,
    Message,
    Received,
    RequestRefused,
)


class ConfluentClient:
    name = "confluent-kafka"
    codecs = CODECS

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": idempotent,
                "message.max.bytes": MESSAGE_BYTES_MAX,
                "linger.ms": 20,
            }
        )
        failures: list[Any] = []
        for message in messages:
            producer.produce(
                topic,
                key=message.key,
                value=message.value,
                headers=list(message.headers),
                partition=partition,
                timestamp=message.timestamp_ms or 0,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        left = producer.flush(CALL_TIMEOUT_S)
        if failures:
            raise KafkaException(failures[0])
        assert left == 0, f"{left} messages were not delivered in {CALL_TIMEOUT_S} s"

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Received]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "not-joined",
                "enable.auto.commit": False,
                "check.crcs": True,
            }
        )
        consumer.assign([TopicPartition(topic, partition, offset)])
        received: list[Received] = []
        deadline = time.monotonic() + CALL_TIMEOUT_S
        try:
            while len(received) < count and (left := deadline - time.monotonic()) > 0:
                for message in consumer.consume(count - len(received), min(left, 1.0)):
                    if message.error():
                        raise KafkaException(message.error())
                    received.append(
                        Received(
                            message.offset(),
                            message.key(),
                            message.value(),
                            tuple(message.headers() or ()),
                            message.timestamp()[1],
                        )
                    )
        finally:
            consumer.close()
        return received

    def writable(self, message: Message) -> Message | None:
        return message

    def readable(self, headers: Headers) -> Headers:
        return headers

    def close(self) -> None:
        pass


class ConfluentAdmin:
    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(config))
        _wait(self._admin.create_topics([new]))

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=CALL_TIMEOUT_S).topics)

    def partition_count(self, topic: str) -> int:
        return len(self._admin.list_topics(topic, timeout=CALL_TIMEOUT_S).topics[topic].partitions)

    def create_partitions(self, topic: str, total: int) -> None:
        _wait(self._admin.create_partitions([NewPartitions(topic, total)]))

    def topic_config(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = _wait(self._admin.describe_configs([resource]))
        return {name: entry.value for name, entry in entries.items()}

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        _wait(self._admin.incremental_alter_configs([resource]))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        _wait(self._admin.delete_records([TopicPartition(topic, partition, before_offset)]))

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        return (
            self._offset(topic, partition, OffsetSpec.earliest()),
            self._offset(topic, partition, OffsetSpec.latest()),
        )

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        return self._offset(topic, partition, OffsetSpec.for_timestamp(timestamp_ms))

    def _offset(self, topic: str, partition: int, spec: Any) -> int:
        offset: int = _wait(self._admin.list_offsets({TopicPartition(topic, partition): spec})).offset
        return offset

    def cluster(self) -> Cluster:
        found = self._admin.describe_cluster().result(CALL_TIMEOUT_S)
        return Cluster(
            found.cluster_id,
            found.controller.id,
            tuple((node.id, node.host, node.port) for node in found.nodes),
        )

    def delete_topic(self, topic: str) -> None:
        _wait(self._admin.delete_topics([topic]))


def _wait(futures: Mapping[Any, Any]) -> Any:
    """The result of the one future of an admin call."""
    (future,) = futures.values()
    try:
        return future.result(CALL_TIMEOUT_S)
    except KafkaException as error:
        raise RequestRefused(str(error)) from error

"""kafka-python 3, pure Python."""

import time
from collections.abc import Mapping, Sequence

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

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

_EARLIEST = -2
_LATEST = -1


class KafkaPythonClient:
    name = "kafka-python"
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
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            compression_type=None if codec == "none" else codec,
            acks="all" if acks == -1 else acks,
            enable_idempotence=idempotent,
            max_request_size=MESSAGE_BYTES_MAX,
            linger_ms=20,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    key=message.key,
                    value=message.value,
                    headers=list(message.headers),
                    partition=partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            producer.flush(CALL_TIMEOUT_S)
            for future in sent:
                future.get(CALL_TIMEOUT_S)
        finally:
            producer.close(timeout=CALL_TIMEOUT_S)

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Received]:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap, group_id=None, enable_auto_commit=False, check_crcs=True
        )
        assigned = TopicPartition(topic, partition)
        consumer.assign([assigned])
        consumer.seek(assigned, offset)
        received: list[Received] = []
        deadline = time.monotonic() + CALL_TIMEOUT_S
        try:
            while len(received) < count and time.monotonic() < deadline:
                polled = consumer.poll(timeout_ms=1000, max_records=count - len(received))
                received += [
                    Received(r.offset, r.key, r.value, tuple(r.headers), r.timestamp)
                    for r in polled.get(assigned, [])
                ]
        finally:
            consumer.close()
        return received

    def writable(self, message: Message) -> Message | None:
        if message.key is None and message.value is None:
            return None  # it insists on one of them
        headers = tuple((name, value) for name, value in message.headers if value is not None)
        return Message(message.key, message.value, headers, message.timestamp_ms)

    def readable(self, headers: Headers) -> Headers:
        return headers

    def close(self) -> None:
        pass


class KafkaPythonAdmin:
    def __init__(self, bootstrap: str) -> None:
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        try:
            self._admin.create_topics(
                {topic: {"num_partitions": partitions, "replication_factor": 1, "configs": dict(config)}}
            )
        except KafkaError as error:
            raise RequestRefused(str(error)) from error

    def topics(self) -> set[str]:
        return set(self._admin.list_topics())

    def partition_count(self, topic: str) -> int:
        (found,) = self._admin.describe_topics([topic])
        return len(found["partitions"])

    def create_partitions(self, topic: str, total: int) -> None:
        try:
            self._admin.create_partitions({topic: total})
        except KafkaError as error:
            raise RequestRefused(str(error)) from error

    def topic_config(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        described = self._admin.describe_configs([resource], config_filter="all")
        (by_name,) = described.values()
        return {name: entry["value"] for name, entry in by_name[topic].items()}

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(config))
        answer = self._admin.alter_configs([resource])
        (by_name,) = answer.values()
        if by_name[topic] not in ("OK", None) and "NoError" not in str(by_name[topic]):
            raise RequestRefused(str(by_name[topic]))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self._admin.delete_records({TopicPartition(topic, partition): before_offset})

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        return self._offset(topic, partition, _EARLIEST), self._offset(topic, partition, _LATEST)

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        return self._offset(topic, partition, timestamp_ms)

    def _offset(self, topic: str, partition: int, timestamp: int) -> int:
        wanted = TopicPartition(topic, partition)
        offset: int = self._admin.list_partition_offsets({wanted: timestamp})[wanted].offset
        return offset

    def cluster(self) -> Cluster:
        found = self._admin.describe_cluster()
        return Cluster(
            found["cluster_id"],
            found["controller_id"],
            tuple((b.get("node_id", b.get("broker_id")), b["host"], b["port"]) for b in found["brokers"]),
        )

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])

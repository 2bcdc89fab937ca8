"""aiokafka: kafka-python's protocol on asyncio. Each call runs its own event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

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

T = TypeVar("T")


class AioKafkaClient:
    name = "aiokafka"
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
        async def send() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                compression_type=None if codec == "none" else codec,
                acks="all" if acks == -1 else acks,
                enable_idempotence=idempotent,
                max_request_size=MESSAGE_BYTES_MAX,
                linger_ms=20,
            )
            await producer.start()
            try:
                sent = [
                    await producer.send(
                        topic,
                        key=message.key,
                        value=message.value,
                        headers=list(message.headers),
                        partition=partition,
                        timestamp_ms=message.timestamp_ms,
                    )
                    for message in messages
                ]
                await asyncio.gather(*sent)
            finally:
                await producer.stop()

        _run(send())

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Received]:
        async def read() -> list[Received]:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._bootstrap, group_id=None, enable_auto_commit=False, check_crcs=True
            )
            assigned = TopicPartition(topic, partition)
            await consumer.start()
            received: list[Received] = []
            try:
                consumer.assign([assigned])
                consumer.seek(assigned, offset)
                while len(received) < count:
                    got = await consumer.getmany(timeout_ms=1000, max_records=count - len(received))
                    received += [
                        Received(r.offset, r.key, r.value, tuple(r.headers), r.timestamp)
                        for r in got.get(assigned, [])
                    ]
            finally:
                await consumer.stop()
            return received

        return _run(read())

    def writable(self, message: Message) -> Message | None:
        return None if message.key is None and message.value is None else message  # it insists on one of them

    def readable(self, headers: Headers) -> Headers:
        return headers

    def close(self) -> None:
        pass


class AioKafkaAdmin:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None:
        new = NewTopic(topic, partitions, 1, topic_configs=dict(config))
        response = self._call("create_topics", [new])
        _check([(code, message) for _, code, message in response.topic_errors])

    def topics(self) -> set[str]:
        return set(self._call("list_topics"))

    def partition_count(self, topic: str) -> int:
        (found,) = self._call("describe_topics", [topic])
        return len(found["partitions"])

    def create_partitions(self, topic: str, total: int) -> None:
        response = self._call("create_partitions", {topic: NewPartitions(total)})
        _check([(code, message) for _, code, message in response.topic_errors])

    def topic_config(self, topic: str) -> dict[str, str]:
        responses = self._call("describe_configs", [ConfigResource(ConfigResourceType.TOPIC, topic)])
        ((code, message, _, _, entries),) = responses[0].resources
        _check([(code, message)])
        return {entry[0]: entry[1] for entry in entries}

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(config))
        responses = self._call("alter_configs", [resource])
        _check([(code, message) for code, message, _, _ in responses[0].resources])

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        wanted = {TopicPartition(topic, partition): RecordsToDelete(before_offset=before_offset)}
        self._call("delete_records", wanted)

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        wanted = TopicPartition(topic, partition)

        async def ask(consumer: Any) -> tuple[int, int]:
            earliest = await consumer.beginning_offsets([wanted])
            latest = await consumer.end_offsets([wanted])
            return earliest[wanted], latest[wanted]

        return _run(self._with_consumer(ask))

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        wanted = TopicPartition(topic, partition)

        async def ask(consumer: Any) -> int:
            found = (await consumer.offsets_for_times({wanted: timestamp_ms}))[wanted]
            return -1 if found is None else int(found.offset)

        return _run(self._with_consumer(ask))

    def cluster(self) -> Cluster:
        found = self._call("describe_cluster")
        return Cluster(
            found["cluster_id"],
            found["controller_id"],
            tuple((b["node_id"], b["host"], b["port"]) for b in found["brokers"]),
        )

    def delete_topic(self, topic: str) -> None:
        response = self._call("delete_topics", [topic])
        _check([(code, None) for _, code in response.topic_error_codes])

    def _call(self, method: str, *arguments: Any) -> Any:
        async def call() -> Any:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                return await getattr(admin, method)(*arguments)
            except KafkaError as error:
                raise RequestRefused(str(error)) from error
            finally:
                await admin.close()

        return _run(call())

    async def _with_consumer(self, ask: Callable[[Any], Awaitable[T]]) -> T:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
        await consumer.start()
        try:
            return await ask(consumer)
        finally:
            await consumer.stop()


def _check(errors: list[tuple[int, str | None]]) -> None:
    for code, message in errors:
        if code:
            raise RequestRefused(f"{for_code(code).__name__}: {message}")


def _run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, CALL_TIMEOUT_S)

    return asyncio.run(bounded())

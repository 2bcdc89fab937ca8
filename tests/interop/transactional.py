"""Transactional producers and read_committed consumers of four libraries, with one small interface."""

import asyncio
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine
from typing import Any, Protocol
from uuid import uuid4

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors
from aiokafka.structs import TopicPartition as AioTopicPartition
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as PythonTopicPartition

from tests.interop.clients.javascript import NodeProcess
from tests.interop.model import RequestRefused
from tools.setup_interop import NODE

TIMEOUT_S = 30.0


class Fenced(Exception):
    """The library reports that this producer is fenced."""


class TransactionalProducer(Protocol):
    def begin(self) -> None: ...

    def send(self, topic: str, value: bytes, partition: int) -> None:
        """Produce within the transaction, and return when the broker has the record."""
        ...

    def send_offsets(self, group_id: str, topic: str, partition: int, offset: int) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


def open_producer(
    name: str, bootstrap: str, transactional_id: str, timeout_ms: int = 60_000
) -> TransactionalProducer:
    makers: dict[str, Callable[[str, str, int], TransactionalProducer]] = {
        "confluent-kafka": ConfluentProducer,
        "aiokafka": AioProducer,
        "kafka-python": PythonProducer,
        "kafkajs": JavaScriptProducer,
    }
    return makers[name](bootstrap, transactional_id, timeout_ms)


class ConfluentProducer:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "log_level": 0,
            }
        )
        self._call(lambda: self._producer.init_transactions(TIMEOUT_S))

    def begin(self) -> None:
        self._call(self._producer.begin_transaction)

    def send(self, topic: str, value: bytes, partition: int) -> None:
        self._producer.produce(topic, value, partition=partition)
        assert self._producer.flush(TIMEOUT_S) == 0

    def send_offsets(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        metadata = confluent_kafka.Consumer(
            {"bootstrap.servers": "127.0.0.1:1", "group.id": group_id, "log_level": 0}
        ).consumer_group_metadata()
        self._call(
            lambda: self._producer.send_offsets_to_transaction(
                [confluent_kafka.TopicPartition(topic, partition, offset)], metadata, TIMEOUT_S
            )
        )

    def commit(self) -> None:
        self._call(lambda: self._producer.commit_transaction(TIMEOUT_S))

    def abort(self) -> None:
        self._call(lambda: self._producer.abort_transaction(TIMEOUT_S))

    @staticmethod
    def _call(call: Any) -> None:
        try:
            call()
        except confluent_kafka.KafkaException as error:
            if error.args[0].fatal():
                raise Fenced(str(error)) from error
            raise

    def close(self) -> None:
        del self._producer


class AioProducer:
    """Lives in an event loop of its own, which sends its heartbeats while the test does other things."""

    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

        async def start() -> aiokafka.AIOKafkaProducer:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap,
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
                retry_backoff_ms=50,
            )
            await producer.start()
            return producer

        self._producer = self._run(start())

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIMEOUT_S)
        except (aiokafka.errors.ProducerFenced, aiokafka.errors.InvalidProducerEpoch) as error:
            raise Fenced(str(error)) from error

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, value: bytes, partition: int) -> None:
        self._run(self._producer.send_and_wait(topic, value, partition=partition))

    def send_offsets(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        self._run(
            self._producer.send_offsets_to_transaction(
                {AioTopicPartition(topic, partition): offset}, group_id
            )
        )

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        self._run(self._producer.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_S)
        self._loop.close()


class PythonProducer:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
        )
        self._call(self._producer.init_transactions)

    def begin(self) -> None:
        self._call(self._producer.begin_transaction)

    def send(self, topic: str, value: bytes, partition: int) -> None:
        self._call(lambda: self._producer.send(topic, value, partition=partition).get(TIMEOUT_S))

    def send_offsets(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        offsets = {PythonTopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        self._call(lambda: self._producer.send_offsets_to_transaction(offsets, group_id))

    def commit(self) -> None:
        self._call(self._producer.commit_transaction)

    def abort(self) -> None:
        self._call(self._producer.abort_transaction)

    @staticmethod
    def _call(call: Any) -> None:
        try:
            call()
        except (
            kafka.errors.ProducerFencedError,
            kafka.errors.InvalidProducerEpochError,
        ) as error:
            raise Fenced(str(error)) from error
        except kafka.errors.KafkaError as error:
            if "fenced" in repr(error).lower() or "epoch" in repr(error).lower():
                raise Fenced(str(error)) from error
            raise

    def close(self) -> None:
        self._producer.close(timeout=5)


class JavaScriptProducer:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._node = NodeProcess(str(NODE), "transactions.js", bootstrap)
        self._ask("open", transactionalId=transactional_id, timeoutMs=timeout_ms)

    def _ask(self, method: str, **arguments: Any) -> Any:
        try:
            return self._node.ask(method, **arguments)
        except RequestRefused as error:
            if "fenced" in str(error).lower() or "epoch" in str(error).lower():
                raise Fenced(str(error)) from error
            raise

    def begin(self) -> None:
        self._ask("begin")

    def send(self, topic: str, value: bytes, partition: int) -> None:
        self._ask("send", topic=topic, value=b64encode(value).decode(), partition=partition)

    def send_offsets(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        self._ask("sendOffsets", groupId=group_id, topic=topic, partition=partition, offset=offset)

    def commit(self) -> None:
        self._ask("commit")

    def abort(self) -> None:
        self._ask("abort")

    def close(self) -> None:
        self._node.close()


# -- reading


def read(name: str, bootstrap: str, topic: str, count: int, *, committed: bool) -> list[bytes]:
    """The first `count` records of all partitions, sorted; fails when there are fewer."""
    readers = {
        "confluent-kafka": _read_confluent,
        "aiokafka": _read_aiokafka,
        "kafka-python": _read_kafka_python,
        "kafkajs": _read_kafkajs,
    }
    return sorted(readers[name](bootstrap, topic, count, committed))


def _isolation(committed: bool) -> str:
    return "read_committed" if committed else "read_uncommitted"


def _read_confluent(bootstrap: str, topic: str, count: int, committed: bool) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": str(uuid4()),
            "isolation.level": _isolation(committed),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
        consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in partitions])
        found: list[bytes] = []
        while len(found) < count:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"only {len(found)} of {count} records came"
            if message.error():
                raise confluent_kafka.KafkaException(message.error())
            found.append(message.value())
        return found
    finally:
        consumer.close()


def _read_aiokafka(bootstrap: str, topic: str, count: int, committed: bool) -> list[bytes]:
    async def go() -> list[bytes]:
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            isolation_level=_isolation(committed),
            auto_offset_reset="earliest",
        )
        await consumer.start()
        try:
            return [(await asyncio.wait_for(consumer.getone(), TIMEOUT_S)).value for _ in range(count)]
        finally:
            await consumer.stop()

    return asyncio.run(go())


def _read_kafka_python(bootstrap: str, topic: str, count: int, committed: bool) -> list[bytes]:
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        isolation_level=_isolation(committed),
        auto_offset_reset="earliest",
        consumer_timeout_ms=int(TIMEOUT_S * 1000),
    )
    try:
        return [next(consumer).value for _ in range(count)]
    finally:
        consumer.close()


def _read_kafkajs(bootstrap: str, topic: str, count: int, committed: bool) -> list[bytes]:
    node = NodeProcess(str(NODE), "transactions.js", bootstrap)
    try:
        values = node.ask("read", topic=topic, count=count, committed=committed)
        return [b64decode(value) for value in values]
    finally:
        node.close()


def committed_offset(bootstrap: str, group_id: str, topic: str, partition: int) -> int:
    """The committed offset of a group, once it is stable."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group_id, "log_level": 0}
    )
    try:
        found = consumer.committed([confluent_kafka.TopicPartition(topic, partition)], TIMEOUT_S)[0]
        offset: int = found.offset
        return offset
    finally:
        consumer.close()


def end_offsets(bootstrap: str, topic: str, partition: int) -> tuple[int, int]:
    """The high watermark and the last stable offset of a partition."""
    ends = []
    for committed in (False, True):
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "ends",
                "isolation.level": _isolation(committed),
                "log_level": 0,
            }
        )
        ends.append(
            consumer.get_watermark_offsets(
                confluent_kafka.TopicPartition(topic, partition), timeout=TIMEOUT_S
            )[1]
        )
        consumer.close()
    return ends[0], ends[1]

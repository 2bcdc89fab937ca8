"""A consume-transform-produce loop, to be killed: each input becomes one output, with its offset, in one transaction.

    python -m tests.interop.transform_loop BOOTSTRAP INPUT OUTPUT GROUP TRANSACTIONAL_ID [TIMEOUT_MS [RECORDS]]

Reads the input from the committed offset, writes each record in upper case to the partition of the same number, and
commits at most RECORDS at a time. Ends by itself when the record `stop` has been committed in every partition; prints
`working` once it has committed for the first time.
"""

import itertools
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

CALL_TIMEOUT_S = 20.0
TRIES_MAX = 100
RETRY_S = 0.2
COORDINATOR_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
T = TypeVar("T")


def main(
    bootstrap: str,
    source: str,
    target: str,
    group_id: str,
    transactional_id: str,
    timeout_ms: str = "5000",
    records_max: str = "20",
) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": int(timeout_ms),
            "log_level": 0,
        }
    )
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group_id,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    producer.init_transactions(CALL_TIMEOUT_S)
    partitions = list(consumer.list_topics(source, CALL_TIMEOUT_S).topics[source].partitions)
    rewind(consumer, source, partitions)
    open_partitions = set(partitions)
    is_first = True
    while open_partitions:
        messages = [m for m in consumer.consume(int(records_max), 0.2) if not _is_passing(m)]
        if not messages:
            continue
        try:
            stopped = transform(producer, consumer, target, messages)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            print(f"aborting: {error}", flush=True)
            _retried(lambda: producer.abort_transaction(CALL_TIMEOUT_S))
            rewind(consumer, source, partitions)
            continue
        open_partitions -= stopped
        if is_first:
            print("working", flush=True)
            is_first = False
    consumer.close()


def rewind(consumer: Consumer, source: str, partitions: list[int]) -> None:
    """Read from the committed offsets on."""
    positions = [TopicPartition(source, each) for each in partitions]
    standing = _retried(lambda: consumer.committed(positions, CALL_TIMEOUT_S))
    consumer.assign([TopicPartition(source, each.partition, max(each.offset, 0)) for each in standing])


def _retried(call: Callable[[], T]) -> T:
    """Repeat a call that may be repeated, as librdkafka leaves to its application."""
    for attempt in itertools.count(1):
        try:
            return call()
        except KafkaException as error:
            is_passing = error.args[0].retriable() or error.args[0].code() in COORDINATOR_MOVES
            if not is_passing or attempt == TRIES_MAX:
                raise
            time.sleep(RETRY_S)
    raise AssertionError("there are no attempts")


def _is_passing(message: Message) -> bool:
    """Whether the error only means that the broker is unreachable; any other error ends the loop."""
    error = message.error()
    if error is None:
        return False
    if error.retriable() or error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
        return True
    raise KafkaException(error)


def transform(producer: Producer, consumer: Consumer, target: str, messages: list[Message]) -> set[int]:
    """One transaction; gives the partitions that have come to their end."""
    producer.begin_transaction()
    offsets: dict[tuple[str, int], int] = {}
    stopped = set()
    for message in messages:
        if message.value() == b"stop":
            stopped.add(message.partition())
        else:
            producer.produce(target, message.value().upper(), partition=message.partition())
        offsets[message.topic(), message.partition()] = message.offset() + 1
    positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
    member = consumer.consumer_group_metadata()
    _retried(lambda: producer.send_offsets_to_transaction(positions, member, CALL_TIMEOUT_S))
    _retried(lambda: producer.commit_transaction(CALL_TIMEOUT_S))
    return stopped


if __name__ == "__main__":
    main(*sys.argv[1:])

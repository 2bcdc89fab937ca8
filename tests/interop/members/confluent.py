"""A member of confluent-kafka (librdkafka); with the argument `consumer`, by the consumer protocol of KIP-848."""

import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.interop.members import reporting

MOVED_ON = (
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError.FENCED_MEMBER_EPOCH,
)


def main() -> None:
    wanted = reporting.arguments()
    stop = reporting.stop_requested()
    settings = {
        "bootstrap.servers": wanted.bootstrap,
        "group.id": wanted.group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 100,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 1000,
    }
    is_new = "consumer" in sys.argv
    if is_new:
        settings["group.protocol"] = "consumer"
        if wanted.assignor in ("uniform", "range"):
            settings["group.remote.assignor"] = wanted.assignor
    else:
        settings["session.timeout.ms"] = wanted.session_timeout_ms
        settings["heartbeat.interval.ms"] = reporting.HEARTBEAT_MS
        settings["partition.assignment.strategy"] = wanted.assignor
    if wanted.instance_id is not None:
        settings["group.instance.id"] = wanted.instance_id
    consumer = Consumer(settings)
    cooperative = is_new or wanted.assignor == "cooperative-sticky"

    def report(partitions: list[Any], *, is_loss: bool) -> None:
        held = {(p.topic, p.partition) for p in consumer.assignment()} if cooperative else set()
        changed = {(p.topic, p.partition) for p in partitions}
        now = held - changed if is_loss else held | changed
        reporting.assigned(partition for _, partition in now)

    consumer.subscribe(
        [wanted.topic],
        on_assign=lambda _, partitions: report(partitions, is_loss=False),
        on_revoke=lambda _, partitions: report(partitions, is_loss=True),
        on_lost=lambda _, partitions: report(partitions, is_loss=True),
    )
    while not stop.is_set():
        records = [r for r in consumer.consume(100, timeout=reporting.POLL_S) if r.error() is None]
        if not records:
            continue
        ends = {(r.topic(), r.partition()): r.offset() + 1 for r in records}
        if _commit(consumer, [TopicPartition(t, p, o) for (t, p), o in ends.items()]):
            reporting.processed((r.partition(), r.offset(), r.value()) for r in records)
        else:
            _rewind(consumer, records)
    consumer.close()


def _rewind(consumer: Any, records: list[Any]) -> None:
    """Read uncommitted records again: a cooperative member keeps partitions, and would continue after them."""
    kept = {(each.topic, each.partition) for each in consumer.assignment()}
    for record in reversed(records):  # the first of each partition is sought last
        if (record.topic(), record.partition()) in kept:
            consumer.seek(TopicPartition(record.topic(), record.partition(), record.offset()))


def _commit(consumer: Any, offsets: list[Any]) -> bool:
    """Commit, and retry while the coordinator is unavailable or the epoch is old; False after a rebalance."""
    while True:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            reporting.emit("refused", error=str(error))
            if error.args[0].code() in MOVED_ON:
                return False
            time.sleep(reporting.POLL_S)
        else:
            return True


if __name__ == "__main__":
    main()

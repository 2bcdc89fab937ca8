"""Read partitions from given offsets on, without a group."""

from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from penstock.cli.connect.librdkafka import reading_failed
from penstock.cli.connect.target import Target
from penstock.cli.connect.topics import fetch_metadata
from penstock.cli.consume.stall_detector import POLL_S, StallDetector
from penstock.cli.record_format import Record, to_record

POLL_RECORDS = 500
END_OF_PARTITION = "_PARTITION_EOF"
NO_GROUP = "penstock-cli"
"""librdkafka requires a group; with this one nothing is joined and nothing committed."""


def make_consumer(
    target: Target, *, isolation: str = "read_committed", group: str = NO_GROUP, follow: bool = False
) -> Any:
    """Make a consumer that commits only on request, and reports the end of partitions."""
    return target.client(Consumer, **consumer_config(isolation=isolation, group=group, follow=follow))


def consumer_config(*, isolation: str, group: str, follow: bool) -> dict[str, object]:
    # Without `follow`, an empty fetch shows that the end is reached: it should return soon.
    soon = {} if follow else {"fetch.wait.max.ms": 20}
    return {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "check.crcs": True,
        "auto.offset.reset": "error",
        "isolation.level": isolation,
        "fetch.queue.backoff.ms": 20,  # librdkafka would pause for a second whenever its queue is full
        **soon,
    }


def read_batches(
    consumer: Any,
    topic: str,
    first: Mapping[int, int],
    ends: Mapping[int, int] | None = None,
    count_max: int | None = None,
) -> Iterator[list[Record]]:
    """Yield the records of each poll, from the offsets in `first` up to `ends`, or for ever. Closes nothing."""
    unread = {at: offset for at, offset in first.items() if ends is None or offset < ends[at]}
    fetch_metadata(consumer)  # librdkafka would do it by itself, but a second later
    consumer.assign([TopicPartition(topic, at, offset) for at, offset in sorted(unread.items())])
    stall, left = StallDetector(consumer, topic), count_max
    while unread and left != 0:
        messages = consumer.consume(min(POLL_RECORDS, left or POLL_RECORDS), POLL_S)
        stall.observe(is_active=bool(messages) or ends is None)
        records = []
        for message in messages:
            partition, error = message.partition(), message.error()
            is_end = error is not None and error.name() == END_OF_PARTITION
            if error is not None and not is_end:
                raise reading_failed(f"{topic}-{partition}", topic, error)
            if ends is not None and (is_end or message.offset() + 1 >= ends[partition]):
                unread.pop(partition, None)
            if not is_end and (ends is None or message.offset() < ends[partition]):
                records.append(to_record(message))
        if left is not None:
            left -= len(records)
        yield records

"""`penstock consume --share-group`: read a topic as a member of a share group (KIP-932).

Only records that were printed are accepted: each batch is written and flushed, then its records are acknowledged. A
reader that dies leaves the others to another member, or to the next one.
"""

import sys
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException

from penstock.cli.connect.librdkafka import REQUEST_TIMEOUT_S, describe_error, reading_failed
from penstock.cli.consume.stall_detector import POLL_S
from penstock.cli.errors import CommandError
from penstock.cli.record_format import Render, to_record
from penstock.cli.stop_signals import stop_on_signals

# These acknowledgements came too late, or reached no leader: the record is delivered again.
_REDELIVERED = (
    "INVALID_RECORD_STATE",
    "SHARE_SESSION_NOT_FOUND",
    "INVALID_SHARE_SESSION_EPOCH",
    "NOT_LEADER_FOR_PARTITION",
    "COORDINATOR_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_OR_PART",
    "_TRANSPORT",
    "_TIMED_OUT",
    "_ALL_BROKERS_DOWN",
)


class ShareReader:
    """A member of a share group, which acknowledges record by record."""

    def __init__(self, consumer: Any, topic: str) -> None:
        self._topic = topic
        self._consumer = consumer
        consumer.subscribe([topic])

    def copy(self, render: Render, count_max: int | None) -> None:
        """Print records and accept them, until there are enough or a signal."""
        out = sys.stdout.buffer
        left = count_max
        with stop_on_signals() as stopping:
            while left != 0 and not stopping.is_set():
                records = self._consumer.poll(POLL_S)
                for record in records:
                    if record.error() is not None:
                        place = f"topic {self._topic} in a share group"
                        raise reading_failed(place, self._topic, record.error())
                wanted = records if left is None else records[:left]
                for record in wanted:
                    out.write(render(to_record(record)))
                out.flush()
                for record in wanted:
                    self._consumer.acknowledge(record)
                for record in records[len(wanted) :]:  # a batch came whole
                    self._consumer.acknowledge(record, AcknowledgeType.RELEASE)
                if records:
                    self._commit()
                if left is not None:
                    left -= len(wanted)

    def _commit(self) -> None:
        try:
            failures = [each for each in self._consumer.commit_sync(REQUEST_TIMEOUT_S).values() if each]
        except KafkaException as error:
            failures = [error]
        for failure in failures:
            if failure.args[0].name() not in _REDELIVERED:
                raise CommandError(
                    f"cannot acknowledge records of topic {self._topic}: {describe_error(failure)}"
                )

    def close(self) -> None:
        """Leave the group: records that are not acknowledged go to others."""
        self._consumer.close()

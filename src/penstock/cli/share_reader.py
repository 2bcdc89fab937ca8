"""`penstock consume --share-group`: read a topic as a member of a share group (KIP-932).

What was shown is accepted, never what was not: each batch is written and flushed, then its records are acknowledged.
What a reader that dies has not accepted is given to another member, or to the next that comes.
"""

import sys
from typing import Any

from penstock.cli.connection import REQUEST_TIMEOUT_SECONDS, describe_error, reading_failed
from penstock.cli.errors import CommandError
from penstock.cli.record_format import Render, shown_message
from penstock.cli.silence import POLL_SECONDS
from penstock.cli.stop_signals import StopSignals

# An acknowledgement that failed so came too late or found nobody: somebody will be shown the record again.
_PASSING = (
    "INVALID_RECORD_STATE",
    "SHARE_SESSION_NOT_FOUND",
    "INVALID_SHARE_SESSION_EPOCH",
    "NOT_LEADER_OR_FOLLOWER",
    "COORDINATOR_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_OR_PART",
    "_TRANSPORT",
    "_TIMED_OUT",
    "_ALL_BROKERS_DOWN",
)


class ShareReader:
    """A member of a share group, which acknowledges record by record."""

    def __init__(self, consumer: Any, topic: str) -> None:
        from confluent_kafka import KafkaError

        self._passing = {getattr(KafkaError, name, None) for name in _PASSING}
        self._topic = topic
        self._consumer = consumer
        consumer.subscribe([topic])

    def copy(self, render: Render, count_max: int | None) -> None:
        """Write records to standard output as they come, and accept them, until there are enough or a signal."""
        from confluent_kafka import AcknowledgeType

        out = sys.stdout.buffer
        left = count_max
        with StopSignals() as signals:
            while left != 0 and not signals.is_stopped:
                records = [each for each in self._consumer.poll(POLL_SECONDS) if self._is_record(each)]
                wanted = records if left is None else records[:left]
                for record in wanted:
                    out.write(render(shown_message(record)))
                out.flush()
                for record in wanted:
                    self._consumer.acknowledge(record)
                for record in records[len(wanted) :]:  # a batch came whole
                    self._consumer.acknowledge(record, AcknowledgeType.RELEASE)
                if records:
                    self._commit()
                if left is not None:
                    left -= len(wanted)

    def _is_record(self, message: Any) -> bool:
        error = message.error()
        if error is None:
            return True
        raise reading_failed(f"topic {self._topic} in a share group", self._topic, error)

    def _commit(self) -> None:
        from confluent_kafka import KafkaException

        try:
            failures = [each for each in self._consumer.commit_sync(REQUEST_TIMEOUT_SECONDS).values() if each]
        except KafkaException as error:
            failures = [error]
        for failure in failures:
            if failure.args[0].code() not in self._passing:
                raise CommandError(
                    f"cannot acknowledge records of topic {self._topic}: {describe_error(failure)}"
                )

    def close(self) -> None:
        """Leave the group: what is not acknowledged is given to others."""
        self._consumer.close()

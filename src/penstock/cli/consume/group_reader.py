"""`penstock consume --group`: read a topic as a member of a consumer group.

Only records that were printed are committed: each batch is written and flushed, then its offsets are committed. A
reader that dies in between prints those records again the next time (at least once). Commits are asynchronous, one at
a time: a synchronous one would wait for a coordinator that is down, deaf to Ctrl-C.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from penstock.cli.connect.librdkafka import REQUEST_TIMEOUT_S, describe_error, reading_failed
from penstock.cli.connect.offsets import fetch_bounds, resolve_position
from penstock.cli.consume.reader import END_OF_PARTITION, POLL_RECORDS
from penstock.cli.consume.stall_detector import POLL_S, StallDetector
from penstock.cli.errors import CommandError
from penstock.cli.record_format import Render, to_record
from penstock.cli.stop_signals import stop_on_signals
from penstock.client.positions import Position

_LEAVE_TIMEOUT_S = 5.0
_POLLED_TOO_LATE = "_MAX_POLL_EXCEEDED"

# A commit with one of these errors is retried: the member rejoins, or the coordinator comes back. If the partition is
# lost meanwhile, its next owner prints its records again.
_RETRIED = (
    "REBALANCE_IN_PROGRESS",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "STALE_MEMBER_EPOCH",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT",
    "_WAIT_COORD",
    "_TRANSPORT",
    "_TIMED_OUT",
    "_ALL_BROKERS_DOWN",
)


def find_starts(
    admin: Any,
    topic: str,
    position: Position,
    committed: dict[int, int | None],
    *,
    is_read_committed: bool,
) -> dict[int, tuple[int, int]]:
    """Give the offset to begin with and the current end, by partition.

    It is the committed offset, or the position where there is none, or one that retention has deleted.
    """
    if not committed:
        return {}
    bounds = fetch_bounds(admin, topic, committed, is_read_committed=is_read_committed)
    starts = resolve_position(admin, topic, position, bounds)
    for at, offset in committed.items():
        if offset is not None and bounds[at].start <= offset <= bounds[at].end:
            starts[at] = offset
    return {at: (starts[at], bounds[at].end) for at in committed}


class GroupReader:
    """A member of a group; reads for ever, or up to the ends at the time of its assignment.

    `make_consumer` gets the callback for commits.
    """

    def __init__(
        self,
        make_consumer: Callable[[Callable[[Any, list[Any]], None]], Any],
        topic: str,
        find_starts: Callable[[dict[int, int | None]], dict[int, tuple[int, int]]],
        *,
        follow: bool,
    ) -> None:
        self._topic = topic
        self._find_starts = find_starts
        self._follow = follow
        self._owned: set[int] = set()
        self._ends: dict[int, int] = {}
        self._unread: set[int] = set()  # owned, and not read to the end
        self._next: dict[int, int] = {}  # the offset after the last record that was printed
        self._committed: dict[int, int] = {}
        self._is_committing = False
        self._refused: Any = None  # why a commit will never succeed
        self._has_joined = False
        self._consumer = make_consumer(self._on_commit)
        self._consumer.subscribe(
            [topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def _on_assign(self, consumer: Any, places: list[Any]) -> None:
        try:
            found = consumer.committed(places, REQUEST_TIMEOUT_S)
        except KafkaException as error:
            raise CommandError(f"cannot read the group's offsets: {describe_error(error)}") from None
        committed = {each.partition: each.offset if each.offset >= 0 else None for each in found}
        starts = self._find_starts(committed)
        begin = [TopicPartition(self._topic, partition, at) for partition, (at, _) in starts.items()]
        try:
            consumer.incremental_assign(begin)
        except KafkaException:  # not a cooperative group: the assignment is replaced as a whole
            consumer.assign(begin)
        for partition, (at, end) in starts.items():
            self._next[partition] = at  # the start of the group is committed too: `end` moves on
            if committed[partition] == at:
                self._committed[partition] = at
            self._owned.add(partition)
            if at < self._ends.setdefault(partition, end):
                self._unread.add(partition)
        self._has_joined = True

    def _on_revoke(self, consumer: Any, places: list[Any]) -> None:
        self._commit()
        self._on_lost(consumer, places)

    def _on_lost(self, _consumer: Any, places: list[Any]) -> None:
        for place in places:
            self._owned.discard(place.partition)
            self._unread.discard(place.partition)
            self._next.pop(place.partition, None)
            self._committed.pop(place.partition, None)
        self._has_joined = bool(self._owned)

    def copy(self, render: Render, count_max: int | None) -> None:
        """Print records and commit them, until there are enough or a signal."""
        left = count_max
        stall = StallDetector(self._consumer, self._topic)
        with stop_on_signals() as stopping:
            while left != 0 and not stopping.is_set() and not self._is_at_end():
                messages = self._consumer.consume(min(POLL_RECORDS, left or POLL_RECORDS), POLL_S)
                is_waiting = self._follow or not self._has_joined  # a rebalance may take its time
                stall.observe(is_active=bool(messages) or is_waiting)
                count = self._write(messages, render)
                self._commit()
                if left is not None:
                    left -= count

    def _is_at_end(self) -> bool:
        return not self._follow and self._has_joined and not self._unread

    def _write(self, messages: Iterable[Any], render: Render) -> int:
        """Print records; only what is flushed counts as printed."""
        out = sys.stdout.buffer
        count = 0
        reached: dict[int, int] = {}
        for message in messages:
            partition, offset = message.partition(), message.offset()
            is_record = message.error() is None
            if not is_record and not self._is_end(message.error()):
                continue
            following = offset + 1 if is_record else offset  # an end may lie after markers of transactions
            end = self._ends[partition]
            if not is_record or following >= end:
                self._unread.discard(partition)
            if not self._follow and following > end:
                continue  # appended after this reader began, which stops at the end of that time
            if is_record:
                out.write(render(to_record(message)))
                count += 1
            reached[partition] = following
        out.flush()
        self._next |= reached
        return count

    def _is_end(self, error: Any) -> bool:
        if error.name() in (END_OF_PARTITION, _POLLED_TOO_LATE):
            return bool(error.name() == END_OF_PARTITION)  # who polled too late rejoins with the next poll
        raise reading_failed(f"topic {self._topic} in a group", self._topic, error)

    def _commit(self) -> None:
        """Commit what was printed and flushed, unless a commit is in flight."""
        due = {at: offset for at, offset in self._next.items() if self._committed.get(at) != offset}
        refused = self._refused
        if refused is None and due and not self._is_committing:
            places = [TopicPartition(self._topic, at, offset) for at, offset in due.items()]
            try:
                self._consumer.commit(offsets=places, asynchronous=True)
                self._is_committing = True
            except KafkaException as error:
                refused = error
        if refused is not None:
            raise CommandError(f"cannot commit the offsets of topic {self._topic}: {describe_error(refused)}")

    def _on_commit(self, failure: Any, places: list[Any]) -> None:
        """Note what is committed; a commit that failed and may succeed later is repeated with the next one."""
        self._is_committing = False
        for place in places:
            error = place.error or failure
            if error is None:
                if place.partition in self._owned:
                    self._committed[place.partition] = place.offset
            elif error.name() not in _RETRIED:
                self._refused = error

    @property
    def _is_all_committed(self) -> bool:
        return all(self._committed.get(at) == offset for at, offset in self._next.items())

    def close(self) -> None:
        """Commit the last offsets and leave the group, so that others need not wait for its session timeout."""
        deadline = time.monotonic() + _LEAVE_TIMEOUT_S
        try:
            while not self._is_all_committed and time.monotonic() < deadline:
                self._commit()
                self._consumer.poll(POLL_S)  # its record is neither printed nor committed
        finally:
            is_committed = self._is_all_committed
            # Leaving waits for a coordinator that is down; a person who stopped the reader does not.
            leaving = threading.Thread(target=self._consumer.close, daemon=True)
            leaving.start()
            leaving.join(_LEAVE_TIMEOUT_S if is_committed else POLL_S)
        if not is_committed:
            raise CommandError(
                "the last records could not be committed and may be printed again: no broker responds"
            )

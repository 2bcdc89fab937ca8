"""`penstock consume --group`: read a topic as a member of a consumer group.

What was shown is committed, never what was not: each batch is written and flushed, then its offsets are committed.
A reader that dies in between shows those records again the next time (at least once). Commits go out while reading
goes on, one at a time: a library that is told to wait for one waits for a coordinator that is away, deaf to Ctrl-C.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.cli.connection import REQUEST_TIMEOUT_SECONDS, describe_error, reading_failed
from penstock.cli.errors import CommandError
from penstock.cli.offsets import at_time, earliest, latest
from penstock.cli.record_format import Render, shown_message
from penstock.cli.silence import POLL_SECONDS, Silence
from penstock.cli.stop_signals import StopSignals
from penstock.client.positions import Position, Time, first_offsets

_POLL_RECORDS = 500
_LEAVE_SECONDS = 5.0

# A commit that failed so may be tried again: the member is about to rejoin, or the coordinator about to come back.
# Where the partition is lost meanwhile, its records are shown again by whoever has it then.
_PASSING = (
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


class Starts:
    """Where reading begins in partitions that are given to this member."""

    def __init__(self, admin: Any, topic: str, position: Position, *, is_read_committed: bool) -> None:
        self._admin = admin
        self._topic = topic
        self._position = position
        self._is_read_committed = is_read_committed

    def of(self, committed: dict[int, int | None]) -> dict[int, tuple[int, int]]:
        """The offset to begin with and the end as it is now, by partition.

        That is what was committed; where nothing was, or something that is no longer there, it is the position.
        """
        partitions = list(committed)
        if not partitions:
            return {}
        starts = earliest(self._admin, self._topic, partitions)
        ends = latest(self._admin, self._topic, partitions, is_read_committed=self._is_read_committed)
        times = {}
        if isinstance(self._position, Time):
            times = at_time(self._admin, self._topic, partitions, self._position.timestamp_ms)
        fallback = first_offsets(self._position, starts, ends, times)
        found = {}
        for partition, offset in committed.items():
            is_there = offset is not None and starts[partition] <= offset <= ends[partition]
            found[partition] = (
                offset if offset is not None and is_there else fallback[partition],
                ends[partition],
            )
        return found


class GroupReader:
    """A member of a group; reads for ever, or up to what the ends are when it gets its partitions.

    `make_consumer` is given what is to be called when a commit is done.
    """

    def __init__(
        self,
        make_consumer: Callable[[Callable[[Any, list[Any]], None]], Any],
        topic: str,
        starts_of: Callable[[dict[int, int | None]], dict[int, tuple[int, int]]],
        *,
        follow: bool,
    ) -> None:
        from confluent_kafka import KafkaError

        self._topic = topic
        self._starts_of = starts_of
        self._follow = follow
        self._end_of_partition = KafkaError._PARTITION_EOF  # noqa: SLF001 - its public name begins so
        self._late = KafkaError._MAX_POLL_EXCEEDED  # noqa: SLF001
        self._passing = {getattr(KafkaError, name, None) for name in _PASSING}
        self._owned: set[int] = set()
        self._ends: dict[int, int] = {}
        self._open: set[int] = set()  # owned, and not read to the end
        self._next: dict[int, int] = {}  # what follows what was shown
        self._committed: dict[int, int] = {}
        self._is_committing = False
        self._refused: Any = None  # why a commit will never succeed
        self._has_joined = False
        self._signals = StopSignals()
        self._consumer = make_consumer(self._when_committed)
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    # -- what the group gives and takes

    def _assigned(self, consumer: Any, places: list[Any]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            found = consumer.committed(places, REQUEST_TIMEOUT_SECONDS)
        except KafkaException as error:
            raise CommandError(f"cannot read the group's offsets: {describe_error(error)}") from None
        committed = {each.partition: each.offset if each.offset >= 0 else None for each in found}
        starts = self._starts_of(committed)
        begin = [TopicPartition(self._topic, partition, at) for partition, (at, _) in starts.items()]
        try:
            consumer.incremental_assign(begin)
        except KafkaException:  # not a cooperative group: the assignment is replaced as a whole
            consumer.assign(begin)
        for partition, (at, end) in starts.items():
            self._next[partition] = at  # where the group begins is committed too: `end` moves on
            if committed[partition] == at:
                self._committed[partition] = at
            self._owned.add(partition)
            if at < self._ends.setdefault(partition, end):
                self._open.add(partition)
        self._has_joined = True

    def _revoked(self, consumer: Any, places: list[Any]) -> None:
        self._commit()
        self._lost(consumer, places)

    def _lost(self, _consumer: Any, places: list[Any]) -> None:
        for place in places:
            self._owned.discard(place.partition)
            self._open.discard(place.partition)
            self._next.pop(place.partition, None)
            self._committed.pop(place.partition, None)
        self._has_joined = bool(self._owned)

    # -- reading

    def copy(self, render: Render, count_max: int | None) -> None:
        """Write records to standard output as they come, and commit them, until there is enough or a signal."""
        left = count_max
        silence = Silence(self._consumer, self._topic)
        with self._signals:
            while left != 0 and not self._is_done():
                messages = self._consumer.consume(min(_POLL_RECORDS, left or _POLL_RECORDS), POLL_SECONDS)
                if messages or self._follow or not self._has_joined:  # a rebalance may take its time
                    silence.heard()
                else:
                    silence.lasts()
                count = self._write(messages, render)
                self._commit()
                if left is not None:
                    left -= count

    def _is_done(self) -> bool:
        return self._signals.is_stopped or (not self._follow and self._has_joined and not self._open)

    def _write(self, messages: Iterable[Any], render: Render) -> int:
        """Write records out; only what is flushed counts as shown."""
        out = sys.stdout.buffer
        count = 0
        reached: dict[int, int] = {}
        for message in messages:
            partition, offset = message.partition(), message.offset()
            is_record = message.error() is None
            if not is_record and not self._is_end(message.error()):
                continue
            following = offset + 1 if is_record else offset  # an end may lie behind markers of transactions
            end = self._ends[partition]
            if not is_record or following >= end:
                self._open.discard(partition)
            if not self._follow and following > end:
                continue  # it came after this reader, which is to stop at what was there
            if is_record:
                out.write(render(shown_message(message)))
                count += 1
            reached[partition] = following
        out.flush()
        self._next |= reached
        return count

    def _is_end(self, error: Any) -> bool:
        if error.code() == self._end_of_partition:
            return True
        if error.code() == self._late:  # whoever read too slowly rejoins by reading on
            return False
        raise reading_failed(f"topic {self._topic} in a group", self._topic, error)

    # -- committing

    def _commit(self) -> None:
        """Have committed what was shown and flushed, unless a commit is under way."""
        from confluent_kafka import KafkaException, TopicPartition

        if self._refused is not None:
            raise CommandError(
                f"cannot commit the offsets of topic {self._topic}: {describe_error(self._refused)}"
            )
        due = {at: offset for at, offset in self._next.items() if self._committed.get(at) != offset}
        if self._is_committing or not due:
            return
        places = [TopicPartition(self._topic, at, offset) for at, offset in due.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=True)
        except KafkaException as error:
            raise CommandError(
                f"cannot commit the offsets of topic {self._topic}: {describe_error(error)}"
            ) from None
        self._is_committing = True

    def _when_committed(self, failure: Any, places: list[Any]) -> None:
        """Take note of what is committed; what failed and may succeed later is sent again with the next commit."""
        self._is_committing = False
        for place in places:
            error = place.error or failure
            if error is None:
                if place.partition in self._owned:
                    self._committed[place.partition] = place.offset
            elif error.code() not in self._passing:
                self._refused = error

    @property
    def _is_all_committed(self) -> bool:
        return all(self._committed.get(at) == offset for at, offset in self._next.items())

    # -- ending

    def close(self) -> None:
        """Commit the last of what was shown and leave the group, so that others need not wait for its timeout."""
        deadline = time.monotonic() + _LEAVE_SECONDS
        try:
            while not self._is_all_committed and time.monotonic() < deadline:
                self._commit()
                self._consumer.poll(POLL_SECONDS)  # what it gives is neither shown nor committed
        finally:
            is_committed = self._is_all_committed
            # Leaving waits for a coordinator that is away; whoever stopped the reader does not.
            leaving = threading.Thread(target=self._consumer.close, daemon=True)
            leaving.start()
            leaving.join(_LEAVE_SECONDS if is_committed else POLL_SECONDS)
        if not is_committed:
            raise CommandError(
                "the last records could not be committed and may be shown again: no broker answers"
            )

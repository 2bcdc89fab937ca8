"""The share partitions of the partitions that this broker leads.

The first fetch of a group creates a share partition: it reads the state from the persister, in the epoch of the leader,
and keeps it in memory. Every change is written to the persister before it takes effect. A share partition ends when
the leader changes, the topic or the group is deleted, the last member of the group disconnects, or the persister has a
newer leader or state. The next fetch creates it again.

A leader is not notified when a group is deleted and created again, or when its offsets are set, and a removed member
may still be connected. So when a session begins to read a partition, the leader asks the persister for the state epoch.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.cluster.coordination.deadlines import Deadlines
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.config.offset_reset import OffsetReset, ResetKind
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import Clock
from penstock.share.led_partition import LedPartition
from penstock.share.partition.change import Change
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import Acknowledgement, Refusal
from penstock.share.settings import GroupSettings
from penstock.share.state.values import (
    UNINITIALIZED_OFFSET,
    Persister,
    PersisterError,
    SharePartitionKey,
    ShareState,
    StateUpdate,
)
from penstock.storage.errors import LogError, StorageError

log = logging.getLogger(__name__)

_CLIENT_ERRORS = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""The errors of the share coordinator as clients see them, as in Kafka; all others are UNKNOWN_SERVER_ERROR."""

ENDING = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
"""These errors invalidate the state in memory."""


_STOP_TIMEOUT_S = 5.0  # for writes


class Outcome(NamedTuple):
    """The result of acknowledgements, or of a release."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class _LoadFailed(Exception):
    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class SharePartitions:
    def __init__(
        self,
        replicas: Replicas,
        persister: Persister,
        clock: Clock,
    ) -> None:
        self._replicas = replicas
        self._persister = persister
        self._clock = clock
        self._groups: dict[str, dict[tuple[bytes, int], LedPartition]] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # loading and verifying
        self._writes: dict[SharePartitionKey, set[asyncio.Task[Outcome]]] = {}
        self._is_stopped = False
        self._expiries: Deadlines[SharePartitionKey] = Deadlines(clock, self._expire)

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def __iter__(self) -> Iterator[LedPartition]:
        for group in self._groups.values():
            yield from group.values()

    def get(self, key: SharePartitionKey) -> LedPartition | None:
        return self._groups.get(key.group_id, {}).get((key.topic_id, key.partition))

    def led(self, key: SharePartitionKey, settings: GroupSettings) -> LedPartition | ErrorCode:
        """Return the share partition, after creating a missing one and updating its settings, or an error."""
        leader = self._replicas.leader_by_id(key.topic_id, key.partition)
        if self._is_stopped:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not isinstance(leader, Replica):
            return leader
        known = self.get(key)
        if known is not None:
            if known.leader_epoch == leader.leader_epoch:
                if known.state is not None:
                    known.state.settings = settings.partition
                return known
            self.end(known, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        made = LedPartition(key, leader.leader_epoch)
        self._groups.setdefault(key.group_id, {})[key.topic_id, key.partition] = made
        self._start_task(self._load(made, leader, settings), f"load {key}")
        return made

    def _start_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def verify(self, led: LedPartition) -> None:
        """End a share partition if its state is no longer the group's."""
        if led.state is not None and not led.is_unverified:
            led.is_unverified = True
            self._start_task(self._verify(led, led.state), f"verify {led.key}")

    async def _verify(self, led: LedPartition, state: SharePartition) -> None:
        led.is_unverified = False  # a session that begins from now on must verify again
        try:
            kept = await self._persister.summary(led.key)
        except PersisterError as error:
            log.warning("Cannot verify a share partition: %s. %s", error, led.key)
            return
        if kept.state_epoch != state.state_epoch:
            log.info("Ended a share partition: the group has a new state epoch. %s", led.key)
            self.end(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # -- acknowledgements and locks -------------------------------------------------------------------

    def acknowledge(
        self,
        key: SharePartitionKey,
        settings: GroupSettings,
        member_id: str,
        acknowledgements: Sequence[Acknowledgement],
    ) -> Outcome | Awaitable[Outcome]:
        """Apply acknowledgements now; they take effect when the awaitable returns."""
        led = self.get(key)
        if led is None:
            return Outcome(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the group has not fetched this partition here"
            )
        if led.state is None:
            return Outcome(ErrorCode.INVALID_RECORD_STATE, "no record of this partition is acquired")
        led.state.settings = settings.partition
        change = led.state.acknowledge(member_id, acknowledgements, self._now_ms())
        if isinstance(change, Refusal):
            return Outcome(change.code, change.message)
        return self._apply(led, change)

    def release(self, group_id: str, member_id: str) -> None:
        """Release all records of a member, without waiting for the write."""
        for led in list(self._groups.get(group_id, {}).values()):
            if led.state is not None:
                self._apply(led, led.state.release(member_id))

    def acquired(self, led: LedPartition) -> None:
        """Schedule the expiry of the locks."""
        if led.state is not None and led.state.next_expiry_ms is not None:
            self._expiries.wake_by(led.key, led.state.next_expiry_ms)

    def _expire(self, key: SharePartitionKey) -> float:
        led = self.get(key)
        if led is None or led.state is None:
            return math.inf
        change = led.state.expire(self._now_ms())
        if change.batches:
            self._apply(led, change)
            led.wake()
        next_ms = led.state.next_expiry_ms
        return math.inf if next_ms is None else next_ms

    def _apply(self, led: LedPartition, change: Change) -> Outcome | Awaitable[Outcome]:
        self.acquired(led)  # a renewal also moves the expiry
        if not change.batches:
            return Outcome()
        assert led.state is not None
        writes = self._writes.setdefault(led.key, set())
        task = asyncio.get_running_loop().create_task(self._write(led, led.state, change))
        writes.add(task)
        task.add_done_callback(lambda _: self._written(led.key, task))
        return asyncio.shield(task)  # a client that disconnects does not undo its acknowledgements

    async def _write(self, led: LedPartition, state: SharePartition, change: Change) -> Outcome:
        outcome = Outcome()
        is_deleted = False
        try:
            update = StateUpdate(
                state.state_epoch,
                led.leader_epoch,
                change.start_offset,
                change.delivery_complete_count,
                change.batches,
            )
            await self._persister.write(led.key, update)
        except PersisterError as error:
            outcome = Outcome(_client_error(error), str(error))
            is_deleted = error.code is ErrorCode.INVALID_REQUEST
        except asyncio.CancelledError:  # by `stop`
            outcome = Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker is stopping")
        except Exception:
            log.exception("Cannot write a change of a share partition. %s", led.key)
            outcome = Outcome(ErrorCode.UNKNOWN_SERVER_ERROR)
        frees_records = change.roll_back() if outcome.code else change.commit()
        if outcome.code in ENDING or is_deleted:
            self.end(led, outcome.code)
            return outcome
        self.acquired(led)
        if frees_records:
            led.wake()
        return outcome

    def _written(self, key: SharePartitionKey, task: "asyncio.Task[Outcome]") -> None:
        writes = self._writes[key]
        writes.discard(task)
        if not writes:
            del self._writes[key]

    def _now_ms(self) -> int:
        return int(self._clock.monotonic_ms())

    # -- loading --------------------------------------------------------------------------------------

    async def _load(self, led: LedPartition, leader: Replica, settings: GroupSettings) -> None:
        try:
            state = await self._read(led, leader, settings)
        except (_LoadFailed, PersisterError) as error:
            log.warning("Cannot load a share partition: %s. %s", error, led.key)
            self.end(led, _client_error(error) if isinstance(error, PersisterError) else error.code)
        except Exception:
            log.exception("Cannot load a share partition. %s", led.key)
            self.end(led, ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            if not led.failure:
                led.begin(state)

    async def _read(self, led: LedPartition, leader: Replica, settings: GroupSettings) -> SharePartition:
        earlier = self._writes.get(led.key)
        if earlier:  # of the share partition before this one: they must not come after the read
            await asyncio.wait(earlier)
        kept = await self._persister.read(led.key, led.leader_epoch)
        start_offset = kept.start_offset
        if start_offset == UNINITIALIZED_OFFSET:
            start_offset = await self._first_offset(leader, settings.offset_reset)
            if settings.offset_reset.kind is not ResetKind.EARLIEST:
                await self._write_first(led, kept, start_offset)
        return SharePartition(kept, start_offset_if_new=start_offset, settings=settings.partition)

    async def _write_first(self, led: LedPartition, kept: ShareState, start_offset: int) -> None:
        """Write a start offset that depends on the time at once: the next leader would compute another.

        Kafka writes it with the first acknowledgement, and skips records that were delivered and not acknowledged.
        """
        update = StateUpdate(kept.state_epoch, led.leader_epoch, start_offset, 0, ())
        await self._persister.write(led.key, update)

    async def _first_offset(self, leader: Replica, reset: OffsetReset) -> int:
        if reset.kind is ResetKind.EARLIEST:
            return leader.log.log_start_offset
        if not leader.knows_end:
            raise _LoadFailed(
                ErrorCode.OFFSET_NOT_AVAILABLE, "the leader does not know its high watermark yet"
            )
        if reset.kind is ResetKind.LATEST:
            return leader.high_watermark
        try:
            found = await leader.log.offset_for_timestamp(self._clock.now_ms() - reset.duration_ms)
        except LogError as error:
            raise _LoadFailed(error.code, error.client_message) from error
        except OSError as error:
            refused = StorageError("cannot read the log", error)
            raise _LoadFailed(refused.code, refused.client_message) from error
        if found is None or found.offset >= leader.high_watermark:
            raise _LoadFailed(ErrorCode.OFFSET_NOT_AVAILABLE, "no record has that timestamp yet")
        return found.offset

    # -- ending ---------------------------------------------------------------------------------------

    def end(self, led: LedPartition, reason: ErrorCode) -> None:
        """Drop the state in memory, and wake waiting fetches."""
        group = self._groups.get(led.key.group_id, {})
        name = (led.key.topic_id, led.key.partition)
        if group.get(name) is led:
            del group[name]
            if not group:
                del self._groups[led.key.group_id]
        if not led.failure:
            led.end(reason)

    def end_group(self, group_id: str) -> None:
        """End all share partitions of a group without sessions."""
        for led in list(self._groups.get(group_id, {}).values()):
            self.end(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def end_all(self) -> None:
        for group_id in list(self._groups):
            self.end_group(group_id)

    def apply(self, delta: MetadataDelta) -> None:
        """Apply a change of the metadata, after `Replicas` has."""
        if not self._groups:
            return
        for topic in delta.topics_deleted.values():
            for number in topic.partitions:
                for led in self._of_partition(topic.topic_id, number):
                    self.end(led, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for change in delta.partitions.values():
            for led in self._of_partition(change.topic.topic_id, change.partition):
                if led.leader_epoch != change.after.leader_epoch:
                    self.end(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _of_partition(self, topic_id: bytes, number: int) -> list[LedPartition]:
        """Return the share partitions of a partition, of all groups."""
        name = (topic_id, number)
        return [group[name] for group in self._groups.values() if name in group]

    async def stop(self) -> None:
        """End all share partitions after waiting for their writes. No new one is created."""
        self._is_stopped = True
        self._expiries.stop()
        self.end_all()
        for task in self._tasks:
            task.cancel()
        writes = [task for each in self._writes.values() for task in each]
        if writes:
            _, late = await asyncio.wait(writes, timeout=_STOP_TIMEOUT_S)
            for write in late:
                write.cancel()
        await asyncio.gather(*self._tasks, *writes, return_exceptions=True)


def _client_error(error: PersisterError) -> ErrorCode:
    return _CLIENT_ERRORS.get(error.code, ErrorCode.UNKNOWN_SERVER_ERROR)

"""The share partitions of one broker: those of the partitions that it leads.

One is made when a group first fetches of a partition: its state is read from the persister, in the epoch of the leader,
and from then on kept here, every change written back before it counts. It ends when the leadership moves on, the topic
or the group goes, nobody of the group is connected any more, or the persister knows of a newer leader or state; the
next fetch makes it anew.

Nobody tells a leader that a group was deleted and made again, or that its offsets were set: a member that is gone may
still have its connection. So the persister is asked for the state's epoch when a session begins to read a partition.
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
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode
from penstock.share.led_partition import LedPartition
from penstock.share.partition.change import Change
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import Acknowledgement, Refused
from penstock.share.settings import GroupSettings
from penstock.share.values import (
    UNINITIALIZED_OFFSET,
    Persister,
    PersisterError,
    SharePartitionKey,
    ShareState,
)
from penstock.storage.log.errors import LogError, StorageError

log = logging.getLogger(__name__)

_TOLD = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""What a client is told of what the share coordinator said, as in Kafka; of anything else UNKNOWN_SERVER_ERROR."""

ENDING = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
"""After these errors what is in memory counts no more."""


_WRITE_S_MAX = 5.0  # when the broker stops


class Outcome(NamedTuple):
    """Of acknowledgements, or of a release."""

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
        self._tasks: set[asyncio.Task[None]] = set()  # that load and verify
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
        """The share partition, made if there is none yet, or why there can be none.

        `settings` are those of the group as they hold now: from now on the share partition has them.
        """
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
        self._begin(self._load(made, leader, settings), f"load {key}")
        return made

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def verify(self, led: LedPartition) -> None:
        """See to it that a share partition ends whose state is not the group's any more."""
        if led.state is not None and not led.is_unverified:
            led.is_unverified = True
            self._begin(self._verify(led, led.state), f"verify {led.key}")

    async def _verify(self, led: LedPartition, state: SharePartition) -> None:
        led.is_unverified = False  # a session that begins from now on must ask again
        try:
            kept = await self._persister.summary(led.key)
        except PersisterError as error:
            log.info("Cannot verify share partition %s: %s", led.key, error)
            return
        if kept.state_epoch != state.state_epoch:
            log.info("Ended share partition %s: its group has begun anew", led.key)
            self.end(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # -- what becomes of records ----------------------------------------------------------------------

    def acknowledge(
        self,
        key: SharePartitionKey,
        settings: GroupSettings,
        member_id: str,
        acknowledgements: Sequence[Acknowledgement],
    ) -> Outcome | Awaitable[Outcome]:
        """Take them in now; they count when what is returned is there."""
        led = self.get(key)
        if led is None:
            return Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "nobody has fetched of this partition here")
        if led.state is None:
            return Outcome(ErrorCode.INVALID_RECORD_STATE, "nothing was acquired of this partition yet")
        led.state.settings = settings.partition
        change = led.state.acknowledge(member_id, acknowledgements, self._now_ms())
        if isinstance(change, Refused):
            return Outcome(change.code, change.message)
        return self._apply(led, change)

    def release(self, group_id: str, member_id: str) -> None:
        """Give back to the group what a member holds; nobody waits for it."""
        for led in list(self._groups.get(group_id, {}).values()):
            if led.state is not None:
                self._apply(led, led.state.release(member_id))

    def acquired(self, led: LedPartition) -> None:
        """Locks were taken: see to it that they expire."""
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
        self.acquired(led)  # a renewal moves expiries, too
        if not change.batches:
            return Outcome()
        assert led.state is not None
        writes = self._writes.setdefault(led.key, set())
        task = asyncio.get_running_loop().create_task(self._write(led, led.state, change))
        writes.add(task)
        task.add_done_callback(lambda _: self._written(led.key, task))
        return asyncio.shield(task)  # a client that goes away does not undo what it has said

    async def _write(self, led: LedPartition, state: SharePartition, change: Change) -> Outcome:
        outcome = Outcome()
        is_deleted = False
        try:
            await self._persister.write(
                led.key,
                state_epoch=state.state_epoch,
                leader_epoch=led.leader_epoch,
                start_offset=change.start_offset,
                delivery_complete_count=change.delivery_complete_count,
                batches=change.batches,
            )
        except PersisterError as error:
            outcome = Outcome(_told(error), str(error))
            is_deleted = error.code is ErrorCode.INVALID_REQUEST
        except asyncio.CancelledError:  # only `stop` does that
            outcome = Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE, "this broker is stopping")
        except Exception:
            log.exception("a change of share partition %s could not be written", led.key)
            outcome = Outcome(ErrorCode.UNKNOWN_SERVER_ERROR)
        has_news = change.roll_back() if outcome.code else change.commit()
        if outcome.code in ENDING or is_deleted:
            self.end(led, outcome.code)
            return outcome
        self.acquired(led)
        if has_news:
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
        except _LoadFailed as error:
            log.info("share partition %s cannot be loaded: %s", led.key, error)
            self.end(led, error.code)
        except PersisterError as error:
            log.info("share partition %s cannot be loaded: %s", led.key, error)
            self.end(led, _told(error))
        except Exception:
            log.exception("share partition %s cannot be loaded", led.key)
            self.end(led, ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            if not led.failure:
                led.begin(state)

    async def _read(self, led: LedPartition, leader: Replica, settings: GroupSettings) -> SharePartition:
        earlier = self._writes.get(led.key)
        if earlier:  # of an earlier life: what they change must not come after what is read now
            await asyncio.wait(earlier)
        kept = await self._persister.read(led.key, led.leader_epoch)
        start_offset = kept.start_offset
        if start_offset == UNINITIALIZED_OFFSET:
            start_offset = await self._first_offset(leader, settings.offset_reset)
            if settings.offset_reset.kind is not ResetKind.EARLIEST:
                await self._write_first(led, kept, start_offset)
        return SharePartition(kept, start_offset_if_new=start_offset, settings=settings.partition)

    async def _write_first(self, led: LedPartition, kept: ShareState, start_offset: int) -> None:
        """Where a group began by the time of day is written down at once, for the next leader would begin elsewhere.

        Kafka has it only with the first acknowledgement, and skips what was delivered and not acknowledged before.
        """
        await self._persister.write(
            led.key,
            state_epoch=kept.state_epoch,
            leader_epoch=led.leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=0,
            batches=(),
        )

    async def _first_offset(self, leader: Replica, reset: OffsetReset) -> int:
        if reset.kind is ResetKind.EARLIEST:
            return leader.log.log_start_offset
        if not leader.knows_end:
            raise _LoadFailed(ErrorCode.OFFSET_NOT_AVAILABLE, "its leader does not know its end yet")
        if reset.kind is ResetKind.LATEST:
            return leader.high_watermark
        try:
            found = await leader.log.offset_for_timestamp(self._clock.now_ms() - reset.duration_ms)
        except LogError as error:
            raise _LoadFailed(error.code, error.client_message) from error
        except OSError as error:
            refused = StorageError("the log cannot be read", error)
            raise _LoadFailed(refused.code, refused.client_message) from error
        if found is None or found.offset >= leader.high_watermark:
            raise _LoadFailed(ErrorCode.OFFSET_NOT_AVAILABLE, "it has no record of that time yet")
        return found.offset

    # -- the end --------------------------------------------------------------------------------------

    def end(self, led: LedPartition, reason: ErrorCode) -> None:
        """What is in memory counts no more; fetches that wait for it hear of it."""
        group = self._groups.get(led.key.group_id, {})
        name = (led.key.topic_id, led.key.partition)
        if group.get(name) is led:
            del group[name]
            if not group:
                del self._groups[led.key.group_id]
        if not led.failure:
            led.end(reason)

    def end_group(self, group_id: str) -> None:
        """Nobody of the group is here any more, and nobody holds anything."""
        for led in list(self._groups.get(group_id, {}).values()):
            self.end(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def end_all(self) -> None:
        for group_id in list(self._groups):
            self.end_group(group_id)

    def apply(self, delta: MetadataDelta) -> None:
        """Follow one change of the metadata, after `Replicas` has."""
        if not self._groups:
            return
        for topic in delta.topics_deleted.values():
            for number in topic.partitions:
                for led in self._named(topic.topic_id, number):
                    self.end(led, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for change in delta.partitions.values():
            for led in self._named(change.topic.topic_id, change.partition):
                if led.leader_epoch != change.after.leader_epoch:
                    self.end(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _named(self, topic_id: bytes, number: int) -> list[LedPartition]:
        """A partition, as each of the groups reads it."""
        name = (topic_id, number)
        return [group[name] for group in self._groups.values() if name in group]

    async def stop(self) -> None:
        """End all, but let what is being written come to its end. Nothing begins any more."""
        self._is_stopped = True
        self._expiries.stop()
        self.end_all()
        for task in self._tasks:
            task.cancel()
        writes = [task for each in self._writes.values() for task in each]
        if writes:
            _, late = await asyncio.wait(writes, timeout=_WRITE_S_MAX)
            for write in late:
                write.cancel()
        await asyncio.gather(*self._tasks, *writes, return_exceptions=True)


def _told(error: PersisterError) -> ErrorCode:
    return _TOLD.get(error.code, ErrorCode.UNKNOWN_SERVER_ERROR)

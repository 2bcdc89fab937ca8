"""Follows one leader: fetches all partitions that it leads and this broker holds, in one long poll after the other.

The records of an answer are synced before the next request is sent: a fetch offset promises that all records below are
on this broker's disk, and the leader acknowledges producers by it. A partition that fails (the leader has changed, the
disk refuses a write) backs off or waits for the metadata; the others continue.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

from penstock.client.connection import Disconnected
from penstock.cluster.commit import Commit
from penstock.cluster.fetching import position
from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.fetching.position import Append, BackOff, StartOver, Truncate
from penstock.cluster.fetching.session import FetchLimits, FetchSession, PartitionKey
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from penstock.runtime.clock import Clock, sleep_or
from penstock.runtime.completion import Completion
from penstock.storage.errors import LogError, is_out_of_space

log = logging.getLogger(__name__)

_SESSION_GONE = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)


class LeaderChannel(Protocol):
    """The way to one leader. Its calls raise `ConnectionError`, `OSError` or `TimeoutError`."""

    async def fetch(self, request: FetchRequest) -> FetchResponse: ...

    async def earliest_offset(self, replica: Replica) -> int:
        """The start offset of the leader's log of this partition. Raises `LogError` if it is not returned."""
        ...

    async def close(self) -> None: ...


class Throttle(Protocol):
    """Limits the rate at which partitions are fetched."""

    def holds_back(self, replica: Replica, follower: int) -> bool:
        """Whether this follower of the partition must wait."""
        ...

    def record(self, replica: Replica, size_bytes: int) -> None: ...


class FetcherSettings(Protocol):
    """Read at each turn: they may change while running."""

    @property
    def limits(self) -> FetchLimits: ...

    @property
    def partition_bytes_max(self) -> int: ...

    @property
    def backoff_ms(self) -> int: ...


class Fetcher:
    def __init__(
        self,
        session: FetchSession,
        connect: Callable[[], Awaitable[LeaderChannel]],
        track: Callable[[Replica], FollowedPartition],
        settings: FetcherSettings,
        *,
        throttle: Throttle,
        clock: Clock,
    ) -> None:
        """`track` makes what writes the leader's records to a replica."""
        self._session = session
        self._connect = connect
        self._track = track
        self._settings = settings
        self._throttle = throttle
        self._clock = clock
        self._followed: dict[PartitionKey, FollowedPartition] = {}
        self._channel: LeaderChannel | None = None
        self._wakeup = asyncio.Event()
        self._polling: asyncio.Future[FetchResponse] | None = None

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, replica: Replica) -> None:
        """Start following, or follow in a new leader epoch. Cancels the current long poll."""
        key = (replica.topic_id, replica.partition)
        known = self._followed.get(key)
        if known is None or known.replica is not replica or known.leader_epoch != replica.leader_epoch:
            self._followed[key] = self._track(replica)
            self._fetch_now()

    def _fetch_now(self) -> None:
        self._wakeup.set()
        if self._polling is not None:
            self._polling.cancel()

    def leave(self, topic_id: bytes, number: int) -> None:
        self._followed.pop((topic_id, number), None)

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                await self._turn()
        finally:
            await self._disconnect()

    async def _turn(self) -> None:
        self._wakeup.clear()
        asking = dict(self._followed)
        await self._rebuild(asking.values())
        wanted = self._wanted()
        if not wanted:
            await self._pause()
            return
        try:
            response = await self._poll(wanted)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            await self._disconnect()  # `follow` cancelled the long poll
            return
        except (OSError, TimeoutError, Disconnected, ProtocolError) as error:
            log.debug("Fetch failed: %s", error)
            await self._disconnect()
            await self._clock.sleep(self._settings.backoff_ms)
            return
        error_code = ErrorCode(response.error_code)
        if error_code is not ErrorCode.NONE:
            self._session.reset()
            if error_code not in _SESSION_GONE:
                await self._clock.sleep(self._settings.backoff_ms)
            return
        self._session.answered(response.session_id)
        await self._take(response, asking)

    async def _rebuild(self, asking: Iterable[FollowedPartition]) -> None:
        """Truncate logs that have lost records to the first missing one."""
        now_ms = self._clock.monotonic_ms()
        for followed in [each for each in asking if each.lacks_records and each.backoff_until_ms <= now_ms]:
            replica = followed.replica
            end_offset = replica.log.log_end_offset
            try:
                await followed.rebuild()
            except (LogError, OSError) as error:
                self._back_off(followed, f"its log cannot be rebuilt ({error})")
                continue
            if replica.log.log_end_offset == end_offset:
                continue  # the missing records were repaired meanwhile
            log.warning(
                "Truncated %s-%d: fetching the missing records from its leader. from_offset=%d to_offset=%d leader=%d",
                replica.topic,
                replica.partition,
                end_offset,
                replica.log.log_end_offset,
                replica.leader_id,
            )

    async def _poll(self, wanted: dict[PartitionKey, FetchPartition]) -> FetchResponse:
        if self._channel is None:
            self._channel = await self._connect()
        request = self._session.request(wanted, self._settings.limits)
        self._polling = asyncio.ensure_future(self._channel.fetch(request))
        try:
            return await self._polling
        finally:
            self._polling = None

    def _wanted(self) -> dict[PartitionKey, FetchPartition]:
        now_ms = self._clock.monotonic_ms()
        wanted = {}
        for key, followed in self._followed.items():
            if followed.backoff_until_ms > now_ms or followed.awaits_disk:
                continue
            try:
                view = followed.view()
                synced = followed.replica.synced()
                synced.raise_if_refused()
            except (LogError, OSError) as error:
                self._back_off(followed, f"its log cannot be opened ({error})")
                continue
            if not synced.is_done:  # the fetch offset promises that all records below are synced
                followed.awaits_disk = True
                synced.then(partial(self._on_synced, followed))
                continue
            if followed.lacks_space and not followed.has_room:
                self._back_off(followed, "the disk is full")
                continue
            if self._throttle.holds_back(followed.replica, self._session.broker_id):
                self._back_off(followed, "it is throttled")
                continue
            wanted[key] = position.ask(
                followed.replica.partition, view, followed.leader_epoch, self._settings.partition_bytes_max
            )
        return wanted

    def _on_synced(self, followed: FollowedPartition, _done: Completion[None]) -> None:
        """Fetch the partition now, or find out why its log cannot be synced."""
        followed.awaits_disk = False
        self._fetch_now()

    async def _pause(self) -> None:
        """Nothing to fetch: wait for a new partition, or for the end of a back-off."""
        resting = [each.backoff_until_ms for each in self._followed.values() if not each.awaits_disk]
        if not resting:
            await self._wakeup.wait()
            return
        await sleep_or(self._clock, max(1.0, min(resting) - self._clock.monotonic_ms()), self._wakeup)

    async def _take(self, response: FetchResponse, asking: Mapping[PartitionKey, FollowedPartition]) -> None:
        """Handle an answer, for the partitions that are still followed as they were at the request."""
        storing: list[tuple[FollowedPartition, Append, Commit]] = []
        for topic in response.responses:
            for data in topic.partitions:
                key = (topic.topic_id, data.partition_index)
                followed = asking.get(key)
                if followed is None or self._followed.get(key) is not followed:
                    continue  # the partition has a new epoch or leader since the request
                reaction = position.react(data)
                if isinstance(reaction, Append):
                    commit = await self._append(followed, reaction)
                    if commit is not None:
                        storing.append((followed, reaction, commit))
                else:
                    await self._react(followed, reaction)
        for followed, reaction, commit in storing:
            try:
                await commit
            except LogError as error:
                self._back_off(followed, str(error))
            else:
                self._copy_offsets(followed, reaction)

    async def _append(self, followed: FollowedPartition, answer: Append) -> Commit | None:
        replica = followed.replica
        try:
            if followed.must_start_over(answer):
                await self._forget_deleted(followed, answer.log_start_offset)
            start = position.start_before(answer.records, followed.view())
            if start is not None:
                await self._start_at_batch(followed, start)
            commit = followed.append(answer.records, self._clock.now_ms())
            commit.raise_if_refused()
        except (LogError, OSError) as error:
            followed.lacks_space = is_out_of_space(error)
            self._back_off(followed, f"its leader's records were refused ({error})")
            return None
        followed.lacks_space = False
        self._throttle.record(replica, len(answer.records))
        return commit

    async def _forget_deleted(self, followed: FollowedPartition, log_start_offset: int) -> None:
        replica = followed.replica
        end_offset = replica.log.log_end_offset
        await followed.start_over(log_start_offset)
        log.info(
            "Truncated %s-%d fully: its leader has deleted all records that could be compared. "
            "from_offset=%d to_offset=%d leader_epoch=%d",
            replica.topic,
            replica.partition,
            end_offset,
            log_start_offset,
            followed.leader_epoch,
        )

    async def _start_at_batch(self, followed: FollowedPartition, base_offset: int) -> None:
        """Start at the base offset of a batch: that is before the leader's start until `_copy_offsets`."""
        replica = followed.replica
        start_offset = replica.log.log_start_offset
        await followed.start_inside(base_offset)
        log.info(
            "Moved the start of the empty log %s-%d: its leader's log start offset is inside a batch. "
            "from_offset=%d to_offset=%d",
            replica.topic,
            replica.partition,
            start_offset,
            base_offset,
        )

    def _copy_offsets(self, followed: FollowedPartition, answer: Append) -> None:
        try:
            followed.follow_offsets(answer.high_watermark, answer.log_start_offset)
        except (LogError, OSError) as error:
            self._back_off(followed, str(error))

    async def _react(self, followed: FollowedPartition, reaction: Truncate | StartOver | BackOff) -> None:
        try:
            if isinstance(reaction, Truncate):
                await self._truncate(followed, reaction)
            elif isinstance(reaction, StartOver):
                await self._start_over(followed)
            else:
                self._back_off(followed, reaction.error.name)
        except (LogError, OSError, TimeoutError) as error:
            self._back_off(followed, str(error))

    async def _truncate(self, followed: FollowedPartition, truncate: Truncate) -> None:
        replica = followed.replica
        own_epoch, own_end_offset = replica.log.epoch_end_offset(truncate.epoch)
        end_offset = replica.log.log_end_offset
        offset = position.truncation_offset(truncate, own_epoch, own_end_offset, end_offset)
        await followed.truncate(offset)
        if replica.log.log_end_offset < end_offset:  # a follower that is only behind has nothing to truncate
            log.info(
                "Truncated %s-%d: diverged from its leader. from_offset=%d to_offset=%d epoch=%d",
                replica.topic,
                replica.partition,
                end_offset,
                replica.log.log_end_offset,
                truncate.epoch,
            )

    async def _start_over(self, followed: FollowedPartition) -> None:
        assert self._channel is not None, "an answer came through it"
        replica = followed.replica
        start = await self._channel.earliest_offset(replica)
        end_offset = replica.log.log_end_offset
        is_empty = end_offset == replica.log.log_start_offset
        # An empty log has no epoch, so its leader cannot find where they diverge: it may even be ahead.
        if start <= end_offset and not is_empty:
            self._back_off(followed, f"its leader has neither offset {end_offset} nor a newer start")
            return
        await followed.start_over(start)
        if not is_empty:
            log.info(
                "Truncated %s-%d fully: its end offset is out of its leader's range. from_offset=%d to_offset=%d",
                replica.topic,
                replica.partition,
                end_offset,
                start,
            )

    def _back_off(self, followed: FollowedPartition, reason: str) -> None:
        replica = followed.replica
        log.debug("Backing off %s-%d: %s", replica.topic, replica.partition, reason)
        followed.on_trouble(reason)
        followed.backoff_until_ms = self._clock.monotonic_ms() + self._settings.backoff_ms

    async def _disconnect(self) -> None:
        self._session.reset()
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

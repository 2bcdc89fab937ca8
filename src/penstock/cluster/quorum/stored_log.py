"""The log of the quorum on disk: `__cluster_metadata-0`, an ordinary log of the storage engine, and its snapshots.

Only the event loop calls it. Appends go to the page cache; `durable_offset` grows when the flusher has synced them.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from functools import partial

from penstock.cluster.metadata.topic_names import CLUSTER_METADATA, METADATA_TOPIC_ID
from penstock.cluster.quorum.snapshots import REMEDY, SnapshotFiles, snapshot_batches
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.records import leader_in, voter_sets_in
from penstock.cluster.raft.values import LogPosition
from penstock.cluster.raft.voters import VoterHistory, VoterSet
from penstock.config.topic import TopicConfig
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.wire import Buffer
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.storage.errors import LogCorrupt
from penstock.storage.files import FileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.values import Cold
from penstock.storage.store.log_store import LogStore

_CONFIG = TopicConfig(max_message_bytes=2**31 - 1, retention_ms=-1, segment_bytes=8 << 20)
"""Small segments: records before a snapshot are deleted in whole segments."""
_READ_BYTES = 1 << 20


async def _without_rest() -> None:
    """Do not pause: there is no other work that a check could disturb."""


class StoredRaftLog:
    """The log on disk that the driver's effects need."""

    def __init__(
        self, store: LogStore, flusher: Flusher, *, files: FileSystem, clock: Clock, offload: Offload
    ) -> None:
        """Open the log. Blocks; after a crash until recovery ends."""
        self._store = store
        self._flusher = flusher
        self._clock = clock
        self._offload = offload
        self._log: Log = store.open_or_create(CLUSTER_METADATA, METADATA_TOPIC_ID, 0, _CONFIG)
        self._snapshots = SnapshotFiles(files, self._log.directory)
        self._snapshots.remove_partial()
        self._found = self._snapshots.list()
        self._finish_interrupted()

    def _finish_interrupted(self) -> None:
        """Finish an operation that a crash has interrupted: a snapshot that replaces the log, or its beginning."""
        log = self._log
        if not self._found:
            return
        latest = self._found[-1]
        is_in_log = log.log_start_offset < latest.offset <= log.log_end_offset
        if is_in_log:
            is_in_log = log.epoch_of(latest.offset - 1) == latest.epoch
        elif latest.offset == log.log_start_offset:
            is_in_log = True
        if not is_in_log:
            log.truncate_fully_and_start_at(latest.offset)
        self._found = [each for each in self._found if each.offset >= log.log_start_offset]
        if 0 < log.log_start_offset < self._found[0].offset:
            log.advance_log_start(self._found[0].offset)

    # -- state ---------------------------------------------------------------------------------------

    @property
    def directory(self) -> str:
        return self._log.directory

    @property
    def start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def durable_offset(self) -> int:
        return self._log.durable_offset

    def shape(self) -> LogShape:
        log = self._log
        return LogShape(
            start_offset=log.log_start_offset,
            end_offset=log.log_end_offset,
            synced_offset=log.durable_offset,
            epochs=log.epochs.entries,
            snapshots=self._found,
        )

    async def verify(self) -> None:
        """Check the whole log for damage. Raises `LogCorrupt` with the position and what to do."""
        log = self._log
        for loss in log.losses:
            lost = loss.damage
            raise LogCorrupt(
                f"{loss.path} is damaged at byte {lost.position}: it {loss.what}. The metadata records of offsets "
                f"{lost.base_offset} to {lost.next_offset - 1} are missing. {REMEDY}"
            )
        if log.log_start_offset > 0 and not self._found:
            raise LogCorrupt(
                f"{log.directory} has no snapshot, but the metadata records below offset {log.log_start_offset} are in "
                f"one only. {REMEDY}"
            )
        for segment in list(log.segments):
            # The saved epochs may belong to records that a crash has lost, and that other records have replaced.
            await LogRepair(log).check(segment, _without_rest, by_epochs=False)
        if log.damaged:
            first = next(iter(log.damaged))
            path = next(each.log_path for each in log.segments if each.base_offset == first.segment)
            raise LogCorrupt(
                f"{path} is damaged at byte {first.position}: the {first.size_bytes} bytes there are not the metadata "
                f"records of offsets {first.base_offset} to {first.next_offset - 1} that were written. {REMEDY}"
            )

    async def scan(self, initial: VoterSet) -> tuple[VoterHistory, int]:
        """Read the voter sets from snapshot and log; returns them and the bytes after the latest snapshot.

        Raises `LogCorrupt`.
        """
        await self.verify()
        history = VoterHistory(initial)
        latest_offset = 0
        if self._found:
            latest_offset = self._found[-1].offset
            if self._log.log_start_offset > 0:
                oldest = self._found[0]
                history.restart(
                    oldest.offset, await self._offload.run(partial(self._snapshots.voters, oldest))
                )
        size_bytes = 0
        async for buffer in self.batches(self._log.log_start_offset, self._log.log_end_offset):
            for pos, header in iter_batches(buffer):
                if header.base_offset >= latest_offset:
                    size_bytes += header.size_bytes
                for offset, voters in voter_sets_in(buffer, pos, header):
                    history.add(offset, voters)
        return history, size_bytes

    async def founder(self) -> int | None:
        """The node that started this log; None when its first records are deleted. Raises `LogCorrupt`."""
        if self._log.log_start_offset > 0:
            return None
        async for buffer in self.batches(0, self._log.log_end_offset):
            return next((leader_in(buffer, pos, header) for pos, header in iter_batches(buffer)), None)
        return None

    def tail(self) -> AsyncIterator[Buffer]:
        """The records after the newest snapshot, in pieces of whole batches; they may not be committed."""
        start_offset = self._found[-1].offset if self._found else self._log.log_start_offset
        return self.batches(start_offset, self._log.log_end_offset)

    # -- records --------------------------------------------------------------------------------------

    def append(self, batches: bytes) -> None:
        """Raises `LogError`."""
        self._log.append_replicated(batches, now_ms=self._clock.now_ms())

    def sync(self) -> "asyncio.Future[None]":
        """A future that is done when all current records are durable. Fails with `StorageFailure`."""
        return self._flusher.sync(self._log)

    async def read(self, offset: int, offset_limit: int, max_bytes: int) -> Buffer:
        try:
            found = self._log.read(offset, max_bytes, offset_limit=offset_limit)
            if isinstance(found, Cold):
                found = await self._log.read_cold(offset, max_bytes, offset_limit=offset_limit)
        except LogCorrupt:
            await self.verify()
            raise
        return found.records

    async def batches(self, offset: int, offset_limit: int) -> AsyncIterator[Buffer]:
        """All records from `offset` up to the limit, in pieces of whole batches."""
        while offset < offset_limit:
            try:
                piece = await self._log.read_cold(offset, _READ_BYTES, offset_limit=offset_limit)
            except LogCorrupt:
                await self.verify()
                raise
            if piece.next_offset <= offset:
                return
            yield piece.records
            offset = piece.next_offset

    async def truncate(self, end_offset: int) -> None:
        """Raises `LogError`."""
        await self._store.allow_truncation(self._log, end_offset)
        self._log.truncate_to(end_offset, now_ms=self._clock.now_ms())

    # -- snapshots ------------------------------------------------------------------------------------

    async def write_snapshot(
        self, snapshot: LogPosition, voters: VoterSet | None, state: Iterable[bytes]
    ) -> None:
        """Write the committed state as of the snapshot's end; `state` is iterated on a thread."""
        parts = snapshot_batches(snapshot, voters, state, timestamp=self._clock.now_ms())
        await self._offload.run(partial(self._snapshots.write, snapshot, parts))

    async def read_snapshot(self, snapshot: LogPosition, position: int, max_bytes: int) -> tuple[bytes, int]:
        return await self._offload.run(partial(self._snapshots.read, snapshot, position, max_bytes))

    def snapshot_state(self, snapshot: LogPosition) -> Iterable[bytes]:
        """The content of a snapshot in pieces of whole batches, the quorum's own records included."""
        return self._snapshots.batches(snapshot)

    async def store_chunk(self, snapshot: LogPosition, position: int, data: bytes) -> None:
        await self._offload.run(partial(self._snapshots.write_chunk, snapshot, position, data))

    async def install(self, snapshot: LogPosition) -> VoterSet | None:
        """Replace the log by a fetched snapshot; returns the voters in it.

        Raises `LogCorrupt` before anything is replaced, and `LogError` as `truncate` does.
        """
        await self._offload.run(partial(self._snapshots.verify_partial, snapshot))
        # After a crash from here on the snapshot replaces the log (`_finish_interrupted`): the journal must not restore
        # the old records, nor get records that still wait for their sync.
        await self._store.allow_truncation(self._log, snapshot.offset)
        self._log.require_segment_sync()
        await self._offload.run(partial(self._snapshots.finish, snapshot))
        voters = await self._offload.run(partial(self._snapshots.voters, snapshot))
        await self._store.allow_truncation(
            self._log, snapshot.offset
        )  # a checkpoint may have ended meanwhile
        self._log.truncate_fully_and_start_at(snapshot.offset)
        await self._store.save_offsets()
        await self._offload.run(partial(self._snapshots.remove_before, snapshot))
        return voters

    async def drop_prefix(self, snapshot: LogPosition) -> None:
        """Delete records and snapshots below a snapshot. The new log start is saved before the snapshots go."""
        self._log.advance_log_start(snapshot.offset)
        if await self._store.save_offsets():
            await self._offload.run(partial(self._snapshots.remove_before, snapshot))

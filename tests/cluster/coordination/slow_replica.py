"""A coordinator's partition on a log in memory, whose high watermark a test moves."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

from penstock.cluster.commit import Commit
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.loading import IsOpen
from penstock.cluster.coordination.partition import CoordinatorPartition, InTransaction
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record, iter_records
from penstock.runtime.clock import ManualClock
from penstock.runtime.completion import Completion
from penstock.storage.errors import LogError
from penstock.storage.log.values import Appended, LogSlice
from penstock.storage.producers.transaction_permit import OpenTransaction


class SlowReplica:
    """A log in memory, whose high watermark a test moves."""

    def __init__(self, *batches: bytes, message_bytes_max: int = 1000) -> None:
        self.topic = "coordinated"
        self.partition = 0
        self.is_leader = True
        self.leader_epoch = 0
        self.batches = list(batches)
        self.append_count = 0
        self.refusal: LogError | None = None
        self.waiting: list[Commit] = []
        self.log = SimpleNamespace(
            config=SimpleNamespace(max_message_bytes=message_bytes_max),
            log_start_offset=0,
            log_end_offset=sum(header.record_count for b in batches for _, header in iter_batches(b)),
            read_cold=self.read_cold,
        )
        self.high_watermark = self.log.log_end_offset

    async def read_cold(self, offset: int, size_bytes_max: int, *, offset_limit: int) -> LogSlice:
        for each in self.batches:
            ((_, header),) = iter_batches(each)
            if header.base_offset <= offset < header.next_offset:
                return LogSlice(each, header.next_offset)
        raise AssertionError(f"nothing at {offset}")

    def append(self, records: bytearray, now_ms: int, **_how: object) -> Commit:
        commit = Commit(leader_epoch=0)
        if self.refusal is not None:
            commit.fail(self.refusal)
            return commit
        base = self.log.log_end_offset
        self.append_count += 1
        for position, header in iter_batches(records):
            self.log.log_end_offset += header.record_count
            self.batches.append(bytes(records[position : position + header.size_bytes]))
        commit.appended = Appended(
            base_offset=base,
            last_offset=self.log.log_end_offset - 1,
            leader_epoch=0,
            log_append_time_ms=-1,
            log_start_offset=0,
        )
        return self._wait(commit, self.log.log_end_offset - 1)

    def write_queued(self) -> None:
        """Nothing is queued: appends are written at once."""

    def commit_up_to(self, last_offset: int, *, leader_epoch: int) -> Commit:
        return self._wait(Commit(leader_epoch), last_offset)

    def _wait(self, commit: Commit, last_offset: int) -> Commit:
        commit.last_offset = last_offset
        if self.high_watermark > last_offset:
            commit.resolve(None)
        else:
            self.waiting.append(commit)
        return commit

    def move_high_watermark(self, offset: int) -> None:
        self.high_watermark = offset
        for commit in list(self.waiting):
            if commit.last_offset < offset:
                commit.resolve(None)


class RecordedState:
    """State that records its calls."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def replay(self, record: Record, producer_id: int) -> None:
        self.seen.append((record.offset, record.key, producer_id))

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.seen.append((producer_id, is_commit))

    def skip_records(self, is_open: IsOpen) -> str:
        self.seen.append("skipped")
        return "Some are missing."


Partition = CoordinatorPartition[RecordedState]


def partition_of(replica: SlowReplica, on_failure: Callable[[Partition], None] = lambda _: None) -> Partition:
    return CoordinatorPartition(
        cast("Replica", replica), RecordedState(), ManualClock(), on_failure=on_failure
    )


def record(name: str, size: int = 1) -> NewRecord:
    return NewRecord(name.encode(), b"v" * size)


def change(partition: Partition, *records: NewRecord) -> Change:
    """The change that the state gets, by the keys of its records."""
    return Change(records, lambda: partition.state.seen.extend(each.key for each in records))


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


async def turn() -> None:
    await asyncio.sleep(0)


def keys(batch: bytes) -> list[bytes | None]:
    return [each.key for each in iter_records(batch)]


def in_a_transaction(partition: Partition) -> Callable[[Change], Completion[None]]:
    permit = OpenTransaction(9, 0, partition.leader_epoch)
    return lambda made: partition.write_in_transaction(made, InTransaction(9, 0, permit))

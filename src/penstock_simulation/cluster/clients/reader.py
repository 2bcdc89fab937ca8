"""Consumers without a group: they read a partition to its end, and sometimes all of it again.

They fetch from the leader, from any other replica, or from the replica that the leader prefers for their rack
(KIP-392). A consumer of committed records drops records of aborted transactions, which each answer lists (KIP-98).
"""

import asyncio
import struct
from collections.abc import Callable, Iterator
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import BatchHeader, crc_is_valid, iter_batches_strict
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock_simulation.cluster.checkers.checker import LATE_REQUEST_S
from penstock_simulation.cluster.clients.client import Address, Client, NoAnswer, PartitionInfo
from penstock_simulation.cluster.clients.requests import EARLIEST, LATEST, delete_records, list_offset
from penstock_simulation.cluster.values import PartitionName, Records, records_of_batch

_FETCH = (1, 12)
_FOLLOWER_CHANCE = 0.25
_RESTART_CHANCE = 0.02
_DELETE_ALL_CHANCE = 0.5
_MARKER = struct.Struct(">hh")
_ABORT = 0

OnRecord = Callable[[PartitionName, int, bytes], None]
OnRange = Callable[[PartitionName, int, int, Records], None]


async def fetch(
    client: Client,
    address: Address,
    partition: PartitionName,
    offset: int,
    *,
    is_committed_only: bool,
    rack: str = "",
) -> Any:
    """Return the only partition of a Fetch response. Raises `NoAnswer`."""
    topic, number = partition
    wanted = {"partition": number, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    response = await client.ask(
        address,
        _FETCH,
        max_wait_ms=500,
        min_bytes=1,
        isolation_level=int(is_committed_only),
        topics=[{"topic": topic, "partitions": [wanted]}],
        rack_id=rack,
    )
    return response.responses[0].partitions[0]


class Reader:
    """Calls `on_record` with every record, and `on_range` with all records of a range of offsets."""

    def __init__(
        self,
        client: Client,
        partition: PartitionName,
        on_record: OnRecord,
        *,
        is_committed_only: bool = False,
        rack: str = "",
        begin: int = 0,
        on_range: OnRange = lambda *_: None,
    ) -> None:
        self._client = client
        self._partition = partition
        self._on_record = on_record
        self._on_range = on_range
        self._is_committed_only = is_committed_only
        self._rack = rack
        self._preferred: int | None = None
        self._known: PartitionInfo | None = None
        self.next_offset = begin
        self.start = 0
        """The log start offset when `read_all` began."""

    async def run(self) -> None:
        while True:
            try:
                found = await self._read_some()
            except NoAnswer:
                self._preferred = self._known = None
                await self._client.back_off()
                continue
            for offset, value in found or ():
                self._on_record(self._partition, offset, value)
            if self._client.random.random() < _RESTART_CHANCE:
                self.next_offset = 0
            if not found:
                await self._client.back_off()

    async def read_all(self) -> Records:
        """Read the whole log from its leader. Raises `NoAnswer`."""
        leader = await self._client.leader_of(self._partition)
        self.next_offset = self.start = await list_offset(self._client, leader, self._partition, EARLIEST)
        found: Records = []
        while True:
            before = self.next_offset
            records = await self.read(leader)
            if records is None:
                raise NoAnswer(f"{self._partition} cannot be read")
            found += records
            if self.next_offset == before:
                return found

    async def _read_some(self) -> Records | None:
        if self._known is None:
            self._known = await self._client.find(self._partition)
        known = self._known
        address = self._choose_replica(known)
        if address is None:
            raise NoAnswer("there is no leader")
        return await self.read(address, self._rack if address == known.leader else "")

    def _choose_replica(self, known: PartitionInfo) -> Address | None:
        if self._preferred is not None:
            return known.replicas.get(self._preferred)
        if known.replicas and self._client.random.random() < _FOLLOWER_CHANCE:
            return self._client.random.choice(list(known.replicas.values()))
        return known.leader

    async def read(self, address: Address, rack: str = "") -> Records | None:
        """Read the next committed records from one node; None after an error. Raises `NoAnswer`."""
        begin = self.next_offset
        data = await fetch(
            self._client,
            address,
            self._partition,
            begin,
            is_committed_only=self._is_committed_only,
            rack=rack,
        )
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._skip_deleted()
        if data.error_code != ErrorCode.NONE:
            self._preferred = self._known = None
            return None
        if data.preferred_read_replica >= 0:
            self._preferred = data.preferred_read_replica
            return None
        self._client.history.transactions.on_bounds(
            self._partition, data.log_start_offset, data.last_stable_offset, data.high_watermark
        )
        found = self._decode(bytes(data.records or b""), data.aborted_transactions or [])
        self._on_range(self._partition, begin, self.next_offset, found)
        return found

    async def _skip_deleted(self) -> None:
        leader = await self._client.leader_of(self._partition)
        start = await list_offset(self._client, leader, self._partition, EARLIEST)
        self.next_offset = max(start, self.next_offset)

    def _decode(self, batches: bytes, aborted: list[Any]) -> Records:
        pending = sorted(((each.first_offset, each.producer_id) for each in aborted), reverse=True)
        aborting: set[int] = set()
        found: Records = []
        begin = self.next_offset
        for pos, header in intact_batches(batches):
            while pending and pending[-1][0] <= header.last_offset:
                aborting.add(pending.pop()[1])
            if header.is_control:
                (marker,) = iter_records(batches, pos=pos)
                if _MARKER.unpack_from(marker.key or b"")[1] == _ABORT:
                    aborting.discard(header.producer_id)
            elif not (self._is_committed_only and header.is_transactional and header.producer_id in aborting):
                records = records_of_batch(batches[pos : pos + header.size_bytes])
                found += [each for each in records if each[0] >= begin]
            self.next_offset = max(self.next_offset, header.next_offset)
        return found


def intact_batches(batches: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Yield the position and header of each batch. Raises `NoAnswer` for a corrupt one, as a client would."""
    try:
        for pos, header in iter_batches_strict(batches):
            if not crc_is_valid(batches, pos, header.size_bytes):
                raise NoAnswer(f"the batch at offset {header.base_offset} is corrupt")
            yield pos, header
    except CorruptRecords as error:
        raise NoAnswer(str(error)) from error


class RecordDeleter:
    """Deletes records of a transactional partition, also of open transactions, and reads at the last stable offset."""

    def __init__(self, client: Client, partition: PartitionName) -> None:
        self._client = client
        self._partition = partition
        self._uncertain_until_s = 0.0
        """Until then a deletion without an answer may be carried out."""
        self.count = 0

    async def run(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(self._client.random.expovariate(1 / interval_s))
            try:
                leader = await self._client.leader_of(self._partition)
                await self._delete(leader)
                await self._check_stable_offset(leader)
            except NoAnswer:
                await self._client.back_off()

    async def _delete(self, leader: Address) -> None:
        random = self._client.random
        start = await list_offset(self._client, leader, self._partition, EARLIEST)
        end = await list_offset(self._client, leader, self._partition, LATEST)
        is_all = random.random() < _DELETE_ALL_CHANCE or start >= end
        offset = end if is_all else random.randint(start, end)
        self._client.history.transactions.on_delete_sent(self._partition, offset)
        try:
            self.count += await delete_records(self._client, leader, self._partition, offset)
        except NoAnswer:
            self._uncertain_until_s = self._client.now_s + LATE_REQUEST_S
            raise

    async def _check_stable_offset(self, leader: Address) -> None:
        """Fetch where a consumer begins that wants new committed records."""
        end = await list_offset(self._client, leader, self._partition, LATEST, is_committed_only=True)
        data = await fetch(self._client, leader, self._partition, end, is_committed_only=True)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            start = await list_offset(self._client, leader, self._partition, EARLIEST)
            if start > end and self._client.now_s > self._uncertain_until_s:
                self._client.history.transactions.on_out_of_range(self._partition, end, start)

"""Consumers without a group: they read a partition to its end, and now and then all of it again.

They read from the leader, from any other replica, or from where the leader sends a reader of their rack (KIP-392). Who
wants committed records only leaves out those of aborted transactions, which come with every answer (KIP-98).
"""

import struct
from collections.abc import Callable, Iterator

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import fetch, list_offsets
from penstock.protocol.records.batch import BatchHeader, crc_is_valid, iter_batches_strict
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock.testing.simulation.cluster.checkers.records import Found, PartitionName
from penstock.testing.simulation.cluster.clients.client import Address, Client, Known, NoAnswer

FETCH, _LIST_OFFSETS = (1, 12), (2, 7)
LATEST, EARLIEST = -1, -2
_FOLLOWER_CHANCE = 0.25
_AGAIN_CHANCE = 0.02
_MARKER = struct.Struct(">hh")
_ABORT = 0

Note = Callable[[PartitionName, int, bytes], None]
Pass = Callable[[PartitionName, int, int, Found], None]


def fetch_request(
    partition: PartitionName, offset: int, *, is_committed_only: bool, rack: str = ""
) -> fetch.FetchRequest:
    topic, number = partition
    wanted = fetch.FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
    return fetch.FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        isolation_level=int(is_committed_only),
        topics=[fetch.FetchTopic(topic=topic, partitions=[wanted])],
        rack_id=rack,
    )


async def offset_at(
    client: Client,
    leader: Address,
    partition: PartitionName,
    timestamp: int,
    *,
    is_committed_only: bool = False,
) -> int:
    """Where the log starts or ends. Raises `NoAnswer`."""
    topic, number = partition
    wanted = list_offsets.ListOffsetsPartition(partition_index=number, timestamp=timestamp)
    request = list_offsets.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(is_committed_only),
        topics=[list_offsets.ListOffsetsTopic(name=topic, partitions=[wanted])],
    )
    data = (await client.call(leader, _LIST_OFFSETS, request)).topics[0].partitions[0]
    if data.error_code != ErrorCode.NONE:
        raise NoAnswer(ErrorCode(data.error_code).name)
    offset: int = data.offset
    return offset


class Reader:
    """Calls `note` with every record that it is given, and `passed` with all that it is given of a range."""

    def __init__(
        self,
        client: Client,
        partition: PartitionName,
        note: Note,
        *,
        is_committed_only: bool = False,
        rack: str = "",
        begin: int = 0,
        passed: Pass = lambda *_: None,
    ) -> None:
        self._client = client
        self._partition = partition
        self._note = note
        self._passed = passed
        self._is_committed_only = is_committed_only
        self._rack = rack
        self._nearer: int | None = None
        self._known: Known | None = None
        self.next_offset = begin
        self.start = 0
        """Where the log started when all of it was read."""

    async def run(self) -> None:
        while True:
            try:
                found = await self._read_some()
            except NoAnswer:
                self._nearer = self._known = None
                await self._client.rest()
                continue
            for at, value in found or ():
                self._note(self._partition, at, value)
            if self._client.random.random() < _AGAIN_CHANCE:
                self.next_offset = 0
            if not found:
                await self._client.rest()

    async def read_all(self) -> Found:
        """From the start to the end, as the leader has it now. Raises `NoAnswer`."""
        leader = await self._client.leader_of(self._partition)
        self.next_offset = self.start = await offset_at(self._client, leader, self._partition, EARLIEST)
        found: Found = []
        while True:
            before = self.next_offset
            records = await self.read(leader)
            if records is None:
                raise NoAnswer(f"{self._partition} is not read")
            found += records
            if self.next_offset == before:
                return found

    async def _read_some(self) -> Found | None:
        if self._known is None:
            self._known = await self._client.find(self._partition)
        known = self._known
        address = self._whom(known)
        if address is None:
            raise NoAnswer("there is no leader")
        return await self.read(address, self._rack if address == known.leader else "")

    def _whom(self, known: Known) -> Address | None:
        if self._nearer is not None:
            return known.replicas.get(self._nearer)
        if known.replicas and self._client.random.random() < _FOLLOWER_CHANCE:
            return self._client.random.choice(list(known.replicas.values()))
        return known.leader

    async def read(self, address: Address, rack: str = "") -> Found | None:
        """What is committed next, as one node has it; None when it says no. Raises `NoAnswer`."""
        begin = self.next_offset
        request = fetch_request(self._partition, begin, is_committed_only=self._is_committed_only, rack=rack)
        answer = await self._client.call(address, FETCH, request)
        data = answer.responses[0].partitions[0]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._skip_deleted()
        if data.error_code != ErrorCode.NONE:
            self._nearer = self._known = None
            return None
        if data.preferred_read_replica >= 0:
            self._nearer = data.preferred_read_replica
            return None
        self._client.history.transactions.has_bounds(
            self._partition, data.log_start_offset, data.last_stable_offset, data.high_watermark
        )
        found = self._take(bytes(data.records or b""), data.aborted_transactions or [])
        self._passed(self._partition, begin, self.next_offset, found)
        return found

    async def _skip_deleted(self) -> None:
        leader = await self._client.leader_of(self._partition)
        start = await offset_at(self._client, leader, self._partition, EARLIEST)
        self.next_offset = max(start, self.next_offset)

    def _take(self, batches: bytes, aborted: list[fetch.AbortedTransaction]) -> Found:
        left_out = sorted(((each.first_offset, each.producer_id) for each in aborted), reverse=True)
        aborting: set[int] = set()
        found: Found = []
        begin = self.next_offset
        for pos, header in intact(batches):
            while left_out and left_out[-1][0] <= header.last_offset:
                aborting.add(left_out.pop()[1])
            if header.is_control:
                (marker,) = iter_records(batches, pos=pos)
                if _MARKER.unpack_from(marker.key or b"")[1] == _ABORT:
                    aborting.discard(header.producer_id)
            elif not (self._is_committed_only and header.is_transactional and header.producer_id in aborting):
                records = iter_records(batches, pos=pos)
                found += [(each.offset, each.value or b"") for each in records if each.offset >= begin]
            self.next_offset = max(self.next_offset, header.next_offset)
        return found


def intact(batches: bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Raises `NoAnswer` for what was damaged where it was stored, as every client checks."""
    try:
        for pos, header in iter_batches_strict(batches):
            if not crc_is_valid(batches, pos, header.size_bytes):
                raise NoAnswer(f"the batch at {header.base_offset} is damaged")
            yield pos, header
    except CorruptRecords as error:
        raise NoAnswer(str(error)) from error

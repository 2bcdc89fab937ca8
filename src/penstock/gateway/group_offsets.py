"""Committed offsets of consumer groups, for dialects that commit without joining a group.

They are records of `__consumer_offsets` in Kafka's own form, in the partition that the group's name hashes to:
    key    i16 1, then OffsetCommitKey v0 (group, topic, partition)
    value  i16 version, then OffsetCommitValue; null forgets the offset
so the group coordinator reads the very same records, and takes this module's place.
"""

import asyncio
import struct
from typing import Protocol

from penstock.cluster.topic_names import CONSUMER_OFFSETS
from penstock.gateway.partitions import Partition, PartitionRefused, next_offset_after, records_from
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_commit_record import (
    RECORD_TYPE,
    OffsetCommitKey,
    OffsetCommitValue,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from penstock.protocol.records.builder import NewRecord
from penstock.server.connection import Peer
from penstock.server.context import Services
from penstock.server.handlers.produce import ADMIN_CLIENT

_VERSION = struct.Struct(">h")
_VALUE_VERSION = 3  # the one that every Kafka since 2.1 reads
_READ_BYTES = 256 * 1024
_INT32_MIN_BITS = 1 << 31
_NOBODY = Peer("internal", "localhost", 0)


class GroupOffsets(Protocol):
    """Where a dialect keeps how far a group has read."""

    async def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Returns when the offset is durable. Raises `PartitionRefused`."""
        ...

    async def committed(self, group: str, topic: str, partition: int) -> int | None:
        """The offset to go on from; None when the group never committed one."""
        ...


class OffsetsTopic:
    """Keeps offsets in `__consumer_offsets`, which it makes when the first group commits."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._clock: Clock = services.clock
        # By partition of the offsets topic: what it says, and how far it was read.
        self._offsets: dict[int, dict[OffsetCommitKey, int]] = {}
        self._read_up_to: dict[int, int] = {}
        self._lock = asyncio.Lock()

    async def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        if self._partition_count() == 0:
            await self._services.controller.auto_create_topic(CONSUMER_OFFSETS)
        key = OffsetCommitKey(group=group, topic=topic, partition=partition)
        now_ms = self._clock.now_ms()
        value = OffsetCommitValue(offset=offset, commit_timestamp=now_ms)
        record = NewRecord(
            key=_VERSION.pack(RECORD_TYPE) + encode_key(key, 0),
            value=_VERSION.pack(_VALUE_VERSION) + encode_value(value, _VALUE_VERSION),
            timestamp=now_ms,
        )
        await self._partition_of(group).produce(record)

    async def committed(self, group: str, topic: str, partition: int) -> int | None:
        if self._partition_count() == 0:
            return None
        home = self._partition_of(group)
        async with self._lock:  # one reader at a time moves on
            await self._catch_up(home)
        key = OffsetCommitKey(group=group, topic=topic, partition=partition)
        return self._offsets.get(home.index, {}).get(key)

    async def _catch_up(self, home: Partition) -> None:
        """Take in what was committed since the last look, by whomever."""
        leader = home.require_leader()
        offsets = self._offsets.setdefault(home.index, {})
        at = max(self._read_up_to.get(home.index, 0), leader.log.log_start_offset)
        while at < leader.high_watermark:
            data = await home.read(at, _READ_BYTES)
            for record in records_from(data, at):
                _take_in(offsets, record.key, record.value)
            advanced = next_offset_after(data, at)
            if advanced == at:
                break
            at = advanced
        self._read_up_to[home.index] = at

    def _partition_count(self) -> int:
        topic = self._services.controller.image.topics.get(CONSUMER_OFFSETS)
        return 0 if topic is None else len(topic.partitions)

    def _partition_of(self, group: str) -> Partition:
        count = self._partition_count()
        if count == 0:
            raise PartitionRefused(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{CONSUMER_OFFSETS} does not exist and cannot be made"
            )
        return Partition(self._services, _NOBODY, ADMIN_CLIENT, CONSUMER_OFFSETS, home_of(group, count))


def _take_in(offsets: dict[OffsetCommitKey, int], key: bytes | None, value: bytes | None) -> None:
    if key is None or _VERSION.unpack_from(key)[0] != RECORD_TYPE:  # the coordinator keeps members here too
        return
    named = decode_key(key, 0, _VERSION.size)
    if value is None:
        offsets.pop(named, None)
    else:
        offsets[named] = decode_value(value, _VERSION.unpack_from(value)[0], _VERSION.size).offset


def home_of(group: str, partition_count: int) -> int:
    """The partition of the offsets topic that a group lives in: by Java's String.hashCode without its sign."""
    units = group.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    if hashed == _INT32_MIN_BITS:  # it has no positive counterpart: Kafka takes 0
        return 0
    return min(hashed, (1 << 32) - hashed) % partition_count

"""A data directory with every kind of file, ways to damage one of them, and what a broker then makes of it."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from confluent_kafka import Producer

from penstock.cli.main import run
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.fetch import PartitionData
from penstock.protocol.records.batch import HEADER_SIZE, crc_is_valid, iter_batches
from penstock.protocol.records.record import iter_records
from penstock.server.broker import StartFailed
from penstock.storage.directory.checkpoints import HIGH_WATERMARKS, PartitionName, write_offsets
from penstock.storage.files import RealFileSystem
from penstock.storage.log.repair import LogRepair
from tests.server.live import Client, Live, TopicHandle, batch, running_broker

ORDERS = "orders"
"""Segments begin at 0, 4 and 8. A transaction with the offsets 4 and 5 was aborted, its marker is at 6."""
TRIMMED = "trimmed"
"""Its records below offset 2 were deleted."""
SEALED, ACTIVE = f"{4:020d}", f"{8:020d}"
WHOLE = {0: "0", 1: "1", 2: "2", 3: "3", 7: "7", 8: "8", 9: "9"}
WHOLE_TRIMMED = {0: "OFFSET_OUT_OF_RANGE", 1: "OFFSET_OUT_OF_RANGE", 2: "2", 3: "3"}
Damage = Callable[[Path], None]
SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": "1500",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
}


async def prepare(data: Path) -> None:
    """Fill a data directory, and leave it as a clean stop does."""
    async with running_broker(data, SETTINGS) as live:
        client = await live.connect()
        settings = {"segment.records": "4", "index.interval.bytes": "0"}
        orders = await client.create_topic(name=ORDERS, configs=settings)
        for number in range(4):
            await client.produce(orders, batch(b"%d" % number))
        await asyncio.to_thread(_abort_transaction, f"{live.host}:{live.port}")
        for number in range(7, 10):
            await client.produce(orders, batch(b"%d" % number))
        trimmed = await client.create_topic(name=TRIMMED)
        for number in range(4):
            await client.produce(trimmed, batch(b"%d" % number))
        below = DeleteRecordsTopic(
            name=TRIMMED, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)]
        )
        await client.send(DeleteRecordsRequest(topics=[below], timeout_ms=1000))
        assert await readable(live, client) == (WHOLE, WHOLE_TRIMMED)
        await client.close()
    high_watermarks = {PartitionName(ORDERS, 0): 10, PartitionName(TRIMMED, 0): 4}
    write_offsets(RealFileSystem(), str(data / HIGH_WATERMARKS), high_watermarks)  # as a cluster has them


def _abort_transaction(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t", "linger.ms": 0})
    producer.init_transactions(10)
    producer.begin_transaction()
    for _ in range(2):
        producer.produce(ORDERS, b"aborted")
        producer.flush(10)
    producer.abort_transaction(10)


# -- damage ---------------------------------------------------------------------------------------------


def flip(path: Path) -> None:
    """Flip a bit in the middle of a small file."""
    _flip(path, path.stat().st_size // 2)


def cut(path: Path) -> None:
    """Leave the first half of a small file."""
    os.truncate(path, path.stat().st_size // 2)


def remove(path: Path) -> None:
    path.unlink()


def flip_batch(number: int) -> Damage:
    """Flip a bit in the records of a batch, counted from 0."""
    return lambda path: _flip(path, _batches(path)[number] + HEADER_SIZE + 2)


def cut_batch(number: int, *, left_bytes: int = 0) -> Damage:
    """Cut a segment at a batch, or after the batch's first bytes."""
    return lambda path: os.truncate(path, _batches(path)[number] + left_bytes)


def _batches(path: Path) -> list[int]:
    return [position for position, _ in iter_batches(path.read_bytes())]


def _flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x04
    path.write_bytes(content)


# -- what becomes of it ---------------------------------------------------------------------------------


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    verify: bool
    """Whether `penstock log verify` finds damage, before the start."""
    refusal: str | None = None
    """Why the broker did not start."""
    said: tuple[str, ...] = ()
    """The warnings and errors, from the start until everything was read."""
    orders: dict[int, str] = {}
    trimmed: dict[int, str] = {}
    scrub: tuple[tuple[int, int], ...] = ()
    """The offsets that are damaged, as far as a scrub knows."""


async def outcome(data: Path) -> Outcome:
    finds_damage = run(["log", "verify", str(data)]) != 0
    with _said() as said:
        try:
            async with running_broker(data, SETTINGS) as live:
                client = await live.connect()
                orders, trimmed = await readable(live, client)
                await client.close()
                return Outcome(
                    verify=finds_damage,
                    said=tuple(said),
                    orders=orders,
                    trimmed=trimmed,
                    scrub=await scrubbed(live),
                )
        except StartFailed as error:
            return Outcome(verify=finds_damage, refusal=str(error))


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.levelname} {record.getMessage()}")


@contextlib.contextmanager
def _said() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = _Lines(lines)
    logging.getLogger("penstock").addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger("penstock").removeHandler(handler)


async def readable(live: Live, client: Client) -> tuple[dict[int, str], dict[int, str]]:
    """What a read_committed consumer finds at each offset of the two topics, or the error that it gets."""
    found = [await _readable(live, client, name, count) for name, count in ((ORDERS, 10), (TRIMMED, 4))]
    return found[0], found[1]


async def _readable(live: Live, client: Client, name: str, count: int) -> dict[int, str]:
    topic = live.services.controller.image.topic(name)
    if topic is None:
        return {}
    handle = TopicHandle(name, topic.topic_id)
    found: dict[int, str] = {}
    for offset in range(count):
        data = await client.fetch(handle, offset, isolation_level=1, max_bytes=1, partition_max_bytes=1)
        if data.error_code:
            found[offset] = ErrorCode(data.error_code).name
        elif not data.records:
            found[offset] = "nothing"
        elif (value := _value_at(data, offset)) is not None:
            found[offset] = value
    return found


def _value_at(data: PartitionData, offset: int) -> str | None:
    """None for a marker, and for a record that was aborted."""
    records = bytes(data.records or b"")
    aborted = {(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()}
    for position, header in iter_batches(records):
        if not crc_is_valid(records, position, header.size_bytes):
            return "wrong checksum"
        if header.base_offset > offset:
            return "nothing"
        is_aborted = any(
            header.producer_id == each and header.base_offset >= first for each, first in aborted
        )
        if header.is_control or (header.is_transactional and is_aborted):
            return None
        return next((each.value or b"").decode() for each in iter_records(records, pos=position))
    return "nothing"


async def scrubbed(live: Live) -> tuple[tuple[int, int], ...]:
    """Look through the segments of both topics, as a scrub does."""

    async def without_rest() -> None:
        pass

    found = []
    for name in (ORDERS, TRIMMED):
        replica = live.services.replicas.get(name, 0)
        if replica is None or not replica.is_open:
            continue
        for segment in list(replica.log.segments):
            await LogRepair(replica.log).check(segment, without_rest)
        found += [(each.base_offset, each.next_offset - 1) for each in replica.log.damaged]
    return tuple(found)

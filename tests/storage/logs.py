"""A log on the real disk, for tests without faults."""

import asyncio
from typing import Any

import msgspec

from penstock.config.topic import TopicConfig
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import decode_records
from penstock.storage.errors import LogError
from penstock.storage.file_cache import FileCache
from penstock.storage.files import Buffer, RealFileSystem
from penstock.storage.log.append import Appender
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.log.values import Appended, Cold, LogSlice, Origin
from penstock.storage.producers.state import ProducerStates
from penstock.storage.producers.transaction_permit import TransactionPermit
from penstock.storage.recovery.loader import Checkpointed, create_log, load_log
from penstock.storage.storable_batch import StorableBatch

NOW_MS = 1_700_000_000_000


def config_of(**settings: Any) -> TopicConfig:
    return msgspec.convert(settings, TopicConfig)


def new_log(directory: str, **settings: Any) -> Log:
    config = config_of(**settings)
    cache = FileCache(RealFileSystem())
    return Log("t", 0, directory, config, loaded=create_log(cache, directory, config))


def reopened(log: Log, *, was_clean: bool = False, recovery_point: int | None = None) -> Log:
    """The log as a new process finds it."""
    cache = FileCache(RealFileSystem())
    checkpointed = Checkpointed(
        was_clean=was_clean,
        recovery_point=log.recovery_point if recovery_point is None else recovery_point,
        log_start_offset=log.log_start_offset,
    )
    loaded = load_log(cache, log.directory, log.config, checkpointed, NOW_MS)
    return Log(log.topic, log.partition, log.directory, log.config, loaded=loaded)


def batch_of(*values: str, timestamp: int = NOW_MS, **fields: Any) -> bytearray:
    records = [NewRecord(b"k", value.encode(), (), timestamp) for value in values]
    return bytearray(build_batch(records, **fields))


class AnyTransaction:
    """Permits every transactional batch."""

    def __init__(self, leader_epoch: int = 0) -> None:
        self.leader_epoch = leader_epoch

    def is_valid(self, producers: ProducerStates) -> bool:
        return True


class PreparedAppend(msgspec.Struct):
    """An `Append` and nothing else."""

    batches: list[StorableBatch]
    is_from_client: bool = True
    permit: TransactionPermit | None = None
    appended: Appended | None = None
    refusal: LogError | None = None


def append_records(
    log: Log,
    records: Buffer,
    *,
    leader_epoch: int,
    now_ms: int,
    origin: Origin = Origin.CLIENT,
    permit: TransactionPermit | None = None,
) -> Appended:
    """Store batches as the leader: all of them or, with an exception, none."""
    if log.failure is not None:
        raise log.failure.with_traceback(None)
    appender = Appender(log)
    is_from_client = origin is Origin.CLIENT
    batches = appender.prepare(records, now_ms, is_from_client=is_from_client)
    append = PreparedAppend(batches, is_from_client, permit)
    appender.append_each([append], leader_epoch=leader_epoch, now_ms=now_ms)
    if append.refusal is not None:
        raise append.refusal
    assert append.appended is not None
    return append.appended


def append(log: Log, *values: str, timestamp: int = NOW_MS, epoch: int = 0, **fields: Any) -> Appended:
    batch = batch_of(*values, timestamp=timestamp, **fields)
    return append_records(log, batch, leader_epoch=epoch, now_ms=NOW_MS, permit=AnyTransaction())


def append_all(log: Log, *batches: bytearray) -> Appended:
    return append_records(log, b"".join(batches), leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR)


def sync(log: Log) -> None:
    job = log.begin_sync()
    job.run()
    log.finish_sync(job)


def checkpoint(log: Log) -> None:
    job = LogCheckpoint(log).begin()
    if job is not None:
        job.run()
        LogCheckpoint(log).finish(job)


def close(log: Log) -> None:
    """As a broker does that stops cleanly."""
    job = LogCheckpoint(log).begin_close()
    if job is not None:
        job.run()
        LogCheckpoint(log).finish(job)
    log.abandon("it was closed")


def read(log: Log, offset: int, size_bytes_max: int = 1 << 20, limit: int | None = None) -> LogSlice:
    """From memory or, if it is not there, from the disk."""
    end = log.log_end_offset if limit is None else limit
    found = log.read(offset, size_bytes_max, offset_limit=end)
    if isinstance(found, Cold):
        return asyncio.run(log.read_cold(offset, size_bytes_max, offset_limit=end))
    return found


def values_in(found: LogSlice) -> list[str]:
    return [
        (record.value or b"").decode()
        for position, _ in iter_batches_strict(found.records)
        for record in decode_records(found.records, pos=position)
    ]


def all_values(log: Log, offset: int | None = None) -> list[str]:
    values: list[str] = []
    next_offset = log.log_start_offset if offset is None else offset
    while (found := read(log, next_offset)).records:
        values += values_in(found)
        next_offset = found.next_offset
    return values


def bases(log: Log) -> list[int]:
    """The base offsets of its segments."""
    return [segment.base_offset for segment in log.segments]

"""Recover a data directory without a broker, as a start after a crash does, and report each step.

The storage engine logs what it truncates and rebuilds; here the log lines are the output.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Iterator

import msgspec

from penstock.cli.data_directory import find_partitions
from penstock.cli.errors import CommandError
from penstock.cli.log.journal import find_unreplayed, read_after_crash
from penstock.config.topic import TopicConfig
from penstock.storage.directory.metadata_files import (
    CLEAN_SHUTDOWN,
    PARTITION_METADATA,
    encode_uuid,
    read_meta,
)
from penstock.storage.errors import LogError
from penstock.storage.files import RealFileSystem
from penstock.storage.store.log_store import LogStore


class Recovered(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One partition after recovery; `damage` is what recovery cannot repair."""

    partition: str
    start_offset: int
    end_offset: int
    damage: tuple[str, ...]


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    steps: list[str]
    partitions: list[Recovered]
    failures: list[str]


def recover_directory(directory: str) -> Recovery:
    """Check every log from its recovery point on, truncate torn batches, and shut down cleanly.

    Where records are lost, or something could not be recovered, the broker's next start recovers again.
    """
    find_partitions(directory)  # fails before anything is written to a directory that is not one
    try:
        return asyncio.run(_recover(directory))
    except LogError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"cannot recover {error.filename or directory}: {error.strerror}") from None


async def _recover(directory: str) -> Recovery:
    files = RealFileSystem()
    meta = read_meta(files, directory)
    if meta is None:
        raise CommandError(f"{directory} has no meta.properties: give the whole data directory of a broker")
    journal = read_after_crash(directory)
    found = find_unreplayed(journal, find_partitions(directory))
    replayed = [f"{each}: replaying them" for each in found if not each.is_lost]
    recovery = Recovery(steps=replayed, partitions=[], failures=[])
    with _collect_log_lines(recovery.steps):
        # After a clean shutdown a start checks nothing. A running broker has no such mark.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, CLEAN_SHUTDOWN))
        store = LogStore.open(
            directory,
            files=files,
            node_id=meta.node_id,
            new_cluster_id=lambda: meta.cluster_id,
            new_directory_id=lambda: meta.directory_id,
        )
        recovery.failures.extend(map(str, store.journal_damage))
        for name in sorted(store.partitions):
            topic_id = store.topic_id(name.topic, name.partition)
            if topic_id is None:
                recovery.failures.append(
                    f"{name.directory}: {PARTITION_METADATA} is missing or damaged, and only the broker knows the id "
                    "of the topic without it. Start the broker, which recovers this partition"
                )
                continue
            try:
                log = store.open_or_create(name.topic, topic_id, name.partition, TopicConfig())
            except LogError as error:
                recovery.failures.append(f"{name.directory}: {error}")
                continue
            recovery.partitions.append(
                Recovered(
                    partition=name.directory,
                    start_offset=log.log_start_offset,
                    end_offset=log.log_end_offset,
                    damage=log.damage,
                )
            )
        if not (recovery.failures or store.has_lost_records):  # else the broker must find the evidence
            for topic_id, number in () if store.journal is None else store.journal.unrecovered:
                place = f"partition {number} of topic id {encode_uuid(topic_id)}"
                recovery.steps.append(f"dropped journal entries of {place}, which is not here")
            await store.recovered()
        await store.close()
    return recovery


class _Collector(logging.Handler):
    def __init__(self, steps: list[str]) -> None:
        super().__init__(logging.INFO)
        self._steps = steps

    def emit(self, record: logging.LogRecord) -> None:
        self._steps.append(record.getMessage())


@contextlib.contextmanager
def _collect_log_lines(steps: list[str]) -> Iterator[None]:
    logger = logging.getLogger("penstock.storage")
    handler, level, propagates = _Collector(steps), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates

"""Recovery of a data directory without a broker: what a start after a crash does, and what it did, told.

The storage engine tells in its log lines what it cuts and rebuilds; here they are the output.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Iterator

import msgspec

from penstock.cli.data_directory import find_partitions
from penstock.cli.errors import CommandError
from penstock.cli.journal import find_unreplayed, read_after_crash
from penstock.config.topic import TopicConfig
from penstock.storage.directory_files import CLEAN_SHUTDOWN, encode_uuid, read_meta
from penstock.storage.files import RealFileSystem
from penstock.storage.log.errors import LogError
from penstock.storage.log_store import LogStore


class Recovered(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One partition after recovery; `damage` is what recovery left as it is."""

    partition: str
    start_offset: int
    end_offset: int
    damage: tuple[str, ...]


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    steps: list[str]
    partitions: list[Recovered]
    failures: list[str]


def recover_directory(directory: str) -> Recovery:
    """Check every log from its recovery point on, cut what is torn, and leave the directory as a clean stop does."""
    find_partitions(directory)  # refuses what is no data directory, before anything is written into it
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
        raise CommandError(
            f"{directory} has no meta.properties: give a broker's data directory, not a part of it"
        )
    journal = read_after_crash(directory)
    found = find_unreplayed(journal, find_partitions(directory))
    replayed = [f"{each}: replaying them" for each in found if not each.is_lost]
    recovery = Recovery(steps=replayed, partitions=[], failures=[])
    with _told(recovery.steps):
        _distrust_clean_stop(directory)
        store = LogStore.open(
            directory,
            files=files,
            node_id=meta.node_id,
            new_cluster_id=lambda: meta.cluster_id,
            new_directory_id=lambda: meta.directory_id,
        )
        recovery.failures.extend(map(str, store.journal_damage))
        for name in sorted(store.partitions):
            topic_id = store.topic_id(name.topic, name.partition) or bytes(16)
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
        for topic_id, number in () if store.journal is None else store.journal.unrecovered:
            recovery.steps.append(
                f"the journal holds something of partition {number} of topic id {encode_uuid(topic_id)}, which is not "
                "here: it is dropped"
            )
        await store.close()
    return recovery


def _distrust_clean_stop(directory: str) -> None:
    """After a clean stop a start looks at nothing; whoever runs this has a reason to look.

    A running broker has no such mark, so that nothing is taken from one.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, CLEAN_SHUTDOWN))


class _Told(logging.Handler):
    def __init__(self, steps: list[str]) -> None:
        super().__init__(logging.INFO)
        self._steps = steps

    def emit(self, record: logging.LogRecord) -> None:
        self._steps.append(record.getMessage())


@contextlib.contextmanager
def _told(steps: list[str]) -> Iterator[None]:
    logger = logging.getLogger("penstock.storage")
    handler, level, propagates = _Told(steps), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates

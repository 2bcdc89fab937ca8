"""Three partitions with a journal, on the real disk: rounds are written by the kernel (`ring`) or by threads."""

import asyncio
import os
from pathlib import Path
from random import Random

import pytest

from penstock.runtime.clock import SystemClock
from penstock.runtime.offload import ThreadOffload
from penstock.storage import direct
from penstock.storage.files import File, RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.journal import journal_file
from penstock.storage.journal.journal import Journal
from penstock.storage.log.log import Log
from penstock.storage.ring import SyncRing
from penstock.storage.store.log_store import LogStore
from tests.storage.logs import append, config_of

TOPIC_ID = Random(1).randbytes(16)


class RealStore:
    """Of `journal_bytes` a 64th is there from the start, and the rest is made when it is needed."""

    def __init__(self, path: Path, ring: SyncRing | None, *, journal_bytes: int = 16 << 20) -> None:
        self.offload = ThreadOffload(4, "test")
        self.ring = ring
        self.store = LogStore.open(
            str(path),
            files=RealFileSystem(),
            node_id=1,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: os.urandom(16),
            offload=self.offload,
            journal_bytes=journal_bytes,
            ring=ring,
        )
        self.flusher = Flusher(self.offload, SystemClock(), journal=self.store.journal, ring=ring)
        self.logs = [self.store.open_or_create("t", TOPIC_ID, number, config_of()) for number in range(3)]

    @property
    def journal(self) -> Journal:
        assert self.store.journal is not None
        return self.store.journal

    async def write(self, log: Log, value: str) -> None:
        append(log, value)
        await self.flusher.sync(log)

    async def stop(self) -> None:
        """As a broker does. The threads go on with what they were given."""
        await asyncio.wait_for(self.store.close(self.flusher), 30)
        if self.ring is not None:
            self.ring.close()

    async def close(self) -> None:
        await self.stop()
        self.offload.close()


def watch_direct_descriptors(patch: pytest.MonkeyPatch) -> list[int]:
    """The descriptors for direct writes that journal files open from now on: none where the disk supports none."""
    descriptors: list[int] = []
    open_direct = direct.open_direct

    def open_and_note(file: File) -> int | None:
        descriptor = open_direct(file)
        if descriptor is not None:
            descriptors.append(descriptor)
        return descriptor

    patch.setattr(journal_file, "open_direct", open_and_note)
    return descriptors

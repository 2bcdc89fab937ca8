"""A store of logs on a disk that can fail, with the topic `orders`."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.files import FileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.store.log_store import LogStore
from tests.storage.logs import NOW_MS, append, config_of

T = TypeVar("T")


ORDERS = bytes(range(16))


def open_store(
    files: FileSystem, directory: str = "/data", node_id: int = 1, offload: Offload | None = None
) -> LogStore:
    return LogStore.open(
        directory,
        files=files,
        node_id=node_id,
        new_cluster_id=lambda: "cluster",
        new_directory_id=lambda: bytes(16),
        clock=ManualClock(NOW_MS),
        offload=offload or InlineOffload(),
    )


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def orders(store: LogStore, partition: int = 0, **settings: Any) -> Log:
    return store.open_or_create("orders", ORDERS, partition, config_of(**settings))


async def append_durably(log: Log, *values: str) -> None:
    append(log, *values)
    await Flusher(InlineOffload(), ManualClock()).sync(log)

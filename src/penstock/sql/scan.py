"""Reads ranges of partitions in a few threads, and hands out Arrow batches as they come.

Memory is bounded: a reader waits while `_BATCHES_WAITING_MAX` batches are not taken. A reader stops when the one who
takes them does, for instance because of a LIMIT.
"""

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from penstock.arrow.ranges import OffsetRange
from penstock.arrow.read import Fetched, read_range
from penstock.client.blocking.client import BlockingClient

READERS_MAX: Final = 4
_BATCHES_WAITING_MAX: Final = 8
_POLL_S: Final = 0.2


class ScanStats(msgspec.Struct, kw_only=True):
    """What one scan of a topic reads. Counted while it runs."""

    topic: str
    partitions: int  # of the topic
    ranges: Sequence[OffsetRange]
    columns: Sequence[str]
    bytes_fetched: int = 0
    records_scanned: int = 0


class _Failed(msgspec.Struct, frozen=True):
    error: BaseException


class _Finished:
    pass


_Item = pa.RecordBatch | _Failed | _Finished


def scan(client: BlockingClient, schema: pa.Schema, stats: ScanStats) -> Iterator[pa.RecordBatch]:
    """Yield the columns of `schema` of all records in the ranges; those of a partition in their order."""
    waiting: queue.Queue[OffsetRange] = queue.Queue()
    for each in stats.ranges:
        waiting.put(each)
    found: queue.Queue[_Item] = queue.Queue(_BATCHES_WAITING_MAX)
    stopping = threading.Event()
    lock = threading.Lock()

    def on_fetched(fetched: Fetched) -> None:
        with lock:
            stats.bytes_fetched += len(fetched.records)

    def put(item: _Item) -> bool:
        while not stopping.is_set():
            try:
                found.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            while not stopping.is_set():
                wanted = waiting.get_nowait()
                for batch in read_range(
                    client, wanted, schema=schema, fails_on_data_loss=True, on_fetched=on_fetched
                ):
                    if not put(batch):
                        return
        except queue.Empty:
            put(_Finished())
        except BaseException as error:  # noqa: BLE001 - raised again where the batches are taken
            put(_Failed(error))

    count = min(READERS_MAX, len(stats.ranges))
    readers = [
        threading.Thread(target=read, name=f"sql-{stats.topic}-{n}", daemon=True) for n in range(count)
    ]
    for each_reader in readers:
        each_reader.start()
    try:
        while count:
            item = found.get()
            if isinstance(item, _Failed):
                raise item.error
            if isinstance(item, _Finished):
                count -= 1
                continue
            stats.records_scanned += item.num_rows
            yield item
    finally:
        stopping.set()
        for each_reader in readers:
            each_reader.join()

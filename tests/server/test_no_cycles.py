"""A request must leave nothing for Python's collector of cycles: searching for them took a fifth of the processor."""

import asyncio
import contextlib
import gc
import struct
import tracemalloc
from collections.abc import Iterator

from tests.server.live import Client, Live, batch
from tests.server.raw import connected

REQUESTS = 100
HALF_FRAME_BYTES = 512 * 1024


@contextlib.contextmanager
def nothing_to_collect(requests: int) -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
        assert gc.collect() < requests, "requests leave cycles behind"
    finally:
        gc.enable()


async def test_produced_records_leave_no_cycles(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"first"))
    with nothing_to_collect(REQUESTS):
        for _ in range(REQUESTS):
            await client.produce(topic, batch(b"more"))


async def test_fetched_records_leave_no_cycles(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"first"))
    await client.fetch(topic)
    with nothing_to_collect(REQUESTS):
        for _ in range(REQUESTS):
            await client.fetch(topic)


async def test_an_incomplete_frame_of_a_disconnected_client_is_freed(live: Live) -> None:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(10):
            before = live.connections()
            _, writer = await connected(live)
            writer.write(struct.pack(">i", 2 * HALF_FRAME_BYTES) + bytes(HALF_FRAME_BYTES))
            await writer.drain()
            while live.services.memory.receiving_bytes == 0:
                await asyncio.sleep(0)
            writer.close()
            while live.connections() != before:
                await asyncio.sleep(0)
        assert tracemalloc.get_traced_memory()[0] < 4 * HALF_FRAME_BYTES
    finally:
        tracemalloc.stop()
        gc.enable()

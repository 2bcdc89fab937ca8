"""A request must leave nothing for Python's collector of cycles: searching for them took a fifth of the processor."""

import contextlib
import gc
from collections.abc import Iterator

from tests.server.live import Client, batch

REQUESTS = 100


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

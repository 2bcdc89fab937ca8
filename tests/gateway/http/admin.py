"""Shared by the tests of the admin port."""

import contextlib
import itertools
import socket
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp

from penstock.client.aio import Client
from penstock.gateway.http.assemble import serve
from penstock.protocol.records.builder import NewRecord
from penstock.server.broker import Broker

_names = (f"gateway-{number}" for number in itertools.count())


class Admin(NamedTuple):
    url: str
    http: aiohttp.ClientSession
    kafka: Client
    broker: Broker

    async def topic(self, partitions: int = 1, **configs: str) -> str:
        name = next(_names)
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        await self.kafka.create_topic(name, partitions=partitions, configs=settings)
        return name

    async def fill(self, topic: str, values: list[str], partition: int = 0) -> None:
        outcomes = await self.kafka.produce(
            topic, partition, [NewRecord(value=value.encode()) for value in values]
        )
        assert not any(each.error for each in outcomes)

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.http.get(path, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        async with self.http.post(path, json=body, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)


@contextlib.asynccontextmanager
async def admin_of(broker: Broker) -> AsyncIterator[str]:
    """The address at which a broker's admin port is served."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    server = await serve(broker, listening)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        await server.stop()

"""Mirrors in the console, over HTTP, with a source and a broker behind it."""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from penstock.client.aio import ClientSettings
from penstock.console.app import ConsoleSettings, routes
from penstock.embedded import Cluster
from tests.mirror.stage import Operator
from tests.mirror.test_mirror_between_clusters import QUICK, produce


async def mirrors_of(cluster: Cluster) -> list[dict[str, Any]]:
    app = web.Application()
    connection = ClientSettings.from_properties({"bootstrap.servers": cluster.bootstrap_servers})
    routes(app, ConsoleSettings(connection=connection))
    async with TestClient(TestServer(app)) as browser:
        answer = await (await browser.get("/console/api/mirrors")).json()
        found: list[dict[str, Any]] = answer["mirrors"]
        return found


def test_mirrors_are_shown_with_the_lag_of_their_partitions() -> None:
    with Cluster(1, config=QUICK) as source, Cluster(1, config=QUICK) as target:
        assert asyncio.run(mirrors_of(target)) == []
        source.create_topic("orders", 1)
        produce(source, "orders", b"one", b"two")
        operator = Operator(target.bootstrap_servers)
        operator.create(source.bootstrap_servers)
        operator.await_level(1)
        (mirror,) = asyncio.run(mirrors_of(target))
        copied_bytes = mirror.pop("copiedBytes")
        assert copied_bytes > 0
        assert mirror == {
            "name": "m",
            "state": "running",
            "servers": source.bootstrap_servers,
            "lag": 0,
            "failures": [],
            "partitions": [
                {
                    "topic": "orders",
                    "partition": 0,
                    "leader": 1,
                    "end": 2,
                    "source": 2,
                    "lag": 0,
                    "trouble": None,
                }
            ],
        }

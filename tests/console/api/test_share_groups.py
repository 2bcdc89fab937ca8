"""Share groups in the console, over HTTP, with a broker behind it."""

import asyncio
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from penstock.client.aio import ClientSettings
from penstock.console.app import ConsoleSettings, routes
from tests.groups.services.share.members import SETTINGS, ShareConsumer
from tests.server.live import batch, running_broker


def test_a_share_group_is_listed_shown_reset_and_deleted(tmp_path: Path) -> None:
    async def visit() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client = await live.connect()
            topic = await client.create_topic(name="orders", partitions=2)
            await client.produce(topic, batch(b"a", b"b", b"c"), partition=1)
            reader = await ShareConsumer(client, "workers", "m1", topic).find()
            await reader.alter(topic.name, {0: 0, 1: 1})
            await reader.join()
            app = web.Application()
            bootstrap = {"bootstrap.servers": f"{live.host}:{live.port}"}
            routes(
                app, ConsoleSettings(connection=ClientSettings.from_properties(bootstrap), needs_login=False)
            )
            async with TestClient(TestServer(app)) as browser:
                await check_pages(browser, reader)
            await client.close()

    asyncio.run(visit())


async def check_pages(browser: "TestClient[web.Request, web.Application]", reader: ShareConsumer) -> None:
    (row,) = (await (await browser.get("/console/api/groups")).json())["groups"]
    assert row == {"id": "workers", "state": "Stable", "type": "share", "protocol": "share", "coordinator": 1}

    shown = await (await browser.get("/console/api/groups/workers")).json()
    assert (shown["type"], shown["state"], shown["protocol"]) == ("share", "Stable", "simple")
    assert shown["members"] == [
        {
            "memberId": "m1",
            "clientId": "test",
            "host": "/127.0.0.1",
            "instanceId": None,
            "assignment": [{"topic": "orders", "partitions": [0, 1]}],
        }
    ]
    assert [(each["partition"], each["committed"], each["lag"]) for each in shown["offsets"]] == [
        (0, 0, 0),
        (1, 1, 2),
    ]
    assert (shown["lag"], shown["knownLag"], shown["unknownPartitions"]) == (2, 2, 0)

    wanted = {"topic": "orders", "partitions": [1], "to": "latest", "dryRun": False}
    assert (await browser.post("/console/api/groups/workers/reset", json=wanted)).status == 409
    await reader.leave()
    moved = await (await browser.post("/console/api/groups/workers/reset", json=wanted)).json()
    assert moved["moves"] == [{"topic": "orders", "partition": 1, "old": 1, "new": 3}]
    assert (await reader.starts(reader.topics[0]))[1] == (3, 0)

    assert (await browser.delete("/console/api/groups/workers", json={})).status == 200
    assert (await browser.get("/console/api/groups/workers")).status == 404


def test_the_lag_of_partitions_that_a_share_group_has_not_started_is_unknown(tmp_path: Path) -> None:
    async def visit() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client = await live.connect()
            topic = await client.create_topic(name="orders", partitions=2)
            await client.produce(topic, batch(b"a", b"b", b"c"), partition=1)
            reader = await ShareConsumer(client, "workers", "m1", topic).find()
            await reader.alter(topic.name, {1: 1})
            app = web.Application()
            bootstrap = {"bootstrap.servers": f"{live.host}:{live.port}"}
            routes(
                app, ConsoleSettings(connection=ClientSettings.from_properties(bootstrap), needs_login=False)
            )
            async with TestClient(TestServer(app)) as browser:
                shown = await (await browser.get("/console/api/groups/workers")).json()
            assert (shown["lag"], shown["knownLag"], shown["unknownPartitions"]) == (None, 2, 1)
            assert [(each["partition"], each["lag"]) for each in shown["offsets"]] == [(0, None), (1, 2)]
            await client.close()

    asyncio.run(visit())

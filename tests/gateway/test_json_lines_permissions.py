"""The JSON-lines dialect obeys ACLs, as the user of the connection: User:ANONYMOUS without a login."""

import asyncio
import contextlib
import json
from pathlib import Path

import uvloop

from penstock.config.broker import BrokerConfig
from penstock.gateway.dialects import dialects
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.broker import Broker
from penstock.server.ports import real_ports
from tests.security.acl_support import acl
from tests.server.guarded import SETTINGS, Guarded
from tests.server.live import Live

ME = "ANONYMOUS"
TOPIC = {"topic": "orders"}


class LineClient:
    """A client like `nc`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, **request: object) -> str:
        self._writer.write(json.dumps(request).encode() + b"\n")
        line = (await self._reader.readline()).decode().rstrip("\n")
        return str(json.loads(line).get("error", line)) if line.startswith("{") else line

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


async def walk(directory: Path) -> list[str]:
    """Ask, be allowed a little more, and ask again; gives the answers in short."""
    config = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), "node.id": "1", **SETTINGS}
    broker = Broker(BrokerConfig(config), real_ports(), dialects=dialects)
    await broker.start()
    guarded = Guarded(Live(broker))
    person = LineClient(*await asyncio.open_connection(guarded.live.host, guarded.live.port))
    answers = []

    async def ask_for_everything() -> None:
        answers.append(await person.ask(type="produce", message="m", **TOPIC))
        answers.append(await person.ask(type="fetch", offset=0, max_messages=1, **TOPIC))
        answers.append(await person.ask(type="fetch", group="g", max_messages=1, **TOPIC))
        answers.append(await person.ask(type="commit", group="g", offset=0, **TOPIC))

    try:
        await ask_for_everything()
        await guarded.allow(acl(ME, Operation.WRITE))
        answers.append(await person.ask(type="produce", message="m", **TOPIC))
        await guarded.allow(acl(ME, Operation.CREATE))
        await ask_for_everything()
        await guarded.allow(acl(ME, Operation.READ))
        await ask_for_everything()
        await guarded.allow(acl(ME, Operation.READ, "g", resource_type=ResourceType.GROUP))
        await ask_for_everything()
    finally:
        await person.close()
        await broker.stop()
    return answers


def test_each_request_needs_the_same_permissions_as_in_kafka(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answers = runner.run(walk(tmp_path))
    topic, group = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"
    assert answers == [
        *(topic, topic, topic, group),
        topic,  # it may be written to, but not made
        *("ack offset 0", topic, topic, group),
        *("ack offset 1", "offset 0: m", group, group),
        *("ack offset 2", "offset 0: m", "offset 0: m", "committed offset 0"),
    ]

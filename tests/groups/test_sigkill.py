"""Offsets under SIGKILL: after every crash there are all acknowledged offsets, and none that was never sent."""

import asyncio
import contextlib
import random
from pathlib import Path

from penstock.client.connection import Connection, Disconnected
from tests.groups.group_client import GroupClient
from tests.server.live import Client, TopicHandle
from tests.support.broker import BrokerProcess

GROUPS = 12
KILLS = 4


class Committing:
    """One group whose offset only grows, with the offsets that its client sent and got acknowledged."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.sent = 0
        self.acknowledged = 0

    async def run(self, port: int, topic: TopicHandle) -> None:
        """Commit as fast as answers come, until the broker is gone."""
        client = GroupClient(await _connect(port), self.group)
        with contextlib.suppress(Disconnected, ConnectionError):
            await client.find()
            while True:
                self.sent += 1
                codes = await client.commit(topic, {0: self.sent})
                if codes == {0: "NONE"}:
                    self.acknowledged = self.sent


def test_acknowledged_offsets_survive_and_no_others_appear(tmp_path: Path) -> None:
    chance = random.Random(7)
    broker = BrokerProcess(tmp_path, settings={"offsets.topic.num.partitions": "5"}).start()
    groups = [Committing(f"group-{number}") for number in range(GROUPS)]
    try:
        topic = asyncio.run(_make_topic(broker.port))
        for _ in range(KILLS):
            asyncio.run(_commit_until_killed(broker, groups, topic, chance.uniform(0.2, 0.6)))
            broker.start()
            found = asyncio.run(_offsets(broker.port, groups, topic))
            for each in groups:
                assert each.acknowledged <= found[each.group] <= each.sent, each.group
                each.sent = found[each.group]
        assert all(each.acknowledged for each in groups)
    finally:
        broker.stop()


async def _commit_until_killed(
    broker: BrokerProcess, groups: list[Committing], topic: TopicHandle, after_s: float
) -> None:
    tasks = [asyncio.ensure_future(each.run(broker.port, topic)) for each in groups]
    loop = asyncio.get_running_loop()
    loop.call_later(after_s, broker.kill)
    await asyncio.wait_for(asyncio.gather(*tasks), 60)


async def _offsets(port: int, groups: list[Committing], topic: TopicHandle) -> dict[str, int]:
    client = await _connect(port)
    found = {}
    for each in groups:
        asked = GroupClient(client, each.group)
        await asked.find()
        found[each.group] = max((await asked.committed(topic, 0))[0][0], 0)
    await client.close()
    return found


async def _make_topic(port: int) -> TopicHandle:
    client = await _connect(port)
    topic = await client.create_topic()
    await client.close()
    return topic


async def _connect(port: int) -> Client:
    return Client(await Connection.open("127.0.0.1", port, client_id="test"))

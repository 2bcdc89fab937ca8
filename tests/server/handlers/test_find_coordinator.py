"""FindCoordinator: the broker that it names serves what the client asks for next."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.client.connection import Connection
from penstock.cluster.coordination.placement import partition_for
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.embedded.cluster import Cluster
from penstock.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from penstock.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.groups.group_client import SETTINGS
from tests.server.live import Client, Live, code, one, running_broker, until

PARTITIONS = 5


async def find(client: Client, group: str) -> Coordinator:
    answer = await client.send(FindCoordinatorRequest(coordinator_keys=[group]))
    found: Coordinator = one(answer.coordinators)
    return found


async def offsets_of(client: Client, group: str) -> str:
    """The error code of an offset fetch from the coordinator."""
    answer = await client.send(
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    )
    return code(one(answer.groups).error_code)


class SlowReplicas:
    """Replicas of a broker that take a change of the metadata up when they are let."""

    def __init__(self, live: Live) -> None:
        self.may_go_on = asyncio.Event()
        self._apply = live.services.replicas.apply
        live.services.replicas.apply = self._apply_later  # type: ignore[method-assign]

    async def _apply_later(self, delta: MetadataDelta, config: Any) -> None:
        await self.may_go_on.wait()
        await self._apply(delta, config)


async def test_a_request_waits_while_the_offsets_topic_is_being_created(tmp_path: Path) -> None:
    async with running_broker(tmp_path, SETTINGS) as live:
        replicas = SlowReplicas(live)
        first, second, third = [await live.connect() for _ in range(3)]
        making = asyncio.ensure_future(find(first, "a"))
        await until(lambda: CONSUMER_OFFSETS in live.services.controller.image.topics)

        assert await offsets_of(third, "b") == "COORDINATOR_LOAD_IN_PROGRESS"
        asking = asyncio.ensure_future(find(second, "b"))
        await until(lambda: asking.done() or bool(live.services.groups.shards._on_followed._waiters))
        assert not asking.done()

        replicas.may_go_on.set()
        assert code((await asking).error_code) == "NONE"
        assert await offsets_of(second, "b") == "NONE"
        assert code((await making).error_code) == "NONE"
        for each in (first, second, third):
            await each.close()


async def test_a_coordinator_that_loads_too_slowly_is_not_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cluster.coordination.partitions._READY_S_MAX", 0.01, raising=False)
    async with running_broker(tmp_path, SETTINGS) as live:
        replicas = SlowReplicas(live)
        first, second = await live.connect(), await live.connect()
        making = asyncio.ensure_future(find(first, "a"))
        await until(lambda: CONSUMER_OFFSETS in live.services.controller.image.topics)
        assert code((await find(second, "b")).error_code) == "COORDINATOR_NOT_AVAILABLE"
        replicas.may_go_on.set()
        assert code((await making).error_code) == "NONE"
        await first.close()
        await second.close()


async def ask_of_a_slow_leader(cluster: Cluster) -> None:
    controller = cluster.controller
    slow = next(number for number in cluster.nodes if number != controller)
    broker = cluster.nodes[slow]._broker
    assert broker is not None
    may_go_on = threading.Event()
    apply = broker.services.replicas.apply

    async def apply_later(delta: MetadataDelta, config: Any) -> None:
        await asyncio.to_thread(may_go_on.wait)
        await apply(delta, config)

    broker.services.replicas.apply = apply_later  # type: ignore[method-assign]
    client, there = [
        Client(await Connection.open(cluster.nodes[each].host, cluster.nodes[each].port))
        for each in (controller, slow)
    ]
    try:
        making = asyncio.ensure_future(find(client, "any"))
        await until(lambda: cluster.nodes[controller].partition(CONSUMER_OFFSETS, PARTITIONS - 1) is not None)
        key = next(each for each in map(str, range(1000)) if led_by(cluster, each) == slow)
        asking = asyncio.ensure_future(find(client, key))
        await until(lambda: asking.done() or bool(broker.services.groups.shards._on_followed._waiters))
        if not asking.done():
            may_go_on.set()
        assert (code((await asking).error_code), (await asking).node_id) == ("NONE", slow)
        assert await offsets_of(there, key) == "NONE"
        assert code((await making).error_code) == "NONE"
    finally:
        may_go_on.set()
        await client.close()
        await there.close()


def led_by(cluster: Cluster, key: str) -> int:
    home = cluster.nodes[cluster.controller].partition(CONSUMER_OFFSETS, partition_for(key, PARTITIONS))
    assert home is not None
    return home.leader


def test_another_broker_is_named_when_it_has_loaded_its_partition() -> None:
    with Cluster(3, config={"offsets.topic.num.partitions": PARTITIONS}) as cluster:
        asyncio.run(ask_of_a_slow_leader(cluster))

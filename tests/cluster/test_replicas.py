"""What becomes of the partitions that a broker holds when the metadata changes."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotLeader
from penstock.protocol.errors import ErrorCode
from tests.server.live import Live, batch, running_broker


def test_who_waits_for_a_partition_that_moves_away_is_told_to_look_elsewhere(tmp_path: Path) -> None:
    """As Kafka says it: a topic that is unknown would be final to some clients."""

    async def story() -> None:
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            name = (await client.create_topic()).name
            await client.close()
            replicas = live.services.replicas
            replica = replicas.leader_of(name, 0)
            assert isinstance(replica, Replica)
            epoch = replica.leader_epoch
            now_ms = live.services.clock.now_ms()
            waiting = replica.append(bytearray(batch(b"v")), now_ms, leader_epoch=epoch)
            await _move_away(live, name)
            with pytest.raises(NotLeader, match="has moved to other brokers"):
                await waiting
            assert replicas.leader_of(name, 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER

    asyncio.run(story())


async def _move_away(live: Live, name: str) -> None:
    """What the metadata would say if another broker held the partition."""
    image = live.services.controller.image
    topic = image.topics[name]
    before = topic.partitions[0]
    after = msgspec.structs.replace(before, replicas=(2,), isr=(2,), leader=2, leader_epoch=1)
    topic.partitions[0] = after
    delta = MetadataDelta(image.offset)
    delta.partition_changed(topic, 0, before, after)
    await live.services.replicas.apply(delta, live.services.controller.config)

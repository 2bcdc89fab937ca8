"""Share groups over a share coordinator that the test plays."""

import asyncio
import random
from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.controller import Controller
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.peers import Peers
from penstock.groups.services.base import Shard
from penstock.groups.services.end_offsets import EndOffsetSource
from penstock.groups.services.share import ShareGroups
from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.state.persister import ClusterPersister
from penstock.share.state.values import PersisterError, SharePartitionKey
from tests.share.state.test_shard import KEY, TOPIC, Scene

ME = 1


class Coordinated:
    """A share coordinator, which this broker cannot reach at first, and the next group coordinator can."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.is_reached = False

    async def ensure_topic(self) -> None: ...

    def leader_of(self, _key: SharePartitionKey) -> int:
        return ME

    async def delete(self, key: SharePartitionKey) -> None:
        if not self.is_reached:
            raise PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.scene.make(self.scene.shard.delete(key, self.scene.ctx))


async def run_pending_tasks() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_deletion_begun_by_a_former_coordinator_keeps_the_state_of_the_next_one() -> None:
    async def story() -> None:
        coordinated, clock = Coordinated(), ManualClock()
        local = cast("ShareStateCoordinator", coordinated)
        persister = ClusterPersister(ME, local, cast("Peers", None), clock, random.Random(0))
        shares = ShareGroups(cast("Controller", None), clock, persister, cast("EndOffsetSource", None))
        shard = cast("Shard", SimpleNamespace(leads=True, state=SimpleNamespace(shares={})))
        coordinated.scene.initialize(epoch=3, start=0)
        partitions = {TOPIC: frozenset([KEY.partition])}
        deletion = asyncio.ensure_future(shares.delete_state(shard, ShareGroup(KEY.group_id), partitions))
        await run_pending_tasks()

        shares.end(shard)
        with pytest.raises(CoordinatorError):
            await deletion
        coordinated.is_reached = True
        coordinated.scene.initialize(epoch=5, start=7)
        clock.advance(60_000)
        await run_pending_tasks()

        assert coordinated.scene.shard.summary(KEY).start_offset == 7
        await persister.stop()

    asyncio.run(story())

"""What new settings of its topic make of a partition that is led here."""

import asyncio
from random import Random
from typing import Any

import pytest

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.cluster.replica_deps import ReplicaDeps
from penstock.cluster.replica_errors import NotEnoughReplicasAfterAppend
from penstock.observability.clock import ManualClock
from penstock.observability.offload import InlineOffload
from penstock.storage.file_cache import FileCache
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.recovery import create_log
from penstock.testing.disk import FaultyDisk
from tests.storage.logs import NOW_MS, batch_of, config_of

EPOCH = 0
ALONE = Partition(replicas=(1, 2), isr=(1,), leader=1, leader_epoch=EPOCH, partition_epoch=0)


def led(state: Partition, **settings: Any) -> Replica:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/t-0")
    cache, config = FileCache(disk), config_of(**settings)

    def open_log() -> Log:
        return Log("t", 0, "/t-0", config, loaded=create_log(cache, "/t-0", config))

    clock = ManualClock()
    replica = Replica("t", bytes(16), 0, open_log, ReplicaDeps(1, clock, Flusher(InlineOffload(), clock)))
    replica.follow(state)
    return replica


def test_what_was_waiting_for_more_replicas_is_committed_when_fewer_are_asked_for() -> None:
    async def story() -> None:
        replica = led(ALONE, min_insync_replicas=2, flush_messages=1000)
        replica.append(batch_of("a"), NOW_MS, leader_epoch=EPOCH, acks=1)
        assert replica.high_watermark == 0
        replica.configure(config_of(min_insync_replicas=1, flush_messages=1000))
        assert replica.high_watermark == 1

    asyncio.run(story())


def test_a_waiting_producer_is_refused_when_more_replicas_are_asked_for_than_are_in_sync() -> None:
    async def story() -> None:
        replica = led(ALONE, min_insync_replicas=1)
        waiting = replica.append(batch_of("a"), NOW_MS, leader_epoch=EPOCH)
        replica.configure(config_of(min_insync_replicas=2))
        with pytest.raises(NotEnoughReplicasAfterAppend):
            await waiting

    asyncio.run(story())


def test_what_was_acknowledged_without_a_sync_is_synced_when_syncs_are_asked_for() -> None:
    async def story() -> None:
        replica = led(ALONE, flush_messages=1000)
        replica.append(batch_of("a"), NOW_MS, leader_epoch=EPOCH)
        assert (replica.high_watermark, replica.log.durable_offset) == (1, 0)
        replica.configure(config_of(flush_messages=1))
        await replica.synced()
        assert replica.log.durable_offset == 1

    asyncio.run(story())

"""The replicas of a broker: changes of the metadata, and recovery after a kill."""

import asyncio
from pathlib import Path
from random import Random

import msgspec
import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotLeader
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.flusher import Flusher
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk
from tests.cluster.support import image_of, with_topic
from tests.server.live import Live, batch, running_broker
from tests.storage.logs import append, config_of
from tests.storage.stores import open_store


def test_waiters_of_a_partition_that_moves_away_get_not_leader(tmp_path: Path) -> None:
    """As in Kafka: some clients take an unknown topic for a final error."""

    async def scenario() -> None:
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

    asyncio.run(scenario())


async def _move_away(live: Live, name: str) -> None:
    """The metadata after the partition has moved to another broker."""
    image = live.services.controller.image
    topic = image.topics[name]
    before = topic.partitions[0]
    after = msgspec.structs.replace(before, replicas=(2,), isr=(2,), leader=2, leader_epoch=1)
    topic.partitions[0] = after
    delta = MetadataDelta(image.offset)
    delta.partition_changed(topic, 0, before, after)
    await live.services.replicas.apply(delta, live.services.controller.config)


# -- recovery after a kill ------------------------------------------------------------------------------


PARTITION = PartitionName("orders", 0)
SAVED = 3
STORED = 4


class Killed:
    """A broker's partition with records that were committed and never checkpointed, whose process was killed."""

    def __init__(self, *, isr: tuple[int, ...], leader: int, brokers: int = 2) -> None:
        self.image = image_of(brokers=brokers)
        self.topic_id = with_topic(self.image, PARTITION.topic, factor=brokers)
        partitions = self.image.topics[PARTITION.topic].partitions
        partitions[0] = msgspec.structs.replace(
            partitions[0], replicas=tuple(range(1, brokers + 1)), isr=isr, leader=leader
        )
        self.disk = FaultyDisk(Random(1))

    async def write(self) -> None:
        store = open_store(self.disk)
        log = store.open_or_create(PARTITION.topic, self.topic_id, 0, config_of())
        for number in range(STORED):
            append(log, str(number))
        await Flusher(InlineOffload(), ManualClock()).sync(log)
        await store.save_high_watermarks({PARTITION: SAVED})
        self.disk = self.disk.kill()


def replicas_of(image: MetadataImage, store: LogStore, flusher: Flusher) -> Replicas:
    config = BrokerConfig({"min.insync.replicas": "2"})
    replicas = Replicas(1, image, store, flusher, config, clock=ManualClock())
    replicas.load(config)
    return replicas


def replica_in(replicas: Replicas) -> Replica:
    replica = replicas.get(PARTITION.topic, PARTITION.partition)
    assert replica is not None
    return replica


@pytest.mark.parametrize(("isr", "leader"), [((1, 2), 1), ((1,), 1), ((1, 2), 2)])
def test_the_saved_high_watermark_is_restored(isr: tuple[int, ...], leader: int) -> None:
    """Otherwise records that had been readable could not be read until enough followers are back."""

    async def scenario() -> None:
        killed = Killed(isr=isr, leader=leader)
        await killed.write()
        replicas = replicas_of(killed.image, open_store(killed.disk), Flusher(InlineOffload(), ManualClock()))
        await replicas.recover()
        replica = replica_in(replicas)
        assert (replica.high_watermark, replica.log.durable_offset) == (SAVED, STORED)

    asyncio.run(scenario())


def test_records_that_could_not_be_synced_do_not_count_as_committed() -> None:
    async def scenario() -> None:
        killed = Killed(isr=(1, 2), leader=2)
        await killed.write()
        store = open_store(killed.disk)
        killed.disk.fail("sync")
        replicas = replicas_of(killed.image, store, Flusher(InlineOffload(), ManualClock()))
        await replicas.recover()
        replica = replica_in(replicas)
        assert replica.log.failure is not None
        assert replica.high_watermark == 0

    asyncio.run(scenario())


def test_a_cancelled_start_leaves_the_syncs_to_the_flusher() -> None:
    """Others may wait for the same futures, and draining would busy-wait if they were cancelled."""

    async def scenario() -> None:
        killed = Killed(isr=(1,), leader=1, brokers=1)
        await killed.write()
        store = open_store(killed.disk)
        flusher = Flusher(InlineOffload(), ManualClock(), in_flight_max=0)  # none of them begins
        replicas = replicas_of(killed.image, store, flusher)
        starting = asyncio.ensure_future(replicas.recover())
        await asyncio.sleep(0)
        log = replica_in(replicas).log
        waiter = flusher.sync(log)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        assert not waiter.done()

    asyncio.run(scenario())

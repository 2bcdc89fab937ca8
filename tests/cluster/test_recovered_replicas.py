"""What a broker knows of its partitions when it has recovered them after a kill."""

import asyncio
from random import Random

import msgspec
import pytest

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.config.broker import BrokerConfig
from penstock.observability.clock import ManualClock
from penstock.observability.offload import InlineOffload
from penstock.storage.checkpoints import PartitionName
from penstock.storage.cleaner_passes import CleanerPasses
from penstock.storage.flusher import Flusher
from penstock.storage.log_store import LogStore
from penstock.testing.disk import FaultyDisk
from tests.cluster.support import image_of, with_topic
from tests.storage.logs import append, config_of
from tests.storage.test_log_store import open_store

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
    replicas = Replicas(1, image, store, flusher, config, clock=ManualClock(), passes=CleanerPasses())
    replicas.load(config)
    return replicas


def replica_in(replicas: Replicas) -> Replica:
    replica = replicas.get(PARTITION.topic, PARTITION.partition)
    assert replica is not None
    return replica


@pytest.mark.parametrize(("isr", "leader"), [((1, 2), 1), ((1,), 1), ((1, 2), 2)])
def test_what_was_committed_is_so_again(isr: tuple[int, ...], leader: int) -> None:
    """Else it could not be read until enough followers are back, though it had been shown."""

    async def story() -> None:
        killed = Killed(isr=isr, leader=leader)
        await killed.write()
        replicas = replicas_of(killed.image, open_store(killed.disk), Flusher(InlineOffload(), ManualClock()))
        await replicas.recover()
        replica = replica_in(replicas)
        assert (replica.high_watermark, replica.log.durable_offset) == (SAVED, STORED)

    asyncio.run(story())


def test_nothing_counts_as_committed_that_could_not_be_synced() -> None:
    async def story() -> None:
        killed = Killed(isr=(1, 2), leader=2)
        await killed.write()
        store = open_store(killed.disk)
        killed.disk.fail("sync")
        replicas = replicas_of(killed.image, store, Flusher(InlineOffload(), ManualClock()))
        await replicas.recover()
        replica = replica_in(replicas)
        assert replica.log.failure is not None
        assert replica.high_watermark == 0

    asyncio.run(story())


def test_a_start_that_is_given_up_leaves_the_syncs_to_the_flusher() -> None:
    """Others may wait for the same futures, and whoever drains it would be busy waiting if they were cancelled."""

    async def story() -> None:
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

    asyncio.run(story())

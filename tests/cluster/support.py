"""A metadata log in memory, and images with brokers and topics in them."""

import asyncio
import random
from collections.abc import Iterable, Sequence

from penstock.cluster.controller import Controller
from penstock.cluster.controller.brokers import BrokerRegistration, decide_register_broker
from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.metadata import replay
from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.log import MetadataLog
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord
from penstock.protocol.records.batch import parse_header, set_base_offset_and_epoch
from penstock.runtime.clock import ManualClock

CONFIG = BrokerConfig()


def registration(broker_id: int, rack: str | None = None) -> BrokerRegistration:
    endpoint = Endpoint(name="PLAINTEXT", host=f"b{broker_id}", port=9092, security_protocol="PLAINTEXT")
    return BrokerRegistration(
        broker_id=broker_id,
        incarnation_id=bytes([broker_id] * 16),
        endpoints=[endpoint],
        rack=rack,
        log_dirs=[disk_of(broker_id)],
    )


def disk_of(broker_id: int) -> bytes:
    """The id of a broker's directory."""
    return bytes([0x80 + broker_id] * 16)


def image_of(
    *, brokers: int = 1, fenced: Sequence[int] = (), racks: Sequence[str | None] = ()
) -> MetadataImage:
    """An image with brokers 1 to `brokers`."""
    image = MetadataImage("cluster")
    for broker_id in range(1, brokers + 1):
        rack = racks[broker_id - 1] if racks else None
        decision = decide_register_broker(
            image, CONFIG, registration(broker_id, rack), epoch=image.offset + 1, fenced=broker_id in fenced
        )
        commit(image, decision.records)
    return image


def commit(image: MetadataImage, records: Iterable[MetadataRecord]) -> None:
    records = list(records)
    replay.apply(image, records, image.offset + len(records))


def with_topic(image: MetadataImage, name: str, *, partitions: int = 1, factor: int = 1) -> bytes:
    """Add a topic to the image and return its id."""
    wanted = NewTopic(name=name, num_partitions=partitions, replication_factor=factor)
    records, (result,) = decide_create_topics(image, CONFIG, [wanted], random.Random(name))
    assert result.error is ErrorCode.NONE, result.message
    commit(image, records)
    return result.topic_id


class MemorySink:
    """A quorum of one in memory; `gate` makes appends wait until the test completes or fails them."""

    def __init__(self) -> None:
        self.stored: list[bytes] = []
        self.next_offset = 0
        self.gate: asyncio.Future[None] | None = None
        self.appending = asyncio.Event()
        self.leader_id: int | None = CONFIG.node_id
        self.voter_ids: tuple[int, ...] = (CONFIG.node_id,)
        self.is_active = True
        self.applied: AppliedMetadata
        """What gets the records that are committed."""

    async def append(self, batch: bytes) -> int:
        patched = bytearray(batch)
        set_base_offset_and_epoch(patched, 0, self.next_offset, 0)
        self.appending.set()
        if self.gate is not None:
            await self.gate
        self.stored.append(bytes(patched))
        self.next_offset = parse_header(patched).next_offset
        await self.applied.apply_batches(bytes(patched))
        return self.next_offset - 1

    async def replay(self, applied: AppliedMetadata) -> None:
        for batch in self.stored:
            await applied.apply_batches(batch)


def metadata_log(sink: MemorySink, cluster_id: str = "cluster") -> MetadataLog:
    sink.applied = AppliedMetadata(MetadataImage(cluster_id))
    return MetadataLog(sink.applied, sink, ManualClock())


async def no_broker_refuses(_broker_id: int) -> bool:
    """No broker's listener refuses connections."""
    return False


async def start(controller: Controller, broker: BrokerRegistration) -> int:
    """Start as a quorum of one; returns the broker's epoch."""
    await controller.bootstrap()
    return await controller.register_broker(broker, fenced=False)

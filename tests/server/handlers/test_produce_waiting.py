"""Produce while it waits: for a thread that checks a batch of another partition, for the transaction's coordinator."""

import asyncio
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import ProduceResponse
from penstock.protocol.records.batch import set_base_offset_and_epoch
from penstock.storage.log.append import EVENT_LOOP_BYTES_MAX
from penstock.transactions.admission import Verifier
from penstock.transactions.state import Producer, TopicPartition
from tests.server.live import Live, TopicHandle, batch, produce_request, running_broker, until
from tests.storage.logs import all_values
from tests.transactions.live_producer import LiveProducer
from tests.transactions.live_transactions import at_rest


def replica_of(live: Live, topic: TopicHandle, number: int) -> Replica:
    found = live.services.replicas.leader_of(topic.name, number)
    assert isinstance(found, Replica)
    return found


def elect(replica: Replica, **changes: Any) -> None:
    """As the metadata log would have it, in a new leader epoch."""
    assert replica.state is not None
    epoch = replica.leader_epoch + 1
    replica.follow(msgspec.structs.replace(replica.state, leader_epoch=epoch, **changes))


def codes_of(response: ProduceResponse) -> list[str]:
    return [ErrorCode(each.error_code).name for each in response.responses[0].partition_responses]


async def test_a_record_that_another_leader_truncated_is_not_acknowledged(tmp_path: Path) -> None:
    """It has two partitions: one is appended to at once, and its answer waits for the check of the other's batch."""
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        small = replica_of(live, topic, 0)
        assert small.state is not None
        elect(small, replicas=(1, 2), isr=(1, 2))  # two in sync: nothing is committed without the other
        may_go_on = threading.Event()
        holding = live.services.checks.start(may_go_on.wait)
        records = {0: batch(b"mine"), 1: batch(bytes(EVENT_LOOP_BYTES_MAX), codec=Codec.LZ4)}
        produced = client.send(produce_request(topic, records))
        await until(lambda: small.log.log_end_offset == 1)

        elect(small, leader=2)  # which never got the record
        followed = FollowedPartition(small, live.services.replicas._store)
        await followed.start_over(0)
        theirs = bytearray(batch(b"theirs"))
        set_base_offset_and_epoch(theirs, 0, 0, followed.leader_epoch)
        followed.append(bytes(theirs), live.services.clock.now_ms())
        await until(lambda: small.log.committed_offset == 1)
        followed.follow_offsets(1, 0)
        may_go_on.set()
        assert codes_of(await produced) == ["NOT_LEADER_OR_FOLLOWER", "NONE"]
        assert all_values(small.log) == ["theirs"]
        await holding
        await client.close()


class SlowVerifier:
    """The coordinator, which answers when the test lets it."""

    def __init__(self, real: Verifier) -> None:
        self._real = real
        self.asked: list[list[TopicPartition]] = []
        self.may_answer = asyncio.Event()

    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        self.asked.append(list(partitions))
        await self.may_answer.wait()
        return await self._real.verify(transactional_id, producer, partitions)

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode:
        self.asked.append(list(partitions))
        await self.may_answer.wait()
        return await self._real.add_partitions(transactional_id, producer, partitions)


async def test_a_partition_that_is_led_only_after_the_verification_of_others_stores_nothing(
    tmp_path: Path,
) -> None:
    """It is not part of the transaction: its records would never be visible, and would block the last stable offset."""
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=2)
        producer = LiveProducer(client, "app", is_v2=True)
        assert await producer.init() is ErrorCode.NONE
        late = replica_of(live, topic, 1)
        elect(late, leader=2)
        verifier = SlowVerifier(live.services.admissions.verifier)
        live.services.admissions.verifier = verifier
        records = {
            number: batch(
                b"v",
                producer_id=producer.producer_id,
                epoch=producer.epoch,
                sequence=0,
                is_transactional=True,
            )
            for number in (0, 1)
        }
        produced = client.send(produce_request(topic, records, transactional_id="app"))
        await until(lambda: bool(verifier.asked))
        elect(late, leader=1)
        verifier.may_answer.set()
        assert codes_of(await produced) == ["NONE", "NOT_LEADER_OR_FOLLOWER"]
        assert await producer.end(commit=True) is ErrorCode.NONE
        await at_rest(live, producer)
        await until(lambda: replica_of(live, topic, 0).last_stable_offset == 2)
        assert (late.log.log_end_offset, late.last_stable_offset) == (0, 0)
        await client.close()

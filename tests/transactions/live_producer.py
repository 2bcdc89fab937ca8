"""A transactional producer in the test's own hands, in either version of the protocol, over a real connection."""

from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from penstock.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from penstock.protocol.messages.end_txn import EndTxnRequest
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest
from penstock.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from penstock.runtime.clock import Clock, SystemClock
from tests.server.live import Client, TopicHandle, batch, one

READ_COMMITTED = 1


class LiveProducer:
    """`is_v2`: raises its epoch at every end and lets Produce add partitions (KIP-890)."""

    def __init__(
        self, client: Client, transactional_id: str, *, is_v2: bool = True, clock: Clock | None = None
    ) -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.is_v2 = is_v2
        # Records have the broker's time: a marker that is much younger than those before it begins a new segment.
        self.clock = clock or SystemClock()
        self.producer_id = -1
        self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    async def init(self, *, timeout_ms: int = 60_000, version: int = 5, **more: Any) -> ErrorCode:
        await self.client.send(FindCoordinatorRequest(key_type=1, coordinator_keys=[self.transactional_id]))
        answer = await self.client.send(
            InitProducerIdRequest(
                transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms, **more
            ),
            version,
        )
        if not answer.error_code:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences = {}
        self.producer_id, self.epoch = producer_id, epoch

    async def add(self, topic: TopicHandle, *partitions: int, version: int = 3) -> ErrorCode:
        answer = await self.client.send(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.producer_id,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic.name, partitions=list(partitions))],
            ),
            version,
        )
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    async def produce(
        self, topic: TopicHandle, *values: bytes, partition: int = 0, version: int | None = None
    ) -> ErrorCode:
        version = version or (13 if self.is_v2 else 11)
        sequence = self._sequences.get((topic.name, partition), 0)
        records = batch(
            *values,
            timestamp=self.clock.now_ms(),
            producer_id=self.producer_id,
            epoch=self.epoch,
            sequence=sequence,
            is_transactional=True,
        )
        answer = await self.client.produce(
            topic, records, partition=partition, version=version, transactional_id=self.transactional_id
        )
        if not answer.error_code:
            self._sequences[topic.name, partition] = sequence + len(values)
        return ErrorCode(answer.error_code)

    async def write(self, topic: TopicHandle, *values: bytes, partition: int = 0) -> None:
        """Produce, however this version of the protocol does it; it must work."""
        if not self.is_v2:
            assert await self.add(topic, partition) is ErrorCode.NONE
        assert await self.produce(topic, *values, partition=partition) is ErrorCode.NONE

    async def end(self, *, commit: bool, version: int | None = None) -> ErrorCode:
        answer = await self.client.send(
            EndTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                committed=commit,
            ),
            version if version is not None else (5 if self.is_v2 else 4),
        )
        if not answer.error_code and self.is_v2:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    async def commit_offset(
        self, group_id: str, topic: TopicHandle, offset: int, *, version: int | None = None, **member: Any
    ) -> ErrorCode:
        answer = await self.client.send(
            TxnOffsetCommitRequest(
                transactional_id=self.transactional_id,
                group_id=group_id,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                topics=[
                    TxnOffsetCommitRequestTopic(
                        name=topic.name,
                        partitions=[
                            TxnOffsetCommitRequestPartition(
                                partition_index=0, committed_offset=offset, committed_metadata="note"
                            )
                        ],
                    )
                ],
                **member,
            ),
            version if version is not None else (5 if self.is_v2 else 4),
        )
        return ErrorCode(one(one(answer.topics).partitions).error_code)

    async def add_offsets(self, group_id: str, *, version: int = 4) -> ErrorCode:
        answer = await self.client.send(
            AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                group_id=group_id,
            ),
            version,
        )
        return ErrorCode(answer.error_code)

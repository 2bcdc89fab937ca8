"""Producers. One is idempotent and waits for all in-sync replicas; the other waits for the leader alone.

The idempotent one sends the same batch until it is acknowledged. Whoever leads must know its sequence. One who does not
know yet that another leads may refuse it.
"""

import asyncio
from collections.abc import Sequence
from itertools import accumulate

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import init_producer_id, produce
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Address, Client, NoAnswer

PRODUCE, INIT_PRODUCER_ID = (0, 9), (22, 4)
ALL, LEADER_ONLY = -1, 1


def produce_request(
    partition: PartitionName, records: bytes, acks: int = ALL, transactional_id: str | None = None
) -> produce.ProduceRequest:
    topic, number = partition
    data = produce.PartitionProduceData(index=number, records=records)
    return produce.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=2000,
        topic_data=[produce.TopicProduceData(name=topic, partition_data=[data])],
    )


class Producer:
    def __init__(self, client: Client, partition: PartitionName, *, is_idempotent: bool = True) -> None:
        self._client = client
        self._partition = partition
        self._is_idempotent = is_idempotent
        self._sequence = 0
        self._producer_id = -1
        self._producer_epoch = -1
        self._leader: Address | None = None
        self.is_stopping = self.has_stopped = False
        self.refusal = "nobody answers"
        """Why a batch in flight was not acknowledged the last time."""

    async def run(self, interval_s: float) -> None:
        """Write numbered records until it is to stop and the last is acknowledged."""
        random = self._client.random
        while not self.is_stopping:
            await self.send([b"%d" % (self._sequence + each) for each in range(random.randint(1, 3))])
            await asyncio.sleep(random.expovariate(1 / interval_s))
        self.has_stopped = True

    async def send(self, *batches: Sequence[bytes]) -> None:
        """Write these, all of them in flight at once, however often it takes."""
        while self._is_idempotent and self._producer_id < 0:
            await self._begin()
        sequences = accumulate(map(len, batches), initial=self._sequence)
        sending = [self._insist(self._batch(*each)) for each in zip(batches, sequences, strict=False)]
        for values, offset in zip(batches, await asyncio.gather(*sending), strict=True):
            self._sequence += len(values)
            for number, value in enumerate(values):
                self._client.history.records.acknowledges(self._partition, offset + number, value)

    def _batch(self, values: Sequence[bytes], sequence: int) -> bytes:
        now_ms = self._client.clock.now_ms()  # a producer whose records are old is forgotten
        return build_batch(
            [NewRecord(value=value, timestamp=now_ms) for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence if self._is_idempotent else -1,
        )

    async def _insist(self, records: bytes) -> int:
        while (offset := await self._try(records)) is None:
            await self._client.rest()
        return offset

    async def _begin(self) -> None:
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        try:
            answer = await self._client.ask_anybody(INIT_PRODUCER_ID, request)
        except NoAnswer:
            await self._client.rest()
            return
        if answer.error_code == ErrorCode.NONE:
            self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        else:
            await self._client.rest()

    async def _try(self, records: bytes) -> int | None:
        try:
            if self._leader is None:
                self._leader = await self._client.leader_of(self._partition)
            answer = await self._client.call(self._leader, PRODUCE, produce_request(self._partition, records))
        except NoAnswer as error:
            self.refusal = str(error)
            self._leader = None
            return None
        response = answer.responses[0].partition_responses[0]
        if response.error_code == ErrorCode.NONE:
            offset: int = response.base_offset
            return offset
        self.refusal = f"{self._leader} says {ErrorCode(response.error_code).name}"
        self._leader = None
        return None


class CarelessProducer:
    """Sends each record once, to the leader alone, and never looks back: a leader that is cut off takes it.

    So logs part, and must be brought together again: what consumers have read of them counts.
    """

    def __init__(self, client: Client, partition: PartitionName) -> None:
        self._client = client
        self._partition = partition

    async def run(self, interval_s: float) -> None:
        client = self._client
        leader: Address | None = None
        number = 0
        while True:
            await asyncio.sleep(client.random.expovariate(1 / interval_s))
            number += 1
            records = build_batch([NewRecord(value=b"%d" % number, timestamp=client.clock.now_ms())])
            try:
                # The one it knew, as long as that answers: metadata is not what it trusts.
                leader = leader or await client.leader_of(self._partition)
                answer = await client.call(
                    leader, PRODUCE, produce_request(self._partition, records, LEADER_ONLY)
                )
            except NoAnswer:
                leader = None
                continue
            if answer.responses[0].partition_responses[0].error_code != ErrorCode.NONE:
                leader = None

"""Producers. One is idempotent and waits for all in-sync replicas; the other waits for the leader alone.

The idempotent one has several batches in flight on one connection. When one of them is not acknowledged it sends that
one and all behind it again, in order, until they are. Whoever leads must know its sequence. One who does not know yet
that another leads may refuse it.

Some batches are large: compressed they take a few bytes, but a broker checks what they expand to on a thread.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import init_producer_id, produce
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.log.append import HERE_BYTES_MAX
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Address, Client, NoAnswer

PRODUCE, INIT_PRODUCER_ID = (0, 9), (22, 4)
ALL, LEADER_ONLY = -1, 1
LARGE_CHANCE = 0.05
_PIPELINE_CHANCE = 0.25
_IN_FLIGHT_MAX = 3
_PADDING = bytes(HERE_BYTES_MAX + 1)
_FAST = 1  # a level of zstd


class Batch(msgspec.Struct, frozen=True):
    """Values that are sent together."""

    values: Sequence[bytes]
    is_large: bool = False

    def build(
        self, now_ms: int, *, producer_id: int, epoch: int, sequence: int, is_transactional: bool = False
    ) -> bytes:
        """The padding is a key: nobody keeps those."""
        records = [NewRecord(value=each, timestamp=now_ms) for each in self.values]
        if self.is_large:
            records[0] = msgspec.structs.replace(records[0], key=_PADDING)
        return build_batch(
            records,
            codec=Codec.ZSTD if self.is_large else Codec.NONE,
            level=_FAST if self.is_large else None,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )


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


def produced(answer: produce.ProduceResponse | NoAnswer) -> tuple[ErrorCode | None, int]:
    """What one partition was answered, None if nothing, and the offset of what was stored."""
    if isinstance(answer, NoAnswer):
        return None, -1
    response = answer.responses[0].partition_responses[0]
    return ErrorCode(response.error_code), response.base_offset


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
            await self.send(*self._numbered())
            await asyncio.sleep(random.expovariate(1 / interval_s))
        self.has_stopped = True

    def _numbered(self) -> list[Batch]:
        """One batch of several records, or several of one."""
        random = self._client.random
        is_pipelined = self._sequence > 0 and random.random() < _PIPELINE_CHANCE
        count = random.randint(2, _IN_FLIGHT_MAX) if is_pipelined else random.randint(1, 3)
        values = [b"%d" % each for each in range(self._sequence, self._sequence + count)]
        batches = [[each] for each in values] if is_pipelined else [values]
        return [Batch(each, random.random() < LARGE_CHANCE) for each in batches]

    async def send(self, *batches: Batch) -> None:
        """Write these, all of them in flight at once, however often it takes.

        A producer that no broker knows yet may begin with any sequence, so its first batch must come alone.
        """
        while self._is_idempotent and self._producer_id < 0:
            await self._begin()
        built = []
        sequence = self._sequence
        for each in batches:
            built.append(self._build(each, sequence))
            sequence += len(each.values)
        stored_count = 0
        is_first = True
        while stored_count < len(batches):
            for offset in await self._try(built[stored_count:], is_first=is_first):
                self._acknowledged(batches[stored_count].values, offset)
                stored_count += 1
            is_first = False
            if stored_count < len(batches):
                await self._client.rest()

    def _build(self, batch: Batch, sequence: int) -> bytes:
        return batch.build(
            self._client.clock.now_ms(),  # a producer whose records are old is forgotten
            producer_id=self._producer_id,
            epoch=self._producer_epoch,
            sequence=sequence if self._is_idempotent else -1,
        )

    def _acknowledged(self, values: Sequence[bytes], offset: int) -> None:
        self._sequence += len(values)
        for number, value in enumerate(values):
            self._client.history.records.acknowledges(self._partition, offset + number, value)

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

    async def _try(self, batches: Sequence[bytes], *, is_first: bool) -> list[int]:
        """Send all of them; gives where those were stored that come before the first that was not acknowledged."""
        try:
            if self._leader is None:
                self._leader = await self._client.leader_of(self._partition)
        except NoAnswer as error:
            self.refusal = str(error)
            return []
        copies = self._copies()
        requests = [produce_request(self._partition, each) for each in batches for _ in range(copies)]
        answers = [produced(each) for each in await self._client.call_all(self._leader, PRODUCE, requests)]
        if self._is_idempotent and is_first:
            self._client.history.records.are_answered(self._partition, [code for code, _ in answers])
        offsets = []
        for number in range(len(batches)):
            of_one = answers[number * copies : (number + 1) * copies]
            stored = [offset for code, offset in of_one if code is ErrorCode.NONE]
            if not stored:
                self.refusal = f"{self._leader} says {of_one[-1][0]}"
                self._leader = None
                break
            offsets.append(stored[-1])
        return offsets

    def _copies(self) -> int:
        """How often each batch is sent."""
        return 1


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

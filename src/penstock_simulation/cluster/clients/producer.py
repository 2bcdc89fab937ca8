"""Producers: idempotent producers that wait for all in-sync replicas, and a producer with acks=1.

The idempotent producer has several batches in flight on one connection. It sends a batch that was not acknowledged
again, with all batches after it, in order. Every leader must know its sequence numbers; a replaced leader may reject
it.

Some batches are large: compressed they take a few bytes, but a broker validates their content on a thread.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import produce
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.log.append import EVENT_LOOP_BYTES_MAX
from penstock_simulation.cluster.clients.client import Address, Client, NoAnswer
from penstock_simulation.cluster.values import PartitionName

PRODUCE, INIT_PRODUCER_ID = (0, 9), (22, 4)
_ALL_IN_SYNC, _LEADER_ONLY = -1, 1
_LARGE_CHANCE = 0.05
_PIPELINE_CHANCE = 0.25
_IN_FLIGHT_MAX = 3
_PADDING = bytes(EVENT_LOOP_BYTES_MAX + 1)
_FAST = 1  # a level of zstd
_INTERVAL_S = 0.2
_TWICE_CHANCE = 0.2
_COUNT_PER_KIND = 4


class Batch(msgspec.Struct, frozen=True):
    """Values that are sent together."""

    values: Sequence[bytes]
    is_large: bool = False

    def build(
        self, now_ms: int, *, producer_id: int, epoch: int, sequence: int, is_transactional: bool = False
    ) -> bytes:
        """Build a record batch. The padding of a large one is a key, which no checker keeps."""
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
    partition: PartitionName, records: bytes, acks: int = _ALL_IN_SYNC, transactional_id: str | None = None
) -> produce.ProduceRequest:
    topic, number = partition
    data = produce.PartitionProduceData(index=number, records=records)
    return produce.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=2000,
        topic_data=[produce.TopicProduceData(name=topic, partition_data=[data])],
    )


def produce_result(answer: Any | NoAnswer) -> tuple[ErrorCode | None, int]:
    """Return the error code of the only partition, None without an answer, and the base offset."""
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
        self.last_error = "no answer"
        """Why a batch in flight was not acknowledged the last time."""

    async def run(self, interval_s: float) -> None:
        """Write numbered records until it is to stop and the last one is acknowledged."""
        while not self.is_stopping:
            await self.send(*self._next_batches())
            await asyncio.sleep(self._client.random.expovariate(1 / interval_s))
        self.has_stopped = True

    def _next_batches(self) -> list[Batch]:
        """Number one batch of several records, or several batches of one."""
        random = self._client.random
        is_pipelined = self._sequence > 0 and random.random() < _PIPELINE_CHANCE
        count = random.randint(2, _IN_FLIGHT_MAX) if is_pipelined else random.randint(1, 3)
        values = [b"%d" % each for each in range(self._sequence, self._sequence + count)]
        batches = [[each] for each in values] if is_pipelined else [values]
        return [Batch(each, random.random() < _LARGE_CHANCE) for each in batches]

    async def send(self, *batches: Batch) -> None:
        """Write batches, all in flight at once, with as many tries as it takes.

        The first batch of a producer must be sent alone: a broker that does not know the producer takes any sequence.
        """
        if self._is_idempotent and self._producer_id < 0:
            await self._client.retry(self._init_producer_id)
        built = []
        sequence = self._sequence
        for each in batches:
            built.append(self._build(each, sequence))
            sequence += len(each.values)
        stored_count = 0
        is_first = True
        while stored_count < len(batches):
            for offset in await self._try(built[stored_count:], is_first=is_first):
                self._on_acknowledged(batches[stored_count].values, offset)
                stored_count += 1
            is_first = False
            if stored_count < len(batches):
                await self._client.back_off()

    def _build(self, batch: Batch, sequence: int) -> bytes:
        return batch.build(
            self._client.clock.now_ms(),  # brokers forget a producer whose records are old
            producer_id=self._producer_id,
            epoch=self._producer_epoch,
            sequence=sequence if self._is_idempotent else -1,
        )

    def _on_acknowledged(self, values: Sequence[bytes], offset: int) -> None:
        self._sequence += len(values)
        for number, value in enumerate(values):
            self._client.history.records.on_acknowledged(self._partition, offset + number, value)

    async def _init_producer_id(self) -> bool:
        response = await self._client.ask_any(
            INIT_PRODUCER_ID,
            transactional_id=None,
            transaction_timeout_ms=60_000,
            producer_id=-1,
            producer_epoch=-1,
        )
        if response.error_code != ErrorCode.NONE:
            return False
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        return True

    async def _try(self, batches: Sequence[bytes], *, is_first: bool) -> list[int]:
        """Send batches; return the offsets of those before the first that was not acknowledged."""
        try:
            if self._leader is None:
                self._leader = await self._client.leader_of(self._partition)
        except NoAnswer as error:
            self.last_error = str(error)
            return []
        copies = self._copies()
        requests = [produce_request(self._partition, each) for each in batches for _ in range(copies)]
        responses = await self._client.call_all(self._leader, PRODUCE, requests)
        results = [produce_result(each) for each in responses]
        if self._is_idempotent and is_first:
            self._client.history.records.on_pipelined(self._partition, [code for code, _ in results])
        offsets = []
        for number in range(len(batches)):
            of_one = results[number * copies : (number + 1) * copies]
            stored = [offset for code, offset in of_one if code is ErrorCode.NONE]
            if not stored:
                self.last_error = f"{self._leader} answered {of_one[-1][0]}"
                self._leader = None
                break
            offsets.append(stored[-1])
        return offsets

    def _copies(self) -> int:
        """Return how often each batch is sent."""
        return 1


class ConcurrentProducer(Producer):
    """One of many producers of a partition that send at the same moments, so that the leader groups their appends.

    An idempotent one has several batches in flight, and sends some twice; a retry of another may be stored twice.
    """

    def __init__(self, client: Client, partition: PartitionName, name: str, *, is_idempotent: bool) -> None:
        super().__init__(client, partition, is_idempotent=is_idempotent)
        self._name = name
        if not is_idempotent:
            client.history.records.non_idempotent.add(name)

    async def run(self, interval_s: float) -> None:
        random = self._client.random
        while not self.is_stopping:
            is_known = (
                self._is_idempotent and self._sequence > 0
            )  # an unknown producer may begin with any number
            batch_count = random.randint(1, _IN_FLIGHT_MAX) if is_known else 1
            await self.send(*[self._batch(each) for each in range(batch_count)])
            moment = math.ceil((self._client.now_s + random.expovariate(1 / interval_s)) / _INTERVAL_S)
            await asyncio.sleep(moment * _INTERVAL_S - self._client.now_s)
        self.has_stopped = True

    def _copies(self) -> int:
        return 2 if self._is_idempotent and self._client.random.random() < _TWICE_CHANCE else 1

    def _batch(self, index: int) -> Batch:
        value = f"{self._name} {self._sequence + index}".encode()
        return Batch([value], self._client.random.random() < _LARGE_CHANCE)


def concurrent_producers(client: Client, partition: PartitionName) -> list[ConcurrentProducer]:
    """Make producers that share two connections: an answer that waits for the disk delays all later ones on its own."""
    clients = (client.another(), client.another())
    return [
        ConcurrentProducer(clients[number % 2], partition, f"{kind} {number}", is_idempotent=kind == "once")
        for kind in ("once", "again")
        for number in range(_COUNT_PER_KIND)
    ]


class LeaderAcksProducer:
    """Sends each record once with acks=1, also to an isolated leader, so that logs diverge.

    It keeps to the leader that it knows while that leader answers, and does not refresh metadata.
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
            request = produce_request(self._partition, records, _LEADER_ONLY)
            try:
                leader = leader or await client.leader_of(self._partition)
                code, _ = produce_result(await client.call(leader, PRODUCE, request))
            except NoAnswer:
                code = None
            if code is not ErrorCode.NONE:
                leader = None

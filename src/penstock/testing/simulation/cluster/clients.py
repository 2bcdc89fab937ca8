"""Clients of a simulated cluster: they go on whatever happens, and note what they were told.

A producer is idempotent, waits for all in-sync replicas and has one batch in flight: it sends the same batch until it
is acknowledged. Whoever leads must know its sequence. One who does not know yet that another leads may refuse it.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from penstock.client.connection import Connection
from penstock.observability.clock import Clock
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import create_topics, fetch, init_producer_id, metadata, produce
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import iter_records
from penstock.testing.simulation.cluster.history import History, PartitionName

_PRODUCE, _FETCH, _METADATA, _CREATE_TOPICS, _INIT_PRODUCER_ID = (0, 9), (1, 12), (3, 9), (19, 5), (22, 4)
_ANSWER_S_MAX = 4.0
_REST_S_MAX = 0.2
_FAILURES = (OSError, ProtocolError, TimeoutError)

Address = tuple[str, int]


class Client:
    """Finds leaders and asks them; every failure makes it look again."""

    def __init__(self, bootstrap: Sequence[Address], history: History, random: Random, clock: Clock) -> None:
        self._bootstrap = bootstrap
        self._connections: dict[Address, Connection] = {}
        self.history = history
        self.random = random
        self.clock = clock

    async def call(self, address: Address, api: tuple[int, int], request: Any) -> Any:
        """Ask one node. Raises one of `_FAILURES`."""
        try:
            async with asyncio.timeout(_ANSWER_S_MAX):
                connection = self._connections.get(address)
                if connection is None or connection.is_lost:
                    connection = self._connections[address] = await Connection.open(*address)
                return await connection.call(*api, request)
        except _FAILURES:
            lost = self._connections.pop(address, None)
            if lost is not None:
                lost.abort()
            raise

    async def ask_anybody(self, api: tuple[int, int], request: Any) -> Any:
        return await self.call(self.random.choice(self._bootstrap), api, request)

    async def leader_of(self, partition: PartitionName) -> Address:
        topic = metadata.MetadataRequestTopic(name=partition[0])
        answer = await self.ask_anybody(
            _METADATA, metadata.MetadataRequest(topics=[topic], allow_auto_topic_creation=False)
        )
        nodes = {each.node_id: (each.host, each.port) for each in answer.brokers}
        for each in answer.topics[0].partitions:
            if each.partition_index == partition[1] and each.leader_id in nodes:
                return nodes[each.leader_id]
        raise ConnectionError(f"{partition} has no leader that is known")

    async def rest(self) -> None:
        await asyncio.sleep(self.random.uniform(0.01, _REST_S_MAX))


class Producer:
    def __init__(self, client: Client, partition: PartitionName) -> None:
        self._client = client
        self._partition = partition
        self._sequence = 0
        self._producer_id = -1
        self._producer_epoch = -1
        self._leader: Address | None = None
        self.is_stopping = self.has_stopped = False
        self.refusal = "nobody answers"
        """Why the batch in flight was not acknowledged the last time."""

    async def run(self, interval_s: float) -> None:
        """Write numbered records until it is to stop and the last is acknowledged."""
        random = self._client.random
        while not self.is_stopping:
            await self.send([b"%d" % (self._sequence + each) for each in range(random.randint(1, 3))])
            await asyncio.sleep(random.expovariate(1 / interval_s))
        self.has_stopped = True

    async def send(self, values: Sequence[bytes]) -> None:
        """Write these, however often it takes."""
        while self._producer_id < 0:
            await self._begin()
        now_ms = self._client.clock.now_ms()  # a producer whose records are old is forgotten
        records = build_batch(
            [NewRecord(value=value, timestamp=now_ms) for value in values],
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=self._sequence,
        )
        while (offset := await self._try(records)) is None:
            await self._client.rest()
        self._sequence += len(values)
        for number, value in enumerate(values):
            self._client.history.acknowledges(self._partition, offset + number, value)

    async def _begin(self) -> None:
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        try:
            answer = await self._client.ask_anybody(_INIT_PRODUCER_ID, request)
        except _FAILURES:
            await self._client.rest()
            return
        if answer.error_code == ErrorCode.NONE:
            self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        else:
            await self._client.rest()

    async def _try(self, records: bytes) -> int | None:
        topic, number = self._partition
        data = produce.PartitionProduceData(index=number, records=records)
        request = produce.ProduceRequest(
            acks=-1, timeout_ms=2000, topic_data=[produce.TopicProduceData(name=topic, partition_data=[data])]
        )
        try:
            if self._leader is None:
                self._leader = await self._client.leader_of(self._partition)
            answer = await self._client.call(self._leader, _PRODUCE, request)
        except _FAILURES as error:
            self.refusal = str(error) or type(error).__name__
            self._leader = None
            return None
        response = answer.responses[0].partition_responses[0]
        if response.error_code == ErrorCode.NONE:
            offset: int = response.base_offset
            return offset
        self.refusal = f"{self._leader} says {ErrorCode(response.error_code).name}"
        self._leader = None
        return None


class Reader:
    """Reads a partition to its end, and now and then all of it again, from the leader or from any node."""

    def __init__(self, client: Client, partition: PartitionName) -> None:
        self._client = client
        self._partition = partition

    async def run(self) -> None:
        random = self._client.random
        offset = 0
        while True:
            try:
                records = await self.read_at(await self._client.leader_of(self._partition), offset)
            except _FAILURES:
                await self._client.rest()
                continue
            for at, value in records or ():
                self._client.history.reads(self._partition, at, value)
                offset = at + 1
            if random.random() < 0.02:
                offset = 0
            if not records:
                await self._client.rest()

    async def read_at(self, address: Address, offset: int) -> list[tuple[int, bytes]] | None:
        """What is committed from `offset` on, as one node has it; None when it says no. Raises one of `_FAILURES`."""
        topic, number = self._partition
        wanted = fetch.FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = fetch.FetchRequest(
            max_wait_ms=200, min_bytes=1, topics=[fetch.FetchTopic(topic=topic, partitions=[wanted])]
        )
        answer = await self._client.call(address, _FETCH, request)
        data = answer.responses[0].partitions[0]
        if data.error_code != ErrorCode.NONE:
            return None
        batches = bytes(data.records or b"")
        return [
            (record.offset, record.value or b"")
            for pos, header in iter_batches_strict(batches)
            if not header.is_control
            for record in iter_records(batches, pos=pos)
            if record.offset >= offset
        ]


class Admin:
    """Creates topics, and notes which of them it was told of."""

    def __init__(self, client: Client, replication_factor: int) -> None:
        self._client = client
        self._replication_factor = replication_factor

    async def run(self, interval_s: float) -> None:
        number = 0
        while True:
            await asyncio.sleep(self._client.random.expovariate(1 / interval_s))
            number += 1
            await self.create(f"extra-{number}", 1)

    async def create(self, name: str, partition_count: int) -> bool:
        """Whether it was acknowledged."""
        topic = create_topics.CreatableTopic(
            name=name,
            num_partitions=partition_count,
            replication_factor=self._replication_factor,
            configs=[create_topics.CreatableTopicConfig(name="min.insync.replicas", value="2")],
        )
        request = create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=3000)
        try:
            answer = await self._client.ask_anybody(_CREATE_TOPICS, request)
        except _FAILURES:
            return False
        is_made: bool = answer.topics[0].error_code == ErrorCode.NONE
        if is_made:
            self._client.history.topics_created.add(name)
        return is_made

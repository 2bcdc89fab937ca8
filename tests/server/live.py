"""A whole broker inside the test's own event loop, and a plain client for it: bytes go over a real loopback socket."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.client.connection import Connection
from penstock.cluster.replica import Replica
from penstock.config.broker import BrokerConfig
from penstock.embedded.node import Node
from penstock.protocol import apis
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from penstock.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from penstock.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import Record, iter_records
from penstock.runtime.clock import Clock
from penstock.server.broker import Broker
from penstock.server.ports import real_ports
from penstock.storage.files import FileSystem

T = TypeVar("T")
_numbers = itertools.count()
_BY_MODULE = {spec.module: spec for spec in apis.APIS.values()}
PRODUCE_LATEST = 13
FETCH_LATEST = 18


class TopicHandle(msgspec.Struct, frozen=True):
    """A topic that a test made."""

    name: str
    id: bytes


class Live:
    """A running broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.services = broker.services
        self.host = broker.endpoints[0].host
        self.port = broker.endpoints[0].port

    def connections(self) -> set[Any]:
        """The broker's side of every connection."""
        return set(self.broker.connections)

    async def connect(self) -> "Client":
        return Client(await Connection.open(self.host, self.port, client_id="test"))

    async def connect_as_broker(self) -> "Client":
        """As another broker of the cluster does."""
        return Client(await self.broker.parts.dialer.open(self.broker.endpoints[0]))


async def member_of(node: Node) -> "Client":
    """A connection to a node of an embedded cluster such as the other nodes have."""
    broker = node._broker
    assert broker is not None
    return Client(await broker.parts.dialer.open(broker.endpoints[0]))


class Client:
    """One connection, with the requests that most tests need in short."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def send(self, request: Any, version: int | None = None) -> "asyncio.Future[Any]":
        """Send a request of any API; the newest version unless one is given."""
        spec = api_of(type(request))
        return self.connection.call(spec.key, spec.versions[-1] if version is None else version, request)

    def tell(self, request: ProduceRequest, version: int = PRODUCE_LATEST) -> None:
        self.connection.send(0, version, request)

    async def close(self) -> None:
        await self.connection.close()

    async def create_topic(
        self,
        *,
        name: str | None = None,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] = (),
    ) -> TopicHandle:
        name = name or unique_name()
        response = await self.send(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name,
                        num_partitions=-1 if assignments else partitions,
                        replication_factor=-1 if assignments else 1,
                        assignments=[
                            CreatableReplicaAssignment(partition_index=i, broker_ids=list(a))
                            for i, a in enumerate(assignments)
                        ],
                        configs=[CreatableTopicConfig(name=n, value=v) for n, v in (configs or {}).items()],
                    )
                ],
                timeout_ms=1000,
            )
        )
        result = response.topics[0]
        assert result.error_code == 0, result
        return TopicHandle(name, result.topic_id)

    async def produce(
        self,
        topic: TopicHandle,
        records: bytes | None,
        *,
        partition: int = 0,
        acks: int = -1,
        version: int = PRODUCE_LATEST,
        transactional_id: str | None = None,
    ) -> PartitionProduceResponse:
        """Produce to one partition; gives its part of the answer."""
        request = produce_request(
            topic, {partition: records}, acks=acks, version=version, transactional_id=transactional_id
        )
        response: ProduceResponse = await self.send(request, version)
        return one([p for t in response.responses for p in t.partition_responses])

    async def fetch(
        self,
        topic: TopicHandle,
        offset: int = 0,
        *,
        partition: int = 0,
        version: int = FETCH_LATEST,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        partition_max_bytes: int = 1 << 20,
        isolation_level: int = 0,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
    ) -> PartitionData:
        """Fetch from one partition without a session; gives its part of the answer."""
        request = fetch_request(
            [
                fetch_topic(
                    topic,
                    version,
                    {
                        partition: FetchPartition(
                            partition=partition,
                            fetch_offset=offset,
                            partition_max_bytes=partition_max_bytes,
                            current_leader_epoch=current_leader_epoch,
                            last_fetched_epoch=last_fetched_epoch,
                        )
                    },
                )
            ],
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation_level,
        )
        response: FetchResponse = await self.send(request, version)
        assert response.error_code == 0, response
        return one([p for t in response.responses for p in t.partitions])


def unique_name() -> str:
    return f"topic-{next(_numbers)}"


def one(items: Sequence[T]) -> T:
    assert len(items) == 1, items
    return items[0]


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    timestamp: int | None = None,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """A batch with one record for each value, written now unless a time is given."""
    if timestamp is None:
        timestamp = time.time_ns() // 1_000_000
    return build_batch(
        [NewRecord(key=key, value=value, timestamp=timestamp) for value in values],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )


def records_in(data: Any) -> list[Record]:
    """Every record of a fetched partition, offsets as they are in the log."""
    found = []
    view = memoryview(bytes(data.records or b""))
    for position, header in iter_batches(view):
        found += list(iter_records(view[position : position + header.size_bytes]))
    return found


def values_in(data: Any) -> list[bytes | None]:
    return [record.value for record in records_in(data)]


def produce_request(
    topic: TopicHandle,
    records: Mapping[int, bytes | None],
    *,
    acks: int = -1,
    version: int = PRODUCE_LATEST,
    timeout_ms: int = 30_000,
    transactional_id: str | None = None,
) -> ProduceRequest:
    data = [PartitionProduceData(index=i, records=r) for i, r in records.items()]
    named = (
        TopicProduceData(topic_id=topic.id, partition_data=data)
        if version >= 13
        else TopicProduceData(name=topic.name, partition_data=data)
    )
    return ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=[named]
    )


def fetch_topic(topic: TopicHandle, version: int, partitions: Mapping[int, FetchPartition]) -> FetchTopic:
    wanted = list(partitions.values())
    if version >= 13:
        return FetchTopic(topic_id=topic.id, partitions=wanted)
    return FetchTopic(topic=topic.name, partitions=wanted)


def fetch_request(
    topics: Sequence[FetchTopic],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    isolation_level: int = 0,
    session_id: int = 0,
    session_epoch: int = -1,
    **more: Any,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=list(topics),
        **more,
    )


def begin_epoch(leader: Replica, epoch: int) -> None:
    """As if the controller had elected this broker again."""
    assert leader.state is not None
    leader.follow(msgspec.structs.replace(leader.state, leader_epoch=epoch))


def api_of(request_type: type) -> apis.ApiSpec:
    """Which API a request class belongs to: each has a module of its own."""
    module = request_type.__module__.rpartition(".")[2]
    return _BY_MODULE[module]


def versions(request_type: type) -> range:
    """All versions of an API that the broker serves."""
    return api_of(request_type).versions


@contextlib.asynccontextmanager
async def running_broker(
    directory: Path,
    settings: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    files: FileSystem | None = None,
    secret: bytes | None = None,
) -> AsyncIterator[Live]:
    """A broker of the test's own: for restarts and for settings that others must not see."""
    broker = Broker(
        BrokerConfig(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": str(directory),
                "node.id": "1",
                **(settings or {}),
            }
        ),
        real_ports(clock=clock, files=files),
        secret=secret,
    )
    await broker.start()
    try:
        yield Live(broker)
    finally:
        await broker.stop()


async def within(limit_s: float, scenario: Awaitable[None]) -> None:
    """A test that waits for what never comes must fail, not hang: uvloop does not let a signal interrupt it."""
    async with asyncio.timeout(limit_s):
        await scenario


@contextlib.contextmanager
def held(runner: asyncio.Runner, context: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What a fixture holds on to between tests; its loop runs only while a test does."""
    stack = contextlib.AsyncExitStack()
    yield runner.run(stack.enter_async_context(context))
    runner.run(stack.aclose())


async def until(condition: Any, *, limit_s: float = 60.0) -> None:
    """Let the loop turn until the condition holds.

    A pause of less than a millisecond is none to uvloop: 20,000 turns take 0.2 s, and the disk may be busy for longer.
    """
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.001)


def code(number: int) -> str:
    """A wire code by name, so that a failing assertion reads well."""
    return ErrorCode(number).name

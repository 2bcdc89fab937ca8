"""The requests about transactions, sent to the brokers that can answer them. librdkafka has none of these.

Transactional ids are asked of their coordinators, open transactions of partitions of those partitions' leaders, and
what there is at all of every broker. Versions are the newest that any Kafka since 3.8 has as well.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec

from penstock.cli.client_settings import client_settings
from penstock.cli.connection import REQUEST_TIMEOUT_SECONDS, check_reachable, split_address, unknown_topic
from penstock.cli.errors import EXIT_USAGE, CommandError, one_line
from penstock.client.connection import Connection
from penstock.client.errors import ClientError
from penstock.client.security import tls_context
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import (
    describe_producers,
    describe_transactions,
    find_coordinator,
    init_producer_id,
    list_transactions,
    metadata,
    write_txn_markers,
)

T = TypeVar("T")

_TRANSACTION = 1
_METADATA_VERSION = 12
_FIND_COORDINATOR_VERSION = 4
_LIST_VERSION = 1
_INIT_VERSION = 4
_MARKERS_VERSION = 1
_RETRY_SECONDS = 0.1


class Listed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class Described(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`started_ms` is None where no transaction is open."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    coordinator: int
    partitions: list[tuple[str, int]]


class PartitionProducer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A producer that a partition knows; `start_offset` is where its open transaction begins, None without one."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_timestamp_ms: int
    start_offset: int | None


class Cluster:
    def __init__(self, first: Connection, security: ClientSettings) -> None:
        self._security = security
        self._connections = {-1: first}  # by node; -1 is whoever answered first
        self._addresses: dict[int, tuple[str, int]] = {}
        self._topics: dict[str, dict[int, int]] = {}  # the leader of each partition

    async def load(self) -> None:
        """Learn brokers, topics and leaders."""
        request = metadata.MetadataRequest(topics=None, allow_auto_topic_creation=False)
        found: metadata.MetadataResponse = await self._call(-1, metadata.API_KEY, _METADATA_VERSION, request)
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in found.brokers}
        self._topics = {
            topic.name: {each.partition_index: each.leader_id for each in topic.partitions}
            for topic in found.topics
            if topic.name is not None
        }

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.close()

    def partitions_of(self, topic: str, partition: int | None = None) -> list[int]:
        """The partitions of a topic, or the one that was asked for."""
        if topic not in self._topics:
            raise unknown_topic(topic, self._topics)
        known = sorted(self._topics[topic])
        if partition is None:
            return known
        if partition not in known:
            raise CommandError(f"topic {topic} has no partition {partition}: it has 0 to {known[-1]}")
        return [partition]

    # -- asking

    async def listed(
        self, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_than_ms: int = -1
    ) -> list[Listed]:
        """The transactional ids of every coordinator, by name."""
        request = list_transactions.ListTransactionsRequest(
            state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=longer_than_ms
        )
        found: list[Listed] = []
        for node in sorted(self._addresses):
            answer: list_transactions.ListTransactionsResponse
            answer = await self._call(node, list_transactions.API_KEY, _LIST_VERSION, request)
            _check(answer.error_code, f"cannot list the transactions of broker {node}")
            found += [
                Listed(
                    transactional_id=each.transactional_id,
                    producer_id=each.producer_id,
                    state=each.transaction_state,
                    coordinator=node,
                )
                for each in answer.transaction_states
            ]
        return sorted(found, key=lambda each: each.transactional_id)

    async def described(self, transactional_id: str) -> Described | None:
        """How a transactional id stands; None when there is none of that name."""
        node = await self._coordinator_of(transactional_id)
        answer: describe_transactions.DescribeTransactionsResponse = await self._call(
            node,
            describe_transactions.API_KEY,
            0,
            describe_transactions.DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        )
        found = answer.transaction_states[0]
        if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        _check(found.error_code, f"cannot describe transactional id {transactional_id}")
        return Described(
            transactional_id=transactional_id,
            state=found.transaction_state,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            timeout_ms=found.transaction_timeout_ms,
            started_ms=found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
            coordinator=node,
            partitions=sorted((topic.topic, each) for topic in found.topics for each in topic.partitions),
        )

    async def producers(self, topic: str, partitions: Iterable[int]) -> list[PartitionProducer]:
        """The producers that partitions know."""
        found: list[PartitionProducer] = []
        for partition in partitions:
            wanted = describe_producers.TopicRequest(name=topic, partition_indexes=[partition])
            answer: describe_producers.DescribeProducersResponse = await self._call(
                self._leader_of(topic, partition),
                describe_producers.API_KEY,
                0,
                describe_producers.DescribeProducersRequest(topics=[wanted]),
            )
            described = answer.topics[0].partitions[0]
            _check(described.error_code, f"cannot describe the producers of {topic}-{partition}")
            found += [
                PartitionProducer(
                    topic=topic,
                    partition=partition,
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    coordinator_epoch=each.coordinator_epoch,
                    last_timestamp_ms=each.last_timestamp,
                    start_offset=each.current_txn_start_offset
                    if each.current_txn_start_offset >= 0
                    else None,
                )
                for each in described.active_producers
            ]
        return found

    # -- aborting

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        """Take the id from its producer, whose open transaction is aborted by that. Returns when it is over.

        As Kafka's admin client fences producers: whoever asks for the id's next epoch gets it once the transaction
        before is over, and is told until then that there is one.
        """
        node = await self._coordinator_of(transactional_id)
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        deadline = asyncio.get_running_loop().time() + REQUEST_TIMEOUT_SECONDS
        while True:
            answer: init_producer_id.InitProducerIdResponse
            answer = await self._call(node, init_producer_id.API_KEY, _INIT_VERSION, request)
            is_in_time = asyncio.get_running_loop().time() < deadline
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS or not is_in_time:
                break
            await asyncio.sleep(_RETRY_SECONDS)
        _check(answer.error_code, f"cannot abort the transaction of {transactional_id}")

    async def write_abort_marker(self, producer: PartitionProducer) -> None:
        """End the producer's transaction in one partition, past its coordinator."""
        topic, partition = producer.topic, producer.partition
        marker = write_txn_markers.WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            # -1: no marker of this producer was ever written here; any epoch is new then.
            coordinator_epoch=max(0, producer.coordinator_epoch),
            topics=[write_txn_markers.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        )
        answer: write_txn_markers.WriteTxnMarkersResponse = await self._call(
            self._leader_of(topic, partition),
            write_txn_markers.API_KEY,
            _MARKERS_VERSION,
            write_txn_markers.WriteTxnMarkersRequest(markers=[marker]),
        )
        code = answer.markers[0].topics[0].partitions[0].error_code
        _check(code, f"cannot abort the transaction in {topic}-{partition}")

    # -- whom to ask

    async def _coordinator_of(self, transactional_id: str) -> int:
        request = find_coordinator.FindCoordinatorRequest(
            key_type=_TRANSACTION, coordinator_keys=[transactional_id]
        )
        answer: find_coordinator.FindCoordinatorResponse
        answer = await self._call(-1, find_coordinator.API_KEY, _FIND_COORDINATOR_VERSION, request)
        found = answer.coordinators[0]
        _check(found.error_code, f"cannot find the coordinator of {transactional_id}")
        self._addresses.setdefault(found.node_id, (found.host, found.port))
        return found.node_id

    def _leader_of(self, topic: str, partition: int) -> int:
        leader = self._topics[topic][partition]
        if leader < 0:
            raise CommandError(f"{topic}-{partition} has no leader now: try again when its broker is back")
        return leader

    async def _call(self, node: int, api_key: int, version: int, request: Any) -> Any:
        connection = self._connections.get(node)
        if connection is None:
            connection = self._connections[node] = await _connect(*self._addresses[node], self._security)
        return await _answer(connection.call(api_key, version, request))


Reach = Callable[[], AbstractAsyncContextManager[Cluster]]
"""Connects to the cluster that a command is about."""


@contextlib.asynccontextmanager
async def cluster_at(servers: str, settings: Iterable[str] = ()) -> AsyncIterator[Cluster]:
    """The cluster that one of these brokers belongs to; `settings` are the user's own, as `-X` takes them."""
    check_reachable(servers)
    security = _security(servers, settings)
    cluster = Cluster(await _connect_any(servers, security), security)
    try:
        await cluster.load()
        yield cluster
    finally:
        await cluster.close()


def _security(servers: str, settings: Iterable[str]) -> ClientSettings:
    try:
        return ClientSettings.from_properties({"bootstrap.servers": servers, **client_settings(settings)})
    except ClientError as error:
        raise CommandError(one_line(str(error)), EXIT_USAGE) from None


async def _connect_any(servers: str, security: ClientSettings) -> Connection:
    addresses = [split_address(server.strip()) for server in servers.split(",")]
    for host, port in addresses[:-1]:
        with contextlib.suppress(CommandError):
            return await _connect(host, port, security)
    return await _connect(*addresses[-1], security)


async def _connect(host: str, port: int, security: ClientSettings) -> Connection:
    try:
        tls = None if security.tls is None else tls_context(security.tls)
        opening = Connection.open(host, port, client_id="penstock-cli", tls=tls, sasl=security.sasl)
        return await asyncio.wait_for(opening, REQUEST_TIMEOUT_SECONDS)
    except ClientError as error:
        raise CommandError(one_line(str(error))) from None
    except (OSError, TimeoutError) as error:
        reason = one_line(str(error)) or "no answer"
        raise CommandError(f"cannot reach the broker at {host}:{port} ({reason}): is it running?") from None


async def _answer(future: "asyncio.Future[T]") -> T:
    try:
        return await asyncio.wait_for(future, REQUEST_TIMEOUT_SECONDS)
    except TimeoutError:
        raise CommandError("the broker did not answer in time, try again") from None
    except (OSError, ProtocolError) as error:
        raise CommandError(
            f"the broker does not answer as one ({one_line(str(error))}): "
            "check --bootstrap-server, and that security.protocol is the port's (-X)"
        ) from None


def _check(code: int, what: str) -> None:
    if code:
        raise CommandError(f"{what}: {error_words(code)}")


def error_words(code: int) -> str:
    """The name of an error as a person reads it."""
    try:
        return ErrorCode(code).name.lower().replace("_", " ")
    except ValueError:
        return f"error {code}"


def run(doing: Awaitable[T]) -> T:
    """Run one command's requests."""

    async def main() -> T:
        return await doing

    return asyncio.run(main())

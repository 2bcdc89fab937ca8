"""One partition for the text dialects: produce one record, fetch from an offset.

Both go through the handlers that serve Kafka clients, here or on the broker that leads the partition.
"""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from penstock.client.core.fetching import FetchedPartition, FetchLimits, read_partition, request_for
from penstock.client.metadata import TopicPartition
from penstock.cluster.replica import Replica
from penstock.gateway.json_requests import RequestError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchRequest, FetchResponse
from penstock.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.errors import CorruptRecords
from penstock.runtime.completion import Reply
from penstock.server.connections import Peer
from penstock.server.context import RequestContext, Services
from penstock.server.handlers import fetch, produce

if TYPE_CHECKING:
    from penstock.gateway.forwarding import Forwarder

# The last versions that name topics instead of numbering them.
_PRODUCE_VERSION = 12
_FETCH_VERSION = 12
_TIMEOUT_MS = 30_000


class PartitionRefused(RequestError):
    """The broker rejected the request; the message says why."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(code.name, message)


class Partition:
    """A partition as one client uses it, whichever broker leads it."""

    __slots__ = ("_client_id", "_peer", "_remote", "_services", "_where")

    def __init__(
        self, services: Services, peer: Peer, client_id: str, remote: "Forwarder", where: TopicPartition
    ) -> None:
        self._services = services
        self._peer = peer
        self._client_id = client_id
        self._remote = remote
        self._where = where

    def leader_here(self) -> Replica | None:
        """The replica here that leads the partition, None when another broker does.

        Raises `PartitionRefused` when there is no such partition.
        """
        topic, index = self._where
        leader = self._services.replicas.leader_of(topic, index)
        if isinstance(leader, Replica):
            return leader
        known = self._services.controller.image.topics.get(topic)
        if known is None:
            raise PartitionRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic!r} does not exist")
        if index not in known.partitions:
            raise no_such_partition(topic, index, len(known.partitions))
        if leader == ErrorCode.KAFKA_STORAGE_ERROR:
            raise PartitionRefused(leader, f"{self._where} cannot be used now: {leader.name}")
        return None

    def produce(self, record: NewRecord) -> Awaitable[int]:
        """Append now; the result is the record's offset, given when it is acknowledged as with acks=all."""
        if self.leader_here() is None:
            return asyncio.ensure_future(self._remote.produce(self._where, record))
        records = memoryview(bytearray(build_batch([record])))
        data = PartitionProduceData(index=self._where.partition, records=records)
        request = ProduceRequest(
            acks=-1,
            timeout_ms=_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=self._where.topic, partition_data=[data])],
        )
        context = RequestContext(
            self._services, self._peer, _PRODUCE_VERSION, self._client_id, self._peer.turns.accepted
        )
        response = produce.handle(context, request)
        return self._offset_of(response)

    async def _offset_of(self, answer: ProduceResponse | Reply[ProduceResponse | None] | None) -> int:
        response = await answer if isinstance(answer, Reply) else answer
        assert response is not None, "acks=all is always answered"
        result: PartitionProduceResponse = response.responses[0].partition_responses[0]
        if result.error_code:
            code = ErrorCode(result.error_code)
            reasons = [e.batch_index_error_message for e in result.record_errors]
            reason = next((text for text in (*reasons, result.error_message) if text), code.name)
            raise PartitionRefused(code, f"{self._where} rejected the record: {reason}")
        return result.base_offset

    def wait_after_produce_ms(self, size_bytes: int) -> float:
        """The throttle time of the client after so many bytes."""
        quotas = self._services.quotas
        return quotas.wait_after_produce_ms(self._peer, self._client_id, size_bytes)

    async def log_start_offset(self) -> int:
        leader = self.leader_here()
        if leader is None:
            return await self._remote.log_start_offset(self._where)
        return leader.log.log_start_offset

    async def read(self, offset: int, limits: FetchLimits) -> FetchedPartition:
        """Records from `offset` on; does not wait for new ones."""
        if self.leader_here() is None:
            fetched = await self._remote.read(self._where, offset, limits)
        else:
            fetched = await self._read_here(offset, limits)
        if fetched.error:
            raise PartitionRefused(
                fetched.error, f"{self._where} cannot be read at {offset}: {fetched.error.name}"
            )
        return fetched

    async def _read_here(self, offset: int, limits: FetchLimits) -> FetchedPartition:
        request = request_for({self._where: offset}, limits)
        response = await self._fetched(request)
        while response.throttle_time_ms:  # its quota is used up: without records until then
            await self._services.clock.sleep(response.throttle_time_ms)
            response = await self._fetched(request)
        try:
            return read_partition(response.responses[0].partitions[0], offset, limits)
        except CorruptRecords as error:
            code = ErrorCode.CORRUPT_MESSAGE
            raise PartitionRefused(code, f"{self._where} cannot be read at {offset}: {error}") from error

    async def _fetched(self, request: FetchRequest) -> FetchResponse:
        context = RequestContext(
            self._services, self._peer, _FETCH_VERSION, self._client_id, self._peer.turns.accepted
        )
        answer = fetch.handle(context, request)
        response: FetchResponse = await answer if isinstance(answer, Awaitable) else answer
        return response


def no_such_partition(topic: str, index: int, count: int) -> PartitionRefused:
    return PartitionRefused(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        f"topic {topic!r} has no partition {index}: it has 0 to {count - 1}",
    )

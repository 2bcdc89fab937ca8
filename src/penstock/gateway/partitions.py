"""One partition as the text dialects see it: produce one record, read on from an offset.

Both go through the handlers that serve Kafka clients; there is no other way in.
"""

from collections.abc import Awaitable, Iterator

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
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
from penstock.server.connection_host import Exclusive, Peer
from penstock.server.context import RequestContext, Services
from penstock.server.handlers import fetch, produce

# The last versions that name topics instead of numbering them.
_PRODUCE_VERSION = 12
_FETCH_VERSION = 12
_TIMEOUT_MS = 30_000
_SESSIONLESS = -1


class PartitionRefused(Exception):
    """What the broker says instead of doing it."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Partition:
    """A topic's partition through the eyes of one client."""

    __slots__ = ("_client_id", "_peer", "_services", "index", "topic")

    def __init__(self, services: Services, peer: Peer, client_id: str, topic: str, index: int) -> None:
        self._services = services
        self._peer = peer
        self._client_id = client_id
        self.topic = topic
        self.index = index

    def require_leader(self) -> Replica:
        """The replica here that leads the partition; raises `PartitionRefused` when there is none."""
        leader = self._services.replicas.leader_of(self.topic, self.index)
        if isinstance(leader, Replica):
            return leader
        if leader == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            known = self._services.controller.image.topics.get(self.topic)
            if known is None:
                raise PartitionRefused(leader, f"topic {self.topic!r} does not exist")
            raise PartitionRefused(
                leader,
                f"topic {self.topic!r} has no partition {self.index}: it has 0 to {len(known.partitions) - 1}",
            )
        raise PartitionRefused(leader, f"{self.topic}-{self.index} cannot be used now: {leader.name}")

    def produce(self, record: NewRecord) -> Awaitable[int]:
        """Append now; the result is the record's offset, given when it is acknowledged as with acks=all."""
        request = ProduceRequest(
            acks=-1,
            timeout_ms=_TIMEOUT_MS,
            topic_data=[
                TopicProduceData(
                    name=self.topic,
                    partition_data=[
                        PartitionProduceData(
                            index=self.index, records=memoryview(bytearray(build_batch([record])))
                        )
                    ],
                )
            ],
        )
        context = RequestContext(self._services, self._peer, _PRODUCE_VERSION, self._client_id)
        answer = produce.handle(context, request)
        return self._offset_of(answer.answer if isinstance(answer, Exclusive) else answer)

    async def _offset_of(self, answer: ProduceResponse | Awaitable[ProduceResponse | None] | None) -> int:
        response = await answer if isinstance(answer, Awaitable) else answer
        assert response is not None, "acks=all is always answered"
        result: PartitionProduceResponse = response.responses[0].partition_responses[0]
        if result.error_code:
            code = ErrorCode(result.error_code)
            reasons = [e.batch_index_error_message for e in result.record_errors]
            said = next((text for text in (*reasons, result.error_message) if text), code.name)
            raise PartitionRefused(code, f"{self.topic}-{self.index} did not take it: {said}")
        return result.base_offset

    def wait_after_produce_ms(self, size_bytes: int) -> float:
        """How long the client must wait now, having sent so much."""
        quotas = self._services.quotas
        return quotas.wait_after_produce_ms(self._peer, self._client_id, size_bytes)

    async def _fetched(self, request: FetchRequest) -> FetchResponse:
        context = RequestContext(self._services, self._peer, _FETCH_VERSION, self._client_id)
        answer = fetch.handle(context, request)
        response: FetchResponse = await answer if isinstance(answer, Awaitable) else answer
        return response

    async def read(self, offset: int, size_bytes_max: int) -> PartitionData:
        """Whole batches from the one that holds `offset` on; does not wait for new ones."""
        wanted = FetchPartition(partition=self.index, fetch_offset=offset, partition_max_bytes=size_bytes_max)
        request = FetchRequest(
            max_bytes=size_bytes_max,
            session_epoch=_SESSIONLESS,
            topics=[FetchTopic(topic=self.topic, partitions=[wanted])],
        )
        response = await self._fetched(request)
        while response.throttle_time_ms:  # its quota is used up: without records until then
            await self._services.clock.sleep(response.throttle_time_ms)
            response = await self._fetched(request)
        data = response.responses[0].partitions[0]
        if data.error_code:
            code = ErrorCode(data.error_code)
            raise PartitionRefused(code, f"{self.topic}-{self.index} cannot be read at {offset}: {code.name}")
        return data


def records_from(data: PartitionData, offset: int) -> Iterator[Record]:
    """The records that were read, from `offset` on; control records stay hidden, as from any consumer."""
    batches = memoryview(data.records or b"")
    for position, header in iter_batches(batches):
        if header.is_control:
            continue
        for record in iter_records(batches, pos=position):
            if record.offset >= offset:
                yield record


def next_offset_after(data: PartitionData, offset: int) -> int:
    """Where to read on; `offset` itself when nothing was read."""
    for _, header in iter_batches(memoryview(data.records or b"")):
        offset = header.next_offset
    return offset

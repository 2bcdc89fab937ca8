"""Golog's dialect: a JSON object for each request, answered in order by lines of text, for a person with `nc`.

The requests are in `json_requests`. Produces are appended as they arrive and acknowledged in order when they are
durable, so that many of them share one disk sync; any other request waits until those before it are answered, so
that a fetch sees what its client produced. A connection survives every invalid request.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable

from penstock.client.core.fetching import FetchLimits
from penstock.client.errors import Retry
from penstock.client.metadata import TopicPartition
from penstock.config.settings.replication import AUTO_CREATE_TOPICS_ENABLE, NUM_PARTITIONS
from penstock.gateway.forwarding import Forwarder
from penstock.gateway.group_offsets import GroupOffsets
from penstock.gateway.json_requests import (
    Commit,
    Fetch,
    Produce,
    Request,
    RequestError,
    ack_line,
    committed_line,
    decode_request,
    end_line,
    error_line,
    json_line,
    text_line,
)
from penstock.gateway.json_stream import JsonStream, Malformed
from penstock.gateway.partitions import Partition, PartitionRefused, no_such_partition
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.records.builder import NewRecord
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.connections import ConnectionContext, DialectConnection, Peer
from penstock.server.context import RequestContext, Services
from penstock.server.handlers import metadata

log = logging.getLogger(__name__)

TEXT_BYTES_MAX = 8 * 1024 * 1024  # one request; a megabyte of message may be six of escapes
_WAITING_MAX = 64  # requests that were received but not started
_WAITING_BYTES_MAX = 1024 * 1024
_HELD_BYTES_UNCOUNTED = 64 * 1024  # the memory of a connection that is not counted
_PENDING_MAX = 256  # produces that were appended but not acknowledged
_READ_BYTES = 128 * 1024  # decoded by a fetch between two yields to the loop
_READ_RECORDS = 1_000_000
_METADATA_VERSION = 12
_CLIENT_ID = "json-lines"
_REFUSALS = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
}


class _Requests:
    def __init__(self, services: Services, peer: Peer) -> None:
        self._services = services
        self._peer = peer
        self._forwarder = Forwarder(services, peer, _CLIENT_ID)
        self._offsets = GroupOffsets(services, self._forwarder)

    async def close(self) -> None:
        await self._forwarder.close()

    def partition(self, topic: str, index: int) -> Partition:
        where = TopicPartition(topic, index)
        return Partition(self._services, self._peer, _CLIENT_ID, self._forwarder, where)

    def is_unknown(self, topic: str) -> bool:
        return topic not in self._services.controller.image.topics

    def begin_produce(self, request: Produce) -> Awaitable[int]:
        """Append the message; the result is its offset, once it is acknowledged."""
        record = NewRecord(
            key=None if request.key is None else request.key.encode(),
            value=None if request.message is None else request.message.encode(),
            timestamp=self._services.clock.now_ms(),
        )
        return self.partition(request.topic, request.partition).produce(record)

    def require(self, operation: Operation, resource_type: ResourceType, name: str) -> None:
        """Raise `PartitionRefused` when the client may not do this, before anything of the resource is disclosed."""
        peer = self._peer
        if self._services.authorizer.allows(peer.principal, peer.host, operation, resource_type, name):
            return
        code = _REFUSALS[resource_type]
        kind = resource_type.name.lower()
        raise PartitionRefused(
            code, f"{peer.principal} is not authorized to {operation.name} {kind} {name!r}"
        )

    async def create_topic(self, topic: str, index: int) -> None:
        """Auto-create a topic, as a Kafka producer does; raises when the broker rejects it.

        A topic that would not have the partition is not created.
        """
        config = self._services.config
        count = config[NUM_PARTITIONS]
        if config[AUTO_CREATE_TOPICS_ENABLE] and not 0 <= index < count:
            raise no_such_partition(topic, index, count)
        context = RequestContext(
            self._services, self._peer, _METADATA_VERSION, _CLIENT_ID, self._peer.turns.accepted
        )
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)

        async def attempt() -> None:
            metadata.handle(context, asked)
            await self._services.auto_creation.until_done(topic)
            code = ErrorCode(metadata.handle(context, asked).topics[0].error_code)
            if is_retriable(code) and config[AUTO_CREATE_TOPICS_ENABLE]:  # its metadata has not arrived yet
                raise Retry(f"topic {topic!r} is not created yet: {code.name}")
            if code:
                raise PartitionRefused(
                    code, f"topic {topic!r} does not exist and was not created: {code.name}"
                )

        await self._forwarder.until_done(f"creating topic {topic!r}", attempt)

    async def start_of(self, request: Fetch) -> int:
        """The first offset of a fetch: its own, its group's, or the log start; never before the log start."""
        self.require(Operation.READ, ResourceType.TOPIC, request.topic)
        log_start_offset = await self.partition(request.topic, request.partition).log_start_offset()
        offset = request.offset
        if offset is None and request.group is not None:
            self.require(Operation.DESCRIBE, ResourceType.GROUP, request.group)
            where = TopicPartition(request.topic, request.partition)
            offset = await self._offsets.committed(request.group, where)
        if offset is not None and offset < 0:
            raise RequestError("INVALID_REQUEST", f"offset {offset} is negative")
        return max(offset or 0, log_start_offset)

    async def commit(self, request: Commit) -> None:
        self.require(Operation.READ, ResourceType.GROUP, request.group)
        self.require(Operation.READ, ResourceType.TOPIC, request.topic)
        self.partition(
            request.topic, request.partition
        ).leader_here()  # raises when there is no such partition
        if request.offset < 0:
            raise RequestError("INVALID_REQUEST", f"offset {request.offset} is negative")
        if not request.group:
            raise RequestError("INVALID_REQUEST", "group is empty")
        where = TopicPartition(request.topic, request.partition)
        await self._offsets.commit(request.group, where, request.offset)


class JsonLinesConnection(DialectConnection):
    """One client: `data_received` cuts requests out of the bytes, one task answers them in order."""

    def __init__(
        self,
        services: Services,
        host: ConnectionContext,
        transport: asyncio.Transport,
        peer: Peer,
        received: bytes,
    ) -> None:
        self.peer = peer
        self.last_active_ms = host.clock.monotonic_ms()
        self._requests = _Requests(services, peer)
        self._host = host
        self._transport = transport
        self._stream = JsonStream(TEXT_BYTES_MAX)
        self._waiting: deque[bytes | Malformed] = deque()
        self._waiting_bytes = 0
        self._pending: deque[Awaitable[int]] = deque()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_ending = False
        self._is_paused = False
        self._task = asyncio.get_running_loop().create_task(self._serve(), name=f"json-lines {peer}")
        self.data_received(received)

    # -- life

    def connection_lost(self, exc: Exception | None) -> None:
        log.debug("%s disconnected%s", self.peer, f": {exc}" if exc else "")
        self._host.connections.discard(self)
        self._host.memory.remove(self)
        self._is_ending = True
        self._waiting.clear()
        self._writable.set()
        self._arrived.set()

    def eof_received(self) -> bool:
        unfinished = self._stream.end()
        if unfinished is not None:
            self._waiting.append(unfinished)
        self._is_ending = True
        self._arrived.set()
        # Responses are still to be sent: `nc -N` closes its side after the last request. TLS cannot do that.
        return self._transport.get_extra_info("sslcontext") is None

    def close(self, reason: str) -> None:
        if reason:
            self._host.log_closing(self.peer, reason)
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    async def drain_and_close(self) -> None:
        """Stop reading, answer the requests received so far, close."""
        self._is_ending = True
        self._pause()
        self._arrived.set()
        await asyncio.wait([self._task])

    @property
    def is_waiting_for_answers(self) -> bool:
        """False for a client that does not read its responses."""
        return bool(self._waiting or self._pending) and self._writable.is_set()

    # -- memory

    def close_partial_frame(self) -> None:
        held_bytes = self._waiting_bytes + self._stream.unfinished_bytes
        self._host.log_closing(
            self.peer,
            f"its unfinished requests hold {held_bytes} bytes, which exceeds the memory for requests "
            "(queued.max.request.bytes)",
        )
        self.abort()  # it may be one that reads no answers

    def resume_if_room(self) -> None:
        """Not needed: the queue is bounded here."""

    def _note_held(self) -> None:
        held_bytes = self._waiting_bytes + self._stream.unfinished_bytes
        if held_bytes > _HELD_BYTES_UNCOUNTED:
            self._host.memory.set_partial_frame(self, held_bytes)
        else:
            self._host.memory.clear_partial_frame(self)

    # -- bytes in

    def data_received(self, data: bytes) -> None:
        self.last_active_ms = self._host.clock.monotonic_ms()
        found = self._stream.feed(data)
        self._waiting.extend(found)
        self._waiting_bytes += sum(map(_size_bytes, found))
        if self._waiting:
            self._arrived.set()
        if len(self._waiting) >= _WAITING_MAX or self._waiting_bytes >= _WAITING_BYTES_MAX:
            self._pause()
        self._note_held()

    def _pause(self) -> None:
        if not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _resume_if_room(self) -> None:
        has_room = len(self._waiting) < _WAITING_MAX // 2 and self._waiting_bytes < _WAITING_BYTES_MAX
        if self._is_paused and not self._is_ending and has_room:
            self._is_paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    # -- answers out

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def _write(self, lines: bytes) -> None:
        """Write and, if the client does not read its answers, wait until it does."""
        if lines and not self._transport.is_closing():
            self._transport.write(lines)
        await self._writable.wait()

    async def _serve(self) -> None:
        try:
            while True:
                while self._waiting:
                    item = self._waiting.popleft()
                    self._waiting_bytes -= _size_bytes(item)
                    self._note_held()
                    self._resume_if_room()
                    await self._answer(item)
                await self._acknowledge()
                if self._waiting:
                    continue
                if self._is_ending:
                    break
                self._arrived.clear()
                await self._arrived.wait()
        finally:
            self._transport.close()
            await self._requests.close()

    async def _answer(self, item: bytes | Malformed) -> None:
        try:
            if isinstance(item, Malformed):
                raise RequestError("INVALID_JSON", item.reason)  # noqa: TRY301  one place answers all mistakes
            await self._perform(decode_request(item), len(item))
        except RequestError as error:
            await self._acknowledge()
            await self._write(error_line(error.error, error.message))
        except Exception as error:  # noqa: BLE001 - logged there
            self._host.log_failure(self.peer, error)
            await self._acknowledge()
            await self._write(
                error_line("UNKNOWN_SERVER_ERROR", "unhandled error in the broker: see its log")
            )

    async def _perform(self, request: Request, size_bytes: int) -> None:
        if isinstance(request, Produce):
            self._requests.require(Operation.WRITE, ResourceType.TOPIC, request.topic)
            if self._requests.is_unknown(request.topic):
                await self._acknowledge()
                await self._requests.create_topic(request.topic, request.partition)
            self._pending.append(self._requests.begin_produce(request))
            partition = self._requests.partition(request.topic, request.partition)
            wait_ms = partition.wait_after_produce_ms(size_bytes)
            if wait_ms >= 1 or len(self._pending) >= _PENDING_MAX:
                await self._acknowledge()
            if wait_ms >= 1:
                await self._host.clock.sleep(wait_ms)
            return
        await self._acknowledge()
        if isinstance(request, Commit):
            await self._requests.commit(request)
            await self._write(committed_line(request.offset))
        else:
            await self._fetch(request)

    async def _acknowledge(self) -> None:
        lines: list[bytes] = []
        while self._pending:
            try:
                lines.append(ack_line(await self._pending.popleft()))
            except PartitionRefused as error:
                lines.append(error_line(error.error, error.message))
        if lines:
            await self._write(b"".join(lines))

    async def _fetch(self, request: Fetch) -> None:
        """All records from the offset up to those committed when the fetch began."""
        offset = await self._requests.start_of(request)
        partition = self._requests.partition(request.topic, request.partition)
        line_of = json_line if request.format == "json" else text_line
        limit = request.max_messages
        end: int | None = None
        count = 0
        while not self._transport.is_closing() and (limit is None or count < limit):
            records_max = _READ_RECORDS if limit is None else min(limit - count, _READ_RECORDS)
            limits = FetchLimits(
                bytes_max=_READ_BYTES, partition_bytes_max=_READ_BYTES, records_max=records_max
            )
            data = await partition.read(offset, limits)
            end = data.high_watermark if end is None else end
            count += len(data.records)
            await self._write(b"".join(map(line_of, data.records)))
            is_done = data.next_offset == offset or data.next_offset >= end
            offset = data.next_offset
            if is_done:
                break
        if request.format == "json":
            await self._write(end_line(offset, count))


def _size_bytes(item: bytes | Malformed) -> int:
    return 0 if isinstance(item, Malformed) else len(item)

"""Sends sealed batches to the leaders of their partitions: several in flight, each stored once.

Responses come in order on a connection, so unacknowledged batches are a queue for each partition. After a retriable
error (a connection breaks, a leader moves) all unacknowledged batches are sent again, in order, with the same sequence
numbers, by which a broker detects duplicates (KIP-98).
"""

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from penstock.client.blocking.client import BlockingClient
from penstock.client.blocking.connection import BlockingConnection
from penstock.client.connection import Disconnected
from penstock.client.errors import Retry, error_name
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import produce
from penstock.spark.sink.accumulator import SealedBatch
from penstock.spark.sink.errors import WriteRefused
from penstock.spark.sink.settings import SinkSettings

_IN_FLIGHT_MAX: Final = 5  # a broker remembers the last five batches of a producer in a partition
_VERSION_MAX: Final = 11  # the last version in which writing does not also add the partition (KIP-890)
_STORED: Final = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
_ADVICE: Final = {
    ErrorCode.MESSAGE_TOO_LARGE: "raise max.message.bytes of the topic",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "the user of this query may not write to the topic",
    ErrorCode.PRODUCER_FENCED: "another attempt of the same task took over",
    ErrorCode.INVALID_PRODUCER_EPOCH: "another attempt of the same task took over",
    ErrorCode.INVALID_TXN_STATE: "the transaction has timed out or was aborted",
    ErrorCode.RECORD_LIST_TOO_LARGE: "lower kafka.batch.size",
}


class _Channel(NamedTuple):
    """A connection to one leader, and the batches in flight on it, request by request."""

    connection: BlockingConnection
    sent: deque[list[SealedBatch]]


class Sender:
    """Sends batches for one task. `close` returns its connections."""

    def __init__(
        self, cluster: BlockingClient, settings: SinkSettings, *, transactional_id: str | None
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._transactional_id = transactional_id
        self._channels: dict[tuple[str, int], _Channel] = {}
        self._connections = contextlib.ExitStack()
        self._unacknowledged: dict[TopicPartition, deque[SealedBatch]] = {}

    def send(self, batches: Sequence[SealedBatch]) -> None:
        """Send batches, at most one for each partition; block only when too many are in flight."""
        for batch in batches:
            self._unacknowledged.setdefault(batch.tp, deque()).append(batch)
        self._send_or_resend(lambda: self._send_batches(batches))

    def finish(self) -> None:
        """Wait until everything is stored."""
        self._send_or_resend(self._receive_all)

    def close(self) -> None:
        self._channels.clear()
        self._connections.close()

    def _send_batches(self, batches: Sequence[SealedBatch]) -> None:
        by_leader: dict[tuple[str, int], list[SealedBatch]] = {}
        for batch in batches:
            by_leader.setdefault(self._cluster.leader(batch.tp).address, []).append(batch)
        for address, group in by_leader.items():
            channel = self._channel(address)
            for request in _requests(group, self._settings.request_bytes):
                while len(channel.sent) >= _IN_FLIGHT_MAX:
                    self._receive(channel)
                self._send_request(channel.connection, request)
                channel.sent.append(request)

    def _channel(self, address: tuple[str, int]) -> _Channel:
        channel = self._channels.get(address)
        if channel is None:
            connection = self._connections.enter_context(self._cluster.connection(address))
            channel = self._channels[address] = _Channel(connection, deque())
        return channel

    def _send_request(self, connection: BlockingConnection, request: Sequence[SealedBatch]) -> None:
        version = connection.version(produce.API_KEY, _VERSION_MAX)
        message = _message(request, self._transactional_id, self._settings.client.request_timeout_ms)
        connection.send(produce.API_KEY, version, message)

    def _receive_all(self) -> None:
        for channel in self._channels.values():
            while channel.sent:
                self._receive(channel)

    def _receive(self, channel: _Channel) -> None:
        responses = _responses(channel.connection.receive())
        failure = None
        for batch in channel.sent.popleft():
            failure = self._on_response(batch, responses.get(batch.tp)) or failure
        if failure is not None:
            raise failure

    def _on_response(
        self, batch: SealedBatch, response: produce.PartitionProduceResponse | None
    ) -> Retry | None:
        """Handle a response: None if the batch is stored. Raises `WriteRefused` for an error that is not retriable."""
        code = int(ErrorCode.UNKNOWN_SERVER_ERROR if response is None else response.error_code)
        queue = self._unacknowledged[batch.tp]
        is_next = queue[0] is batch
        if code in _STORED and is_next:
            queue.popleft()
            return None
        if is_retriable(code) or not is_next:  # out of order until the batch before it is stored
            self._cluster.forget_leader(batch.tp)
            return Retry(f"Produce to {batch.tp} failed with {error_name(code)}")
        raise _refused(batch.tp, code, None if response is None else response.error_message)

    def _send_or_resend(self, step: Callable[[], None]) -> None:
        try:
            step()
        except (Disconnected, Retry):
            self._disconnect()
            deadline_ms = self._settings.delivery_timeout_ms
            self._cluster.until_done("writing records", self._send_rest, deadline_ms=deadline_ms)

    def _disconnect(self) -> None:
        """Close the connections without waiting for their responses."""
        self.close()
        for tp in self._unacknowledged:
            self._cluster.forget_leader(tp)

    def _send_rest(self) -> None:
        """Send unacknowledged batches, one of each partition at a time, until none is left."""
        try:
            while waiting := [queue[0] for queue in self._unacknowledged.values() if queue]:
                self._send_batches(waiting)
                self._receive_all()
        except (Disconnected, Retry):
            self._disconnect()
            raise


def _requests(batches: Sequence[SealedBatch], bytes_max: int) -> list[list[SealedBatch]]:
    """Split into requests of limited size; a larger batch forms a separate request."""
    requests: list[list[SealedBatch]] = []
    size = 0
    for batch in batches:
        if not requests or size + len(batch.data) > bytes_max:
            requests.append([])
            size = 0
        requests[-1].append(batch)
        size += len(batch.data)
    return requests


def _message(
    batches: Sequence[SealedBatch], transactional_id: str | None, timeout_ms: int
) -> produce.ProduceRequest:
    topics: dict[str, list[produce.PartitionProduceData]] = {}
    for batch in batches:
        data = produce.PartitionProduceData(index=batch.tp.partition, records=batch.data)
        topics.setdefault(batch.tp.topic, []).append(data)
    return produce.ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=timeout_ms,
        topic_data=[
            produce.TopicProduceData(name=name, partition_data=partitions)
            for name, partitions in topics.items()
        ],
    )


def _responses(response: Any) -> dict[TopicPartition, produce.PartitionProduceResponse]:
    return {
        TopicPartition(topic.name, partition.index): partition
        for topic in response.responses
        for partition in topic.partition_responses
    }


def _refused(tp: TopicPartition, code: int, detail: str | None) -> WriteRefused:
    summary = f"records for {tp} were refused with {error_name(code)}"
    advice = next((text for each, text in _ADVICE.items() if each == code), None)
    return WriteRefused(": ".join(part for part in (summary, detail, advice) if part))

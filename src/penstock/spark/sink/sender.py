"""Sealed batches to the leaders of their partitions: several on their way at once, each stored once.

Answers come in order on a connection, so what is sent and not yet acknowledged is a queue for each partition. When
anything goes wrong that passes (a connection breaks, a leader moves), all that is not acknowledged is sent again, in
order, with the same sequence numbers: what a broker has already, it knows (KIP-98).
"""

import contextlib
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from penstock.client.blocking.cluster import Cluster
from penstock.client.blocking.connection import BlockingConnection
from penstock.client.blocking.retry import Retry
from penstock.client.connection import Disconnected
from penstock.client.errors import error_name
from penstock.client.metadata import TopicPartition
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import produce
from penstock.spark.sink.accumulator import Sealed
from penstock.spark.sink.errors import WriteRefused

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


class _Line:
    """A connection to one leader, and the batches whose answers will come on it, request by request."""

    __slots__ = ("connection", "sent")

    def __init__(self, connection: BlockingConnection) -> None:
        self.connection = connection
        self.sent: deque[list[Sealed]] = deque()


class Sender:
    """To be closed, which gives the connections back."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        transactional_id: str | None,
        request_bytes: int = 1024 * 1024,
        delivery_timeout_ms: int = 120_000,
        request_timeout_ms: int = 30_000,
    ) -> None:
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._request_bytes = request_bytes
        self._delivery_timeout_ms = delivery_timeout_ms
        self._request_timeout_ms = request_timeout_ms
        self._lines: dict[tuple[str, int], _Line] = {}
        self._borrowed = contextlib.ExitStack()
        self._unacknowledged: dict[TopicPartition, deque[Sealed]] = {}

    def send(self, batches: Sequence[Sealed]) -> None:
        """Send batches, at most one for each partition; waits only when too many are on their way."""
        for batch in batches:
            self._unacknowledged.setdefault(batch.where, deque()).append(batch)
        try:
            for address, group in self._by_leader(batches).items():
                line = self._line(address)
                for request in _requests(group, self._request_bytes):
                    while len(line.sent) >= _IN_FLIGHT_MAX:
                        self._receive(line)
                    self._put(line.connection, request)
                    line.sent.append(request)
        except (Disconnected, Retry):
            self._send_again()

    def finish(self) -> None:
        """Wait until everything is stored."""
        try:
            for line in self._lines.values():
                while line.sent:
                    self._receive(line)
        except (Disconnected, Retry):
            self._send_again()

    def close(self) -> None:
        self._lines.clear()
        self._borrowed.close()

    # -- the usual way

    def _by_leader(self, batches: Sequence[Sealed]) -> dict[tuple[str, int], list[Sealed]]:
        found: dict[tuple[str, int], list[Sealed]] = {}
        for batch in batches:
            found.setdefault(self._cluster.leader(batch.where).address, []).append(batch)
        return found

    def _line(self, address: tuple[str, int]) -> _Line:
        line = self._lines.get(address)
        if line is None:
            connection = self._borrowed.enter_context(self._cluster.connection(address))
            line = self._lines[address] = _Line(connection)
        return line

    def _put(self, connection: BlockingConnection, request: Sequence[Sealed]) -> None:
        version = connection.version(produce.API_KEY, _VERSION_MAX)
        message = _message(request, self._transactional_id, self._request_timeout_ms)
        connection.send(produce.API_KEY, version, message)

    def _receive(self, line: _Line) -> None:
        answers = _answers(line.connection.receive())
        failure = None
        for batch in line.sent.popleft():
            failure = self._judge(batch, answers.get(batch.where)) or failure
        if failure is not None:
            raise failure

    def _judge(self, batch: Sealed, answer: produce.PartitionProduceResponse | None) -> Retry | None:
        """Take note of an answer: None when the batch is stored. Raises `WriteRefused` when it will never be."""
        code = int(ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else answer.error_code)
        queue = self._unacknowledged[batch.where]
        is_next = queue[0] is batch
        if code in _STORED and is_next:
            queue.popleft()
            return None
        if (
            is_retriable(code) or not is_next
        ):  # one before it was not taken: this one is out of order until that is
            self._cluster.forget_leader(batch.where)
            return Retry(f"{batch.where} was answered with {error_name(code)}")
        raise _refused(batch.where, code, None if answer is None else answer.error_message)

    # -- when something went wrong

    def _send_again(self) -> None:
        self._hang_up()
        self._cluster.until_done("writing records", self._send_rest, deadline_ms=self._delivery_timeout_ms)

    def _hang_up(self) -> None:
        """Whatever is still to be answered on these connections is not waited for."""
        self.close()
        for where in self._unacknowledged:
            self._cluster.forget_leader(where)

    def _send_rest(self) -> None:
        """Send what is not acknowledged, one request at a time, until nothing is left."""
        while waiting := [queue[0] for queue in self._unacknowledged.values() if queue]:
            for address, group in self._by_leader(waiting).items():
                for request in _requests(group, self._request_bytes):
                    try:
                        with self._cluster.connection(address) as connection:
                            self._put(connection, request)
                            answers = _answers(connection.receive())
                    except Disconnected:
                        self._hang_up()
                        raise
                    failures = [self._judge(batch, answers.get(batch.where)) for batch in request]
                    for failure in failures:
                        if failure is not None:
                            raise failure


def _requests(batches: Sequence[Sealed], bytes_max: int) -> list[list[Sealed]]:
    """Cut into requests that are not too large; a batch that is too large by itself goes alone."""
    requests: list[list[Sealed]] = []
    size = 0
    for batch in batches:
        if not requests or size + len(batch.data) > bytes_max:
            requests.append([])
            size = 0
        requests[-1].append(batch)
        size += len(batch.data)
    return requests


def _message(
    batches: Sequence[Sealed], transactional_id: str | None, timeout_ms: int
) -> produce.ProduceRequest:
    topics: dict[str, list[produce.PartitionProduceData]] = {}
    for batch in batches:
        data = produce.PartitionProduceData(index=batch.where.partition, records=batch.data)
        topics.setdefault(batch.where.topic, []).append(data)
    return produce.ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=timeout_ms,
        topic_data=[
            produce.TopicProduceData(name=name, partition_data=partitions)
            for name, partitions in topics.items()
        ],
    )


def _answers(response: Any) -> dict[TopicPartition, produce.PartitionProduceResponse]:
    return {
        TopicPartition(topic.name, partition.index): partition
        for topic in response.responses
        for partition in topic.partition_responses
    }


def _refused(where: TopicPartition, code: int, detail: str | None) -> WriteRefused:
    told = f"records for {where} were refused with {error_name(code)}"
    advice = next((text for each, text in _ADVICE.items() if each == code), None)
    return WriteRefused(": ".join(part for part in (told, detail, advice) if part))

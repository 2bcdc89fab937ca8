"""An idempotent producer: each record is stored once although sending is retried (KIP-98).

Each partition has a queue and one batch in flight. Records that arrive meanwhile form the next batch, so that many
small callers share one disk sync. A batch that is sent again keeps its sequence number, by which the broker recognizes
it. When it is unknown whether a batch was stored, the queue continues with a new producer id, and its callers get
`TimedOut`.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from penstock.client.core.destinations import ANY, LeaderOf
from penstock.client.core.operations import NAMES_LAST
from penstock.client.errors import BrokerError, Retry, Unreachable, error_name
from penstock.client.metadata import TopicPartition
from penstock.client.partitioner import partition_of
from penstock.protocol.errors import ErrorCode, is_retriable
from penstock.protocol.messages import init_producer_id, produce
from penstock.protocol.records.batch import NO_TIMESTAMP, advance_sequence
from penstock.protocol.records.builder import NewRecord, build_batch

if TYPE_CHECKING:
    from penstock.client.aio.client import Client

_MERGED_RECORDS_MAX: Final = 10_000
_MERGED_BYTES_MAX: Final = 512 * 1024

# The broker does not know the sequence number that this producer continues from.
_UNKNOWN_SEQUENCE: Final = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)


class Produced(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one record. With an error its offset is -1."""

    partition: int
    offset: int = -1
    timestamp: int = NO_TIMESTAMP
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class _Identity(NamedTuple):
    producer_id: int
    epoch: int


_NOT_IDEMPOTENT: Final = _Identity(-1, -1)


class _Entry(NamedTuple):
    records: Sequence[NewRecord]
    done: "asyncio.Future[list[Produced]]"


class Producer:
    def __init__(self, client: "Client") -> None:
        self._client = client
        self._queues: dict[TopicPartition, _PartitionQueue] = {}
        self._round = 0

    async def produce(
        self, topic: str, partition: int | None, records: Sequence[NewRecord]
    ) -> list[Produced]:
        known = await self._client.topic(topic)
        if partition is not None and partition not in known.partitions:
            raise BrokerError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"looking for partition {partition} of topic {topic!r}",
                f"it has {len(known.partitions)}, counted from 0",
            )
        now_ms = self._client.clock.now_ms()
        self._round += 1
        shares: dict[int, list[int]] = {}
        for index, record in enumerate(records):
            target = partition
            if target is None:
                count = len(known.partitions)
                target = self._round % count if record.key is None else partition_of(record.key, count)
            shares.setdefault(target, []).append(index)
        results: list[Produced] = [Produced(partition=-1)] * len(records)

        async def send(target: int, indexes: list[int]) -> None:
            stamped = [_stamped(records[index], now_ms) for index in indexes]
            outcomes = await self._queue(TopicPartition(topic, target)).send(stamped)
            for index, outcome in zip(indexes, outcomes, strict=True):
                results[index] = outcome

        await asyncio.gather(*(send(target, indexes) for target, indexes in shares.items()))
        return results

    async def close(self) -> None:
        for queue in self._queues.values():
            queue.stop()

    def _queue(self, where: TopicPartition) -> "_PartitionQueue":
        queue = self._queues.get(where)
        if queue is None:
            queue = self._queues[where] = _PartitionQueue(self._client, where)
        return queue


class _PartitionQueue:
    """The records for one partition, one batch at a time."""

    __slots__ = ("_client", "_identity", "_sequence", "_task", "_waiting", "_where")

    def __init__(self, client: "Client", where: TopicPartition) -> None:
        self._client = client
        self._where = where
        self._waiting: list[_Entry] = []
        self._identity: _Identity | None = None
        self._sequence = 0
        self._task: asyncio.Task[None] | None = None

    async def send(self, records: Sequence[NewRecord]) -> list[Produced]:
        entry = _Entry(records, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if self._task is None:
            self._task = asyncio.create_task(self._drain(), name=f"produce to {self._where}")
        return await entry.done

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._send_together(self._next_entries())
        except asyncio.CancelledError:
            for entry in self._waiting:
                entry.done.cancel()
            raise
        finally:
            self._task = None

    def _next_entries(self) -> list[_Entry]:
        """The entries of the next batch; those whose caller has given up are dropped before they were sent."""
        taken: list[_Entry] = []
        count = size_bytes = 0
        self._waiting = [entry for entry in self._waiting if not entry.done.done()]
        for entry in self._waiting:
            count += len(entry.records)
            size_bytes += sum(len(r.key or b"") + len(r.value or b"") for r in entry.records)
            if taken and (count > _MERGED_RECORDS_MAX or size_bytes > _MERGED_BYTES_MAX):
                break
            taken.append(entry)
        del self._waiting[: len(taken)]
        return taken

    async def _send_together(self, entries: list[_Entry]) -> None:
        """Send one batch of all entries. If it is rejected, send one batch for each, so that valid ones succeed."""
        try:
            if entries:
                outcomes = await self._send_batch([record for entry in entries for record in entry.records])
                is_rejected = any(each.error for each in outcomes)
                if is_rejected and len(entries) > 1:
                    for entry in entries:
                        await self._send_together([entry])
                    return
                for entry in entries:
                    _resolve(entry, outcomes[: len(entry.records)])
                    del outcomes[: len(entry.records)]
        except asyncio.CancelledError:
            for entry in entries:
                entry.done.cancel()
            raise
        except Exception as error:  # noqa: BLE001  the callers get it
            for entry in entries:
                if not entry.done.done():
                    entry.done.set_exception(error)

    async def _send_batch(self, records: Sequence[NewRecord]) -> list[Produced]:
        """Send a batch until it is stored or rejected."""
        leader = LeaderOf(*self._where)
        is_uncertain = False  # whether it may have been stored although no response said so

        async def attempt() -> list[Produced]:
            nonlocal is_uncertain
            if self._identity is None:
                self._identity, self._sequence = await self._new_identity(), 0
            sequence = -1 if self._identity is _NOT_IDEMPOTENT else self._sequence
            message = self._request(records, self._identity, sequence)
            was_uncertain, is_uncertain = is_uncertain, True
            try:
                response = await self._client.request_once(leader, message, version_max=NAMES_LAST)
            except (Unreachable, Retry):  # it was not sent
                is_uncertain = was_uncertain
                raise
            answer = response.responses[0].partition_responses[0]
            code = ErrorCode(answer.error_code)
            # With these two the batch is in the leader's log already.
            is_uncertain = was_uncertain or code in (
                ErrorCode.REQUEST_TIMED_OUT,
                ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            )
            if code in _UNKNOWN_SEQUENCE and not was_uncertain:
                self._identity = None
                raise Retry(f"{self._where} lost the state of this producer: {code.name}")
            if is_retriable(code):
                self._client.forget(leader)
                raise Retry(f"{self._where} was answered with {error_name(code)}")
            is_uncertain = is_uncertain and bool(code)
            return _outcomes(records, self._where.partition, answer)

        try:
            outcomes = await self._client.until_done(f"producing to {self._where}", attempt)
        except BaseException:
            if is_uncertain:
                self._identity = None
            raise
        if is_uncertain:
            self._identity = None
        elif not outcomes[0].error:
            self._sequence = advance_sequence(self._sequence, len(records))
        return outcomes

    def _request(
        self, records: Sequence[NewRecord], identity: _Identity, sequence: int
    ) -> produce.ProduceRequest:
        batch = build_batch(
            records, producer_id=identity.producer_id, producer_epoch=identity.epoch, base_sequence=sequence
        )
        partition = produce.PartitionProduceData(index=self._where.partition, records=batch)
        return produce.ProduceRequest(
            acks=-1,
            timeout_ms=self._client.settings.request_timeout_ms,
            topic_data=[produce.TopicProduceData(name=self._where.topic, partition_data=[partition])],
        )

    async def _new_identity(self) -> _Identity:
        message = init_producer_id.InitProducerIdRequest(transactional_id=None)
        try:
            response = await self._client.request(ANY, message)
        except BrokerError as error:
            if error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                return _NOT_IDEMPOTENT  # the Produce response says what the user may not do
            raise
        return _Identity(response.producer_id, response.producer_epoch)


def _stamped(record: NewRecord, now_ms: int) -> NewRecord:
    if record.timestamp != NO_TIMESTAMP:
        return record
    return msgspec.structs.replace(record, timestamp=now_ms)


def _resolve(entry: _Entry, outcomes: list[Produced]) -> None:
    if not entry.done.done():
        entry.done.set_result(outcomes)


def _outcomes(
    records: Sequence[NewRecord], partition: int, response: produce.PartitionProduceResponse
) -> list[Produced]:
    if response.error_code:
        reasons = {each.batch_index: each.batch_index_error_message for each in response.record_errors}
        rest = "another record of the same batch was rejected" if reasons else None
        return [
            Produced(
                partition=partition,
                error=ErrorCode(response.error_code),
                message=reasons.get(index, rest) or response.error_message,
            )
            for index in range(len(records))
        ]
    stored_at_ms = response.log_append_time_ms
    return [
        Produced(
            partition=partition,
            offset=response.base_offset + index,
            timestamp=record.timestamp if stored_at_ms == NO_TIMESTAMP else stored_at_ms,
        )
        for index, record in enumerate(records)
    ]

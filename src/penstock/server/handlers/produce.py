"""Produce (key 0), v3-v13: append record batches to the partitions led here.

Stage one validates and appends, in connection order; stage two waits until the records may be acknowledged. The
request's timeout bounds the wait for other replicas. Without other replicas the wait is for this broker's own disk,
which Kafka does within the append, and the timeout does not apply to it. With acks=0 there is no response; an error
then closes the connection, the only way left to notify the client.

The first batch of a transaction in a partition is appended in stage two: its coordinator is asked whether the partition
is part of the transaction or, from v12 on, is asked to add it (KIP-890): see `produce_transactions`.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from penstock.cluster.commit import ALL, Commit
from penstock.cluster.metadata.topic_names import INTERNAL_TOPICS
from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER_SIZE,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
)
from penstock.runtime.completion import Completion, Reply
from penstock.security.operations import Operation
from penstock.server.connections import CloseConnection
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_transactional_id, refused_topics
from penstock.server.handlers.shared.produce_transactions import (
    BY_ID_FROM,
    Pending,
    Verdicts,
    has_transactional_records,
    key_of,
    pending_in,
    verdicts,
)
from penstock.storage.errors import AppendRejected, LogError
from penstock.storage.producers.transaction_permit import TransactionPermit

VERSIONS = range(3, 14)

_CHECK_INTERVAL_S = 1.0  # how often a wait for other replicas checks that this leader is not cut off
ADMIN_CLIENT = "__admin_client"  # Kafka's name for the only client that may write to internal topics
_ACKS = (ALL, 0, 1)
_NO_ERROR = ErrorCode.NONE  # in Python 3.11 it takes a call to get a member of an enum
_NO_START_OFFSET = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
"""Refusals that, as in Kafka, do not say where the log starts."""

_Part = tuple[TopicProduceData, int, ErrorCode, Replica | None, Commit | None]
"""A partition of a request, and the outcome of its records: an error, or a commit at its leader."""
_Denied = Mapping[bytes | str, ErrorCode]
_NOTHING_DENIED: _Denied = {}
_NO_VERDICTS: Verdicts = {}


def handle(
    ctx: RequestContext, request: ProduceRequest
) -> ProduceResponse | Reply[ProduceResponse | None] | None:
    denied = _denied(ctx, request) if ctx.broker.authorizer.is_enforcing else _NOTHING_DENIED
    found = _NO_VERDICTS
    if request.transactional_id is not None:
        pending = pending_in(ctx, [t for t in request.topic_data if key_of(ctx, t) not in denied])
        if isinstance(pending, Pending):
            return Reply.of(_append_later(ctx, request, denied, pending))
        found = pending
    produce = _Produce(ctx, request)
    produce.append(denied, found)
    return produce.answer()


def _denied(ctx: RequestContext, request: ProduceRequest) -> _Denied:
    """The errors of topics that may not be written to; of all, if the transactional id may not be used."""
    topics = [key_of(ctx, topic) for topic in request.topic_data]
    transactional_id = request.transactional_id
    if (
        transactional_id is not None
        and not may_transactional_id(ctx, Operation.WRITE, transactional_id)
        and has_transactional_records(request)
    ):
        return dict.fromkeys(topics, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return refused_topics(ctx, Operation.WRITE, topics)


async def _append_later(
    ctx: RequestContext, request: ProduceRequest, denied: _Denied, pending: Pending
) -> ProduceResponse | None:
    produce = _Produce(ctx, request)
    try:
        produce.append(denied, await verdicts(ctx, request, pending))
        await produce.appended()
    finally:
        pending.admission.close()  # the producer's next request is appended after these records
    response = produce.answer()
    return await response if isinstance(response, Reply) else response


class _Produce(Reply[ProduceResponse | None]):
    """One request: the outcome of each partition, and the reply once all have committed or failed, or the other
    replicas took too long.

    A leader that is cut off from the cluster may have been replaced without being notified. Kafka lets its clients wait
    for the timeout and retry, because all that they can learn from it is that it leads. Here their connection ends, as
    if the leader had died, and they ask the other brokers who leads now.
    """

    _ctx: RequestContext
    _request: ProduceRequest
    _parts: list[_Part] = msgspec.field(default_factory=list)
    _left: int = 1  # commits that are waited for, and `answer`
    _others: list[Commit] = msgspec.field(default_factory=list)  # commits that wait for other replicas
    _timed_out: Sequence[Commit] = ()
    _timer: asyncio.TimerHandle | None = None
    _deadline_s: float = 0.0

    def append(self, denied: _Denied, found: Verdicts) -> None:
        for topic in self._request.topic_data:
            refusal = denied.get(key_of(self._ctx, topic)) if denied else None
            for data in topic.partition_data:
                if refusal is None:
                    self._parts.append(self._append(topic, data, found))
                else:
                    self._parts.append((topic, data.index, refusal, None, None))

    def _append(self, topic: TopicProduceData, data: PartitionProduceData, found: Verdicts) -> _Part:
        ctx, index, acks = self._ctx, data.index, self._request.acks
        if ctx.version >= BY_ID_FROM:
            leader = ctx.broker.replicas.leader_by_id(topic.topic_id, index)
        else:
            leader = ctx.broker.replicas.leader_of(topic.name, index)
        if not isinstance(leader, Replica):
            return topic, index, leader, None, None
        records = data.records
        if not isinstance(records, memoryview):
            records = memoryview(records or b"")
        permit = _judge(ctx, self._request, leader, records, found)
        if permit is not None and isinstance(permit, ErrorCode):
            return topic, index, permit, None, None
        commit = leader.append(
            records, ctx.broker.clock.now_ms(), leader_epoch=leader.leader_epoch, acks=acks, permit=permit
        )
        if not commit.is_done:
            self._left += 1
            commit.then(self._on_commit)
            if commit.checking is not None:
                self.is_exclusive = True  # the client's next request must not overtake it
            if acks == ALL and leader.is_replicated:
                self._others.append(commit)
        return topic, index, _NO_ERROR, leader, commit

    async def appended(self) -> None:
        """Wait until the log has appended all records, or refused them."""
        for _, _, _, leader, commit in self._parts:
            if leader is not None and commit is not None:
                if commit.checking is not None:
                    await commit.checking
                leader.write_queued()

    def answer(self) -> "ProduceResponse | _Produce | None":
        self._left -= 1
        if self._left == 0:
            return self._respond()
        if self._others:
            self._deadline_s = asyncio.get_running_loop().time() + self._request.timeout_ms / 1000
            self._wait_for_others()
        return self

    def _on_commit(self, commit: Completion[None] | None) -> None:
        if commit is not None:
            if commit in self._timed_out:
                return
            self._left -= 1
        if self._left:
            return
        if self._timer is not None:
            self._timer.cancel()
        try:
            self.resolve(self._respond())
        except Exception as error:  # noqa: BLE001  other commits are settled after this one
            self.fail(error)

    def _wait_for_others(self) -> None:
        loop = asyncio.get_running_loop()
        left_s = max(0.0, self._deadline_s - loop.time())
        self._timer = loop.call_later(min(left_s, _CHECK_INTERVAL_S), self._check_progress)

    def _check_progress(self) -> None:
        if self._ctx.broker.access.is_cut_off:
            self.fail(CloseConnection("this leader is cut off from the other replicas and the controller"))
        elif asyncio.get_running_loop().time() >= self._deadline_s:
            self._give_up()
        else:
            self._wait_for_others()

    def _give_up(self) -> None:
        """Appended records stay, and may still be committed: the client must find out by retrying."""
        self._timed_out = [commit for commit in self._others if not commit.is_done]
        self._left -= len(self._timed_out)
        self._on_commit(None)

    def _respond(self) -> ProduceResponse | None:
        acks = self._request.acks
        responses: list[TopicProduceResponse] = []
        last: TopicProduceData | None = None
        for part in self._parts:
            topic = part[0]
            commit = part[4]
            if commit is not None and commit.is_done and commit.error is None:
                appended = commit.appended
                assert appended is not None
                response = PartitionProduceResponse(
                    index=part[1],
                    base_offset=appended.base_offset,
                    log_append_time_ms=appended.log_append_time_ms,
                    log_start_offset=appended.log_start_offset,
                )
            else:
                response = _failed(part)
            if response.error_code and acks == 0:
                raise CloseConnection(
                    f"a produce without acknowledgement to {topic.name or topic.topic_id.hex()} failed: "
                    f"{ErrorCode(response.error_code).name}"
                )
            if topic is last:
                responses[-1].partition_responses.append(response)
            else:
                last = topic
                responses.append(
                    TopicProduceResponse(
                        name=topic.name, topic_id=topic.topic_id, partition_responses=[response]
                    )
                )
        return ProduceResponse(responses=responses) if acks else None


def _judge(
    ctx: RequestContext, request: ProduceRequest, leader: Replica, records: memoryview, found: Verdicts
) -> ErrorCode | TransactionPermit | None:
    """The error of the request itself, or the permit with which its records go to the log, which checks them."""
    is_batch = len(records) >= HEADER_SIZE and records[MAGIC_POSITION] == MAGIC
    attributes = records[ATTRIBUTES_POSITION + 1] if is_batch else 0
    if ctx.version < 7 and attributes & CODEC_MASK == Codec.ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if request.acks not in _ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if leader.topic in INTERNAL_TOPICS and ctx.client_id != ADMIN_CLIENT:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if attributes & TRANSACTIONAL_FLAG:
        if request.transactional_id is None:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        # A partition that was not led here when the request came, or belongs to another topic now, was not verified.
        return found.get(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return None


def _failed(part: _Part) -> PartitionProduceResponse:
    _, index, code, leader, commit = part
    if leader is None or commit is None:
        return PartitionProduceResponse(index=index, error_code=code, base_offset=-1)
    error = commit.error
    if error is None:
        return PartitionProduceResponse(index=index, error_code=ErrorCode.REQUEST_TIMED_OUT, base_offset=-1)
    if isinstance(error, AppendRejected):
        return _rejected(index, leader, error)
    assert isinstance(error, LogError)
    return PartitionProduceResponse(
        index=index, error_code=error.code, base_offset=-1, error_message=error.client_message
    )


def _rejected(index: int, leader: Replica, error: AppendRejected) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        log_start_offset=-1 if error.code in _NO_START_OFFSET else leader.log.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=e.batch_index, batch_index_error_message=e.message)
            for e in error.record_errors
        ],
        error_message=error.message,
    )

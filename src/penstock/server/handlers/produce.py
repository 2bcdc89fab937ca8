"""Produce (key 0), v3-v13: append record batches to the partitions led here.

Stage one validates and appends, in connection order; stage two waits until what was appended may be acknowledged.
The request's timeout bounds the wait for other replicas. Where there are none the wait is for this broker's own disk,
which Kafka does within the append, and the timeout does not apply to it. With acks=0 nothing is answered; an error then
closes the connection, the only way left to tell the client.

The first batch of a transaction in a partition is appended in stage two: its coordinator is asked whether the partition
is part of the transaction or, from v12 on, is told that it is (KIP-890).
"""

import asyncio
from collections.abc import Mapping
from functools import partial

from penstock.cluster.replica import ALL, Replica
from penstock.cluster.topic_names import INTERNAL_TOPICS
from penstock.observability.completion import Reply
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.protocol.records.batch import CODEC_MASK, TRANSACTIONAL_FLAG
from penstock.protocol.records.rules import CheckElsewhere
from penstock.security.operations import Operation
from penstock.server.connection_host import CloseConnection
from penstock.server.context import RequestContext
from penstock.server.permissions import may_transactional_id, refused_topics
from penstock.server.produce_answers import answer_of_one, failed, rejected, stored
from penstock.server.transactional_produce import (
    Pending,
    Verdicts,
    attributes_of,
    has_transactional_records,
    key_of,
    leader_for,
    pending_in,
    verdicts,
)
from penstock.storage.append import Checked
from penstock.storage.log_errors import AppendRejected, LogError
from penstock.storage.log_values import Appended
from penstock.storage.transaction_permit import TransactionPermit
from penstock.transactions.state import TopicPartition

_LOOK_INTERVAL_S = 1.0  # how often a wait for other replicas asks whether they can still be heard of
ADMIN_CLIENT = "__admin_client"  # Kafka's name for the only client that may write to internal topics


class _Unchecked:
    """Records that take long to check, on a thread, and under what they may be appended after it."""

    __slots__ = ("leader", "leader_epoch", "permit", "records")

    def __init__(
        self, leader: Replica, leader_epoch: int, permit: TransactionPermit | None, records: memoryview
    ) -> None:
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.permit = permit
        self.records = records


class _Outcome:
    """What one partition will be answered, and what that waits for."""

    __slots__ = ("appended", "is_settled", "leader", "response", "unchecked")

    def __init__(
        self,
        response: PartitionProduceResponse,
        leader: Replica | None = None,
        appended: Appended | None = None,
    ) -> None:
        self.response = response
        self.leader = leader
        """Who says when what was appended may be acknowledged; None when nothing was."""
        self.appended = appended
        self.is_settled = False
        self.unchecked: _Unchecked | None = None


_Outcomes = list[tuple[TopicProduceData, list[_Outcome]]]
_Denied = Mapping[bytes | str, ErrorCode]
_NO_VERDICTS: Verdicts = {}


def handle(
    ctx: RequestContext, request: ProduceRequest
) -> ProduceResponse | Reply[ProduceResponse | None] | None:
    denied = _denied(ctx, request)
    if request.transactional_id is not None:
        pending = pending_in(ctx, [t for t in request.topic_data if key_of(ctx, t) not in denied])
        if isinstance(pending, Pending):
            return Reply.of(_handle_later(ctx, request, denied, pending))
        return _go_on(ctx, request, _append_all(ctx, request, denied, pending))
    topics = request.topic_data
    if len(topics) == 1 and len(topics[0].partition_data) == 1 and not denied:
        return _handle_one(ctx, request, topics[0])
    return _go_on(ctx, request, _append_all(ctx, request, denied, _NO_VERDICTS))


def _handle_one(
    ctx: RequestContext, request: ProduceRequest, topic: TopicProduceData
) -> ProduceResponse | Reply[ProduceResponse | None] | None:
    """What nearly every request is: records for one partition. Where no other broker holds it, there is only its disk
    to wait for, without a time limit.
    """
    data = topic.partition_data[0]
    outcome = _append(ctx, request, topic, data, _NO_VERDICTS)
    leader, appended = outcome.leader, outcome.appended
    if leader is None or appended is None or leader.is_replicated or request.acks == 0:
        return _go_on(ctx, request, [(topic, [outcome])])
    answer: Reply[ProduceResponse | None] = Reply()
    leader.notify_when_acknowledged(appended, request.acks, partial(_respond_to_one, answer, topic, outcome))
    return answer


def _respond_to_one(
    answer: Reply[ProduceResponse | None], topic: TopicProduceData, outcome: _Outcome, error: LogError | None
) -> None:
    if error is not None:
        outcome.response = failed(outcome.response.index, error.code, error.client_message)
    answer.resolve(answer_of_one(topic, outcome.response))


def _denied(ctx: RequestContext, request: ProduceRequest) -> _Denied:
    """What topics are told that may not be written to; all of them, if the transactional id may not be used."""
    if not ctx.broker.authorizer.is_enforcing:
        return {}
    topics = [key_of(ctx, topic) for topic in request.topic_data]
    transactional_id = request.transactional_id
    if (
        transactional_id is not None
        and not may_transactional_id(ctx, Operation.WRITE, transactional_id)
        and has_transactional_records(request)
    ):
        return dict.fromkeys(topics, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return refused_topics(ctx, Operation.WRITE, topics)


async def _handle_later(
    ctx: RequestContext, request: ProduceRequest, denied: _Denied, pending: Pending
) -> ProduceResponse | None:
    try:
        found = await verdicts(ctx, request, pending)
        outcomes = _append_all(ctx, request, denied, found)
        if _has_unchecked(outcomes):
            outcomes = await _append_checked(ctx, request, outcomes)
    finally:
        pending.admission.close()  # the producer's next request goes in behind what was appended
    answer = _answer(ctx, request, outcomes)
    return await answer if isinstance(answer, Reply) else answer


def _append_all(ctx: RequestContext, request: ProduceRequest, denied: _Denied, found: Verdicts) -> _Outcomes:
    outcomes: _Outcomes = []
    for topic in request.topic_data:
        refusal = denied.get(key_of(ctx, topic)) if denied else None
        if refusal is None:
            parts = [_append(ctx, request, topic, data, found) for data in topic.partition_data]
        else:
            parts = [_Outcome(failed(data.index, refusal)) for data in topic.partition_data]
        outcomes.append((topic, parts))
    return outcomes


def _go_on(
    ctx: RequestContext, request: ProduceRequest, outcomes: _Outcomes
) -> ProduceResponse | Reply[ProduceResponse | None] | None:
    if _has_unchecked(outcomes):
        # What the same client sends next must not overtake it.
        return Reply.of(_answer_checked(ctx, request, outcomes), is_exclusive=True)
    return _answer(ctx, request, outcomes)


def _has_unchecked(outcomes: _Outcomes) -> bool:
    for _, parts in outcomes:
        for outcome in parts:
            if outcome.unchecked is not None:
                return True
    return False


async def _answer_checked(
    ctx: RequestContext, request: ProduceRequest, outcomes: _Outcomes
) -> ProduceResponse | None:
    answer = _answer(ctx, request, await _append_checked(ctx, request, outcomes))
    return await answer if isinstance(answer, Reply) else answer


async def _append_checked(ctx: RequestContext, request: ProduceRequest, outcomes: _Outcomes) -> _Outcomes:
    """Check what takes long where it holds nobody up, then append it."""
    checked: _Outcomes = []
    for topic, parts in outcomes:
        done = []
        for each in parts:
            outcome = each
            while outcome.unchecked is not None:  # again, when the topic's settings changed meanwhile
                outcome = await _check_and_append(ctx, request, outcome, outcome.unchecked)
            done.append(outcome)
        checked.append((topic, done))
    return checked


async def _check_and_append(
    ctx: RequestContext, request: ProduceRequest, outcome: _Outcome, unchecked: _Unchecked
) -> _Outcome:
    index, leader = outcome.response.index, unchecked.leader
    check = leader.log.checking(unchecked.records, ctx.broker.clock.now_ms())
    try:
        checked = await ctx.broker.checks.run(check)
        return _append_records(ctx, request, index, checked, leader, unchecked.leader_epoch, unchecked.permit)
    except CheckElsewhere:
        return outcome
    except AppendRejected as error:
        return _Outcome(rejected(index, leader, error))


def _answer(
    ctx: RequestContext, request: ProduceRequest, outcomes: _Outcomes
) -> ProduceResponse | Reply[ProduceResponse | None] | None:
    if request.acks == 0:
        for topic, parts in outcomes:
            for outcome in parts:
                if outcome.response.error_code:
                    raise CloseConnection(
                        f"a produce without acknowledgement to {topic.name or topic.topic_id.hex()} failed: "
                        f"{ErrorCode(outcome.response.error_code).name}"
                    )
        return None
    waiting = [o for _, parts in outcomes for o in parts if o.leader is not None]
    if waiting:
        return _Waiting(ctx, request, outcomes, waiting).answer
    return _respond(outcomes)


class _Waiting:
    """Stage two: answers when every partition has committed or failed, or the others took too long.

    A leader that is cut off from the cluster has been replaced, as far as it can know, and nobody will tell it. Kafka
    lets its clients wait for the timeout and send to it again, because all that they can learn from it is that it
    leads. Here their connection ends, as if the leader had died, and they ask the other brokers who leads now.
    """

    __slots__ = ("_access", "_deadline_s", "_left", "_outcomes", "_timer", "answer")

    def __init__(
        self, ctx: RequestContext, request: ProduceRequest, outcomes: _Outcomes, waiting: list[_Outcome]
    ) -> None:
        self.answer: Reply[ProduceResponse | None] = Reply()
        self._access = ctx.broker.access
        self._outcomes = outcomes
        self._left = len(waiting)
        self._timer: asyncio.TimerHandle | None = None
        acks = request.acks
        others = []
        for outcome in waiting:
            leader, appended = outcome.leader, outcome.appended
            assert leader is not None
            assert appended is not None
            leader.notify_when_acknowledged(appended, acks, partial(self._settle, outcome))
            if acks == ALL and leader.is_replicated and not outcome.is_settled:
                others.append(outcome)
        if others:
            self._deadline_s = asyncio.get_running_loop().time() + request.timeout_ms / 1000
            self._wait_for(others)

    def _settle(self, outcome: _Outcome, error: LogError | None) -> None:
        if outcome.is_settled:  # its time had run out
            return
        if error is not None:
            outcome.response = failed(outcome.response.index, error.code, error.client_message)
        outcome.is_settled = True
        self._left -= 1
        if self._left == 0:
            if self._timer is not None:
                self._timer.cancel()
            self.answer.resolve(_respond(self._outcomes))

    def _wait_for(self, others: list[_Outcome]) -> None:
        loop = asyncio.get_running_loop()
        left_s = max(0.0, self._deadline_s - loop.time())
        self._timer = loop.call_later(min(left_s, _LOOK_INTERVAL_S), self._look, others)

    def _look(self, others: list[_Outcome]) -> None:
        if self._access.is_cut_off:
            self.answer.fail(CloseConnection("no other replica and no controller is heard of any more"))
        elif asyncio.get_running_loop().time() >= self._deadline_s:
            self._give_up(others)
        else:
            self._wait_for(others)

    def _give_up(self, others: list[_Outcome]) -> None:
        """What was appended stays, and may still be committed: the client must find out by sending it again."""
        for outcome in others:
            if not outcome.is_settled:
                outcome.response = failed(outcome.response.index, ErrorCode.REQUEST_TIMED_OUT)
                self._settle(outcome, None)


def _respond(outcomes: _Outcomes) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[o.response for o in parts],
            )
            for topic, parts in outcomes
        ]
    )


def _append(
    ctx: RequestContext,
    request: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
    found: Verdicts,
) -> _Outcome:
    leader = leader_for(ctx, topic, data.index)
    if not isinstance(leader, Replica):
        return _Outcome(failed(data.index, leader))
    records = memoryview(data.records or b"")
    verdict = _judge(ctx, request, leader, records, found)
    if isinstance(verdict, ErrorCode):
        return _Outcome(failed(data.index, verdict))
    leader_epoch = leader.leader_epoch
    try:
        return _append_records(ctx, request, data.index, records, leader, leader_epoch, verdict)
    except CheckElsewhere:
        outcome = _Outcome(PartitionProduceResponse(index=data.index))
        outcome.unchecked = _Unchecked(leader, leader_epoch, verdict, records)
        return outcome


def _append_records(  # noqa: PLR0917  names are paid for at each call
    ctx: RequestContext,
    request: ProduceRequest,
    index: int,
    records: memoryview | Checked,
    leader: Replica,
    leader_epoch: int,
    permit: TransactionPermit | None,
) -> _Outcome:
    """Raises `CheckElsewhere`."""
    try:
        appended = leader.append(
            records, ctx.broker.clock.now_ms(), leader_epoch=leader_epoch, acks=request.acks, permit=permit
        )
    except AppendRejected as error:
        return _Outcome(rejected(index, leader, error))
    except LogError as error:
        return _Outcome(failed(index, error.code, error.client_message))
    return _Outcome(stored(index, appended), leader, appended)


def _judge(
    ctx: RequestContext, request: ProduceRequest, leader: Replica, records: memoryview, found: Verdicts
) -> ErrorCode | TransactionPermit | None:
    """What is wrong with the request itself, or under what permit its records go to the log, which judges them."""
    attributes = attributes_of(records)
    if attributes & CODEC_MASK == Codec.ZSTD and ctx.version < 7:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if request.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if leader.topic in INTERNAL_TOPICS and ctx.client_id != ADMIN_CLIENT:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if attributes & TRANSACTIONAL_FLAG:
        if request.transactional_id is None:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        # A partition that was not led here when the request came was not asked about.
        return found.get(TopicPartition(leader.topic, leader.partition), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return None

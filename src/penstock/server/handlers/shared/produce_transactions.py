"""Transactional batches of a Produce: the coordinator admits them before they are appended (KIP-890)."""

from collections.abc import Sequence

from penstock.cluster.replica import Replica
from penstock.config.settings.coordinators import TRANSACTION_PARTITION_VERIFICATION_ENABLE
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import ProduceRequest, TopicProduceData
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    HEADER_SIZE,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
    parse_header,
)
from penstock.server.context import RequestContext
from penstock.transactions.admission import (
    PRODUCE_ADDS_FROM,
    Admission,
    CoordinatorRequest,
    Verdict,
    produce_error,
)
from penstock.transactions.state import Producer

Verdicts = dict[Replica, Verdict]

BY_ID_FROM = 13


class Pending:
    """A request with records of a transaction that is not open in their partitions yet."""

    __slots__ = ("admission", "coordinator_request")

    def __init__(self, admission: Admission, coordinator_request: CoordinatorRequest) -> None:
        self.admission = admission
        self.coordinator_request = coordinator_request


def key_of(ctx: RequestContext, topic: TopicProduceData) -> bytes | str:
    """Return the topic id or name, depending on the version."""
    return topic.topic_id if ctx.version >= BY_ID_FROM else topic.name


def leader_for(ctx: RequestContext, topic: TopicProduceData, index: int) -> Replica | ErrorCode:
    replicas = ctx.broker.replicas
    if ctx.version >= BY_ID_FROM:
        return replicas.leader_by_id(topic.topic_id, index)
    return replicas.leader_of(topic.name, index)


def _is_transactional(records: memoryview) -> bool:
    is_batch = len(records) >= HEADER_SIZE and records[MAGIC_POSITION] == MAGIC
    return is_batch and records[ATTRIBUTES_POSITION + 1] & TRANSACTIONAL_FLAG != 0


def has_transactional_records(request: ProduceRequest) -> bool:
    return any(
        _is_transactional(memoryview(data.records or b""))
        for topic in request.topic_data
        for data in topic.partition_data
    )


def pending_in(ctx: RequestContext, topics: Sequence[TopicProduceData]) -> Pending | Verdicts:
    """Return the admission of the transactional batches of a request, or the verdict on each."""
    producers: set[Producer] = set()
    firsts: list[tuple[Replica, int]] = []
    for topic in topics:
        for data in topic.partition_data:
            records = memoryview(data.records or b"")
            if not _is_transactional(records):
                continue
            header = parse_header(records, 0)
            producers.add(Producer(header.producer_id, header.producer_epoch))
            leader = leader_for(ctx, topic, data.index)
            if isinstance(leader, Replica):
                firsts.append((leader, header.base_sequence))
    if len(producers) > 1:
        return {leader: ErrorCode.INVALID_PRODUCER_ID_MAPPING for leader, _ in firsts}
    if not firsts:
        return {}
    producer = producers.pop()
    admissions = ctx.broker.admissions
    permits: Verdicts = {}
    for leader, _ in firsts:
        permit = admissions.permit(leader, producer)
        if permit is None:
            return Pending(admissions.enter(producer, firsts), _coordinator_request(ctx))
        permits[leader] = permit
    return permits


def _coordinator_request(ctx: RequestContext) -> CoordinatorRequest:
    return CoordinatorRequest.for_request(
        adds=ctx.version >= PRODUCE_ADDS_FROM,
        verifies=ctx.broker.config[TRANSACTION_PARTITION_VERIFICATION_ENABLE],
    )


async def verdicts(ctx: RequestContext, request: ProduceRequest, pending: Pending) -> Verdicts:
    """Return the verdict on each partition once the coordinator has answered."""
    found = await pending.admission.outcome(
        ctx.broker.admissions.verifier, request.transactional_id or "", pending.coordinator_request
    )
    return {
        leader: produce_error(verdict, ctx.version) if isinstance(verdict, ErrorCode) else verdict
        for leader, verdict in found.items()
    }

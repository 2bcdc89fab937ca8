"""WriteTxnMarkers (key 27), v1-v2: a transaction coordinator ends transactions in partitions led here.

v2 has the transaction version, so that a late marker is recognized by its epoch (KIP-1228).

Administrators may only abort, using the producer id and epochs from DescribeProducers; any other epoch could fence the
producer or the coordinator. COMMIT markers are accepted from brokers only (`broker_apis`).

All markers are appended before waiting for any to be committed: a late marker could end the producer's next
transaction.
"""

from collections.abc import Awaitable, Mapping, Sequence

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import write_txn_markers as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.transactions.markers import Begun, Marker, outcomes
from penstock.transactions.state import TopicPartition

VERSIONS = range(1, 3)


def handle(
    ctx: RequestContext, request: api.WriteTxnMarkersRequest
) -> api.WriteTxnMarkersResponse | Awaitable[api.WriteTxnMarkersResponse]:
    if ctx.may_in_cluster(Operation.ALTER):
        return _respond(request.markers, [_begin(ctx, marker) for marker in request.markers])
    refusal = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return api.WriteTxnMarkersResponse(
        markers=[_result(each, dict.fromkeys(_targets(each), refusal)) for each in request.markers]
    )


async def _respond(
    markers: Sequence[api.WritableTxnMarker], begun: Sequence[Begun]
) -> api.WriteTxnMarkersResponse:
    return api.WriteTxnMarkersResponse(
        markers=[_result(wanted, await outcomes(each)) for wanted, each in zip(markers, begun, strict=True)]
    )


def _begin(ctx: RequestContext, wanted: api.WritableTxnMarker) -> Begun:
    marker = Marker(
        producer_id=wanted.producer_id,
        producer_epoch=wanted.producer_epoch,
        is_commit=wanted.transaction_result,
        coordinator_epoch=wanted.coordinator_epoch,
        transaction_version=wanted.transaction_version,
    )
    targets = _targets(wanted)
    unknown = [] if ctx.peer.is_broker else [each for each in targets if not _is_hanging(ctx, wanted, each)]
    begun = ctx.broker.markers.begin(marker, [each for each in targets if each not in unknown])
    return {**begun, **dict.fromkeys(unknown, ErrorCode.INVALID_PRODUCER_EPOCH)}


def _is_hanging(ctx: RequestContext, wanted: api.WritableTxnMarker, target: TopicPartition) -> bool:
    """Whether the partition has an open transaction of exactly this producer. True if another broker leads it."""
    leader = ctx.broker.replicas.leader_of(target.topic, target.partition)
    if not isinstance(leader, Replica):
        return True
    leader.write_queued()  # a marker before this one in the request has ended it
    known = leader.log.producers.get(wanted.producer_id)
    return (
        known is not None
        and known.transaction_first_offset is not None
        and wanted.producer_epoch == known.producer_epoch
        and wanted.coordinator_epoch <= max(0, known.coordinator_epoch)
    )


def _targets(wanted: api.WritableTxnMarker) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number) for topic in wanted.topics for number in topic.partition_indexes
    ]


def _result(
    wanted: api.WritableTxnMarker, codes: Mapping[TopicPartition, ErrorCode]
) -> api.WritableTxnMarkerResult:
    return api.WritableTxnMarkerResult(
        producer_id=wanted.producer_id,
        topics=[
            api.WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    api.WritableTxnMarkerPartitionResult(
                        partition_index=number, error_code=codes[TopicPartition(topic.name, number)]
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in wanted.topics
        ],
    )

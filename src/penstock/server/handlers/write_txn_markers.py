"""WriteTxnMarkers (key 27), v1-v2: a transaction coordinator ends transactions in the partitions led here.

v2 says under which transaction version, so that a late marker is told from a right one by its epoch (KIP-1228).
"""

from collections.abc import Mapping

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.transactions.markers import Marker
from penstock.transactions.state import TopicPartition


async def handle(ctx: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    if ctx.may_in_cluster(Operation.ALTER) or ctx.may_in_cluster(Operation.CLUSTER_ACTION):
        return WriteTxnMarkersResponse(markers=[await _write(ctx, marker) for marker in request.markers])
    refusal = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return WriteTxnMarkersResponse(
        markers=[_result(each, dict.fromkeys(_targets(each), refusal)) for each in request.markers]
    )


async def _write(ctx: RequestContext, wanted: WritableTxnMarker) -> WritableTxnMarkerResult:
    marker = Marker(
        producer_id=wanted.producer_id,
        producer_epoch=wanted.producer_epoch,
        is_commit=wanted.transaction_result,
        coordinator_epoch=wanted.coordinator_epoch,
        transaction_version=wanted.transaction_version,
    )
    return _result(wanted, await ctx.broker.markers.send(marker, _targets(wanted)))


def _targets(wanted: WritableTxnMarker) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number) for topic in wanted.topics for number in topic.partition_indexes
    ]


def _result(wanted: WritableTxnMarker, codes: Mapping[TopicPartition, ErrorCode]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=wanted.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=number, error_code=codes[TopicPartition(topic.name, number)]
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in wanted.topics
        ],
    )

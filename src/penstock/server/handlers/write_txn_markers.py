"""WriteTxnMarkers (key 27), v1-v2: a transaction coordinator ends transactions in the partitions led here.

v2 says under which transaction version, so that a late marker is told from a right one by its epoch (KIP-1228).
"""

from penstock.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.server.context import RequestContext
from penstock.transactions.markers import Marker
from penstock.transactions.state import TopicPartition


async def handle(ctx: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(markers=[await _write(ctx, marker) for marker in request.markers])


async def _write(ctx: RequestContext, wanted: WritableTxnMarker) -> WritableTxnMarkerResult:
    marker = Marker(
        producer_id=wanted.producer_id,
        producer_epoch=wanted.producer_epoch,
        is_commit=wanted.transaction_result,
        coordinator_epoch=wanted.coordinator_epoch,
        transaction_version=wanted.transaction_version,
    )
    targets = [
        TopicPartition(topic.name, number) for topic in wanted.topics for number in topic.partition_indexes
    ]
    codes = await ctx.broker.markers.send(marker, targets)
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

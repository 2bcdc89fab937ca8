"""ListOffsets (key 2), v1-v11: offsets by position or by timestamp.

timestamp  -1  the end that the client may read (the last stable offset under read_committed)
-2  the start of the log
-3  the record with the greatest timestamp (v7)
-4  the start of the local log, which is the start of the log (v8)
-5  the end of remote storage (v9): there is none, so -1
-6  the first offset not yet in remote storage (v11): likewise -1
>=0  the first record at or after that time

A leader whose high watermark has not reached the start of its epoch shows a client nothing beyond it: the response is
OFFSET_NOT_AVAILABLE, or LEADER_NOT_AVAILABLE before v5 (KIP-207). A request that names a replica id is not from a
client, and sees everything.
"""

from collections import Counter

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import list_offsets as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic
from penstock.storage.errors import LogError

VERSIONS = range(1, 12)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
_EPOCH_SINCE_VERSION = 4
_SINCE_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_READ_COMMITTED = 1
_CLIENT = -1
_OFFSET_NOT_AVAILABLE_SINCE_VERSION = 5


async def handle(ctx: RequestContext, request: api.ListOffsetsRequest) -> api.ListOffsetsResponse:
    counts = Counter((t.name, p.partition_index) for t in request.topics for p in t.partitions)
    topics = []
    for topic in request.topics:
        partitions = []
        is_allowed = may_topic(ctx, Operation.DESCRIBE, topic.name)
        for wanted in topic.partitions:
            if not is_allowed:
                found = _failed(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif counts[topic.name, wanted.partition_index] > 1:
                found = _failed(wanted, ErrorCode.INVALID_REQUEST)
            else:
                found = await _list_one(ctx, topic.name, wanted, request)
            partitions.append(found)
        topics.append(api.ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return api.ListOffsetsResponse(topics=topics)


async def _list_one(
    ctx: RequestContext, topic: str, wanted: api.ListOffsetsPartition, request: api.ListOffsetsRequest
) -> api.ListOffsetsPartitionResponse:
    timestamp = wanted.timestamp
    if timestamp < EARLIEST_PENDING_UPLOAD or ctx.version < _SINCE_VERSION.get(timestamp, 0):
        return _failed(wanted, ErrorCode.UNSUPPORTED_VERSION)
    leader = ctx.broker.replicas.leader_of(topic, wanted.partition_index)
    if not isinstance(leader, Replica):
        return _failed(wanted, leader)
    code = leader.check_epoch(wanted.current_leader_epoch)
    if code:
        return _failed(wanted, code)
    log = leader.log
    limit, beyond = _limit(ctx, leader, request)
    if timestamp == LATEST:
        return _failed(wanted, beyond) if beyond else _found(ctx, wanted, -1, limit, leader.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _found(ctx, wanted, -1, log.log_start_offset, log.epoch_of(log.log_start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _found(ctx, wanted, -1, -1, -1)
    try:
        if timestamp == MAX_TIMESTAMP:
            found = await log.offset_of_max_timestamp()
        else:
            found = await log.offset_for_timestamp(timestamp)
    except LogError as error:
        return _failed(wanted, error.code)
    except OSError:
        return _failed(wanted, ErrorCode.KAFKA_STORAGE_ERROR)
    if found is None or found.offset >= limit:
        return _failed(wanted, beyond) if beyond else _found(ctx, wanted, -1, -1, -1)
    return _found(ctx, wanted, found.timestamp, found.offset, log.epoch_of(found.offset))


def _limit(ctx: RequestContext, leader: Replica, request: api.ListOffsetsRequest) -> tuple[int, ErrorCode]:
    """The offset limit for this client, and the error beyond it if earlier leaders may have shown records there."""
    if request.replica_id != _CLIENT:
        return leader.log.log_end_offset, ErrorCode.NONE
    is_committed = request.isolation_level == _READ_COMMITTED
    limit = leader.last_stable_offset if is_committed else leader.high_watermark
    if leader.knows_end:
        return limit, ErrorCode.NONE
    has_code = ctx.version >= _OFFSET_NOT_AVAILABLE_SINCE_VERSION
    return limit, ErrorCode.OFFSET_NOT_AVAILABLE if has_code else ErrorCode.LEADER_NOT_AVAILABLE


def _found(
    ctx: RequestContext, wanted: api.ListOffsetsPartition, timestamp: int, offset: int, leader_epoch: int
) -> api.ListOffsetsPartitionResponse:
    return api.ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        error_code=0,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=leader_epoch if ctx.version >= _EPOCH_SINCE_VERSION else -1,
    )


def _failed(wanted: api.ListOffsetsPartition, code: ErrorCode) -> api.ListOffsetsPartitionResponse:
    return api.ListOffsetsPartitionResponse(partition_index=wanted.partition_index, error_code=code)

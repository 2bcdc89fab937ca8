"""DescribeLogDirs (key 35), v1-v5: sizes of the logs on this broker and the room that is left.

A directory whose disk has failed has an error and no logs, as in Kafka. One that is full has none: see `usable_bytes`.
A log need not be opened to be measured: on a broker with thousands of idle partitions that would take its time.
"""

import logging
import os
from collections.abc import Awaitable

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.directory.disk_space import DiskState

VERSIONS = range(1, 6)

log = logging.getLogger(__name__)


def handle(
    ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse | Awaitable[DescribeLogDirsResponse]:
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return _describe(ctx, os.path.abspath(ctx.broker.replicas.directory), _wanted(ctx, request))


async def _describe(ctx: RequestContext, directory: str, replicas: list[Replica]) -> DescribeLogDirsResponse:
    failed = DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory)
    if ctx.broker.replicas.disk.state is DiskState.FAILED:
        return DescribeLogDirsResponse(results=[failed])
    try:
        usage = await ctx.broker.replicas.measure(replicas)
    except OSError as error:
        log.warning("Cannot measure the logs: %s. directory=%s", error.strerror, directory)
        return DescribeLogDirsResponse(results=[failed])
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for replica in replicas:
        size_bytes = usage.size_bytes.get(PartitionName(replica.topic, replica.partition), 0)
        topics.setdefault(replica.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=replica.partition, partition_size=size_bytes, offset_lag=0
            )
        )
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                error_code=0,
                log_dir=directory,
                topics=[DescribeLogDirsTopic(name=n, partitions=p) for n, p in topics.items()],
                total_bytes=usage.filesystem.total_bytes,
                usable_bytes=usage.filesystem.free_bytes,
            )
        ]
    )


def _wanted(ctx: RequestContext, request: DescribeLogDirsRequest) -> list[Replica]:
    """All of them, or those named that are here: what is not here is left out, as in Kafka."""
    if request.topics is None:
        return list(ctx.broker.replicas)
    named = dict.fromkeys((t.topic, index) for t in request.topics for index in t.partitions)
    found = (ctx.broker.replicas.get(topic, index) for topic, index in named)
    return [replica for replica in found if replica is not None]

"""DescribeLogDirs (key 35), v1-v5: sizes of the logs on this broker and the free space.

A directory whose disk has failed has an error and no logs, as in Kafka. A full directory has no error: see
`usable_bytes`. Logs are measured without opening them, which would take too long on a broker with thousands of idle
partitions.
"""

import logging
import os
from collections.abc import Awaitable

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_log_dirs as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.directory.disk_space import DiskState

VERSIONS = range(1, 6)

log = logging.getLogger(__name__)


def handle(
    ctx: RequestContext, request: api.DescribeLogDirsRequest
) -> api.DescribeLogDirsResponse | Awaitable[api.DescribeLogDirsResponse]:
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return api.DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return _describe(ctx, os.path.abspath(ctx.broker.replicas.directory), _wanted(ctx, request))


async def _describe(
    ctx: RequestContext, directory: str, replicas: list[Replica]
) -> api.DescribeLogDirsResponse:
    failed = api.DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory)
    if ctx.broker.replicas.disk.state is DiskState.FAILED:
        return api.DescribeLogDirsResponse(results=[failed])
    try:
        usage = await ctx.broker.replicas.measure(replicas)
    except OSError as error:
        log.warning("Cannot determine log sizes: %s. directory=%s", error.strerror, directory)
        return api.DescribeLogDirsResponse(results=[failed])
    topics: dict[str, list[api.DescribeLogDirsPartition]] = {}
    for replica in replicas:
        size_bytes = usage.size_bytes.get(PartitionName(replica.topic, replica.partition), 0)
        topics.setdefault(replica.topic, []).append(
            api.DescribeLogDirsPartition(
                partition_index=replica.partition, partition_size=size_bytes, offset_lag=0
            )
        )
    return api.DescribeLogDirsResponse(
        results=[
            api.DescribeLogDirsResult(
                error_code=0,
                log_dir=directory,
                topics=[api.DescribeLogDirsTopic(name=n, partitions=p) for n, p in topics.items()],
                total_bytes=usage.filesystem.total_bytes,
                usable_bytes=usage.filesystem.free_bytes,
            )
        ]
    )


def _wanted(ctx: RequestContext, request: api.DescribeLogDirsRequest) -> list[Replica]:
    """All replicas, or the requested ones that are on this broker: others are left out, as in Kafka."""
    if request.topics is None:
        return list(ctx.broker.replicas)
    named = dict.fromkeys((t.topic, index) for t in request.topics for index in t.partitions)
    found = (ctx.broker.replicas.get(topic, index) for topic, index in named)
    return [replica for replica in found if replica is not None]

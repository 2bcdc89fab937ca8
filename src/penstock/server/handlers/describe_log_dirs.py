"""DescribeLogDirs (key 35), v1-v5: sizes of the logs on this broker and the room that is left."""

import shutil
from collections.abc import Iterable

from penstock.cluster.replica import Replica
from penstock.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for replica in _wanted(ctx, request):
        topics.setdefault(replica.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=replica.partition, partition_size=replica.log.size_bytes, offset_lag=0
            )
        )
    directory = ctx.broker.replicas.directory
    usage = shutil.disk_usage(directory)
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                error_code=0,
                log_dir=directory,
                topics=[DescribeLogDirsTopic(name=n, partitions=p) for n, p in topics.items()],
                total_bytes=usage.total,
                usable_bytes=usage.free,
            )
        ]
    )


def _wanted(ctx: RequestContext, request: DescribeLogDirsRequest) -> Iterable[Replica]:
    if request.topics is None:
        return ctx.broker.replicas
    found = (ctx.broker.replicas.get(t.topic, index) for t in request.topics for index in t.partitions)
    return [replica for replica in found if replica is not None]

"""DescribeQuorum (key 55), v0-v2: describe the state of the metadata quorum (KIP-595, KIP-836).

From v2 on with the endpoints of the nodes and their directories (KIP-853).
"""

from msgspec.structs import replace

from penstock.cluster.metadata.topic_names import CLUSTER_METADATA
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_quorum as api
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(3)

_DIRECTORIES_FROM = 2


async def handle(ctx: RequestContext, request: api.DescribeQuorumRequest) -> api.DescribeQuorumResponse:
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return api.DescribeQuorumResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    wanted = [
        (topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions
    ]
    if wanted != [(CLUSTER_METADATA, 0)]:
        return _unknown_partitions(request)
    answer = ask_quorum(ctx, request, api.DescribeQuorumResponse)
    response: api.DescribeQuorumResponse = (
        answer if isinstance(answer, api.DescribeQuorumResponse) else await answer
    )
    if ctx.version >= _DIRECTORIES_FROM:
        return response
    return replace(response, nodes=[], topics=[_without_directories(topic) for topic in response.topics])


def _unknown_partitions(request: api.DescribeQuorumRequest) -> api.DescribeQuorumResponse:
    topics = [
        api.ResponseTopicData(
            topic_name=topic.topic_name,
            partitions=[
                api.ResponsePartitionData(
                    partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return api.DescribeQuorumResponse(topics=topics)


def _without_directories(topic: api.ResponseTopicData) -> api.ResponseTopicData:
    return replace(
        topic,
        partitions=[
            replace(
                each,
                current_voters=[replace(v, replica_directory_id=ZERO_UUID) for v in each.current_voters],
                observers=[replace(o, replica_directory_id=ZERO_UUID) for o in each.observers],
            )
            for each in topic.partitions
        ],
    )

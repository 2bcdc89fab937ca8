"""ListPartitionReassignments (key 46), v0: which partitions are on the move, of those named or of all."""

from penstock.cluster.controller.reassignments import reassigning
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import list_partition_reassignments as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.ListPartitionReassignmentsRequest
) -> api.ListPartitionReassignmentsResponse:
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return api.ListPartitionReassignmentsResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=None
        )
    asked = (
        None
        if request.topics is None
        else {(topic.name, number) for topic in request.topics for number in topic.partition_indexes}
    )
    found: dict[str, list[api.OngoingPartitionReassignment]] = {}
    for topic, number, partition in reassigning(ctx.broker.controller.image):
        if asked is None or (topic.name, number) in asked:
            found.setdefault(topic.name, []).append(
                api.OngoingPartitionReassignment(
                    partition_index=number,
                    replicas=list(partition.replicas),
                    adding_replicas=list(partition.adding_replicas),
                    removing_replicas=list(partition.removing_replicas),
                )
            )
    return api.ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[api.OngoingTopicReassignment(name=name, partitions=each) for name, each in found.items()],
    )

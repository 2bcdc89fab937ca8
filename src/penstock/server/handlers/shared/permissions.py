"""Permission checks shared by several handlers."""

from collections.abc import Iterable

from penstock.client import mirrors
from penstock.cluster.metadata.image import ResourceType as ConfigResourceType
from penstock.protocol.errors import ErrorCode
from penstock.security.operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    Operation,
    bit_field,
)
from penstock.security.resources import CLUSTER_NAME, ResourceType
from penstock.server.context import RequestContext

_OPERATIONS = {
    ResourceType.TOPIC: TOPIC_OPERATIONS,
    ResourceType.GROUP: GROUP_OPERATIONS,
    ResourceType.CLUSTER: CLUSTER_OPERATIONS,
}


def permitted_operations(ctx: RequestContext, resource_type: ResourceType, name: str) -> int:
    """The bit field of permitted operations on the resource (KIP-430)."""
    operations = _OPERATIONS[resource_type]
    if not ctx.broker.authorizer.is_enforcing:
        return bit_field(operations)
    return bit_field(each for each in operations if ctx.may(each, resource_type, name))


def permitted_in_cluster(ctx: RequestContext) -> int:
    """The same for the cluster: none for a client that may not describe it."""
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return 0
    return permitted_operations(ctx, ResourceType.CLUSTER, CLUSTER_NAME)


def may_topic(ctx: RequestContext, operation: Operation, topic: str) -> bool:
    return ctx.may(operation, ResourceType.TOPIC, topic)


def may_group(ctx: RequestContext, operation: Operation, group_id: str) -> bool:
    return ctx.may(operation, ResourceType.GROUP, group_id)


def may_transactional_id(ctx: RequestContext, operation: Operation, transactional_id: str) -> bool:
    return ctx.may(operation, ResourceType.TRANSACTIONAL_ID, transactional_id)


def settings_refusal(ctx: RequestContext, operation: Operation, resource_type: int, name: str) -> ErrorCode:
    """The error if settings may not be read or changed. Brokers and metrics subscriptions belong to the cluster.

    So do mirrors: who changes one can have topics and ACLs created.
    """
    match resource_type:
        case ConfigResourceType.TOPIC if not may_topic(ctx, operation, name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        case ConfigResourceType.GROUP if not may_group(ctx, operation, name):
            return ErrorCode.GROUP_AUTHORIZATION_FAILED
        case (
            ConfigResourceType.BROKER | ConfigResourceType.BROKER_LOGGER | ConfigResourceType.CLIENT_METRICS
        ) if not ctx.may_in_cluster(operation):
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        case mirrors.RESOURCE_TYPE if not ctx.may_in_cluster(
            Operation.ALTER if operation is Operation.ALTER_CONFIGS else operation
        ):
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def refused_topics(
    ctx: RequestContext, operation: Operation, topics: Iterable[bytes | str]
) -> dict[bytes | str, ErrorCode]:
    """The errors of topics that a request, which may wait before it acts, must not access.

    It is authorized when it arrives. A topic id that is unknown then stays unknown to the request: a topic that gets
    the id while the request waits was not authorized.
    """
    if not ctx.broker.authorizer.is_enforcing:
        return {}
    topics = list(topics)
    known = ctx.broker.controller.image.topics_by_id
    refused = dict.fromkeys(denied_topics(ctx, operation, topics), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    for topic in topics:
        if isinstance(topic, bytes) and topic not in known:
            refused[topic] = ErrorCode.UNKNOWN_TOPIC_ID
    return refused


def denied_topics(
    ctx: RequestContext, operation: Operation, topics: Iterable[bytes | str]
) -> set[bytes | str]:
    """The topics, by name or by id, for which the operation is denied. An unknown id is not denied."""
    if not ctx.broker.authorizer.is_enforcing:
        return set()
    denied = set()
    known = ctx.broker.controller.image.topics_by_id
    for topic in dict.fromkeys(topics):
        if isinstance(topic, bytes):
            by_id = known.get(topic)
            if by_id is None:
                continue
            name = by_id.name
        else:
            name = topic
        if not may_topic(ctx, operation, name):
            denied.add(topic)
    return denied

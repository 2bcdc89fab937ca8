"""Metadata (key 3), v0-v13: brokers, and topics by name, by id (v12) or all; may create missing topics.

Topics that may not be described are left out when all topics are requested; for requested topics, the response does not
reveal whether they exist.

A topic that is created because it was requested is unknown in the first responses: the client asks again.
"""

from collections.abc import Collection, Iterable

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Topic
from penstock.cluster.metadata.topic_names import invalid_name_reason, is_internal
from penstock.config.settings.replication import AUTO_CREATE_TOPICS_ENABLE
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import metadata as api
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import NOT_ASKED, Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import (
    denied_topics,
    may_topic,
    permitted_in_cluster,
    permitted_operations,
)

VERSIONS = range(14)


def handle(ctx: RequestContext, request: api.MetadataRequest) -> api.MetadataResponse:
    wanted = request.topics
    # KIP-516: v10 and v11 have the field for ids, but ids only mean something from v12 on.
    if ctx.version < 12 and any(t.name is None or t.topic_id != ZERO_UUID for t in wanted or ()):
        return _refused(request)
    if not wanted:
        # v0 has no null: there an empty list means all topics.
        everything = wanted is None or ctx.version == 0
        known = ctx.broker.controller.image.topics if everything else {}
        hidden = denied_topics(ctx, Operation.DESCRIBE, known)
        topics = [topic for name, topic in known.items() if name not in hidden]
        return _respond(ctx, request, [_topic(ctx, request, t) for t in topics])
    ids = list(dict.fromkeys(t.topic_id for t in wanted if t.topic_id != ZERO_UUID))
    if ids:
        return _respond(ctx, request, [_by_id(ctx, request, topic_id) for topic_id in ids])
    names = list(dict.fromkeys(t.name for t in wanted if t.name is not None))
    denied = denied_topics(ctx, Operation.DESCRIBE, names)
    missing = _to_create(ctx, request, [name for name in names if name not in denied])
    if missing:
        denied |= _not_to_create(ctx, missing)
        creatable = [n for n in missing if n not in denied and invalid_name_reason(n) is None]
        for name in creatable:
            ctx.broker.auto_creation.begin(name)
    return _respond(ctx, request, _by_names(ctx, request, names, denied))


def _to_create(ctx: RequestContext, request: api.MetadataRequest, names: list[str]) -> list[str]:
    """The topics that do not exist, if the request is meant to create them."""
    is_wanted = ctx.broker.config[AUTO_CREATE_TOPICS_ENABLE] and (
        ctx.version < 4 or request.allow_auto_topic_creation
    )
    image = ctx.broker.controller.image
    return [n for n in names if n not in image.topics] if is_wanted else []


def _not_to_create(ctx: RequestContext, names: list[str]) -> set[bytes | str]:
    if ctx.may_in_cluster(Operation.CREATE):
        return set()
    return denied_topics(ctx, Operation.CREATE, names)


def _by_names(
    ctx: RequestContext, request: api.MetadataRequest, names: list[str], denied: Collection[bytes | str]
) -> list[api.MetadataResponseTopic]:
    return [
        api.MetadataResponseTopic(name=name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if name in denied
        else _by_name(ctx, request, name)
        for name in names
    ]


def _by_name(ctx: RequestContext, request: api.MetadataRequest, name: str) -> api.MetadataResponseTopic:
    topic = ctx.broker.controller.image.topics.get(name)
    if topic is not None:
        return _topic(ctx, request, topic)
    invalid = invalid_name_reason(name) is not None
    return api.MetadataResponseTopic(
        name=name,
        error_code=ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        is_internal=is_internal(name),
        topic_authorized_operations=_topic_operations(ctx, request, name),
    )


def _by_id(ctx: RequestContext, request: api.MetadataRequest, topic_id: bytes) -> api.MetadataResponseTopic:
    """A topic id reveals nothing about the topic, so Kafka does not hide that it exists."""
    topic = ctx.broker.controller.image.topics_by_id.get(topic_id)
    if topic is None:
        return api.MetadataResponseTopic(name=None, topic_id=topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    if not may_topic(ctx, Operation.DESCRIBE, topic.name):
        return api.MetadataResponseTopic(
            name=None, topic_id=topic_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
        )
    return _topic(ctx, request, topic)


def _topic(ctx: RequestContext, request: api.MetadataRequest, topic: Topic) -> api.MetadataResponseTopic:
    image = ctx.broker.controller.image
    unreachable = {
        each.broker_id for each in image.brokers.values() if each.endpoint(ctx.peer.listener) is None
    }
    return api.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        error_code=0,
        partitions=[
            api.MetadataResponsePartition(
                error_code=_leader_error(ctx, p.leader, unreachable),
                partition_index=index,
                leader_id=-1 if p.leader in unreachable else p.leader,
                leader_epoch=p.leader_epoch,
                replica_nodes=list(p.replicas),
                isr_nodes=list(p.isr),
                offline_replicas=offline(image, p.replicas),
            )
            for index, p in sorted(topic.partitions.items())
        ],
        topic_authorized_operations=_topic_operations(ctx, request, topic.name),
    )


def _leader_error(ctx: RequestContext, leader: int, unreachable: Collection[int]) -> ErrorCode:
    """A listener that was opened while a broker ran is not in its registration, in Kafka too."""
    if leader < 0 or (leader in unreachable and ctx.version < 6):
        return ErrorCode.LEADER_NOT_AVAILABLE
    return ErrorCode.LISTENER_NOT_FOUND if leader in unreachable else ErrorCode.NONE


def _topic_operations(ctx: RequestContext, request: api.MetadataRequest, name: str) -> int:
    if not request.include_topic_authorized_operations:
        return NOT_ASKED
    return permitted_operations(ctx, ResourceType.TOPIC, name)


def _respond(
    ctx: RequestContext, request: api.MetadataRequest, topics: list[api.MetadataResponseTopic]
) -> api.MetadataResponse:
    return api.MetadataResponse(
        brokers=live_brokers(ctx, ctx.broker.controller.image),
        cluster_id=ctx.broker.cluster_id,
        controller_id=ctx.broker.node_id,
        topics=topics,
        cluster_authorized_operations=(
            permitted_in_cluster(ctx) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def live_brokers(ctx: RequestContext, image: MetadataImage) -> list[api.MetadataResponseBroker]:
    """The address of each live broker for clients of this listener."""
    return [
        api.MetadataResponseBroker(
            node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, rack=broker.rack
        )
        for broker in image.active_brokers()
        if (endpoint := broker.endpoint(ctx.peer.listener)) is not None
    ]


def offline(image: MetadataImage, replicas: Iterable[int]) -> list[int]:
    return [r for r in replicas if r not in image.brokers or not image.brokers[r].may_lead]


def _refused(request: api.MetadataRequest) -> api.MetadataResponse:
    return api.MetadataResponse(
        topics=[
            api.MetadataResponseTopic(
                name=t.name or "", topic_id=t.topic_id, error_code=ErrorCode.INVALID_REQUEST
            )
            for t in request.topics or ()
        ]
    )

"""CreateTopics (key 19), v2-v7: create topics, or only check that they could be created.

Large requests are processed a few topics at a time, so that other requests are served in between. The response contains
the settings of every topic, as in Kafka: the limit on the topics of one request also limits the response, to a few
megabytes.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice

from penstock.cluster.controller.create_topics import NewTopic, TopicCreated
from penstock.cluster.controller.decision import Refusal, refuse_too_large
from penstock.config.describe import Described
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import create_topics as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic
from penstock.server.quotas import MutationQuota
from penstock.storage.errors import LogError

VERSIONS = range(2, 8)

_REFUSES_FROM = 6  # older clients know no THROTTLING_QUOTA_EXCEEDED (KIP-599)
_AT_ONCE = 100


async def handle(ctx: RequestContext, request: api.CreateTopicsRequest) -> api.CreateTopicsResponse:
    denied = _denied(ctx, request.topics)
    allowed = [topic for topic in request.topics if topic.name not in denied]
    quota = ctx.mutation_quota(strict_from=_REFUSES_FROM)
    created: list[TopicCreated] = []
    results: list[api.CreatableTopicResult] = []
    setting = cache(_setting)  # almost all settings are the same for all topics
    for some in _in_turns(allowed):
        made = await _create_some(ctx, request, some, quota, created)
        created += made
        results += [_result(ctx, topic, setting) for topic in made]
        await asyncio.sleep(0)
    results += [_refused(name) for name in denied]
    return api.CreateTopicsResponse(throttle_time_ms=quota.wait_ms, topics=results)


def _in_turns(topics: Sequence[api.CreatableTopic]) -> Iterator[list[api.CreatableTopic]]:
    """Topics with the same name stay in one group, and are refused as duplicates."""
    by_name: dict[str, list[api.CreatableTopic]] = {}
    for topic in topics:
        by_name.setdefault(topic.name, []).append(topic)
    names = iter(by_name.values())
    while some := list(islice(names, _AT_ONCE)):
        yield [topic for same in some for topic in same]


async def _create_some(
    ctx: RequestContext,
    request: api.CreateTopicsRequest,
    topics: Sequence[api.CreatableTopic],
    quota: MutationQuota,
    before: Sequence[TopicCreated],
) -> list[TopicCreated]:
    try:
        refuse_too_large(1 + sum(1 + each.num_partitions for each in before if not each.error))
        return await ctx.broker.controller.create_topics(
            [_new_topic(topic) for topic in topics],
            validate_only=request.validate_only,
            charge=quota.charge,
        )
    except Refusal as refusal:
        code, message = refusal.code, refusal.message
    except LogError as error:  # the metadata log takes no records: nothing was created
        code, message = error.code, error.client_message
    return [TopicCreated(name=name, error=code, message=message) for name in {t.name: None for t in topics}]


def _denied(ctx: RequestContext, topics: Sequence[api.CreatableTopic]) -> list[str]:
    """The names that may not be created. Duplicate names are excluded: they are refused as duplicates."""
    if ctx.may_in_cluster(Operation.CREATE):
        return []
    counts = Counter(topic.name for topic in topics)
    return [n for n, count in counts.items() if count == 1 and not may_topic(ctx, Operation.CREATE, n)]


def _refused(name: str) -> api.CreatableTopicResult:
    return api.CreatableTopicResult(
        name=name,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="Authorization failed.",
    )


def _new_topic(topic: api.CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(a.partition_index, a.broker_ids) for a in topic.assignments],
        configs=[(c.name, c.value) for c in topic.configs],
    )


def _result(
    ctx: RequestContext, topic: TopicCreated, setting: Callable[[Described], api.CreatableTopicConfigs]
) -> api.CreatableTopicResult:
    """The settings, partition count and replication factor of the new topic, if the client may read them (KIP-525)."""
    if not topic.error and not may_topic(ctx, Operation.DESCRIBE_CONFIGS, topic.name):
        return api.CreatableTopicResult(
            name=topic.name,
            topic_id=topic.topic_id,
            error_message=None,
            topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        )
    return api.CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_code=topic.error,
        error_message=topic.message,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        configs=[setting(each) for each in topic.configs],
    )


def _setting(described: Described) -> api.CreatableTopicConfigs:
    return api.CreatableTopicConfigs(
        name=described.name,
        value=described.value,
        read_only=described.read_only,
        config_source=described.source,
        is_sensitive=described.sensitive,
    )

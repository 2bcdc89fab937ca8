"""The overview: counts, and the end offsets and sizes of topics. The page computes rates from two responses."""

import asyncio
from typing import Any

from aiohttp import web

from penstock.client.aio import LATEST, TopicPartition
from penstock.console.kafka.log_sizes import leader_sizes, log_dirs
from penstock.console.kafka.topics import (
    Described,
    DescribedTopic,
    Offsets,
    ask_each,
    describe,
    leaders_of,
    offsets_at,
)
from penstock.console.web import CLIENT, answer
from penstock.protocol.messages.list_groups import ListGroupsRequest


async def overview(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await describe(client)
    nodes = [broker.node_id for broker in described.brokers]
    leaders = leaders_of(described.topics)
    ends, dirs, groups = await asyncio.gather(
        offsets_at(client, leaders, LATEST),
        log_dirs(client, nodes),
        ask_each(client, nodes, ListGroupsRequest()),
    )
    sizes = leader_sizes(dirs, leaders)
    shown = [topic for topic in described.topics if not topic.is_internal]
    return answer(
        {
            "atMs": client.clock.monotonic_ms(),
            "clusterId": described.cluster_id,
            "brokers": len(nodes),
            **counts(described),
            "groups": sum(len(each.groups) for each in groups.values()),
            "sizeBytes": sum(sizes.values()) if dirs else None,
            "topics": [topic_facts(topic, ends, sizes) for topic in shown],
        }
    )


def topic_facts(topic: DescribedTopic, ends: Offsets, sizes: dict[TopicPartition, int]) -> dict[str, Any]:
    """End offset and size of each partition, null where they are unknown. Pure."""
    places = [TopicPartition(topic.name or "", index) for index in range(len(topic.partitions))]
    return {
        "name": topic.name,
        "ends": [ends.get(place) for place in places],
        "sizes": [sizes.get(place) for place in places],
    }


def counts(described: Described) -> dict[str, int]:
    """Count topics, partitions, and partitions that are under-replicated or offline. Pure."""
    partitions = [partition for topic in described.topics for partition in topic.partitions]
    return {
        "topicCount": sum(not topic.is_internal for topic in described.topics),
        "partitions": len(partitions),
        "underReplicated": sum(len(each.isr_nodes) < len(each.replica_nodes) for each in partitions),
        "offline": sum(each.leader_id < 0 for each in partitions),
    }


ROUTES = (("GET", "overview", overview),)

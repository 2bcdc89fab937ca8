"""The overview: counts of everything, and how far each topic has been written. The page makes rates of two answers."""

from typing import Any

from aiohttp import web

from penstock.client.cluster import LATEST
from penstock.console.kafka.places import Described, ask_each, describe, leaders_of, offsets_at
from penstock.console.kafka.sizes import leader_sizes, log_dirs
from penstock.console.web import CLIENT, answer
from penstock.protocol.messages.list_groups import ListGroupsRequest


async def overview(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await describe(client)
    nodes = [broker.node_id for broker in described.brokers]
    leaders = leaders_of(described.topics)
    ends = await offsets_at(client, leaders, LATEST)
    at_ms = client.clock.monotonic_ms()
    told = await log_dirs(client, nodes)
    sizes = leader_sizes(told, leaders)
    groups = await ask_each(client, nodes, ListGroupsRequest())
    topics: dict[str, dict[str, Any]] = {}
    for where, end in ends.items():
        each = topics.setdefault(where.topic, {"name": where.topic, "end": 0, "sizeBytes": None})
        each["end"] += end
        if where in sizes:
            each["sizeBytes"] = (each["sizeBytes"] or 0) + sizes[where]
    return answer(
        {
            "atMs": at_ms,
            "clusterId": described.cluster_id,
            "brokers": len(nodes),
            **counts(described),
            "groups": sum(len(each.groups) for each in groups.values()),
            "sizeBytes": sum(sizes.values()) if told else None,
            "topics": [each for each in topics.values() if not each["name"].startswith("__")],
        }
    )


def counts(described: Described) -> dict[str, int]:
    """Topics, partitions, and those that are not as they should be. Pure."""
    partitions = [partition for topic in described.topics for partition in topic.partitions]
    return {
        "topicCount": sum(not topic.is_internal for topic in described.topics),
        "partitions": len(partitions),
        "underReplicated": sum(len(each.isr_nodes) < len(each.replica_nodes) for each in partitions),
        "offline": sum(each.leader_id < 0 for each in partitions),
    }


ROUTES = (("GET", "overview", overview),)

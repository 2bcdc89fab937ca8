"""Topics: listed, described, created, deleted, extended by partitions."""

import asyncio
from typing import Any, Final

import msgspec
from aiohttp import web

from penstock.client.aio import CONTROLLER, EARLIEST, LATEST, TopicPartition
from penstock.console.kafka.log_sizes import leader_sizes, log_dirs
from penstock.console.kafka.topics import (
    DEADLINE_MS,
    DescribedTopic,
    Offsets,
    describe,
    describe_topic,
    leaders_of,
    offsets_at,
)
from penstock.console.refusals import check, words_of
from penstock.console.web import CLIENT, answer, body_of
from penstock.protocol.messages import create_partitions, create_topics, delete_topics

_NAMES_LAST: Final = 5  # of DeleteTopics: later versions take names or ids


async def list_topics(request: web.Request) -> web.Response:
    client = request[CLIENT]
    described = await describe(client)
    leaders = leaders_of(described.topics)
    starts, ends, dirs = await asyncio.gather(
        offsets_at(client, leaders, EARLIEST),
        offsets_at(client, leaders, LATEST),
        log_dirs(client, [broker.node_id for broker in described.brokers]),
    )
    sizes = leader_sizes(dirs, leaders)
    topics = [topic_row(topic, starts, ends, sizes) for topic in described.topics]
    return answer({"topics": sorted(topics, key=lambda row: str(row["name"]))})


def topic_row(
    topic: DescribedTopic, starts: Offsets, ends: Offsets, sizes: dict[TopicPartition, int]
) -> dict[str, Any]:
    name = topic.name or ""
    places = [TopicPartition(name, each.partition_index) for each in topic.partitions]
    known = [place for place in places if place in ends and place in starts]
    sized = [sizes[place] for place in places if place in sizes]
    return {
        "name": name,
        "internal": topic.is_internal,
        "error": words_of(topic.error_code),
        "partitions": len(places),
        "replicas": max((len(each.replica_nodes) for each in topic.partitions), default=0),
        "underReplicated": sum(len(each.isr_nodes) < len(each.replica_nodes) for each in topic.partitions),
        "offline": sum(each.leader_id < 0 for each in topic.partitions),
        "messages": sum(ends[place] - starts[place] for place in known) if known else None,
        "sizeBytes": sum(sized) if sized else None,
    }


async def show_topic(request: web.Request) -> web.Response:
    client, name = request[CLIENT], request.match_info["topic"]
    described = await describe(client, [name])
    topic = described.topics[0]
    check(topic.error_code, f"Topic {name} cannot be shown")
    leaders = leaders_of([topic])
    starts, ends, dirs = await asyncio.gather(
        offsets_at(client, leaders, EARLIEST),
        offsets_at(client, leaders, LATEST),
        log_dirs(client, [broker.node_id for broker in described.brokers]),
    )
    sizes = leader_sizes(dirs, leaders)
    partitions = [
        {
            "index": each.partition_index,
            "leader": each.leader_id,
            "epoch": each.leader_epoch,
            "replicas": each.replica_nodes,
            "isr": each.isr_nodes,
            "offline": each.offline_replicas,
            "start": starts.get(place),
            "end": ends.get(place),
            "sizeBytes": sizes.get(place),
        }
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
        for place in [TopicPartition(name, each.partition_index)]
    ]
    return answer({"name": name, "internal": topic.is_internal, "partitions": partitions})


class NewTopic(msgspec.Struct, kw_only=True):
    name: str
    partitions: int = -1
    replicas: int = -1
    configs: dict[str, str] = {}


async def create_topic(request: web.Request) -> web.Response:
    wanted = await body_of(request, NewTopic)
    message = create_topics.CreateTopicsRequest(
        topics=[
            create_topics.CreatableTopic(
                name=wanted.name,
                num_partitions=wanted.partitions,
                replication_factor=wanted.replicas,
                configs=[
                    create_topics.CreatableTopicConfig(name=name, value=value)
                    for name, value in wanted.configs.items()
                ],
            )
        ],
        timeout_ms=DEADLINE_MS,
    )
    response = await request[CLIENT].request(CONTROLLER, message)
    result = response.topics[0]
    check(result.error_code, f"Topic {wanted.name} cannot be created", result.error_message)
    return answer({"name": wanted.name}, 201)


async def delete_topic(request: web.Request) -> web.Response:
    name = request.match_info["topic"]
    client = request[CLIENT]
    await describe_topic(client, name)
    message = delete_topics.DeleteTopicsRequest(topic_names=[name], timeout_ms=DEADLINE_MS)
    response = await client.request(CONTROLLER, message, version_max=_NAMES_LAST)
    result = response.responses[0]
    check(result.error_code, f"Topic {name} cannot be deleted", result.error_message)
    return answer({})


class MorePartitions(msgspec.Struct, kw_only=True):
    count: int


async def add_partitions(request: web.Request) -> web.Response:
    name = request.match_info["topic"]
    wanted = await body_of(request, MorePartitions)
    message = create_partitions.CreatePartitionsRequest(
        topics=[create_partitions.CreatePartitionsTopic(name=name, count=wanted.count, assignments=None)],
        timeout_ms=DEADLINE_MS,
    )
    response = await request[CLIENT].request(CONTROLLER, message)
    result = response.results[0]
    check(result.error_code, f"Partitions cannot be added to {name}", result.error_message)
    return answer({})


ROUTES = (
    ("GET", "topics", list_topics),
    ("POST", "topics", create_topic),
    ("GET", "topics/{topic}", show_topic),
    ("DELETE", "topics/{topic}", delete_topic),
    ("POST", "topics/{topic}/partitions", add_partitions),
)

"""Metadata of topics and partitions, and their start and end offsets."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from penstock.client.aio import ANY, Client, ClientError, Disconnected, TopicPartition
from penstock.client.core.operations import list_offsets_request
from penstock.console.refusals import check
from penstock.protocol.messages import metadata

DEADLINE_MS: Final = 8_000  # a person waits
PARTITIONS_ASKED_MAX: Final = 20_000

Described = metadata.MetadataResponse
DescribedTopic = metadata.MetadataResponseTopic
Offsets = dict[TopicPartition, int]


async def describe(client: Client, names: Iterable[str] | None = None) -> Described:
    """Describe the brokers and these topics (None: all), with replicas and in-sync replicas. Creates no topic."""
    topics = None if names is None else [metadata.MetadataRequestTopic(name=name) for name in names]
    request = metadata.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    described: Described = await client.request(ANY, request)
    return described


async def describe_topic(client: Client, name: str) -> DescribedTopic:
    described = await describe(client, [name])
    topic = described.topics[0]
    check(topic.error_code, f"Topic {name} cannot be shown")
    return topic


def leaders_of(topics: Iterable[DescribedTopic]) -> dict[TopicPartition, int]:
    """List the leaders of partitions; bounded, so a huge cluster is shown in part."""
    found: dict[TopicPartition, int] = {}
    for topic in topics:
        for partition in topic.partitions:
            if partition.leader_id >= 0 and topic.name is not None and len(found) < PARTITIONS_ASKED_MAX:
                found[TopicPartition(topic.name, partition.partition_index)] = partition.leader_id
    return found


async def offsets_at(
    client: Client,
    leaders: Mapping[TopicPartition, int],
    timestamp: int,
    *,
    is_committed_only: bool = False,
) -> Offsets:
    """The offset of each partition at a time, or at `EARLIEST` or `LATEST`; partitions that do not answer are left out.

    -1 where no record is that recent.
    """
    by_leader: dict[int, list[TopicPartition]] = {}
    for where, leader in leaders.items():
        by_leader.setdefault(leader, []).append(where)
    asked = [
        _ask(
            client,
            leader,
            list_offsets_request(dict.fromkeys(wanted, timestamp), is_committed_only, DEADLINE_MS),
        )
        for leader, wanted in by_leader.items()
    ]
    found: Offsets = {}
    for response in await asyncio.gather(*asked):
        for topic in response.topics if response is not None else ():
            for partition in topic.partitions:
                if not partition.error_code:
                    found[TopicPartition(topic.name, partition.partition_index)] = partition.offset
    return found


async def ask_each(client: Client, brokers: Iterable[int], message: Any) -> dict[int, Any]:
    """Ask every broker; those that do not respond are left out."""
    nodes = list(brokers)
    responses = await asyncio.gather(*(_ask(client, node, message) for node in nodes))
    return {node: response for node, response in zip(nodes, responses, strict=True) if response is not None}


async def _ask(client: Client, node: int, message: Any) -> Any:
    """None if the broker does not respond: a page shows the data of the others."""
    try:
        return await client.request(node, message, error_of=lambda _: 0, deadline_ms=DEADLINE_MS / 2)
    except (ClientError, Disconnected):
        return None

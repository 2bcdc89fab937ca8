"""DescribeTopicPartitions: pages, cursors and what it refuses, against a live broker."""

from collections.abc import Sequence

import pytest

from penstock.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    RequestCursor,
    TopicRequest,
)
from penstock.security.operations import TOPIC_OPERATIONS, bit_field
from tests.server.live import Client, code, one, unique_name


async def describe(
    client: Client, names: Sequence[str], *, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    response: DescribeTopicPartitionsResponse = await client.send(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=n) for n in names],
            response_partition_limit=limit,
            cursor=RequestCursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None,
        )
    )
    return response


def page(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, str, list[int]]]:
    return [(t.name, code(t.error_code), [p.partition_index for p in t.partitions]) for t in response.topics]


def cursor_of(response: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = response.next_cursor
    return (cursor.topic_name, cursor.partition_index) if cursor else None


async def test_a_topic_is_described(client: Client) -> None:
    topic = await client.create_topic(partitions=2)
    found = one((await describe(client, [topic.name])).topics)
    assert (found.name, found.topic_id, found.is_internal, found.error_code) == (
        topic.name,
        topic.id,
        False,
        0,
    )
    assert found.topic_authorized_operations == bit_field(TOPIC_OPERATIONS)
    for index, partition in enumerate(found.partitions):
        assert (partition.partition_index, partition.leader_id, partition.leader_epoch) == (index, 1, 0)
        assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1], [1], [])
        assert partition.eligible_leader_replicas in ([], None)


async def test_topics_are_sorted_by_name_without_duplicates(client: Client) -> None:
    names = sorted([(await client.create_topic()).name for _ in range(3)])
    response = await describe(client, [names[2], names[0], names[1], names[0]])
    assert [t.name for t in response.topics] == names


async def test_an_empty_list_selects_all_topics(client: Client) -> None:
    topic = await client.create_topic()
    names = [t.name for t in (await describe(client, [])).topics]
    assert topic.name in names
    assert names == sorted(n for n in names if n is not None)


async def test_the_pages_together_are_the_complete_answer(client: Client) -> None:
    prefix = unique_name()
    sizes = {f"{prefix}-a": 3, f"{prefix}-b": 1, f"{prefix}-c": 4}
    for name, count in sizes.items():
        await client.create_topic(name=name, partitions=count)
    for limit in range(1, 9):
        seen: list[tuple[str | None, int]] = []
        cursor: tuple[str, int] | None = None
        for _ in range(9):
            response = await describe(client, list(sizes), limit=limit, cursor=cursor)
            listed = [(name, p) for name, _, partitions in page(response) for p in partitions]
            assert len(listed) <= limit
            seen += listed
            cursor = cursor_of(response)
            if cursor is None:
                break
        assert seen == [(name, p) for name, count in sizes.items() for p in range(count)]


async def test_a_full_page_points_to_the_next_topic_even_if_it_does_not_exist(client: Client) -> None:
    prefix = unique_name()
    await client.create_topic(name=f"{prefix}-a", partitions=2)
    names = [f"{prefix}-a", f"{prefix}-missing"]
    response = await describe(client, names, limit=2)
    assert page(response) == [(names[0], "NONE", [0, 1])]
    assert cursor_of(response) == (names[1], 0)
    response = await describe(client, names, limit=2, cursor=(names[1], 0))
    assert page(response) == [(names[1], "UNKNOWN_TOPIC_OR_PARTITION", [])]
    assert cursor_of(response) is None


@pytest.mark.parametrize("limit", [0, -5])
async def test_a_page_has_at_least_one_partition(client: Client, limit: int) -> None:
    topic = await client.create_topic(partitions=2)
    response = await describe(client, [topic.name], limit=limit)
    assert page(response) == [(topic.name, "NONE", [0])]
    assert cursor_of(response) == (topic.name, 1)


async def test_unknown_and_invalid_names_have_different_errors(client: Client) -> None:
    response = await describe(client, ["no-such-topic", "white space"])
    assert page(response) == [
        ("no-such-topic", "UNKNOWN_TOPIC_OR_PARTITION", []),
        ("white space", "INVALID_TOPIC_EXCEPTION", []),
    ]


async def test_an_invalid_cursor_is_refused(client: Client) -> None:
    topic = await client.create_topic()
    for cursor in [("another-topic", 0), (topic.name, -1)]:
        response = await describe(client, [topic.name], cursor=cursor)
        assert page(response) == [(topic.name, "INVALID_REQUEST", [])]


async def test_a_cursor_beyond_the_last_partition_returns_no_partitions(client: Client) -> None:
    topic = await client.create_topic(partitions=2)
    response = await describe(client, [topic.name], cursor=(topic.name, 2))
    assert page(response) == [(topic.name, "NONE", [])]
    assert cursor_of(response) is None


async def test_a_cursor_at_a_deleted_topic_continues_after_it(client: Client) -> None:
    topic = await client.create_topic()
    response = await describe(client, [], cursor=(topic.name + "-gone", 3))
    assert all((t.name or "") > topic.name for t in response.topics)

"""JSON lines through every node of a cluster of real brokers: requests of other nodes' partitions are forwarded."""

import json
from collections.abc import Iterator

import pytest

from penstock.embedded import Cluster
from tests.gateway.test_json_lines import Client

MESSAGES = 200


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, topics={"orders": 6}, config={"num.partitions": 3}) as cluster:
        yield cluster


@pytest.fixture
def clients(cluster: Cluster) -> Iterator[list[Client]]:
    """One client at each node."""
    clients = [Client(node.port) for node in cluster.nodes.values()]
    yield clients
    for client in clients:
        client.close()


def test_every_node_produces_and_fetches_records_of_every_partition_in_order(clients: list[Client]) -> None:
    for partition in range(6):
        where = {"topic": "orders", "partition": partition}
        offset = 0
        for number, person in enumerate(clients):
            sent = [f"{number}-{n}" for n in range(MESSAGES)]
            lines = [json.dumps({"type": "produce", "message": message, **where}) for message in sent]
            person.send("\n".join(lines) + "\n")
            for _ in lines:
                assert person.line() == f"ack offset {offset}"
                offset += 1
            for reader in clients:
                *found, end = reader.fetch(**where, offset=offset - MESSAGES)
                assert [each["message"] for each in found] == sent
                assert end == {"next_offset": offset, "count": MESSAGES}


def test_a_group_commits_through_one_node_and_continues_through_another(clients: list[Client]) -> None:
    where = {"topic": "orders", "partition": 5}
    for _ in range(10):
        assert clients[0].ask(type="produce", message="m", **where).startswith("ack offset ")
    for group in (f"group-{n}" for n in range(6)):
        for offset, person in enumerate(clients, start=1):
            assert (
                person.ask(type="commit", group=group, offset=offset, **where) == f"committed offset {offset}"
            )
            for reader in clients:
                assert reader.fetch(group=group, max_messages=1, **where)[0]["offset"] == offset


def test_the_first_message_creates_a_topic_through_any_node(clients: list[Client]) -> None:
    for number in range(9):
        topic = f"new-{number}"
        assert (
            clients[number % 3].ask(type="produce", topic=topic, partition=2, message="m") == "ack offset 0"
        )


def test_an_invalid_partition_of_a_new_topic_is_refused_and_the_topic_is_not_created(
    clients: list[Client],
) -> None:
    for person in clients:
        for partition in (3, -1):
            request = {"type": "produce", "topic": "typo", "partition": partition, "message": "m"}
            answer = person.ask_bad(json.dumps(request))
            assert answer["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
            assert "it has 0 to 2" in answer["message"]
    answer = clients[0].ask_bad('{"type":"fetch","topic":"typo"}')
    assert answer["message"] == "topic 'typo' does not exist"


def test_errors_of_another_node_are_reported_like_local_ones(clients: list[Client]) -> None:
    for partition in range(6):
        for person in clients:
            assert (
                person.fetch(topic="orders", partition=partition, offset=10**9)[0]["error"]
                == "OFFSET_OUT_OF_RANGE"
            )

"""The answers to a producer while the other replicas do not follow."""

from pathlib import Path

import pytest

from penstock.client.blocking.client import LATEST, BlockingClient
from penstock.client.connection import Disconnected
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import produce
from tests.server.live import TopicHandle, batch, produce_request
from tests.support.cluster import running_cluster

pytestmark = pytest.mark.timeout(120)

WHERE = TopicPartition("t", 0)


def is_turned_away(client: BlockingClient, value: bytes) -> bool:
    """Whether the leader closes the connection of a client that would wait for a minute."""
    leader = client.leader(WHERE)
    with client.connection(leader.address) as connection:
        version = connection.version(produce.API_KEY)
        request = produce_request(
            TopicHandle("t", leader.topic_id), {0: batch(value)}, timeout_ms=60_000, version=version
        )
        try:
            connection.call(produce.API_KEY, version, request)
        except Disconnected:
            return True
    return False


def acknowledged(client: BlockingClient, value: bytes, *, acks: int, timeout_ms: int) -> ErrorCode:
    response = client.call_leader(
        WHERE,
        produce.API_KEY,
        lambda version, leader: produce_request(
            TopicHandle("t", leader.topic_id),
            {0: batch(value)},
            acks=acks,
            timeout_ms=timeout_ms,
            version=version,
        ),
    )
    return ErrorCode(response.responses[0].partition_responses[0].error_code)


def test_a_write_that_is_not_replicated_in_time_gets_an_error(tmp_path: Path) -> None:
    """Two voters, one of them suspended: it cannot be removed from the in-sync set."""
    with running_cluster(tmp_path, 2) as cluster:
        cluster.create_topic("t", 1)
        cluster.await_in_sync("t")
        client = BlockingClient(ClientSettings.from_properties({"bootstrap.servers": cluster.bootstrap}))
        assert acknowledged(client, b"a", acks=-1, timeout_ms=30_000) is ErrorCode.NONE
        follower = next(each for each in cluster.nodes if each != cluster.leader_of("t"))
        cluster.suspend(follower)
        assert acknowledged(client, b"b", acks=-1, timeout_ms=300) is ErrorCode.REQUEST_TIMED_OUT
        assert acknowledged(client, b"c", acks=1, timeout_ms=300) is ErrorCode.NONE
        # It may have lost the other voter for good: its clients have to find another broker.
        assert is_turned_away(client, b"d")
        cluster.resume(follower)
        assert acknowledged(client, b"e", acks=-1, timeout_ms=60_000) is ErrorCode.NONE
        assert client.list_offsets({WHERE: LATEST})[WHERE].offset == 5
        client.close()

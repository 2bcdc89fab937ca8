import asyncio
import logging
from typing import Any, cast

import pytest

from penstock.client.connection import Connection
from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.quorum.peers import QuorumPeers
from penstock.cluster.raft import messages as raft
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.vote import VoteResponse

AT = (Address("PLAINTEXT", "127.0.0.1", 9093),)
VOTE = raft.VoteRequest(
    cluster_id="c",
    voter=None,
    candidate=ReplicaKey(1),
    epoch=1,
    last=LogPosition(0, 0),
    is_pre_vote=True,
)


class Stranger:
    """A node that refuses this one's requests."""

    is_lost = False
    info = BrokerInfo(address="127.0.0.1:9093")

    async def call(self, _api_key: int, _version: int, _request: Any) -> VoteResponse:
        return VoteResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    def abort(self) -> None:
        self.is_lost = True


async def connected(_endpoint: Endpoint) -> Connection:
    return cast("Connection", Stranger())


def test_a_node_that_refuses_this_one_counts_as_unreachable_and_the_reason_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def ask_twice() -> None:
        peers = QuorumPeers(connected)
        for _ in range(2):
            with pytest.raises(OSError, match="CLUSTER_AUTHORIZATION_FAILED"):
                await peers.ask(2, AT, VOTE)
        await peers.close()

    with caplog.at_level(logging.WARNING, "penstock.cluster.quorum.quorum"):
        asyncio.run(ask_twice())
    (warnings,) = caplog.records
    assert "Node at 127.0.0.1:9093 refused this node as a broker of its cluster" in warnings.getMessage()
    assert "super.users" in warnings.getMessage()

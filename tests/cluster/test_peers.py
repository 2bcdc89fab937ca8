import asyncio
import socket
from collections.abc import Iterator

import pytest

from penstock.client.connection import Connection
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.peers import Peers
from penstock.config.listeners import Endpoint


class PeersAt(Peers):
    """Every broker listens at one address of the loopback interface."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(MetadataImage("cluster"), dial, "PLAINTEXT")
        self._address = address

    def endpoint(self, broker_id: int) -> Endpoint:
        host, port = self._address
        return Endpoint(name="PLAINTEXT", host=host, port=port, security_protocol="PLAINTEXT")


async def dial(endpoint: Endpoint) -> Connection:
    return await Connection.open(endpoint.host, endpoint.port)


@pytest.fixture
def bound() -> Iterator[socket.socket]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found


def test_a_broker_without_a_listener_refuses_connections(bound: socket.socket) -> None:
    assert asyncio.run(PeersAt(bound.getsockname()).refuses(2))


def test_a_listening_broker_does_not_refuse_even_if_it_accepts_no_connection(
    bound: socket.socket,
) -> None:
    bound.listen(0)
    peers = PeersAt(bound.getsockname())

    async def probe_until_it_times_out() -> list[bool]:
        return [await peers.refuses(2) for _ in range(3)]  # by then its queue is full

    assert asyncio.run(probe_until_it_times_out()) == [False] * 3


def test_an_unknown_broker_does_not_count_as_refusing() -> None:
    assert not asyncio.run(Peers(MetadataImage("cluster"), dial, "PLAINTEXT").refuses(2))

"""Connections to the other nodes of the metadata quorum."""

import logging
from functools import partial
from typing import Any

from penstock.client.connection import Connection
from penstock.cluster.peers import Dial, PeerChannel
from penstock.cluster.quorum import wire
from penstock.cluster.raft.messages import FetchRequest, Request, Response
from penstock.cluster.raft.values import Address
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode, ProtocolError

log = logging.getLogger(__name__)

_CALL_MS_MAX = 30_000  # the node gives up sooner; this bounds abandoned calls


class QuorumPeers:
    """The other nodes of the quorum: one connection for fetches, which are long polls, and one for the rest."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial
        self._channels: dict[tuple[int, bool], tuple[tuple[Address, ...], PeerChannel]] = {}
        self._refused_by: set[int] = set()

    async def ask(self, to: int, addresses: tuple[Address, ...], request: Request) -> Response:
        """Raises `OSError` when there is no answer."""
        api = wire.APIS[type(request)]
        channel = await self._channel((to, isinstance(request, FetchRequest)), addresses)
        try:
            version = await channel.version(api.key, api.version)
            message: Any = await channel.call(api.key, version, wire.encode_request(request, version))
            self._check_permission(to, addresses[0], message)
            return wire.decode_response(request, message, addresses[0].name)
        except (ProtocolError, wire.NotTheQuorum) as error:
            await channel.close()
            raise ConnectionError(str(error)) from error
        except OSError:
            await channel.close()
            raise

    def _check_permission(self, to: int, address: Address, message: Any) -> None:
        """Log once that a node does not accept this one as a broker, and treat it as unreachable."""
        if message.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self._refused_by.discard(to)
            return
        if to not in self._refused_by:
            self._refused_by.add(to)
            log.warning(
                "Node at %s:%d refused this node as a broker of its cluster: brokers must log in to each other as the "
                "same user; over TLS their certificates must have the same subject, or super.users must name each",
                address.host,
                address.port,
            )
        raise PermissionError(f"node {to} answers {ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name}")

    async def _channel(self, key: tuple[int, bool], addresses: tuple[Address, ...]) -> PeerChannel:
        known = self._channels.get(key)
        if known is not None and known[0] == addresses:
            return known[1]
        if known is not None:
            await known[1].close()
        channel = PeerChannel(partial(self._connect, addresses), lambda: _CALL_MS_MAX)
        self._channels[key] = (addresses, channel)
        return channel

    async def _connect(self, addresses: tuple[Address, ...]) -> Connection:
        if not addresses:
            raise ConnectionError("the address of the node is unknown")
        return await self._dial(endpoint_at(addresses[0]))

    async def close(self) -> None:
        for _, channel in self._channels.values():
            await channel.close()


def endpoint_at(address: Address) -> Endpoint:
    return Endpoint(name=address.name, host=address.host, port=address.port, security_protocol="PLAINTEXT")

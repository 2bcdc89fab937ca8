"""Asks a member of a running cluster for the cluster id, before this node formats a data directory for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from penstock.client.connection import Connection
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from penstock.security.cluster_secret import JOIN_HINT
from penstock.security.dialer import NotAMember, PeerRefused

_DESCRIBE_CLUSTER, _VERSION = 60, 0
_TIMEOUT_S = 5.0


class JoinFailed(Exception):
    """No member answers, or a member refuses this node; the message says what to do."""


class JoinRefused(JoinFailed):
    """A member refuses this node."""


async def cluster_id_of(
    members: Sequence[tuple[str, int]], dial: Callable[[Endpoint], Awaitable[Connection]], listener: str
) -> str:
    """The cluster id of the first member that answers. Raises `JoinFailed`."""
    reasons = []
    for host, port in members:
        endpoint = Endpoint(name=listener, host=host, port=port, security_protocol="PLAINTEXT")
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                connection = await dial(endpoint)
                try:
                    response: DescribeClusterResponse = await connection.call(
                        _DESCRIBE_CLUSTER, _VERSION, DescribeClusterRequest()
                    )
                finally:
                    await connection.close()
        except NotAMember as error:
            raise JoinRefused(
                f"cannot join the cluster of {host}:{port}: {error}. A node that joins needs the cluster's token: "
                f"{JOIN_HINT}"
            ) from None
        except PeerRefused as error:  # it is of another cluster
            raise JoinRefused(f"cannot join the cluster of {host}:{port}: {error}") from None
        except (OSError, ProtocolError) as error:
            reasons.append(f"{host}:{port}: {error or type(error).__name__}")
            continue
        return response.cluster_id
    raise JoinFailed(
        f"no member of the cluster answers ({'; '.join(reasons)}): start one first, or correct --join HOST:PORT"
    )

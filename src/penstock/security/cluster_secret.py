"""The secret of a cluster: a node that knows it is a broker of the cluster (ADR 19). It is 64 hexadecimal digits in the
file `cluster.secret` of every member's data directory. The command and the documentation call it the token.
"""

import random
from collections.abc import Callable
from typing import Final

from penstock.security.sasl.cluster import NONCE_BYTES, SECRET_BYTES, OtherCluster, ServerProof

SECRET_FILE: Final = "cluster.secret"  # noqa: S105  its name
JOIN_HINT: Final = (
    "print it on a member with `penstock cluster token`, and give it with --token-file FILE, --token TOKEN or "
    "PENSTOCK_TOKEN"
)


class NotAToken(ValueError):
    """The text is not a cluster token; the message does not repeat it."""


def parse_token(text: str) -> bytes:
    """Raises `NotAToken`."""
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise NotAToken(f"a cluster's token is {2 * SECRET_BYTES} hexadecimal digits: {JOIN_HINT}")
    return secret


class ClusterSecret:
    """The secret as one broker knows it. `value` and `cluster_id` are set when they are known."""

    def __init__(
        self,
        randomness: random.Random,
        value: bytes | None = None,
        find: Callable[[str], bytes | None] = lambda _cluster_id: None,
    ) -> None:
        """`find` looks for the secret of a cluster that this broker has not been part of yet, by its id."""
        self._random = randomness
        self._find = find
        self.value = value
        self.cluster_id: str | None = None

    def __repr__(self) -> str:
        return f"ClusterSecret(cluster_id={self.cluster_id!r})"

    def make(self) -> None:
        """A new cluster begins."""
        self.value = self._random.randbytes(SECRET_BYTES)

    def take_known(self) -> bool:
        """Take the secret of this cluster that can be found without asking a member. Returns whether there is one."""
        if self.value is None and self.cluster_id is not None:
            self.value = self._find(self.cluster_id)
        return self.value is not None

    def nonce(self) -> bytes:
        return self._random.randbytes(NONCE_BYTES)

    def of(self, cluster_id: str) -> bytes | None:
        """The secret for connections to a cluster; None when it is not known. Raises `OtherCluster`."""
        if self.cluster_id not in (None, cluster_id):
            raise OtherCluster(
                f"it is a member of cluster {cluster_id}, and the data directory belongs to cluster {self.cluster_id}: "
                "give an empty data directory with --data DIR, or join the cluster it belongs to"
            )
        return self.value if self.value is not None else self._find(cluster_id)

    def begin_proof(self) -> ServerProof | None:
        """For a broker that connects; None while the secret is not known here."""
        if self.value is None or self.cluster_id is None:
            return None
        return ServerProof(self.value, self.cluster_id, self.nonce())

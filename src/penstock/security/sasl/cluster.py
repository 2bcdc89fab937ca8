"""PENSTOCK-CLUSTER: two brokers prove to each other that they know the secret of their cluster (ADR 19).

    client -> nonce c
    server -> nonce s, HMAC(secret, "server", c, s, cluster id), cluster id
    client -> HMAC(secret, "client", c, s, cluster id)

The server proves it first: a broker sends no proof to an impostor. No sockets here.
"""

import hmac
from collections.abc import Callable, Generator
from typing import Final

from penstock.security.sasl.exchange import LoginRefused, invalid_credentials

NAME: Final = "PENSTOCK-CLUSTER"
SECRET_BYTES: Final = 32
NONCE_BYTES: Final = 32
_PROOF_BYTES: Final = 32
_LABEL: Final = b"penstock cluster proof 1, "


class ProofFailed(Exception):
    """The other side is not known to be a member of the cluster; the message says why."""


class OtherCluster(ProofFailed):
    """The other side belongs to another cluster than this one."""


class ServerProof:
    """The server's side of one proof; it ends when `is_proved` is set, or when it raises."""

    __slots__ = ("_cluster_id", "_expected", "_nonce", "_secret", "is_proved")

    def __init__(self, secret: bytes, cluster_id: str, nonce: bytes) -> None:
        self._secret = secret
        self._cluster_id = cluster_id
        self._nonce = nonce
        self._expected: bytes | None = None
        self.is_proved = False

    def step(self, received: bytes) -> bytes:
        """Take the client's next message and return the response. Raises `LoginRefused`."""
        if self._expected is None:
            return self._challenge(received)
        if not hmac.compare_digest(received, self._expected):
            raise invalid_credentials(NAME)
        self.is_proved = True
        return b""

    def _challenge(self, nonce: bytes) -> bytes:
        if len(nonce) != NONCE_BYTES:
            raise LoginRefused(f"{NAME} begins with a nonce of {NONCE_BYTES} bytes")
        cluster_id = self._cluster_id.encode()
        self._expected = _proof(self._secret, b"client", nonce, self._nonce, cluster_id)
        return self._nonce + _proof(self._secret, b"server", nonce, self._nonce, cluster_id) + cluster_id


def client_proof(
    nonce: bytes, secret_of: Callable[[str], bytes | None]
) -> Generator[bytes, bytes, tuple[bytes, str]]:
    """The client's side: yields messages, is sent each response, returns the secret and the cluster's id.

    `secret_of` returns the secret of a cluster id, None for an unknown one, or raises `OtherCluster`. Raises
    `ProofFailed`.
    """
    response = yield nonce
    server_nonce = response[:NONCE_BYTES]
    proof, cluster_id = response[NONCE_BYTES:][:_PROOF_BYTES], response[NONCE_BYTES + _PROOF_BYTES :]
    if len(proof) != _PROOF_BYTES:
        raise ProofFailed(f"its answer is not one of {NAME}")
    name = cluster_id.decode(errors="replace")
    secret = secret_of(name)
    if secret is None:
        raise ProofFailed(f"the token of cluster {name} is not known here")
    if not hmac.compare_digest(proof, _proof(secret, b"server", nonce, server_nonce, cluster_id)):
        raise ProofFailed(
            f"it cannot prove that it is a member of this cluster: it is a member of {name}, or has another token"
        )
    yield _proof(secret, b"client", nonce, server_nonce, cluster_id)
    return secret, name


def _proof(secret: bytes, role: bytes, client_nonce: bytes, server_nonce: bytes, cluster_id: bytes) -> bytes:
    return hmac.digest(secret, _LABEL + role + client_nonce + server_nonce + cluster_id, "sha256")

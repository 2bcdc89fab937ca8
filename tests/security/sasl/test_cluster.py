"""Mutual authentication of two brokers with the cluster's secret, without a network."""

from collections.abc import Generator

import pytest

from penstock.security.sasl.cluster import NONCE_BYTES, ProofFailed, ServerProof, client_proof
from penstock.security.sasl.exchange import LoginRefused

SECRET, OTHER = bytes(range(32)), bytes(32)
CLIENT_NONCE, SERVER_NONCE = b"c" * NONCE_BYTES, b"s" * NONCE_BYTES


def server(secret: bytes = SECRET, nonce: bytes = SERVER_NONCE, cluster_id: str = "one") -> ServerProof:
    return ServerProof(secret, cluster_id, nonce)


def client(
    secret: bytes | None = SECRET, nonce: bytes = CLIENT_NONCE
) -> Generator[bytes, bytes, tuple[bytes, str]]:
    return client_proof(nonce, lambda _cluster_id: secret)


def test_two_brokers_with_the_secret_authenticate_and_the_client_gets_the_cluster_id() -> None:
    serving, connecting = server(), client()
    answer = serving.step(next(connecting))
    assert serving.step(connecting.send(answer)) == b""
    assert serving.is_proved
    with pytest.raises(StopIteration) as done:
        connecting.send(b"")
    assert done.value.value == (SECRET, "one")


def test_the_secret_is_in_no_message() -> None:
    serving, connecting = server(), client()
    first = next(connecting)
    second = serving.step(first)
    third = connecting.send(second)
    assert SECRET not in first + second + third


def test_a_client_sends_no_proof_to_a_server_with_another_secret() -> None:
    connecting = client()
    answer = server(OTHER).step(next(connecting))
    with pytest.raises(ProofFailed, match="cannot prove"):
        connecting.send(answer)


def test_a_client_without_the_clusters_secret_raises_an_error() -> None:
    connecting = client(None)
    with pytest.raises(ProofFailed, match="the token of cluster one is not known here"):
        connecting.send(server().step(next(connecting)))


def test_a_server_refuses_a_proof_with_another_secret() -> None:
    serving = server()
    answer = serving.step(CLIENT_NONCE)
    forged = client(OTHER)
    next(forged)
    forger = server(OTHER)
    message = forged.send(forger.step(CLIENT_NONCE))
    assert answer != b""
    with pytest.raises(LoginRefused):
        serving.step(message)
    assert not serving.is_proved


def test_a_proof_cannot_be_replayed_on_another_connection() -> None:
    connecting = client()
    recorded = connecting.send(server().step(next(connecting)))
    later = server(nonce=b"t" * NONCE_BYTES)
    later.step(CLIENT_NONCE)
    with pytest.raises(LoginRefused):
        later.step(recorded)


def test_the_servers_proof_cannot_be_reflected_as_the_clients() -> None:
    serving = server()
    answer = serving.step(CLIENT_NONCE)
    with pytest.raises(LoginRefused):
        serving.step(answer[NONCE_BYTES : 2 * NONCE_BYTES])


def test_a_proof_is_valid_for_one_cluster_only() -> None:
    connecting = client()
    answer = server(cluster_id="one").step(next(connecting))
    with pytest.raises(ProofFailed, match="cannot prove"):
        connecting.send(answer[:-3] + b"two")


@pytest.mark.parametrize("first", [b"", b"x", b"x" * (NONCE_BYTES + 1)])
def test_malformed_messages_are_refused(first: bytes) -> None:
    with pytest.raises(LoginRefused):
        server().step(first)
    connecting = client()
    next(connecting)
    with pytest.raises(ProofFailed):
        connecting.send(first)

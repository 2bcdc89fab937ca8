from penstock.security.scram_credentials import ScramCredential, ScramMechanism, credential_of_password
from penstock.security.scram_users import ScramUsers

SHA_256 = ScramMechanism.SCRAM_SHA_256


def test_a_user_of_the_metadata_is_known_on_every_listener() -> None:
    stored: dict[tuple[str, int], ScramCredential] = {}
    users = ScramUsers(lambda: stored, lambda: "secret")
    assert users.known(SHA_256, "CLIENTS", "alice") is None
    stored["alice", SHA_256] = credential_of_password(SHA_256, "a", b"salt")
    assert users.known(SHA_256, "CLIENTS", "alice") is stored["alice", SHA_256]
    assert users.known(ScramMechanism.SCRAM_SHA_512, "CLIENTS", "alice") is None


def test_the_brokers_own_user_is_known_only_on_their_listener_until_the_metadata_has_it() -> None:
    stored: dict[tuple[str, int], ScramCredential] = {}
    users = ScramUsers(lambda: stored, lambda: "secret")
    users.add_own("BROKERS", SHA_256, "broker", "b")
    assert users.known(SHA_256, "BROKERS", "broker") is not None
    assert users.known(SHA_256, "CLIENTS", "broker") is None
    assert users.known(ScramMechanism.SCRAM_SHA_512, "BROKERS", "broker") is None
    stored["broker", SHA_256] = credential_of_password(SHA_256, "another", b"salt")
    assert users.known(SHA_256, "BROKERS", "broker") is stored["broker", SHA_256]


def test_brokers_with_the_same_secret_have_the_same_decoy() -> None:
    here, there = ScramUsers(dict, lambda: "secret"), ScramUsers(dict, lambda: "secret")
    assert here.decoy(SHA_256, "nobody") == there.decoy(SHA_256, "nobody")


def test_before_the_cluster_has_a_secret_a_decoy_stays_the_same() -> None:
    users = ScramUsers(dict, lambda: None)
    assert users.decoy(SHA_256, "nobody") == users.decoy(SHA_256, "nobody")


def test_a_decoy_cannot_be_distinguished_from_real_users() -> None:
    stored: dict[tuple[str, int], ScramCredential] = {
        ("ann", SHA_256): credential_of_password(SHA_256, "a", bytes(64), 8192),
        ("bob", SHA_256): credential_of_password(SHA_256, "b", bytes(24), 5000),
    }
    users = ScramUsers(lambda: stored, lambda: "secret")
    for mechanism in ScramMechanism:
        decoys = [users.decoy(mechanism, f"nobody-{number}") for number in range(40)]
        assert {(len(each.salt), each.iterations) for each in decoys} == {(64, 8192), (24, 5000)}
        assert decoys == [users.decoy(mechanism, f"nobody-{number}") for number in range(40)]

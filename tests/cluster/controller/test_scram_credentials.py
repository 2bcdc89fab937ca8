import random

import pytest

from penstock.cluster.controller.scram_credentials import (
    Deletion,
    NewUser,
    Upsertion,
    decide_alter_credentials,
    decide_first_users,
)
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.security.scram_credentials import ScramMechanism, credential_of_password
from tests.cluster.support import commit

SECRET = "penstock.scram.decoy.secret"


def upsertion(user: str = "alice", mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    return Upsertion(
        user=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=bytes(32)
    )


def alter(
    image: MetadataImage, *changes: Deletion | Upsertion, seed: int = 0
) -> dict[str, tuple[ErrorCode, str | None]]:
    """Decide and apply the records."""
    records, results = decide_alter_credentials(
        image,
        [each for each in changes if isinstance(each, Deletion)],
        [each for each in changes if isinstance(each, Upsertion)],
        random.Random(seed),
    )
    if records:
        commit(image, records)
    return {each.user: (each.error, each.message) for each in results}


def test_a_user_is_added_changed_and_removed() -> None:
    image = MetadataImage("c")
    assert alter(image, upsertion()) == {"alice": (ErrorCode.NONE, None)}
    assert image.credentials["alice", 1].iterations == 4096
    alter(image, upsertion(iterations=5000))
    assert image.credentials["alice", 1].iterations == 5000
    assert alter(image, Deletion(user="alice", mechanism=1)) == {"alice": (ErrorCode.NONE, None)}
    assert image.credentials == {}


def test_the_salted_password_itself_is_not_kept() -> None:
    image = MetadataImage("c")
    alter(image, upsertion())
    credential = image.credentials["alice", 1]
    assert bytes(32) not in (credential.stored_key, credential.server_key)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (upsertion(user=""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (
            Deletion(user="bob", mechanism=1),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
        (Deletion(user="", mechanism=1), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (Deletion(user="x", mechanism=9), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
    ],
)
def test_an_invalid_change_of_credentials_is_refused(
    change: Deletion | Upsertion, error: ErrorCode, message: str
) -> None:
    image = MetadataImage("c")
    assert alter(image, change) == {change.user: (error, message)}
    assert image.credentials == {}


@pytest.mark.parametrize("mechanism", [1, 2])
def test_a_user_named_twice_is_not_changed(mechanism: int) -> None:
    image = MetadataImage("c")
    alter(image, upsertion(iterations=4096))
    changed = alter(
        image, Deletion(user="alice", mechanism=mechanism), upsertion(iterations=5000), upsertion("bob")
    )
    assert changed["alice"][0] is ErrorCode.DUPLICATE_RESOURCE
    assert changed["bob"][0] is ErrorCode.NONE
    assert image.credentials["alice", 1].iterations == 4096


def test_the_first_user_creates_the_clusters_secret_once() -> None:
    image = MetadataImage("c")
    alter(image, Deletion(user="alice", mechanism=1), seed=1)
    assert SECRET not in image.cluster_settings()
    alter(image, upsertion(), seed=2)
    secret = image.cluster_settings()[SECRET]
    assert len(secret) == 64
    alter(image, upsertion("bob"), seed=3)
    assert image.cluster_settings()[SECRET] == secret


def test_the_first_users_of_a_cluster_can_log_in() -> None:
    image = MetadataImage("c")
    mechanism = ScramMechanism.SCRAM_SHA_512
    user = NewUser(user="admin", mechanism=mechanism, password="hush", iterations=8192)
    commit(image, decide_first_users(image, [user], random.Random(1)).records)
    credential = image.credentials["admin", mechanism]
    assert credential == credential_of_password(mechanism, "hush", credential.salt, 8192)
    assert SECRET in image.cluster_settings()


def test_secrets_are_not_in_the_representation() -> None:
    user = NewUser(user="admin", mechanism=ScramMechanism.SCRAM_SHA_256, password="hush")
    assert "hush" not in repr(user)
    assert "\\x00" not in repr(upsertion())

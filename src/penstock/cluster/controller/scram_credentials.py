"""Decides which users can log in by SCRAM, and with which passwords (KIP-554).

With the first user the cluster gets a secret from which the salts of nonexistent users are derived, so that all brokers
show a guesser the same salt.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.config.settings import security
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    ConfigRecord,
    MetadataRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from penstock.security.scram_credentials import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SALT_BYTES,
    ScramCredential,
    ScramMechanism,
    credential_of_password,
    credential_of_salted_password,
)

_SECRET_BYTES = 32
_MECHANISMS = frozenset(ScramMechanism)


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    mechanism: int


class Upsertion(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        """Without the salted password, which is as secret as the password."""
        return f"Upsertion(user={self.user!r})"


class NewUser(msgspec.Struct, frozen=True, kw_only=True):
    """A user of a new cluster."""

    user: str
    mechanism: ScramMechanism
    password: str
    iterations: int = ITERATIONS_MIN

    def __repr__(self) -> str:
        return f"NewUser(user={self.user!r})"


class CredentialAltered(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_alter_credentials(
    image: MetadataImage,
    deletions: Sequence[Deletion],
    upsertions: Sequence[Upsertion],
    randomness: random.Random,
) -> Decision[list[CredentialAltered]]:
    """Return one result for each user; a user named twice in the request is not changed."""
    changes: list[Deletion | Upsertion] = [*deletions, *upsertions]
    named = Counter(each.user for each in changes)
    records: list[MetadataRecord] = []
    altered: dict[str, CredentialAltered] = {}
    for change in changes:
        if change.user in altered:
            continue
        try:
            _check(change, named[change.user])
            records.append(_removal(image, change) if isinstance(change, Deletion) else _record_of(change))
        except Refusal as refusal:
            altered[change.user] = CredentialAltered(
                user=change.user, error=refusal.code, message=refusal.message
            )
        else:
            altered[change.user] = CredentialAltered(user=change.user)
    return Decision([*_secret(image, records, randomness), *records], list(altered.values()))


def decide_first_users(
    image: MetadataImage, users: Iterable[NewUser], randomness: random.Random
) -> Decision[None]:
    records: list[MetadataRecord] = [
        _record(
            each.user,
            each.mechanism,
            credential_of_password(
                each.mechanism, each.password, randomness.randbytes(SALT_BYTES), each.iterations
            ),
        )
        for each in users
    ]
    return Decision([*_secret(image, records, randomness), *records], None)


def _check(change: Deletion | Upsertion, times_named: int) -> None:
    if not change.user:
        raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in _MECHANISMS:
        raise Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, Upsertion):
        if change.iterations < ITERATIONS_MIN:
            raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if change.iterations > ITERATIONS_MAX:
            raise Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if times_named > 1:
        raise Refusal(
            ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
        )


def _removal(image: MetadataImage, change: Deletion) -> MetadataRecord:
    if (change.user, change.mechanism) not in image.credentials:
        raise Refusal(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(name=change.user, mechanism=change.mechanism)


def _record_of(change: Upsertion) -> MetadataRecord:
    mechanism = ScramMechanism(change.mechanism)
    credential = credential_of_salted_password(
        mechanism, change.salted_password, change.salt, change.iterations
    )
    return _record(change.user, mechanism, credential)


def _record(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> MetadataRecord:
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def _secret(
    image: MetadataImage, records: Sequence[MetadataRecord], randomness: random.Random
) -> list[MetadataRecord]:
    name = security.SCRAM_DECOY_SECRET.name
    if not records or name in image.cluster_settings():
        return []
    secret = randomness.randbytes(_SECRET_BYTES).hex()
    return [ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=name, value=secret)]

"""What the cluster keeps of a user's password for SCRAM (RFC 5802): enough to check a proof, not to give one."""

import enum
import hashlib
import hmac

import msgspec

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16_384
"""Kafka's bounds: fewer make a stolen credential cheap to guess, more let one login keep a client busy."""


class ScramMechanism(enum.IntEnum):
    """The mechanisms, with the protocol's numbers."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def sasl_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def algorithm(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def digest_bytes(self) -> int:
        return hashlib.new(self.algorithm).digest_size


SCRAM_BY_NAME = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


class ScramCredential(msgspec.Struct, frozen=True, kw_only=True):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Without the keys: whoever has the server key can pass for this cluster."""
        return f"ScramCredential(iterations={self.iterations})"


def credential_of_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int = ITERATIONS_MIN
) -> ScramCredential:
    """Takes milliseconds, as it is meant to."""
    salted = hashlib.pbkdf2_hmac(mechanism.algorithm, password.encode(), salt, iterations)
    return credential_of_salted_password(mechanism, salted, salt, iterations)


def credential_of_salted_password(
    mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    algorithm = mechanism.algorithm
    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    return ScramCredential(
        salt=salt,
        stored_key=hashlib.new(algorithm, client_key).digest(),
        server_key=hmac.digest(salted_password, b"Server Key", algorithm),
        iterations=iterations,
    )


def decoy_credential(mechanism: ScramMechanism, user: str, secret: bytes) -> ScramCredential:
    """What a user who does not exist is shown: the same salt whenever they are tried, as if they did."""

    def derived(label: bytes, size: int) -> bytes:
        seed = hmac.digest(secret, label + bytes([mechanism]) + user.encode(), "sha512")
        return seed[:size]

    size = mechanism.digest_bytes
    return ScramCredential(
        salt=derived(b"salt", SALT_BYTES),
        stored_key=derived(b"stored", size),
        server_key=derived(b"server", size),
        iterations=ITERATIONS_MIN,
    )


SALT_BYTES = 20
"""How long the salts are that are made here, and those of unknown users."""

"""Stored SCRAM credentials (RFC 5802): enough to check a proof, not to make one."""

import enum
import hashlib
import hmac
import re
from collections.abc import Collection

import msgspec

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16_384
"""Kafka's bounds: fewer make a stolen credential cheap to guess, more let one login keep a client busy."""

SALT_BYTES = 64
"""The length of generated salts: as in librdkafka and `penstock user add`."""

_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_TEXT_SALT = re.compile(rb"[0-9a-z]{16,26}")


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
        """Without the keys: the server key allows to impersonate this cluster."""
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


class ScramForm(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a credential that a challenge shows."""

    salt_bytes: int = SALT_BYTES
    is_text: bool = False
    """Salts of Kafka's own tools are 130-bit numbers written in base 36; they have no fixed length."""
    iterations: int = ITERATIONS_MIN


def form_of(credential: ScramCredential) -> ScramForm:
    is_text = _TEXT_SALT.fullmatch(credential.salt) is not None
    return ScramForm(
        salt_bytes=0 if is_text else len(credential.salt), is_text=is_text, iterations=credential.iterations
    )


def decoy_credential(
    mechanism: ScramMechanism, user: str, secret: bytes, forms: Collection[ScramForm] = ()
) -> ScramCredential:
    """The challenge of a user who does not exist: always the same, as if the user existed.

    It has one of `forms`, those of the credentials that exist: a salt or a number of iterations that no user has would
    tell. Each user and form have a rank, and the highest wins, so another form in the cluster changes few answers.
    """

    def derived(label: bytes, size: int) -> bytes:
        key = hmac.digest(secret, label + bytes([mechanism]) + user.encode(), "sha512")
        return hashlib.shake_256(key).digest(size)

    def rank(form: ScramForm) -> bytes:
        return derived(f"form {form.salt_bytes} {form.is_text} {form.iterations} ".encode(), 16)

    form = max(forms, key=rank, default=ScramForm())
    size = mechanism.digest_bytes
    return ScramCredential(
        salt=_text_salt(derived(b"salt", 17)) if form.is_text else derived(b"salt", form.salt_bytes),
        stored_key=derived(b"stored", size),
        server_key=derived(b"server", size),
        iterations=form.iterations,
    )


def _text_salt(random: bytes) -> bytes:
    number = int.from_bytes(random) >> (8 * len(random) - 130)
    digits = bytearray()
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return bytes(reversed(digits))

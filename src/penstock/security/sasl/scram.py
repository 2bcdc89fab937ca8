"""SCRAM-SHA-256 and -512 (RFC 5802, RFC 7677), without channel binding, as Kafka has it.

An unknown user gets a challenge like any other and is rejected at the end, like a wrong password: an attacker
learns neither from the responses nor from their timing which users exist.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable

from penstock.security.sasl.exchange import Granted, LoginRefused, invalid_credentials
from penstock.security.scram_credentials import ScramCredential, ScramMechanism

_NAME = r"(?:[^=,]|=2C|=3D)*"
_FIRST = re.compile(
    rf"(?P<gs2>[ny],(?:a=(?P<authorization>{_NAME}))?,)"
    rf"(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?P<extensions>(?:,[A-Za-z]+=[^,]*)*))"
)
_FINAL = re.compile(
    r"(?P<bare>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[^,]+)(?:,[A-Za-z]+=[^,]*)*?),p=(?P<proof>[^,]+)"
)


class ScramExchange:
    """`known` returns a user's credential, `decoy` one for an unknown user, `nonce` a fresh printable nonce."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        known: Callable[[str], ScramCredential | None],
        decoy: Callable[[str], ScramCredential],
        nonce: Callable[[], str],
    ) -> None:
        self._mechanism = mechanism
        self._known = known
        self._decoy = decoy
        self._nonce = nonce
        self._challenge: _Challenge | None = None
        self.granted: Granted | None = None

    def step(self, received: bytes) -> bytes:
        try:
            message = received.decode()
        except UnicodeDecodeError:
            raise self._refused() from None
        if self._challenge is None:
            return self._first(message)
        return self._final(message, self._challenge)

    def _first(self, message: str) -> bytes:
        parts = _FIRST.fullmatch(message)
        if parts is None or "tokenauth=true" in parts["extensions"]:  # delegation tokens are not served
            raise self._refused()
        user = _unescaped(parts["user"])
        if parts["authorization"] is not None and _unescaped(parts["authorization"]) != user:
            raise LoginRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        known, decoy = self._known(user), self._decoy(user)
        credential = known or decoy
        nonce = parts["nonce"] + self._nonce()
        salt = base64.b64encode(credential.salt).decode()
        response = f"r={nonce},s={salt},i={credential.iterations}"
        self._challenge = _Challenge(user, known is not None, credential, nonce, parts["gs2"])
        self._challenge.transcript = f"{parts['bare']},{response}"
        return response.encode()

    def _final(self, message: str, challenge: "_Challenge") -> bytes:
        parts = _FINAL.fullmatch(message)
        if parts is None:
            raise self._refused()
        try:
            binding = base64.b64decode(parts["binding"], validate=True)
            proof = base64.b64decode(parts["proof"], validate=True)
        except (binascii.Error, ValueError):
            raise self._refused() from None
        signed = f"{challenge.transcript},{parts['bare']}".encode()
        is_good = self._proves(challenge.credential, proof, signed)
        is_same = hmac.compare_digest(parts["nonce"].encode(), challenge.nonce.encode())
        if not (is_good and is_same and challenge.is_known and binding == challenge.gs2.encode()):
            raise self._refused()
        self.granted = Granted(user=challenge.user)
        signature = hmac.digest(challenge.credential.server_key, signed, self._mechanism.algorithm)
        return b"v=" + base64.b64encode(signature)

    def _proves(self, credential: ScramCredential, proof: bytes, signed: bytes) -> bool:
        algorithm = self._mechanism.algorithm
        signature = hmac.digest(credential.stored_key, signed, algorithm)
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        return hmac.compare_digest(hashlib.new(algorithm, client_key).digest(), credential.stored_key)

    def _refused(self) -> LoginRefused:
        return invalid_credentials(self._mechanism.sasl_name)


class _Challenge:
    """The challenge, to check the client's response against."""

    __slots__ = ("credential", "gs2", "is_known", "nonce", "transcript", "user")

    def __init__(self, user: str, is_known: bool, credential: ScramCredential, nonce: str, gs2: str) -> None:
        self.user = user
        self.is_known = is_known
        self.credential = credential
        self.nonce = nonce
        self.gs2 = gs2
        self.transcript = ""


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")

"""The client's side of TLS and SASL.

A SASL exchange is a generator: it yields the messages to send, receives the broker's responses, and returns when both
sides have accepted. It sees no socket. SCRAM is RFC 5802 (SHA-256: RFC 7677) without channel binding, as Kafka has it;
OAUTHBEARER is RFC 7628 with a token that the settings carry.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import ssl
from collections.abc import Callable, Generator

from penstock.client.errors import AuthenticationFailed, SettingsError
from penstock.client.settings import SaslSettings, TlsSettings

Exchange = Generator[bytes, bytes, None]

# Kafka's minimum; with fewer the stored password would be cheap to guess.
_SCRAM_ITERATIONS_MIN = 4096
_SCRAM_ITERATIONS_MAX = 10_000_000


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_location, cadata=settings.ca_pem)
        context.check_hostname = settings.checks_host_name
        if settings.certificate_location:
            context.load_cert_chain(
                settings.certificate_location, settings.key_location, settings.key_password or ""
            )
    except (OSError, ssl.SSLError) as error:
        files = [settings.ca_location, settings.certificate_location, settings.key_location]
        named = ", ".join(name for name in files if name) or "the given certificates"
        raise SettingsError(f"TLS cannot be set up from {named}: {error}") from error
    return context


def sasl_exchange(settings: SaslSettings, nonce: Callable[[], str] | None = None) -> Exchange:
    if settings.mechanism == "PLAIN":
        return _plain(settings)
    if settings.mechanism == "OAUTHBEARER":
        return _oauthbearer(settings)
    return _scram(settings, (nonce or _random_nonce)())


def _random_nonce() -> str:
    return secrets.token_urlsafe(24)


def _plain(settings: SaslSettings) -> Exchange:
    yield f"\0{settings.username}\0{settings.password}".encode()


def _oauthbearer(settings: SaslSettings) -> Exchange:
    refusal = yield f"n,,\x01auth=Bearer {settings.token}\x01\x01".encode()
    if refusal:
        raise AuthenticationFailed(f"the broker refused the token: {refusal.decode(errors='replace')}")


def _scram(settings: SaslSettings, nonce: str) -> Exchange:
    algorithm = "sha256" if settings.mechanism == "SCRAM-SHA-256" else "sha512"
    user = settings.username.replace("=", "=3D").replace(",", "=2C")
    first_bare = f"n={user},r={nonce}"
    server_first = (yield f"n,,{first_bare}".encode()).decode(errors="replace")
    fields = _scram_fields(server_first)
    server_nonce, salt, iterations = _scram_challenge(fields, nonce)

    final_without_proof = f"c=biws,r={server_nonce}"
    message = f"{first_bare},{server_first},{final_without_proof}".encode()
    salted = hashlib.pbkdf2_hmac(algorithm, settings.password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), message, algorithm)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_final = (yield f"{final_without_proof},p={base64.b64encode(proof).decode()}".encode()).decode(
        errors="replace"
    )

    fields = _scram_fields(server_final)
    if "e" in fields:
        raise AuthenticationFailed(f"the broker refused user {settings.username!r}: {fields['e']}")
    expected = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), message, algorithm)
    if not hmac.compare_digest(base64.b64encode(expected).decode(), fields.get("v", "")):
        raise AuthenticationFailed(
            "the broker could not show that it knows the password: is it the right one?"
        )


def _scram_fields(message: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in message.split(",") if part[1:2] == "="}


def _scram_challenge(fields: dict[str, str], nonce: str) -> tuple[str, bytes, int]:
    if "e" in fields:
        raise AuthenticationFailed(f"the broker refused the exchange: {fields['e']}")
    try:
        server_nonce = fields["r"]
        salt = base64.b64decode(fields["s"], validate=True)
        iterations = int(fields["i"])
    except (KeyError, ValueError, binascii.Error):
        raise AuthenticationFailed("the broker's SCRAM challenge makes no sense") from None
    if not server_nonce.startswith(nonce) or len(server_nonce) == len(nonce):
        raise AuthenticationFailed("the broker's SCRAM nonce does not continue ours")
    if not _SCRAM_ITERATIONS_MIN <= iterations <= _SCRAM_ITERATIONS_MAX:
        raise AuthenticationFailed(
            f"the broker asks for {iterations} SCRAM iterations, which is out of bounds"
        )
    return server_nonce, salt, iterations

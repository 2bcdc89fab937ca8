"""Keys, certificates and trusted authorities, as the settings have them: PEM files, PEM in the settings, PKCS #12.

OpenSSL reads a private key from a file only. A key that is not in a PEM file is therefore written to a temporary file,
which is deleted at once; a key of a PKCS #12 file is encrypted there with a random password.
"""

import contextlib
import os
import secrets
import ssl
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings import security

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_JKS = (
    "JKS files can only be read by Java; convert it with: keytool -importkeystore -srckeystore {path} "
    "-destkeystore {path}.p12 -deststoretype PKCS12, and set ssl.{store}.type=PKCS12"
)


class TlsUnusable(ConfigError):
    """Keys or certificates cannot be used; the message says which and why, and has no secret in it."""


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """The location of a key or trusted certificates; `pem` holds them if they are in the settings."""

    kind: str
    location: str | None = None
    password: str | None = None
    pem: str | None = None

    def __repr__(self) -> str:
        return f"Store(kind={self.kind!r}, location={self.location!r})"


class TlsMaterial(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of TLS for one listener."""

    key_store: Store
    key_password: str | None
    trust_store: Store
    versions: tuple[str, ...]
    ciphers: tuple[str, ...]
    client_auth: str
    checks_host_name: bool

    @property
    def files(self) -> tuple[str, ...]:
        """The files to check for changes."""
        stores = (self.key_store, self.trust_store)
        return tuple(store.location for store in stores if store.location and not store.pem)


def material_of(config: BrokerConfig, listener: str) -> TlsMaterial:
    key, chain = (
        config.for_listener(listener, security.SSL_KEYSTORE_KEY),
        config.for_listener(listener, security.SSL_KEYSTORE_CERTIFICATE_CHAIN),
    )
    if (key is None) != (chain is None):
        raise TlsUnusable(
            f"listener {listener}: ssl.keystore.key and ssl.keystore.certificate.chain go together, one is missing"
        )
    return TlsMaterial(
        key_store=Store(
            kind=config.for_listener(listener, security.SSL_KEYSTORE_TYPE),
            location=config.for_listener(listener, security.SSL_KEYSTORE_LOCATION),
            password=config.for_listener(listener, security.SSL_KEYSTORE_PASSWORD),
            pem=f"{_with_line_ends(key)}\n{_with_line_ends(chain or '')}\n" if key else None,
        ),
        key_password=config.for_listener(listener, security.SSL_KEY_PASSWORD),
        trust_store=Store(
            kind=config.for_listener(listener, security.SSL_TRUSTSTORE_TYPE),
            location=config.for_listener(listener, security.SSL_TRUSTSTORE_LOCATION),
            password=config.for_listener(listener, security.SSL_TRUSTSTORE_PASSWORD),
            pem=_with_line_ends(config.for_listener(listener, security.SSL_TRUSTSTORE_CERTIFICATES)),
        ),
        versions=config.for_listener(listener, security.SSL_ENABLED_PROTOCOLS),
        ciphers=config.for_listener(listener, security.SSL_CIPHER_SUITES),
        client_auth=_client_auth(config, listener),
        checks_host_name=config.for_listener(listener, security.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM).lower()
        == "https",
    )


def _client_auth(config: BrokerConfig, listener: str) -> str:
    """On a SASL listener a certificate is optional, unless the listener's own setting requires it (KIP-684)."""
    name = security.SSL_CLIENT_AUTH.name
    protocol = next((each.security_protocol for each in config.listeners if each.name == listener), "SSL")
    if protocol == "SASL_SSL" and f"listener.name.{listener.lower()}.{name}" not in config.settings():
        return "none"
    return config.for_listener(listener, security.SSL_CLIENT_AUTH)


def _with_line_ends(pem: str | None) -> str | None:
    """Restore the line ends of PEM that is on one line, as in a properties file."""
    if pem is None or "\n" in pem:
        return pem
    for mark in ("-----BEGIN ", "-----END "):
        pem = pem.replace(mark, f"\n{mark}")
    lines = []
    for line in pem.split("\n"):
        head, dashes, body = line.rpartition("-----")
        is_begin = line.startswith("-----BEGIN ") and dashes and body.strip()
        lines += [f"{head}-----", *body.split()] if is_begin else [line.strip()]
    return "\n".join(lines).strip()


# -- into a context


def load_key(context: ssl.SSLContext, material: TlsMaterial) -> None:
    """Load this broker's key and certificates into the context. Raises `TlsUnusable`."""
    store = material.key_store
    password = material.key_password or store.password
    if store.pem is None and store.location is None:
        raise TlsUnusable(
            "there is no key: set ssl.keystore.location to a PEM file with the key and its certificates"
        )
    with _unusable("ssl.keystore.key" if store.location is None or store.pem else store.location):
        if store.pem is not None:
            _load_written(context, store.pem, password)
        elif store.kind == "PEM":
            # Asked for only when the key is encrypted; an empty answer is an error instead of a prompt.
            context.load_cert_chain(store.location or "", password=lambda: password or "")
        else:
            _load_pkcs12_key(context, store, password)


def load_trust(context: ssl.SSLContext, store: Store) -> None:
    """Load the trusted authorities into the context: the system's, if none are configured."""
    if store.pem is None and store.location is None:
        is_server = context.protocol == ssl.PROTOCOL_TLS_SERVER
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH if is_server else ssl.Purpose.SERVER_AUTH)
        return
    with _unusable("ssl.truststore.certificates" if store.location is None or store.pem else store.location):
        if store.pem is not None:
            context.load_verify_locations(cadata=store.pem)
        elif store.kind == "PEM":
            context.load_verify_locations(store.location)
        else:
            _load_pkcs12_trust(context, store)


@contextlib.contextmanager
def _unusable(where: str) -> Iterator[None]:
    """Turn errors into `TlsUnusable`."""
    try:
        yield
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise TlsUnusable(f"{where}: OpenSSL cannot use it ({reason})") from None
    except OSError as error:
        raise TlsUnusable(f"{where}: {error.strerror or error}") from None
    except ValueError as error:
        raise TlsUnusable(f"{where}: {error}") from None


def _load_written(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    file, path = tempfile.mkstemp(prefix="penstock-", suffix=".pem")  # readable by this user only
    try:
        with os.fdopen(file, "w") as out:
            out.write(pem)
        context.load_cert_chain(path, password=lambda: password or "")
    finally:
        os.unlink(path)


def _load_pkcs12_key(context: ssl.SSLContext, store: Store, password: str | None) -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  few brokers need it

    found = _read_pkcs12(store, "keystore", password)
    if found.key is None or found.cert is None:
        raise ValueError("it has no private key with a certificate")
    once = secrets.token_hex()
    key = found.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(once.encode()),
    )
    chain = [found.cert, *found.additional_certs]
    certificates = b"".join(each.certificate.public_bytes(serialization.Encoding.PEM) for each in chain)
    _load_written(context, (key + certificates).decode(), once)


def _load_pkcs12_trust(context: ssl.SSLContext, store: Store) -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    found = _read_pkcs12(store, "truststore", store.password)
    certificates = [each.certificate for each in (found.cert, *found.additional_certs) if each is not None]
    if not certificates:
        raise ValueError("it has no certificates")
    context.load_verify_locations(
        cadata=b"".join(each.public_bytes(serialization.Encoding.DER) for each in certificates)
    )


def _read_pkcs12(store: Store, store_name: str, password: str | None) -> "PKCS12KeyAndCertificates":
    if store.kind == "JKS":
        raise ValueError(_JKS.format(path=store.location, store=store_name))
    from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415

    with open(store.location or "", "rb") as file:
        content = file.read()
    try:
        return pkcs12.load_pkcs12(content, password.encode() if password else None)
    except ValueError:
        raise ValueError(
            f"it is not a PKCS #12 file, or ssl.{store_name}.password is not its password"
        ) from None

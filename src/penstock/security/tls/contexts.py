"""The TLS context of one listener, made again when the settings or the files behind them have changed.

New connections get the newest context that could be made; when a change cannot be used, the one before stays, and the
log says so once.
"""

import logging
import os
import re
import ssl
from collections.abc import Callable

from penstock.config.broker import BrokerConfig
from penstock.runtime.clock import Clock
from penstock.security.tls.material import TlsMaterial, TlsUnusable, load_key, load_trust, material_of

log = logging.getLogger(__name__)

_LOOK_EVERY_MS = 1000
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}

Stamps = tuple[tuple[int, int, int] | None, ...]


class FollowedContext:
    """`make` makes a context of the settings: `server_context` or `client_context`."""

    def __init__(
        self,
        listener: str,
        config: Callable[[], BrokerConfig],
        make: Callable[[TlsMaterial], ssl.SSLContext],
        clock: Clock,
    ) -> None:
        """Raises `TlsUnusable` when the first one cannot be made."""
        self._listener = listener
        self._config = config
        self._make = make
        self._clock = clock
        self._known = config()
        self._looked_ms = clock.monotonic_ms()
        try:
            self._material = material_of(self._known, listener)
            self._stamps = _stamps(self._material)
            self._context = make(self._material)
        except TlsUnusable as error:
            raise TlsUnusable(f"listener {listener} cannot use TLS: {error}") from None

    def current(self) -> ssl.SSLContext:
        now_ms = self._clock.monotonic_ms()
        if self._config() is not self._known or now_ms - self._looked_ms >= _LOOK_EVERY_MS:
            self._looked_ms = now_ms
            self.look()
        return self._context

    def look(self) -> None:
        """Make a new context if anything behind it has changed."""
        self._known = self._config()
        try:
            material = material_of(self._known, self._listener)
            stamps = _stamps(material)
            if material == self._material and stamps == self._stamps:
                return
            self._material, self._stamps = material, stamps
            self._context = self._make(material)
        except TlsUnusable as error:
            log.error(  # noqa: TRY400  the message says it all
                "Kept the previous certificates, the new ones are invalid: %s. listener=%s",
                error,
                self._listener,
            )
        else:
            log.info("Reloaded the certificates. listener=%s", self._listener)


def server_context(material: TlsMaterial) -> ssl.SSLContext:
    """Raises `TlsUnusable`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit(context, material)
    load_key(context, material)
    context.verify_mode = _CLIENT_AUTH[material.client_auth]
    if context.verify_mode != ssl.CERT_NONE:
        load_trust(context, material.trust_store)
    return context


def client_context(material: TlsMaterial) -> ssl.SSLContext:
    """For connections to other brokers; shows this broker's own certificate where there is one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, material)
    context.check_hostname = material.checks_host_name
    load_trust(context, material.trust_store)
    if material.key_store.pem is not None or material.key_store.location is not None:
        load_key(context, material)
    return context


def _limit(context: ssl.SSLContext, material: TlsMaterial) -> None:
    versions = [_VERSIONS[name] for name in material.versions if name in _VERSIONS]
    if not versions:
        raise TlsUnusable(
            f"ssl.enabled.protocols is {','.join(material.versions)}: name some of {', '.join(_VERSIONS)}"
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    older = [openssl_name(name) for name in material.ciphers if not _is_of_1_3(name)]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise TlsUnusable(f"ssl.cipher.suites: OpenSSL knows none of {', '.join(older)}") from None


def _is_of_1_3(name: str) -> bool:
    """The suites below TLS 1.3; OpenSSL always offers its own suites of TLS 1.3."""
    return name.startswith("TLS_") and "_WITH_" not in name


def openssl_name(name: str) -> str:
    """The name that OpenSSL has for a cipher suite of Java's: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."""
    exchange, separator, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not separator:
        return name
    cipher = re.sub(r"(AES|CAMELLIA)_(\d+)", r"\1\2", cipher).replace("_CBC", "")
    cipher = cipher.removesuffix("_SHA256") if "CHACHA20" in cipher else cipher
    parts = ([] if exchange == "RSA" else [exchange]) + [cipher]
    return "-".join(parts).replace("_", "-")


def _stamps(material: TlsMaterial) -> Stamps:
    return tuple(_stamp(path) for path in material.files)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

"""The settings of a client, read from Kafka's property names.

A property that is not known here is ignored, as Kafka's own clients do with a warning: settings written for another
client keep working. Values that would silently weaken or break a connection (an unknown security protocol or mechanism,
a key store that is not PEM) are refused.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.client.errors import SettingsError

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
ISOLATION_LEVELS: Final = ("read_uncommitted", "read_committed")
_INT32_MAX: Final = 2**31 - 1
_PORT_DEFAULT: Final = 9092
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Files hold PEM. Without `ca_location` and `ca_pem` the certificates of the system are trusted."""

    ca_location: str | None = None
    ca_pem: str | None = None
    certificate_location: str | None = None
    key_location: str | None = None
    key_password: str | None = None
    checks_host_name: bool = True


class SaslSettings(msgspec.Struct, frozen=True, kw_only=True):
    mechanism: str
    username: str = ""
    password: str = ""
    token: str = ""

    def __repr__(self) -> str:
        """Without the secrets: settings end up in logs and error texts."""
        return f"SaslSettings(mechanism={self.mechanism!r}, username={self.username!r})"


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Hashable, so that a process can keep one cluster for each set of settings."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str = "penstock"
    request_timeout_ms: int = 30_000
    deadline_ms: int = 60_000  # default.api.timeout.ms: how long retries go on
    connect_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reads_committed_only: bool = False
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 50 * 1024 * 1024
    fetch_partition_max_bytes: int = 1024 * 1024
    fetch_max_wait_ms: int = 500
    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None

    @property
    def bootstrap(self) -> str:
        """The addresses as a person wrote them, for error texts."""
        return ",".join(f"{host}:{port}" for host, port in self.bootstrap_servers)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "ClientSettings":
        protocol = _one_of(properties, "security.protocol", SECURITY_PROTOCOLS, "PLAINTEXT")
        isolation = _one_of(properties, "isolation.level", ISOLATION_LEVELS, "read_uncommitted")
        backoff_ms = _integer(properties, "retry.backoff.ms", 100, 0)
        return cls(
            bootstrap_servers=_addresses(properties.get("bootstrap.servers", "")),
            client_id=properties.get("client.id", "penstock"),
            request_timeout_ms=_integer(properties, "request.timeout.ms", 30_000, 1),
            deadline_ms=_integer(properties, "default.api.timeout.ms", 60_000, 1),
            connect_timeout_ms=_integer(properties, "socket.connection.setup.timeout.ms", 10_000, 1),
            retry_backoff_ms=backoff_ms,
            retry_backoff_max_ms=max(backoff_ms, _integer(properties, "retry.backoff.max.ms", 1_000, 0)),
            reads_committed_only=isolation == "read_committed",
            fetch_min_bytes=_integer(properties, "fetch.min.bytes", 1, 0),
            fetch_max_bytes=_integer(properties, "fetch.max.bytes", 50 * 1024 * 1024, 0),
            fetch_partition_max_bytes=_integer(properties, "max.partition.fetch.bytes", 1024 * 1024, 0),
            fetch_max_wait_ms=_integer(properties, "fetch.max.wait.ms", 500, 0),
            tls=_tls(properties) if protocol.endswith("SSL") else None,
            sasl=_sasl(properties) if protocol.startswith("SASL") else None,
        )


def _integer(properties: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = properties.get(name)
    if text is None:
        return default
    try:
        value = int(str(text).strip())
    except ValueError:
        raise SettingsError(f"{name} must be a number, not {text!r}") from None
    if not least <= value <= _INT32_MAX:
        raise SettingsError(f"{name} must be between {least} and {_INT32_MAX}, not {value}")
    return value


def _one_of(properties: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    text = properties.get(name, default)
    for choice in choices:
        if choice.lower() == text.strip().lower():
            return choice
    raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {text!r}")


def _addresses(text: str) -> tuple[tuple[str, int], ...]:
    addresses = tuple(_address(part.strip()) for part in text.split(",") if part.strip())
    if not addresses:
        raise SettingsError("bootstrap.servers is missing: name at least one broker as host:port")
    return addresses


def _address(text: str) -> tuple[str, int]:
    if "://" in text:  # a listener name in front, as listeners are written
        text = text.partition("://")[2]
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(_PORT_DEFAULT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise SettingsError(f"bootstrap.servers: {text!r} is not host:port")
    return host, int(port)


def _tls(properties: Mapping[str, str]) -> TlsSettings:
    for store in ("truststore", "keystore"):
        kind = properties.get(f"ssl.{store}.type", "PEM")
        location = properties.get(f"ssl.{store}.location")
        if location and kind.upper() != "PEM":
            raise SettingsError(
                f"ssl.{store}.type={kind} cannot be read without Java: convert the file to PEM and set "
                f"ssl.{store}.type=PEM"
            )
    if "ssl.keystore.key" in properties:
        raise SettingsError(
            "ssl.keystore.key is not read: put key and certificates in one PEM file and name it in "
            "ssl.keystore.location"
        )
    certificate = properties.get("ssl.keystore.location") or properties.get("ssl.certificate.location")
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("https", "none", ""):
        raise SettingsError(
            f"ssl.endpoint.identification.algorithm must be https or empty, not {algorithm!r}"
        )
    return TlsSettings(
        ca_location=properties.get("ssl.truststore.location") or properties.get("ssl.ca.location"),
        ca_pem=properties.get("ssl.truststore.certificates") or properties.get("ssl.ca.pem"),
        certificate_location=certificate,
        key_location=properties.get("ssl.key.location"),
        key_password=properties.get("ssl.key.password"),
        checks_host_name=algorithm == "https",
    )


def _sasl(properties: Mapping[str, str]) -> SaslSettings:
    if "sasl.mechanism" not in properties and "sasl.mechanisms" in properties:  # librdkafka's spelling
        properties = {**properties, "sasl.mechanism": properties["sasl.mechanisms"]}
    if "sasl.mechanism" not in properties:
        raise SettingsError(f"sasl.mechanism is missing: one of {', '.join(SASL_MECHANISMS)}")
    mechanism = _one_of(properties, "sasl.mechanism", SASL_MECHANISMS, "")
    jaas = {
        name: re.sub(r"\\(.)", r"\1", value)
        for name, value in _JAAS_OPTION.findall(properties.get("sasl.jaas.config", ""))
    }
    username = properties.get("sasl.username", jaas.get("username", ""))
    password = properties.get("sasl.password", jaas.get("password", ""))
    token = properties.get("sasl.oauthbearer.token", jaas.get("token", ""))
    if mechanism == "OAUTHBEARER":
        if not token:
            raise SettingsError("OAUTHBEARER needs a token: set sasl.oauthbearer.token")
    elif not username:
        raise SettingsError(
            f"{mechanism} needs a user: set sasl.username and sasl.password, or sasl.jaas.config"
        )
    return SaslSettings(mechanism=mechanism, username=username, password=password, token=token)

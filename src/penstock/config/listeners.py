"""Listener addresses: `NAME://host:port`, comma-separated, and the protocol that each name speaks."""

import re
from collections.abc import Mapping

import msgspec

from penstock.config.property import ConfigError, split_list

SECURITY_PROTOCOL_IDS: Mapping[str, int] = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
"""Names and numbers of the security protocols, as broker registrations carry them."""

_ADDRESS = re.compile(r"^([^:/]+)://\[?([0-9a-zA-Z\-%._:]*?)\]?:(\d+)$")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An address that a broker listens on, or that it advertises."""

    name: str
    host: str
    port: int
    security_protocol: str

    @property
    def security_protocol_id(self) -> int:
        return SECURITY_PROTOCOL_IDS[self.security_protocol]


def parse_protocol_map(text: str) -> dict[str, str]:
    protocols: dict[str, str] = {}
    for item in split_list(text):
        name, separator, protocol = item.rpartition(":")
        if not separator or protocol.upper() not in SECURITY_PROTOCOL_IDS:
            known = ", ".join(SECURITY_PROTOCOL_IDS)
            raise ConfigError(
                f"Invalid value {item} for configuration listener.security.protocol.map: "
                f"expected NAME:PROTOCOL with one of the protocols {known}"
            )
        protocols[name.upper()] = protocol.upper()
    return protocols


def parse_endpoints(setting: str, text: str, protocols: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Read the addresses of `listeners` or `advertised.listeners`; names must differ."""
    endpoints: list[Endpoint] = []
    for item in split_list(text):
        match = _ADDRESS.match(item)
        if match is None or int(match[3]) > 65535:
            raise ConfigError(f"Invalid value {item} for configuration {setting}: expected NAME://host:port")
        name = match[1].upper()
        if (protocol := protocols.get(name)) is None:
            raise ConfigError(
                f"Invalid value {item} for configuration {setting}: no security protocol is defined for listener "
                f"{name}; add {name}:PROTOCOL to listener.security.protocol.map"
            )
        if any(endpoint.name == name for endpoint in endpoints):
            raise ConfigError(f"Each listener must have a different name: {name} comes twice in {setting}")
        endpoints.append(Endpoint(name=name, host=match[2], port=int(match[3]), security_protocol=protocol))
    if not endpoints:
        raise ConfigError(f"Invalid value {text} for configuration {setting}: at least one address is needed")
    return tuple(endpoints)


def parse_host_limits(text: str) -> dict[str, int]:
    """The maximum connections of single addresses: `address:count`, comma-separated (IPv6 in brackets or not)."""
    limits = {}
    for item in split_list(text):
        address, colon, count = item.rpartition(":")
        if not colon or not count.isdecimal():
            raise ConfigError(
                f"Invalid value {item} for configuration max.connections.per.ip.overrides: expected address:count"
            )
        limits[address.strip("[]")] = int(count)
    return limits

"""Kafka's listener strings: `NAME://host:port`, several separated by commas.

`listeners` says where to bind, `advertised.listeners` what clients are told; a listener that is not advertised
explicitly advertises the address it is bound to.
"""

import msgspec


class ListenerError(ValueError):
    """A listener setting that cannot be used; the message says how to write it."""


class Endpoint(msgspec.Struct, frozen=True):
    """One address under a listener's name."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listeners(text: str) -> list[Endpoint]:
    """Parse a comma-separated list; names and (but for port 0) ports must be unique."""
    endpoints = [_parse_one(part.strip()) for part in text.split(",") if part.strip()]
    if not endpoints:
        raise ListenerError("listeners is empty: give at least one, for example PLAINTEXT://127.0.0.1:9092")
    names = [e.name for e in endpoints]
    if len(set(names)) != len(names):
        raise ListenerError(f"each listener needs a name of its own, got {text!r}")
    return endpoints


def advertised(bound: list[Endpoint], configured: str) -> list[Endpoint]:
    """What clients are told for each bound listener."""
    explicit = {e.name: e for e in parse_listeners(configured)} if configured.strip() else {}
    unknown = explicit.keys() - {e.name for e in bound}
    if unknown:
        raise ListenerError(f"advertised.listeners names {sorted(unknown)}, which listeners does not have")
    result = []
    for endpoint in bound:
        chosen = explicit.get(endpoint.name, endpoint)
        if chosen.host in ("", "0.0.0.0", "::"):  # noqa: S104  refused here, not bound
            if chosen is not endpoint:
                raise ListenerError(f"advertised.listeners needs an address clients can reach, not {chosen}")
            chosen = Endpoint(chosen.name, "localhost", chosen.port)
        result.append(chosen if chosen.port else Endpoint(chosen.name, chosen.host, endpoint.port))
    return result


def _parse_one(text: str) -> Endpoint:
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not name or not colon or not port.isdecimal() or int(port) > 65535:
        raise ListenerError(
            f"{text!r} is not a listener: write NAME://host:port, like PLAINTEXT://127.0.0.1:9092"
        )
    return Endpoint(name.upper(), host.removeprefix("[").removesuffix("]"), int(port))

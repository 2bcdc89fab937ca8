"""The addresses that this broker advertises to clients, given the addresses that it listens on.

`advertised.listeners` wins; a listener it does not name advertises the address it is bound to. A wildcard address
cannot be advertised: clients would connect to themselves.
"""

from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError

_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound


def advertised_endpoints(
    bound: list[Endpoint], configured: tuple[Endpoint, ...] | None
) -> dict[str, Endpoint]:
    """By listener name; a port of 0 means the port that was picked."""
    explicit = {e.name: e for e in configured or ()}
    result = {}
    for endpoint in bound:
        chosen = explicit.get(endpoint.name, endpoint)
        host = chosen.host
        if host in _WILDCARDS:
            if endpoint.name in explicit and endpoint.host not in _WILDCARDS:
                raise ConfigError(
                    "advertised.listeners needs an address that clients can reach, not a wildcard"
                )
            host = "localhost"
        result[endpoint.name] = Endpoint(
            name=endpoint.name,
            host=host,
            port=chosen.port or endpoint.port,
            security_protocol=endpoint.security_protocol,
        )
    return result

"""Broker settings about the admin port, where health, metrics, the console and the HTTP gateways are served."""

from penstock.config.property import Value
from penstock.config.section import Section

ADMIN = Section("Admin port")


def admin_address(text: str) -> tuple[str, int] | None:
    """The host and port of `HOST:PORT`; None when it is not one."""
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        return None
    return host.removeprefix("[").removesuffix("]"), int(port)


def _is_address_or_empty(_name: str, value: Value) -> str | None:
    if not value or admin_address(str(value)) is not None:
        return None
    return "Expected HOST:PORT, or nothing to switch it off"


ADMIN_LISTENER = ADMIN.string(
    "penstock.admin.listener",
    "127.0.0.1:9644",
    "Where health, metrics, the console and the HTTP gateways are served, as HOST:PORT. An empty host is every "
    "interface; port 0 takes a free one; empty switches it off. When the default address is taken, the broker starts "
    "without; one that was set must be free.",
    check=_is_address_or_empty,
)
ADMIN_KAFKA_LISTENER = ADMIN.optional_string(
    "penstock.admin.kafka.listener",
    "The listener that HTTP requests are passed on to, with the credentials they bring. Unset, the first one without "
    "security that is as open as the admin port, else the first with SASL, else the first.",
)
ADMIN_ALLOWED_HOSTS = ADMIN.names(
    "penstock.admin.allowed.hosts",
    (),
    "Further names under which the admin port may be reached, against pages that reach it under a name of their own "
    "(DNS rebinding). Addresses, `localhost`, this host's name and those of `advertised.listeners` always may; * lets "
    "any.",
)
ADMIN_MAX_CONNECTIONS_PER_IP = ADMIN.integer(
    "penstock.admin.max.connections.per.ip",
    256,
    "How many connections an address may have to the admin port, of 1024 in all. Those beyond it are answered for "
    "`/healthz`, `/readyz` and `/metrics` only. Raise it where a proxy stands before the port.",
    at_least=1,
    at_most=1024,
)

SECTIONS = (ADMIN,)

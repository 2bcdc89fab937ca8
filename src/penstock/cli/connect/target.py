"""The cluster that a command works on: its options `--bootstrap-server` and `-X`, and the clients made from them."""

import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

from penstock.cli.errors import CommandError, UsageError, not_found
from penstock.cli.options import takes

if TYPE_CHECKING:
    from penstock.cli.connect.requests import RequestClient

ADDRESS_DEFAULT = "127.0.0.1:9092"
CONNECT_TIMEOUT_S = 3.0
_REQUEST_TIMEOUT_MS = 10_000
_PORT_DEFAULT = 9092
_PORT_MAX = 65535

_Server: str = typer.Option(
    ADDRESS_DEFAULT,
    "--bootstrap-server",
    "-b",
    metavar="HOST:PORT",
    help="Brokers to connect to, separated by commas.",
)
_Settings: list[str] = typer.Option(
    [],
    "-X",
    "--command-config",
    metavar="KEY=VALUE|FILE",
    help="Set a client property (security.protocol=SSL), or read a properties file (repeatable).",
)


class Target:
    """A cluster by the addresses of its brokers, and the client settings to use with it."""

    __slots__ = ("server", "settings")

    def __init__(self, server: str = _Server, settings: list[str] = _Settings) -> None:
        self.server = server
        self.settings = settings

    def admin(self) -> Any:
        """Make an AdminClient, after a broker has answered it."""
        from confluent_kafka.admin import AdminClient

        from penstock.cli.connect.topics import fetch_metadata

        admin = self.client(AdminClient, **{"socket.timeout.ms": _REQUEST_TIMEOUT_MS})
        fetch_metadata(admin)  # fails sooner than other requests, and says why
        return admin

    def client(self, kind: Any, **config: object) -> Any:
        """Make a client of confluent-kafka, whose types are Any here; the settings of the user win."""
        from penstock.cli.connect.librdkafka import make_client

        check_reachable(self.server)
        return make_client(kind, self.server, self.settings, config)

    def requests(self) -> "RequestClient":
        """Make a client for the requests that librdkafka does not have."""
        from penstock.cli.connect.requests import RequestClient

        return RequestClient(self.server, self.settings)


connects = takes(Target)
"""Adds `--bootstrap-server` and `-X` to a command, which gets a `Target` as its first argument."""


def check_reachable(servers: str) -> None:
    """Fail at once when nothing listens at any of the addresses; librdkafka would retry for minutes."""
    reasons = []
    for server in servers.split(","):
        address = parse_address(server.strip())
        try:
            socket.create_connection(address, CONNECT_TIMEOUT_S).close()
        except OSError as error:
            reasons.append((error.strerror or str(error) or type(error).__name__).lower())
        else:
            return
    raise CommandError(
        f"no broker at {servers} ({', '.join(dict.fromkeys(reasons))}): start one with `penstock up`, "
        "or say where it is with --bootstrap-server HOST:PORT"
    )


def parse_address(server: str) -> tuple[str, int]:
    address = server.rpartition("://")[2]
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        host, port = address, str(_PORT_DEFAULT)
    if not host or not port.isdecimal() or int(port) > _PORT_MAX:
        raise UsageError(f"--bootstrap-server {server!r} is not an address: write HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def unknown_topic(topic: str, known: Iterable[str]) -> CommandError:
    return not_found("topic", topic, known, f"create it with `penstock topic create {topic}`")


def select_partitions(topic: str, known: Iterable[int], partition: int | None) -> list[int]:
    found = sorted(known)
    if partition is None:
        return found
    if partition not in found:
        raise CommandError(f"topic {topic} has no partition {partition}: it has 0 to {found[-1]}")
    return [partition]

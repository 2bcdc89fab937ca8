"""How commands reach a broker: confluent-kafka clients that fail soon, in one line, and say nothing else.

librdkafka retries a broker that is not there for minutes and logs each try. So the address is tried with a plain
connection first, requests get a short timeout, and the library's log lines go nowhere.
"""

import contextlib
import logging
import socket
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import typer

from penstock.cli.client_settings import client_settings, for_librdkafka
from penstock.cli.errors import EXIT_USAGE, CommandError, one_line

T = TypeVar("T")

ADDRESS_DEFAULT = "127.0.0.1:9092"
_PORT_DEFAULT = 9092
_CONNECT_TIMEOUT_SECONDS = 3.0
REQUEST_TIMEOUT_SECONDS = 10.0
_FIRST_ANSWERS_SECONDS = (0.5, 0.5)

_silent = logging.getLogger("penstock.cli.librdkafka")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False

BootstrapServer: str = typer.Option(
    ADDRESS_DEFAULT,
    "--bootstrap-server",
    "-b",
    metavar="HOST:PORT",
    help="A broker of the cluster; several are separated by commas.",
)
ClientSetting: list[str] = typer.Option(
    [],
    "-X",
    "--command-config",
    metavar="KEY=VALUE|FILE",
    help="A client setting, such as security.protocol=SSL, or a file of them. May be given again.",
)


def client_config(servers: str, settings: Iterable[str], **more: object) -> dict[str, object]:
    """The configuration of any client; `settings` are the user's own and win."""
    check_reachable(servers)
    config: dict[str, object] = {
        "bootstrap.servers": servers,
        "client.id": "penstock-cli",
        "logger": _silent,
        "error_cb": _hear,  # failures come with the request that failed, but not why
        "socket.connection.setup.timeout.ms": int(_CONNECT_TIMEOUT_SECONDS * 1000),
        "reconnect.backoff.max.ms": 1000,
        **more,
    }
    return config | for_librdkafka(client_settings(settings))


_heard: deque[str] = deque(maxlen=1)
"""Why the last connection was refused."""

_misdirected: deque[str] = deque(maxlen=1)
"""How the other side of the last connection showed that it speaks something else."""

# librdkafka tells in which state of the connection it failed; one that a broker has answered on is in none of these.
_BEFORE_FIRST_ANSWER = ("in state SSL_HANDSHAKE", "in state APIVERSION_QUERY")


def _hear(error: Any) -> None:
    from confluent_kafka import KafkaError

    if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):  # noqa: SLF001  librdkafka's own are named so
        _heard.append(describe_error(error))
    elif any(state in error.str() for state in _BEFORE_FIRST_ANSWER):
        is_gibberish = error.code() == KafkaError._BAD_MSG  # noqa: SLF001
        _misdirected.append("it speaks another protocol" if is_gibberish else describe_error(error))


def _check_admitted(client: Any) -> None:
    """Raise what is behind a request that failed, if it is that the broker does not let this client in."""
    client.poll(0)
    if _heard:
        raise CommandError(
            f"the broker does not let this command in ({_reason(_heard.pop())}): check security.protocol, user and "
            "password with -X KEY=VALUE or --command-config FILE"
        )
    if _misdirected:
        raise _not_a_broker(_reason(_misdirected.pop()))


def _reason(told: str) -> str:
    """Without the broker's address, which librdkafka puts before, and how long it took, which it puts behind."""
    return told.rpartition("bootstrap: ")[2].partition(" (after ")[0]


def _not_a_broker(reason: str) -> CommandError:
    return CommandError(
        f"the broker does not answer as one ({reason}): "
        "check --bootstrap-server, and that security.protocol is the port's (-X or --command-config)"
    )


def pairs(settings: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` arguments as a mapping."""
    found: dict[str, str] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise CommandError(f"{option} {setting!r} is not a setting: write it as KEY=VALUE", EXIT_USAGE)
        found[key] = value
    return found


def check_reachable(servers: str) -> None:
    """Fail at once when nothing listens at any of the addresses."""
    reasons = []
    for server in servers.split(","):
        host, port = split_address(server.strip())
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_SECONDS).close()
        except OSError as error:
            reasons.append((error.strerror or str(error) or type(error).__name__).lower())
        else:
            return
    raise CommandError(
        f"no broker at {servers} ({', '.join(dict.fromkeys(reasons))}): start one with `penstock up`, "
        "or say where it is with --bootstrap-server HOST:PORT"
    )


def split_address(server: str) -> tuple[str, int]:
    address = server.rpartition("://")[2]
    host, colon, port = address.rpartition(":")
    if not colon or address.endswith("]"):
        host, port = address, str(_PORT_DEFAULT)
    if not host or not port.isdecimal() or int(port) > 65535:
        raise CommandError(f"--bootstrap-server {server!r} is not an address: write HOST:PORT", EXIT_USAGE)
    return host.removeprefix("[").removesuffix("]"), int(port)


def admin_client(servers: str, settings: Iterable[str]) -> Any:
    """An AdminClient; its type is Any, because confluent-kafka's stubs are not used here."""
    from confluent_kafka.admin import AdminClient

    return make_client(AdminClient, client_config(servers, settings))


def make_client(kind: Any, config: Mapping[str, object]) -> Any:
    from confluent_kafka import KafkaException

    try:
        return kind(dict(config))
    except KafkaException as error:
        raise CommandError(
            f"{describe_error(error)}: check the -X settings against librdkafka's CONFIGURATION.md",
            EXIT_USAGE,
        ) from None


def topic_names(client: Any, *, with_internal: bool = False) -> list[str]:
    """The topics of the cluster, sorted. Internal ones begin with two underscores, as in Kafka."""
    return [name for name in sorted(metadata_of(client).topics) if with_internal or not name.startswith("__")]


def metadata_of(client: Any) -> Any:
    """All topics: asking for one by name could make it where topics are made automatically.

    The library goes on trying when a login has failed or the port speaks something else, and tells of it only between
    requests: so there are short ones before the long one.
    """
    from confluent_kafka import KafkaException

    for timeout_seconds in _FIRST_ANSWERS_SECONDS:
        with contextlib.suppress(KafkaException):
            return client.list_topics(timeout=min(timeout_seconds, REQUEST_TIMEOUT_SECONDS))
        _check_admitted(client)
    try:
        return client.list_topics(timeout=REQUEST_TIMEOUT_SECONDS)
    except KafkaException as error:
        _check_admitted(client)
        raise _not_a_broker(describe_error(error)) from None


def partitions_of(client: Any, topic: str) -> list[int]:
    """The partitions of a topic, or an error that says which topics there are."""
    metadata = metadata_of(client)
    if topic not in metadata.topics:
        raise unknown_topic(topic, metadata.topics)
    return sorted(metadata.topics[topic].partitions)


def unknown_topic(topic: str, known: Iterable[str]) -> CommandError:
    import difflib

    near = difflib.get_close_matches(topic, list(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"make it with `penstock topic create {topic}`"
    return CommandError(f"there is no topic {topic}: {hint}")


def result_of(future: "Future[T]", what: str) -> T:
    """Wait for an admin request; its failure becomes one line that begins with `what`."""
    from confluent_kafka import KafkaException

    try:
        return future.result(REQUEST_TIMEOUT_SECONDS * 2)
    except KafkaException as error:
        raise CommandError(f"{what}: {describe_error(error)}") from None
    except TimeoutError:
        raise CommandError(f"{what}: the broker did not answer in time, try again") from None
    except ValueError as error:
        raise CommandError(f"{what}: {one_line(str(error))}", EXIT_USAGE) from None


def describe_error(error: Any) -> str:
    """The words of a KafkaException, or of the KafkaError in it or by itself, without the class around them."""
    inner = error.args[0] if isinstance(error, Exception) and error.args else error
    text = getattr(inner, "str", None)  # a method of KafkaError
    return one_line(str(text() if callable(text) else inner)).rstrip(".") or type(error).__name__


def reading_failed(place: str, topic: str, error: Any) -> CommandError:
    """A KafkaError that came in a record's stead. `place` says what was read."""
    from confluent_kafka import KafkaError

    hint = ""
    if error.code() in (KafkaError._BAD_MSG, KafkaError.INVALID_MSG):  # noqa: SLF001  librdkafka's own are named so
        hint = f"; the record is damaged: `penstock log verify DATA_DIRECTORY --topic {topic}` shows what else is"
    return CommandError(f"cannot read {place}: {describe_error(error)}{hint}")

"""Clients of confluent-kafka that fail soon, in one line, and print nothing else.

librdkafka retries a broker that is not there for minutes and logs each attempt. So requests get a short timeout, its
log lines are dropped, and its error callback is used only to learn why a connection was refused.
"""

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaException

from penstock.cli.connect.settings import read_settings, to_librdkafka
from penstock.cli.connect.target import CONNECT_TIMEOUT_S
from penstock.cli.errors import CommandError, UsageError, one_line

T = TypeVar("T")

REQUEST_TIMEOUT_S = 10.0

# librdkafka's message names the state of the connection that failed; after the first response it is none of these.
_BEFORE_FIRST_RESPONSE = ("in state SSL_HANDSHAKE", "in state APIVERSION_QUERY")

_silent = logging.getLogger("penstock.cli.librdkafka")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False

_refusals: deque[str] = deque(maxlen=1)
"""Why the last connection was refused: its TLS handshake or its login failed."""
_foreign: deque[str] = deque(maxlen=1)
"""How the last peer showed that it speaks another protocol."""


def make_client(kind: Any, servers: str, settings: Iterable[str], config: Mapping[str, object]) -> Any:
    """Make a client of a class; `settings` are the user's own and win over `config`."""
    merged = {
        "bootstrap.servers": servers,
        "client.id": "penstock-cli",
        "logger": _silent,
        "error_cb": on_error,  # a request that fails does not say why
        "socket.connection.setup.timeout.ms": int(CONNECT_TIMEOUT_S * 1000),
        "reconnect.backoff.max.ms": 1000,
        **config,
        **to_librdkafka(read_settings(settings)),
    }
    try:
        return kind(merged)
    except KafkaException as error:
        raise UsageError(
            f"{describe_error(error)}: check the -X settings against librdkafka's CONFIGURATION.md"
        ) from None


def on_error(error: Any) -> None:
    """Remember why a connection failed, for `check_admitted`."""
    if error.name() in ("_AUTHENTICATION", "_SSL"):
        _refusals.append(describe_error(error))
    elif any(state in error.str() for state in _BEFORE_FIRST_RESPONSE):
        _foreign.append("it speaks another protocol" if error.name() == "_BAD_MSG" else describe_error(error))


def check_admitted(client: Any) -> None:
    """Raise the reason of a failed request, if it is that the broker refuses this client."""
    client.poll(0)
    if _refusals:
        raise CommandError(
            f"the broker refuses this client ({_reason(_refusals.pop())}): check security.protocol, user and "
            "password with -X KEY=VALUE or --command-config FILE"
        )
    if _foreign:
        raise not_a_broker(_reason(_foreign.pop()))


def _reason(text: str) -> str:
    """Strip the broker's address before a message, and the elapsed time after it."""
    return text.rpartition("bootstrap: ")[2].partition(" (after ")[0]


def not_a_broker(reason: str) -> CommandError:
    return CommandError(
        f"the broker does not answer as one ({reason}): "
        "check --bootstrap-server, and that security.protocol is the port's (-X or --command-config)"
    )


def wait_for(future: "Future[T]", action: str) -> T:
    """Wait for an admin request; the error of one that fails begins with `action`."""
    try:
        return future.result(REQUEST_TIMEOUT_S * 2)
    except KafkaException as error:
        raise CommandError(f"{action}: {describe_error(error)}") from None
    except TimeoutError:
        raise CommandError(f"{action}: the broker did not answer in time, try again") from None
    except ValueError as error:
        raise UsageError(f"{action}: {one_line(str(error))}") from None


def describe_error(error: Any) -> str:
    """Give the text of a KafkaException or a KafkaError, without the class around it."""
    inner = error.args[0] if isinstance(error, Exception) and error.args else error
    text = getattr(inner, "str", None)  # a method of KafkaError
    return one_line(str(text() if callable(text) else inner)).rstrip(".") or type(error).__name__


def reading_failed(place: str, topic: str, error: Any) -> CommandError:
    """Build the error for a KafkaError that came instead of a record. `place` says what was read."""
    hint = ""
    if error.name() in ("_BAD_MSG", "INVALID_MSG"):
        hint = (
            f"; the record is damaged: `penstock log verify DATA_DIRECTORY --topic {topic}` lists all damage"
        )
    return CommandError(f"cannot read {place}: {describe_error(error)}{hint}")

"""Topics of the cluster: its metadata, the partitions that a command names, and a prompt for a topic."""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import KafkaException

from penstock.cli.connect import librdkafka
from penstock.cli.connect.target import select_partitions, unknown_topic
from penstock.cli.errors import CommandError, UsageError

_FIRST_TIMEOUTS_S = (0.5, 0.5)


def fetch_metadata(client: Any) -> Any:
    """Fetch the metadata of all topics: a request for one by name could create it.

    librdkafka goes on trying after a failed login or a foreign protocol, and reports it only between requests: so
    short ones come before the long one.
    """
    for timeout_s in _FIRST_TIMEOUTS_S:
        with contextlib.suppress(KafkaException):
            return client.list_topics(timeout=min(timeout_s, librdkafka.REQUEST_TIMEOUT_S))
        librdkafka.check_admitted(client)
    try:
        return client.list_topics(timeout=librdkafka.REQUEST_TIMEOUT_S)
    except KafkaException as error:
        librdkafka.check_admitted(client)
        raise librdkafka.not_a_broker(librdkafka.describe_error(error)) from None


def check_topics(client: Any, names: Iterable[str]) -> None:
    """Fail if one of the topics does not exist."""
    known = fetch_metadata(client).topics
    for name in names:
        if name not in known:
            raise unknown_topic(name, known)


def topic_partitions(client: Any, topic: str, partition: int | None = None) -> list[int]:
    """List the partitions of a topic, or only the one that is given. Fails if there is none of that name or number."""
    topics = fetch_metadata(client).topics
    if topic not in topics:
        raise unknown_topic(topic, topics)
    return select_partitions(topic, topics[topic].partitions, partition)


def ask_for_topic(client: Any, command: str) -> str:
    """Prompt for one of the cluster's topics by number or name; without a terminal, fail and list some."""
    topics = [name for name in sorted(fetch_metadata(client).topics) if not name.startswith("__")]
    if not topics:
        raise CommandError("there are no topics: create one with `penstock topic create NAME`")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        some = ", ".join(topics[:5]) + (", …" if len(topics) > 5 else "")
        raise UsageError(f"say which topic: `penstock {command} TOPIC` (there are {some})")
    for number, name in enumerate(topics, start=1):
        print(f"{number:>4}  {name}", file=sys.stderr)
    while True:
        print("Topic (number or name): ", end="", file=sys.stderr, flush=True)
        typed = sys.stdin.readline()
        if not typed:
            raise UsageError(f"no topic was chosen: `penstock {command} TOPIC` names one")
        if (chosen := parse_choice(topics, typed)) is not None:
            return chosen
        print(f"Not one of them: type 1 to {len(topics)}, or a name", file=sys.stderr)


def parse_choice(topics: Sequence[str], typed: str) -> str | None:
    """Find the topic of an answer; a name wins over a number, in case a topic is called 1."""
    typed = typed.strip()
    if typed in topics:
        return typed
    if typed.isdecimal() and 1 <= int(typed) <= len(topics):
        return topics[int(typed) - 1]
    return None

"""What the scripts share: an address from the command line, a topic of their own, plain clients."""

import argparse
import uuid
from collections.abc import Iterator

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

_ERRORS = (
    3  # as syslog counts: a demonstration that restarts a broker need not hear of each broken connection
)


def bootstrap_server() -> str:
    """The address that `--bootstrap-server` gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-server", "-b", default="127.0.0.1:9092", metavar="HOST:PORT")
    address: str = parser.parse_args().bootstrap_server
    return address


def new_topic(server: str, kind: str, *, partitions: int = 1, **settings: str) -> str:
    """Make a topic for this run; `segment_bytes="1024"` sets segment.bytes."""
    name = f"{kind}-{uuid.uuid4().hex[:8]}"
    config = {key.replace("_", "."): value for key, value in settings.items()}
    wanted = NewTopic(name, partitions, config=config)
    client = admin(server)  # it must outlive its requests
    for made in client.create_topics([wanted]).values():
        made.result(30)
    return name


def admin(server: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": server, "log_level": _ERRORS})


def producer(server: str, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": server, "log_level": _ERRORS, **_dotted(settings)})


def consumer(server: str, group: str, **settings: object) -> Consumer:
    config = {
        "bootstrap.servers": server,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": _ERRORS,
        **_dotted(settings),
    }
    return Consumer(config)


def _dotted(settings: dict[str, object]) -> dict[str, object]:
    return {k if k.endswith("_cb") else k.replace("_", "."): value for k, value in settings.items()}


def send(server: str, topic: str, values: list[str], **settings: object) -> None:
    """Produce, and wait until all are acknowledged."""
    sending = producer(server, **settings)
    for value in values:
        key, _, rest = value.rpartition("=")
        sending.produce(topic, rest.encode(), key=key.encode() or None)
    if sending.flush(30):
        raise SystemExit("not everything was acknowledged within 30 s")


def take(reading: Consumer, count: int) -> Iterator[Message]:
    """The next messages, as they come; gives up when none has come for half a minute."""
    for _ in range(count):
        message = reading.poll(30)
        if message is None:
            raise SystemExit("nothing came for 30 s")
        if message.error():
            raise SystemExit(str(message.error()))
        yield message


def text(message: Message) -> str:
    return (message.value() or b"").decode()

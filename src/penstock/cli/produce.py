"""`penstock produce`: send lines as records and wait until the broker has acknowledged each."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal

import typer

from penstock.cli.choose import choose_topic
from penstock.cli.connection import (
    BootstrapServer,
    ClientSetting,
    client_config,
    describe_error,
    make_client,
    metadata_of,
    unknown_topic,
)
from penstock.cli.errors import EXIT_USAGE, CommandError
from penstock.cli.lines import LineError, RecordMaker, parse_header
from penstock.cli.topic import choose_partitions

_ANY_PARTITION = -1

# What a person can do about the broker's most frequent refusals.
_MAY_NOT_WRITE = (
    "this user may not write topic {topic}: an administrator allows it with "
    "`penstock acl add --allow-principal User:NAME --producer --topic {topic}`"
)
_HINTS = {
    "TOPIC_AUTHORIZATION_FAILED": _MAY_NOT_WRITE,
    "CLUSTER_AUTHORIZATION_FAILED": _MAY_NOT_WRITE,  # of a producer id, for a user who may write no topic at all
    "INVALID_RECORD": "a compacted topic takes only records with a key: use --key or --key-separator",
    "MSG_SIZE_TOO_LARGE": "the topic's max.message.bytes says how large a record may be: "
    "`penstock config set topic NAME max.message.bytes=…`",
}

Advance = Callable[[int], None]
"""Told how many bytes of input were taken since the last call."""


def produce(
    *,
    topic: str | None = typer.Argument(
        None, help="The topic; without it you are shown the topics to choose from."
    ),
    file: list[str] = typer.Option([], metavar="PATH", help="Send this file's lines. May be given again."),
    key: str | None = typer.Option(None, help="The key of every record."),
    key_separator: str | None = typer.Option(
        None, metavar="TEXT", help="Each line is KEY, this text, VALUE; the first occurrence separates them."
    ),
    header: list[str] = typer.Option(
        [], metavar="NAME=VALUE", help="A header of every record. May be given again."
    ),
    null_value: str | None = typer.Option(
        None, metavar="TOKEN", help="A value that is exactly this text is sent as null (a tombstone)."
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="by key", help="Send all to this one."
    ),
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = typer.Option(
        "none", help="Codec of the batches."
    ),
    acks: Literal["0", "1", "all"] = typer.Option(
        "all", help="Who must have a record before it counts as sent."
    ),
    timeout: float = typer.Option(
        30.0, min=0.1, metavar="SECONDS", help="Give up on a record after so long."
    ),
    auto_create: bool = typer.Option(False, "--auto-create", help="Send to a topic that does not exist yet."),
    server: str = BootstrapServer,
    client: list[str] = ClientSetting,
) -> None:
    """Send each line of standard input, or of files, as one record.

    For example:

      echo hello | penstock produce orders
      penstock produce orders --key-separator : --header source=import --file orders.txt
      penstock produce orders --compression zstd --acks all --file big.log
    """
    maker = _record_maker(key, key_separator, null_value)
    headers = [parse_header(each) for each in header]
    if topic is None and not file and not sys.stdin.isatty():
        raise CommandError("say which topic: `penstock produce TOPIC < lines`", EXIT_USAGE)
    # The producer itself is asked for the topics: an idempotent one that has nobody to talk to at once waits for
    # half a second before it looks again.
    producer = _make_producer(_producer_config(server, client, compression, acks, timeout))
    if topic is None:
        topic = choose_topic(producer, "produce")
    _check_topic(producer, topic, partition, auto_create=auto_create)
    sender = _Sender(producer, topic, _ANY_PARTITION if partition is None else partition, headers)
    problem = None
    try:
        _send_all(sender, maker, file)
    except (LineError, KeyboardInterrupt) as stopped:
        problem = stopped
    sender.finish(timeout)
    if acks == "0":  # nobody acknowledges: they left this process, and that is all there is to know
        print(
            f"{sender.acknowledged} record(s) sent to topic {topic}; with --acks 0 no broker acknowledges them"
        )
    else:
        print(f"{sender.acknowledged} record(s) acknowledged in topic {topic}")
    if isinstance(problem, LineError):
        raise CommandError(str(problem))
    if isinstance(problem, KeyboardInterrupt) and file:
        raise CommandError("interrupted: the rest of the input was not sent")
    if sender.failed:
        done = "sent" if acks == "0" else "acknowledged"
        raise CommandError(f"{sender.failed} record(s) were not {done}: {sender.reason}")


def _record_maker(key: str | None, key_separator: str | None, null_value: str | None) -> RecordMaker:
    if key is not None and key_separator is not None:
        raise CommandError("--key and --key-separator exclude each other: choose one", EXIT_USAGE)
    if key_separator == "":
        raise CommandError("--key-separator is empty: give the text between key and value", EXIT_USAGE)
    return RecordMaker(
        key=None if key is None else key.encode(),
        key_separator=None if key_separator is None else key_separator.encode(),
        null_value=None if null_value is None else null_value.encode(),
    )


def _check_topic(client: Any, topic: str, partition: int | None, *, auto_create: bool) -> None:
    known = metadata_of(client).topics
    if topic in known:
        choose_partitions(client, topic, partition)
    elif not auto_create:
        raise unknown_topic(topic, known)


def _producer_config(
    server: str, settings: list[str], compression: str, acks: str, timeout_seconds: float
) -> dict[str, object]:
    return client_config(
        server,
        settings,
        **{
            "acks": acks,
            "enable.idempotence": acks == "all",  # no doubles and no other order when the library retries
            "compression.type": compression,
            "message.timeout.ms": int(timeout_seconds * 1000),
            "partitioner": "murmur2_random",  # a key goes where Java's clients send it
            "linger.ms": 0 if sys.stdin.isatty() else 5,
            "message.max.bytes": 1_000_000_000,  # the broker's max.message.bytes decides, and says so
        },
    )


def _make_producer(config: dict[str, object]) -> Any:
    from confluent_kafka import Producer

    return make_client(Producer, config)


class _Sender:
    """Hands records to the client and counts those that are acknowledged."""

    def __init__(
        self, producer: Any, topic: str, partition: int, headers: list[tuple[str, bytes | None]]
    ) -> None:
        from confluent_kafka import KafkaException

        self._producer = producer
        self._kafka_exception = KafkaException
        self._topic = topic
        self._partition = partition
        self._headers = headers or None
        self._sent = 0
        self.acknowledged = 0
        self.reason = ""

    @property
    def failed(self) -> int:
        return self._sent - self.acknowledged

    def send(self, key: bytes | None, value: bytes | None) -> None:
        self._sent += 1
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    value,
                    key,
                    partition=self._partition,
                    headers=self._headers,
                    on_delivery=self._on_delivery,
                )
            except BufferError:  # the client's queue is full: let it send
                self._serve(self._producer.poll, 0.5)
            except self._kafka_exception as error:
                self._serve(self._producer.poll, 0)  # a fatal error is explained there
                self._note_failure(error.args[0])
                return
            else:
                self._serve(self._producer.poll, 0)
                return

    def finish(self, timeout_seconds: float) -> None:
        """Wait until each record is acknowledged or given up."""
        while self._serve(self._producer.flush, timeout_seconds + 1):
            pass
        self.reason = self.reason or "no answer in time"

    def _serve(self, serve: Callable[[float], int], timeout_seconds: float) -> bool:
        """Let the client call back. True when it raised a fatal error instead, which it does once.

        The client raises a fatal error (such as a refused producer id) before it calls back for the records that
        failed with it. Python makes a SystemError of an exception that is set when a callback begins.
        """
        try:
            serve(timeout_seconds)
        except (self._kafka_exception, SystemError) as error:
            fatal = error.__cause__ if isinstance(error, SystemError) else error
            if not isinstance(fatal, self._kafka_exception):
                raise
            self._note_failure(fatal.args[0])
            return True
        return False

    def _on_delivery(self, error: Any, _message: Any) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self._note_failure(error)

    def _note_failure(self, error: Any) -> None:
        """Keep the first reason, or the fatal one: the others follow from it."""
        if self.reason and not error.fatal():
            return
        hint = _HINTS.get(error.name(), "").format(topic=self._topic)
        self.reason = describe_error(error) + (f" ({hint})" if hint else "")


def _send_all(sender: _Sender, maker: RecordMaker, paths: list[str]) -> None:
    if not paths:
        if sys.stdin.isatty():
            print("each line is a record; Ctrl-D ends", file=sys.stderr)
        _send_lines(sender, maker, sys.stdin.buffer, "standard input", lambda _size: None)
        return
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_open(path)) for path in paths]  # all or none: before anything is sent
        advance = stack.enter_context(_progress(sum(os.fstat(each.fileno()).st_size for each in files)))
        for path, each in zip(paths, files, strict=True):
            _send_lines(sender, maker, each, path, advance)


def _send_lines(sender: _Sender, maker: RecordMaker, source: BinaryIO, name: str, advance: Advance) -> None:
    for number, line in enumerate(source, start=1):
        try:
            key, value = maker.make(line)
        except LineError as error:
            raise LineError(f"{name}, line {number}: {error}") from None
        sender.send(key, value)
        advance(len(line))


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from None


@contextlib.contextmanager
def _progress(total_bytes: int) -> Iterator[Advance]:
    """A bar on standard error while it is a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total_bytes)
        waiting = 0

        def advance(size_bytes: int) -> None:
            nonlocal waiting
            waiting += size_bytes
            if waiting > 1 << 16:  # a line is too little to draw for
                bar.advance(task, waiting)
                waiting = 0

        yield advance

"""`penstock produce`: send lines as records and wait for their acknowledgements."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal

import msgspec
import typer
from confluent_kafka import KafkaException, Producer

from penstock.cli.connect.librdkafka import describe_error
from penstock.cli.connect.target import Target, connects, select_partitions, unknown_topic
from penstock.cli.connect.topics import ask_for_topic, fetch_metadata
from penstock.cli.errors import CommandError, UsageError

_ANY_PARTITION = -1

# What to do about the most frequent errors of a broker.
_MAY_NOT_WRITE = (
    "this user may not write to topic {topic}: an administrator allows it with "
    "`penstock acl add --allow-principal User:NAME --producer --topic {topic}`"
)
_HINTS = {
    "TOPIC_AUTHORIZATION_FAILED": _MAY_NOT_WRITE,
    "CLUSTER_AUTHORIZATION_FAILED": _MAY_NOT_WRITE,  # of InitProducerId, for a user who may write to no topic
    "INVALID_RECORD": "a compacted topic takes only records with a key: use --key or --key-separator",
    "MSG_SIZE_TOO_LARGE": "the topic's max.message.bytes limits the size of a record: "
    "`penstock config set topic NAME max.message.bytes=…`",
}

Advance = Callable[[int], None]
"""Gets the number of bytes of input that were read since the last call."""


@connects
def produce(
    target: Target,
    *,
    topic: str | None = typer.Argument(None, metavar="TOPIC", help="Topic name (prompts if omitted)."),
    file: list[str] = typer.Option([], metavar="PATH", help="Send the lines of this file (repeatable)."),
    key: str | None = typer.Option(None, metavar="KEY", help="Give every record this key."),
    key_separator: str | None = typer.Option(
        None, metavar="TEXT", help="Split each line into KEY and VALUE at the first occurrence of this text."
    ),
    header: list[str] = typer.Option(
        [], metavar="NAME=VALUE", help="Give every record this header (repeatable)."
    ),
    null_value: str | None = typer.Option(
        None, metavar="TOKEN", help="Send a value that is exactly this text as null (a tombstone)."
    ),
    partition: int | None = typer.Option(
        None, min=0, metavar="N", show_default="by key", help="Send all records to this partition."
    ),
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = typer.Option(
        "none", help="Compress batches with this codec."
    ),
    acks: Literal["0", "1", "all"] = typer.Option(
        "all", help="Acknowledgements to wait for, as in Kafka's acks."
    ),
    timeout: float = typer.Option(
        30.0, min=0.1, metavar="SECONDS", help="Give up on a record after this time."
    ),
    auto_create: bool = typer.Option(False, "--auto-create", help="Create the topic if it does not exist."),
) -> None:
    r"""Send each line of standard input, or of files, as one record.

    For example:

      echo hello | penstock produce orders
      penstock produce orders --key-separator : --header source=import \
        --file orders.txt
      penstock produce orders --compression zstd --acks all --file big.log
    """
    parser = _line_parser(key, key_separator, null_value)
    headers = [parse_header(each) for each in header]
    if topic is None and not file and not sys.stdin.isatty():
        raise UsageError("say which topic: `penstock produce TOPIC < lines`")
    # The producer itself fetches the metadata: an idempotent one without a connection waits for half a second before
    # it tries again.
    producer = _make_producer(target, compression, acks, timeout)
    if topic is None:
        topic = ask_for_topic(producer, "produce")
    _check_topic(producer, topic, partition, auto_create=auto_create)
    sender = _Sender(producer, topic, _ANY_PARTITION if partition is None else partition, headers)
    problem = None
    try:
        _send_all(sender, parser, file)
    except (LineError, KeyboardInterrupt) as stopped:
        problem = stopped
    sender.finish(timeout)
    if acks == "0":  # no acknowledgements: the records left this process, and no more is known
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


class LineError(Exception):
    """A line that is not a record; the message says why."""


class LineParser(msgspec.Struct, frozen=True, kw_only=True):
    """Splits lines into keys and values."""

    key: bytes | None = None
    key_separator: bytes | None = None
    null_value: bytes | None = None

    def parse(self, line: bytes) -> tuple[bytes | None, bytes | None]:
        """Give key and value of a line, without its end: a newline, with or without a carriage return."""
        text = line.removesuffix(b"\n").removesuffix(b"\r") if line.endswith(b"\n") else line
        key: bytes | None = self.key
        value: bytes | None = text
        if self.key_separator is not None:
            key, separator, value = text.partition(self.key_separator)
            if not separator:
                shown = self.key_separator.decode("utf-8", "backslashreplace")
                raise LineError(
                    f"there is no key separator {shown!r}; this line and all after it were not sent"
                )
        return key, None if value == self.null_value else value


def parse_header(text: str) -> tuple[str, bytes | None]:
    """Parse `name=value`; a name alone is a header whose value is null."""
    name, separator, value = text.partition("=")
    if not name:
        raise UsageError(f"--header {text!r} has no name: write it as NAME=VALUE")
    return name, value.encode() if separator else None


def _line_parser(key: str | None, key_separator: str | None, null_value: str | None) -> LineParser:
    if key is not None and key_separator is not None:
        raise UsageError("--key and --key-separator exclude each other: choose one")
    if key_separator == "":
        raise UsageError("--key-separator is empty: give the text between key and value")
    given = {"key": key, "key_separator": key_separator, "null_value": null_value}
    return LineParser(**{name: None if text is None else text.encode() for name, text in given.items()})


def _check_topic(client: Any, topic: str, partition: int | None, *, auto_create: bool) -> None:
    known = fetch_metadata(client).topics
    if topic in known:
        select_partitions(topic, known[topic].partitions, partition)
    elif not auto_create:
        raise unknown_topic(topic, known)


def _make_producer(target: Target, compression: str, acks: str, timeout_s: float) -> Any:
    config = {
        "acks": acks,
        "enable.idempotence": acks == "all",  # no duplicates and no reordering when librdkafka retries
        "compression.type": compression,
        "message.timeout.ms": int(timeout_s * 1000),
        "partitioner": "murmur2_random",  # the partitioner of Java's clients
        "linger.ms": 0 if sys.stdin.isatty() else 5,
        "message.max.bytes": 1_000_000_000,  # the broker's max.message.bytes decides, with a clear error
    }
    return target.client(Producer, **config)


class _Sender:
    """Passes records to the client and counts the acknowledgements."""

    def __init__(
        self, producer: Any, topic: str, partition: int, headers: list[tuple[str, bytes | None]]
    ) -> None:
        self._producer = producer
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
            except BufferError:  # the queue of the client is full: let it send
                self._serve(self._producer.poll, 0.5)
            except KafkaException as error:
                self._serve(self._producer.poll, 0)  # gives the reason of a fatal error
                self._note_failure(error.args[0])
                return
            else:
                self._serve(self._producer.poll, 0)
                return

    def finish(self, timeout_s: float) -> None:
        """Wait until each record is acknowledged or has failed."""
        while self._serve(self._producer.flush, timeout_s + 1):
            pass
        self.reason = self.reason or "no acknowledgement in time"

    def _serve(self, serve: Callable[[float], int], timeout_s: float) -> bool:
        """Run the callbacks of the client. True when it raised a fatal error instead, which it does once.

        The client raises a fatal error (such as a refused producer id) before the callbacks of the records that failed
        with it. Python turns an exception that is set when a callback begins into a SystemError.
        """
        try:
            serve(timeout_s)
        except (KafkaException, SystemError) as error:
            fatal = error.__cause__ if isinstance(error, SystemError) else error
            if not isinstance(fatal, KafkaException):
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
        """Keep the first error, or the fatal one: it causes the others."""
        if self.reason and not error.fatal():
            return
        hint = _HINTS.get(error.name(), "").format(topic=self._topic)
        self.reason = describe_error(error) + (f" ({hint})" if hint else "")


def _send_all(sender: _Sender, parser: LineParser, paths: list[str]) -> None:
    if not paths:
        if sys.stdin.isatty():
            print("each line is a record; Ctrl-D ends", file=sys.stderr)
        _send_lines(sender, parser, sys.stdin.buffer, "standard input", lambda _size: None)
        return
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_open(path)) for path in paths]  # all of them, before anything is sent
        advance = stack.enter_context(_progress(sum(os.fstat(each.fileno()).st_size for each in files)))
        for path, each in zip(paths, files, strict=True):
            _send_lines(sender, parser, each, path, advance)


def _send_lines(sender: _Sender, parser: LineParser, source: BinaryIO, name: str, advance: Advance) -> None:
    for number, line in enumerate(source, start=1):
        try:
            key, value = parser.parse(line)
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
    """Show a progress bar on standard error if it is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total_bytes)
        pending = 0

        def advance(size_bytes: int) -> None:
            nonlocal pending
            pending += size_bytes
            if pending > 1 << 16:  # not worth drawing for every line
                bar.advance(task, pending)
                pending = 0

        yield advance

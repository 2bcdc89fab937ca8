"""The real command against a real broker: in a process of its own, or called as that process would call it."""

import contextlib
import io
import logging
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli import main
from tests.support.broker import BrokerProcess

Penstock = Callable[..., "subprocess.CompletedProcess[str]"]
TIMEOUT_SECONDS = 60
COMMAND = (sys.executable, "-m", "penstock.cli.main")
ENVIRONMENT = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}


def run_command(*arguments: str, stdin: str | bytes = "") -> "subprocess.CompletedProcess[str]":
    given = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        env=ENVIRONMENT,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(errors="backslashreplace"), done.stderr.decode()
    )


def call_command(*arguments: str, stdin: str | bytes = "") -> "subprocess.CompletedProcess[str]":
    """What `run_command` does, without a process, which takes longer to start than most commands to run."""
    given = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "stdin", io.TextIOWrapper(given))
        patch.setenv("COLUMNS", ENVIRONMENT["COLUMNS"])
        patch.setenv("NO_COLOR", ENVIRONMENT["NO_COLOR"])
        handlers = logging.getLogger().handlers.copy()  # `penstock up` adds one that writes to `err`
        patch.setattr(logging.getLogger(), "handlers", handlers)
        exit_code = main.run(arguments)
    printed = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        printed.append(stream.buffer.getvalue().decode(errors="backslashreplace"))
    return subprocess.CompletedProcess(arguments, exit_code, *printed)


@pytest.fixture
def penstock(shared_broker: BrokerProcess) -> Penstock:
    """Run a client command against the shared broker and check that it succeeds, or fails in one line."""

    def run(
        *arguments: str, stdin: str | bytes = "", fails: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        done = call_command(*arguments, "--bootstrap-server", shared_broker.bootstrap, stdin=stdin)
        if fails:
            assert done.returncode != 0, done
            assert done.stderr.startswith("penstock: "), done
            assert done.stderr.count("\n") == 1, done
        else:
            assert (done.returncode, done.stderr) == (0, ""), done
        return done

    return run


Send = Callable[[str, int, list[str]], None]


@pytest.fixture
def send(shared_broker: BrokerProcess) -> Send:
    """Put values into a partition, without the command: for what a test needs and does not test."""

    def produce(topic: str, partition: int, values: list[str]) -> None:
        producer = Producer({"bootstrap.servers": shared_broker.bootstrap, "linger.ms": 0})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(TIMEOUT_SECONDS) == 0

    return produce


@pytest.fixture
def topic(shared_broker: BrokerProcess) -> str:
    """A new topic with two partitions."""
    name = f"cli-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(TIMEOUT_SECONDS)
    return name


Commit = Callable[[dict[int, int]], None]
Member = Callable[..., Consumer]


@pytest.fixture
def group() -> str:
    return f"cli-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def commit(shared_broker: BrokerProcess, group: str, topic: str) -> Commit:
    """Commit offsets of the group in partitions of the topic, without being a member."""

    def commit_offsets(offsets: dict[int, int]) -> None:
        consumer = Consumer({"bootstrap.servers": shared_broker.bootstrap, "group.id": group})
        places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    return commit_offsets


@pytest.fixture
def member(shared_broker: BrokerProcess, group: str, topic: str) -> Iterator[Member]:
    """Let a member join the group; gives it back when it reads something. Its background thread keeps it alive."""
    members = []

    def join(**settings: object) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": shared_broker.bootstrap,
                "group.id": group,
                "client.id": "a-reader",
                **settings,
            }
        )
        members.append(consumer)
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(0.05)
        return consumer

    yield join
    for each in members:
        each.close()

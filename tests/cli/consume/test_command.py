import json
import os
import pty
import signal
import subprocess

import pytest

from tests.cli.conftest import COMMAND, ENVIRONMENT, TIMEOUT_SECONDS, Penstock, Send
from tests.support.broker import BrokerProcess


@pytest.fixture
def ten(topic: str, send: Send) -> str:
    """A topic with the values 0 to 9 in partition 0."""
    send(topic, 0, list("0123456789"))
    return topic


def values(penstock: Penstock, topic: str, *options: str) -> str:
    done = penstock("consume", topic, "--format", "raw", "--partition", "0", *options)
    return done.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("start", "0123456789"),
        ("end", ""),
        ("7", "789"),
        ("-3", "789"),
        ("-100", "0123456789"),
        ("99", ""),
        ("-1h", "0123456789"),
        ("2999-01-01T00:00:00Z", ""),
    ],
)
def test_reading_begins_at_the_position_given(
    penstock: Penstock, ten: str, where: str, expected: str
) -> None:
    assert values(penstock, ten, "--no-follow", "--from", where) == expected


def test_reading_begins_at_the_first_record_of_a_time(penstock: Penstock, ten: str, send: Send) -> None:
    line = penstock("consume", ten, "--from", "-1", "--no-follow", "--format", "json").stdout
    after = json.loads(line)["timestamp"] + 1
    while not (later := values(penstock, ten, "--no-follow", "--from", str(after))):
        send(ten, 0, ["later"])
    assert later == "later"


def test_a_maximum_ends_the_reading(penstock: Penstock, ten: str) -> None:
    assert values(penstock, ten, "--max-messages", "4") == "0123"
    assert values(penstock, ten, "-n", "0") == ""


def test_all_partitions_are_read_to_their_end(penstock: Penstock, ten: str, send: Send) -> None:
    send(ten, 1, ["a", "b"])
    out = penstock("consume", ten, "--no-follow", "--format", "{partition}{value}").stdout
    assert sorted(out.split()) == [*(f"0{n}" for n in range(10)), "1a", "1b"]


def test_a_follower_prints_new_records_and_exits_with_0_on_an_interrupt(
    ten: str, send: Send, shared_broker: BrokerProcess
) -> None:
    command = [*COMMAND, "consume", ten, "--from", "9", "--format", "raw", "-b", shared_broker.bootstrap]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"9\n"
        send(ten, 0, ["new"])
        assert reader.stdout.readline() == b"new\n"
        reader.send_signal(signal.SIGINT)
        out, errors = reader.communicate(timeout=TIMEOUT_SECONDS)
        assert (reader.returncode, out, errors) == (0, b"", b"")
    finally:
        reader.kill()
        reader.wait()


def test_a_person_chooses_a_topic_by_its_number(
    penstock: Penstock, ten: str, shared_broker: BrokerProcess
) -> None:
    names = [each["name"] for each in json.loads(penstock("topic", "list", "--json").stdout)]
    ours, terminal = pty.openpty()
    command = [*COMMAND, "consume", "--no-follow", "--format", "raw", "-b", shared_broker.bootstrap]
    reader = subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env=ENVIRONMENT, close_fds=True
    )
    os.close(terminal)
    try:
        shown = b""
        while b"number or name" not in shown:
            shown += os.read(ours, 4096)
        number = next(n for n, name in enumerate(names, start=1) if name == ten)
        assert f"{number:>4}  {ten}\r\n".encode() in shown
        os.write(ours, f"{ten}-nonsense\n{number}\n".encode())
        assert reader.stdout is not None
        assert reader.stdout.read().split() == [str(n).encode() for n in range(10)]
        assert reader.wait(TIMEOUT_SECONDS) == 0
    finally:
        reader.kill()
        reader.wait()
        os.close(ours)


def test_without_a_topic_and_a_terminal_it_names_the_topics(penstock: Penstock, ten: str) -> None:
    failed = penstock("consume", fails=True)
    assert "say which topic: `penstock consume TOPIC` (there are " in failed.stderr


def test_a_group_without_a_name_is_refused(penstock: Penstock, ten: str) -> None:
    assert "the group's name is empty" in penstock("consume", ten, "--group", "", fails=True).stderr


def test_an_unknown_topic_is_one_line(penstock: Penstock, ten: str) -> None:
    failed = penstock("consume", ten + "x", fails=True)
    assert failed.stderr == f"penstock: there is no topic {ten}x: did you mean {ten}?\n"


@pytest.mark.parametrize(
    "options",
    [("--no-follow",), ("--no-follow", "--group", "wary"), ("--share-group", "sharing-and-wary")],
    ids=["alone", "in a group", "in a share group"],
)
def test_a_damaged_record_is_an_error_and_is_not_shown(
    penstock: Penstock, topic: str, send: Send, shared_broker: BrokerProcess, options: tuple[str, ...]
) -> None:
    if "--share-group" in options:
        penstock("config", "set", "group", options[-1], "share.auto.offset.reset=earliest")
    for value in ("first", "second", "third"):
        send(topic, 0, [value])  # a batch each
    (segment,) = (shared_broker.data_dir / f"{topic}-0").glob("*.log")
    with segment.open("r+b") as file:
        at = file.read().index(b"second")
        file.seek(at)
        file.write(b"s3cond")
    failed = penstock("consume", topic, *options, fails=True)
    assert "s3cond" not in failed.stdout
    assert "cannot read" in failed.stderr
    assert "CRC" in failed.stderr
    assert f"`penstock log verify DATA_DIRECTORY --topic {topic}`" in failed.stderr

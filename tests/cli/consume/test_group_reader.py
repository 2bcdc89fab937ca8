import contextlib
import json
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cli.conftest import COMMAND, ENVIRONMENT, TIMEOUT_SECONDS, Penstock, Send, run_command
from tests.support.broker import BrokerProcess
from tests.support.plugin import running_broker

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def read(penstock: Penstock, topic: str, group: str) -> Callable[..., str]:
    """Read as a member of the group; gives the values, one letter each."""

    def values(*options: str) -> str:
        done = penstock("consume", topic, "--group", group, "--format", "raw", *options)
        return done.stdout.replace("\n", "")

    return values


@pytest.fixture
def start(shared_broker: BrokerProcess, topic: str, group: str) -> Iterator[Start]:
    """Start a member that reads until a signal."""
    with contextlib.ExitStack() as stack:
        command = ["consume", topic, "--group", group, "-b", shared_broker.bootstrap]
        yield lambda *options: stack.enter_context(started([*command, *options]))


@contextlib.contextmanager
def started(arguments: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    member = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    try:
        yield member
    finally:
        member.kill()
        member.communicate()


def committed(penstock: Penstock, group: str) -> dict[int, int]:
    (found,) = json.loads(penstock("group", "lag", group, "--json").stdout)
    return {each["partition"]: each["committed"] for each in found["partitions"]}


def line_of(member: "subprocess.Popen[bytes]") -> bytes:
    assert member.stdout is not None
    return member.stdout.readline()


def stop(member: "subprocess.Popen[bytes]", how: signal.Signals = signal.SIGINT) -> bytes:
    """End a member as a person does; gives what it wrote after what was read of it."""
    member.send_signal(how)
    out, errors = member.communicate(timeout=TIMEOUT_SECONDS)
    assert (member.returncode, errors) == (0, b"")
    return out


def test_a_group_goes_on_where_it_stopped(read: Callable[..., str], topic: str, send: Send) -> None:
    send(topic, 0, list("abcdef"))
    assert read("-n", "2") == "ab"
    assert read("-n", "3", "--from", "end") == "cde"
    assert read("--no-follow") == "f"
    assert read("--no-follow") == ""
    send(topic, 0, ["g"])
    assert read("--no-follow") == "g"


def test_without_committed_offsets_reading_begins_at_the_position_given(
    read: Callable[..., str], penstock: Penstock, group: str, topic: str, send: Send
) -> None:
    send(topic, 0, list("abc"))
    send(topic, 1, list("xyz"))
    assert read("--no-follow", "--from", "end") == ""
    assert committed(penstock, group) == {0: 3, 1: 3}
    send(topic, 0, ["d"])
    assert read("--no-follow", "--from", "start") == "d"


def test_a_committed_offset_below_the_start_counts_as_none(
    read: Callable[..., str], penstock: Penstock, topic: str, send: Send
) -> None:
    send(topic, 0, list("abcdef"))
    assert read("-n", "1") == "a"
    penstock("topic", "delete-records", topic, "--partition", "0", "--before", "3")
    assert read("--no-follow", "--from", "-2") == "ef"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_member_that_is_stopped_has_committed_the_printed_records_and_leaves(
    how: signal.Signals, start: Start, penstock: Penstock, group: str, topic: str, send: Send
) -> None:
    send(topic, 0, list("ab"))
    member = start("--format", "raw")
    assert [line_of(member), line_of(member)] == [b"a\n", b"b\n"]
    send(topic, 0, ["c"])
    assert line_of(member) == b"c\n"
    assert stop(member, how) == b""
    (described,) = json.loads(penstock("group", "describe", group, "--json").stdout)
    assert (described["state"], described["members"]) == ("empty", [])
    assert {each["partition"]: each["committed"] for each in described["offsets"]}[0] == 3


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_members_share_the_partitions_and_each_record_is_shown_once(
    assignor: str, start: Start, penstock: Penstock, group: str, topic: str, send: Send
) -> None:
    options = ["--format", "{partition}{value}", "-X", f"partition.assignment.strategy={assignor}"]
    options += ["-X", "heartbeat.interval.ms=200"]
    first = start(*options)
    sent = []

    def send_everywhere(value: str) -> None:
        for partition in (0, 1):
            send(topic, partition, [value])
            sent.append(f"{partition}{value}".encode())

    send_everywhere("a")
    shown = [line_of(first), line_of(first)]
    second = start(*options)
    for number in range(TIMEOUT_SECONDS * 20):  # until a partition has come to the second member
        send_everywhere(str(number))
        if is_readable(second):
            break
    shown += stop(second).splitlines() + stop(first).splitlines()
    rest = penstock("consume", topic, "--group", group, "--no-follow", *options).stdout.encode()
    assert sorted([line.strip() for line in shown] + rest.split()) == sorted(sent)


def is_readable(member: "subprocess.Popen[bytes]") -> bool:
    assert member.stdout is not None
    poll = select.poll()
    poll.register(member.stdout, select.POLLIN)
    return bool(poll.poll(50))


def test_records_that_could_not_be_printed_are_not_committed(
    start: Start, penstock: Penstock, group: str, topic: str, send: Send
) -> None:
    member = start("--format", "raw")
    assert member.stdout is not None
    member.stdout.close()
    send(topic, 0, list("abc"))
    assert member.wait(TIMEOUT_SECONDS) == 1
    assert committed(penstock, group)[0] == 0


def test_markers_of_transactions_count_as_read(
    read: Callable[..., str], penstock: Penstock, shared_broker: BrokerProcess, group: str, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap, "transactional.id": group})
    producer.init_transactions(TIMEOUT_SECONDS)
    for value, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(TIMEOUT_SECONDS)
        end(TIMEOUT_SECONDS)
    assert read("--no-follow") == "a"
    assert committed(penstock, group)[0] == 4


def test_a_member_outlives_a_broker_that_is_killed(tmp_path: Path) -> None:
    with running_broker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        server = ("-b", broker.bootstrap)
        run_command("topic", "create", "t", *server)
        with started(["consume", "t", "--group", "g", "--format", "raw", *server]) as member:
            run_command("produce", "t", *server, stdin="a\n")
            assert line_of(member) == b"a\n"
            broker.kill()
            broker.start()
            run_command("produce", "t", *server, stdin="b\n")
            lines = iter(lambda: line_of(member), b"")
            assert b"b\n" in lines  # before it perhaps `a` again, if the broker died before it was committed
            assert stop(member) == b""
        (found,) = json.loads(run_command("group", "describe", "g", "--json", *server).stdout)
        assert (found["members"], found["offsets"][0]["lag"]) == ([], 0)


def test_a_member_reports_printed_records_that_it_cannot_commit(tmp_path: Path) -> None:
    with running_broker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        server = ("-b", broker.bootstrap)
        run_command("topic", "create", "t", *server)
        run_command("produce", "t", *server, stdin=f"{'x' * 1000}\n" * 300)
        with started(["consume", "t", "--group", "g", "--format", "raw", *server]) as member:
            line_of(
                member
            )  # it is writing now, and cannot end before the rest is read: no pipe takes so much
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                member.send_signal(signal.SIGINT)
                _, errors = member.communicate(timeout=TIMEOUT_SECONDS)
            finally:
                os.kill(broker.pid, signal.SIGCONT)
        assert (member.returncode, errors) == (
            1,
            b"penstock: the last records could not be committed and may be printed again: no broker responds\n",
        )


def test_a_member_of_the_new_protocol_reads_and_commits_alike(
    read: Callable[..., str], penstock: Penstock, group: str, topic: str, send: Send
) -> None:
    new = ("-X", "group.protocol=consumer")
    send(topic, 0, list("abc"))
    assert read("-n", "2", *new) == "ab"
    assert read("--no-follow", *new) == "c"
    assert [group, "consumer", "empty"] in [
        line.split() for line in penstock("group", "list", "--type", "consumer").stdout.splitlines()
    ]


def test_a_group_and_a_partition_exclude_each_other(penstock: Penstock, group: str, topic: str) -> None:
    failed = penstock("consume", topic, "--group", group, "--partition", "0", fails=True)
    assert failed.stderr == "penstock: a group assigns the partitions itself: leave out --partition\n"

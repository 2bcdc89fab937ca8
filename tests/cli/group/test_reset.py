import json
import time
import uuid
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.conftest import TIMEOUT_SECONDS, Commit, Member, Penstock, Send
from tests.support.broker import BrokerProcess


def offsets(penstock: Penstock, group: str) -> dict[int, int]:
    (found,) = json.loads(penstock("group", "lag", group, "--json").stdout)
    return {each["partition"]: each["committed"] for each in found["partitions"]}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("--to", "earliest"), 2),
        (("--to", "7"), 7),
        (("--to", "99"), 10),
        (("--to", "-1h"), 2),
        (("--shift-by", "3"), 8),
        (("--shift-by", "-100"), 2),
    ],
)
def test_a_reset_without_execute_shows_the_new_offsets(
    where: tuple[str, str], expected: int, penstock: Penstock, reader_at_five: tuple[str, str]
) -> None:
    group, topic = reader_at_five
    lines = penstock("group", "reset", group, "--topic", f"{topic}:0", *where).stdout.splitlines()
    assert lines[0].split() == ["TOPIC", "PARTITION", "OLD", "NEW"]
    assert lines[1].split() == [topic, "0", "5", str(expected)]
    assert lines[2:] == ["nothing was changed: add --execute to do it"]


@pytest.fixture(scope="module")
def reader_at_five(shared_broker: BrokerProcess) -> tuple[str, str]:
    """A group that has read five of the offsets 0 to 9 of a topic that begins at 2. For dry runs only."""
    name = f"cli-{uuid.uuid4().hex[:12]}"
    server = {"bootstrap.servers": shared_broker.bootstrap}
    admin, producer, consumer = AdminClient(server), Producer(server), Consumer({**server, "group.id": name})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_SECONDS)
    for number in range(10):
        producer.produce(name, str(number))
    producer.flush(TIMEOUT_SECONDS)
    for deleted in admin.delete_records([TopicPartition(name, 0, 2)]).values():
        deleted.result(TIMEOUT_SECONDS)
    consumer.commit(offsets=[TopicPartition(name, 0, 5)], asynchronous=False)
    consumer.close()
    return name, name


def test_an_executed_reset_changes_only_the_named_partitions(
    penstock: Penstock, group: str, topic: str, send: Send, commit: Commit
) -> None:
    send(topic, 0, ["a", "b"])
    send(topic, 1, ["c"])
    commit({0: 0, 1: 0})
    asked = ("group", "reset", group, "--topic", f"{topic}:0", "--to", "latest")
    penstock(*asked)
    assert offsets(penstock, group) == {0: 0, 1: 0}
    assert penstock(*asked, "--execute").stdout.splitlines()[-1] == f"group {group} was reset"
    assert offsets(penstock, group) == {0: 2, 1: 0}


def test_a_reset_to_a_time_goes_to_the_first_record_of_it(
    penstock: Penstock, shared_broker: BrokerProcess, group: str, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    first_ms = time.time_ns() // 1_000_000 - 60_000
    for timestamp_ms in (first_ms, first_ms + 10_000, first_ms + 20_000):
        producer.produce(topic, "", partition=0, timestamp=timestamp_ms)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    asked = ("group", "reset", group, "--create", "--topic", f"{topic}:0", "--json", "--to")
    between = datetime.fromtimestamp(first_ms / 1000 + 5, UTC).isoformat()
    for when in (between, str(first_ms + 10_000)):
        assert json.loads(penstock(*asked, when).stdout) == {
            "group": group,
            "executed": False,
            "offsets": [{"topic": topic, "partition": 0, "old": None, "new": 1}],
        }


def test_a_reset_of_all_topics_takes_every_partition_committed_in(
    penstock: Penstock, group: str, topic: str, send: Send, commit: Commit
) -> None:
    send(topic, 0, ["a", "b"])
    send(topic, 1, ["c"])
    commit({0: 2, 1: 1})
    penstock("group", "reset", group, "--all-topics", "--to", "earliest", "--execute")
    assert offsets(penstock, group) == {0: 0, 1: 0}


def test_a_group_with_live_members_is_not_reset(
    penstock: Penstock, group: str, topic: str, member: Member
) -> None:
    member()
    failed = penstock("group", "reset", group, "--topic", topic, "--to", "latest", "--execute", fails=True)
    assert failed.stderr == (
        f"penstock: cannot reset group {group}: it has 1 live member (a-reader at 127.0.0.1). "
        "Stop them first, or wait until their sessions time out\n"
    )


def test_a_reset_creates_a_group_only_with_the_option(
    penstock: Penstock, group: str, topic: str, send: Send
) -> None:
    send(topic, 0, ["a", "b"])
    asked = ("group", "reset", group, "--topic", topic, "--to", "latest", "--execute")
    assert "there is no group" in penstock(*asked, fails=True).stderr
    penstock(*asked, "--create")
    assert offsets(penstock, group) == {0: 2, 1: 0}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--topic", "t"), "say where to: either --to WHERE or --shift-by N"),
        (("--topic", "t", "--to", "3", "--shift-by", "1"), "say where to: either --to WHERE or --shift-by N"),
        (("--to", "3"), "say what to reset: either --topic TOPIC[:PARTITIONS] or --all-topics"),
        (("--all-topics", "--to", "soon"), "--to soon is none of start, end, "),
    ],
)
def test_a_reset_that_does_not_say_enough_is_refused(
    options: tuple[str, ...], line: str, penstock: Penstock, group: str
) -> None:
    failed = penstock("group", "reset", group, *options, fails=True)
    assert failed.stderr.startswith(f"penstock: {line}")


def test_a_reset_of_unknown_topics_and_partitions_is_refused(
    penstock: Penstock, group: str, topic: str, commit: Commit
) -> None:
    commit({0: 0})
    reset = ("group", "reset", group)
    failed = penstock(*reset, "--topic", f"{topic}:7", "--to", "0", fails=True)
    assert failed.stderr == f"penstock: topic {topic} has no partition 7: it has 0 to 1\n"
    failed = penstock(*reset, "--topic", f"{topic}x", "--to", "0", fails=True)
    assert failed.stderr == f"penstock: there is no topic {topic}x: did you mean {topic}?\n"
    failed = penstock(*reset, "--topic", f"{topic}:a", "--to", "0", fails=True)
    assert "write the name of a topic, or NAME:0,1" in failed.stderr
    failed = penstock(*reset, "--topic", topic, "--shift-by", "1", fails=True)
    assert f"cannot shift {topic}-1: the group has committed nothing there" in failed.stderr

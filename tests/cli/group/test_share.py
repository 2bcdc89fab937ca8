"""Share groups in `penstock group …`."""

import json
from collections.abc import Iterator

import pytest

from penstock.cli.connect.requests import GROUP, RequestClient
from penstock.cli.connect.target import Target
from penstock.cli.group.share import ShareGroupAdmin
from penstock.protocol.messages import share_group_heartbeat
from tests.cli.conftest import Penstock, Send
from tests.support.broker import BrokerProcess


class Reader:
    """A member of a share group that only says that it is there."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._client = RequestClient(bootstrap)
        self._group = group
        self._topic = topic

    def say(self, epoch: int) -> None:
        request = share_group_heartbeat.ShareGroupHeartbeatRequest(
            group_id=self._group,
            member_id="a-member",
            member_epoch=epoch,
            subscribed_topic_names=[self._topic],
        )
        answer = self._client.ask_coordinator(
            GROUP, self._group, request, lambda answer: int(answer.error_code)
        )
        assert answer.error_code == 0, answer

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def reader(shared_broker: BrokerProcess, group: str, topic: str) -> Iterator[Reader]:
    reader = Reader(shared_broker.bootstrap, group, topic)
    yield reader
    reader.close()


def started(shared_broker: BrokerProcess, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Make the group, without anyone in it."""
    places = {(topic, partition): offset for partition, offset in offsets.items()}
    ShareGroupAdmin(Target(shared_broker.bootstrap, [])).set_start_offsets(group, places)


def test_a_share_group_is_listed_and_described_with_its_members(
    penstock: Penstock, group: str, topic: str, reader: Reader
) -> None:
    reader.say(0)

    assert {"group": group, "type": "share", "state": "stable"} in json.loads(
        penstock("group", "list", "--json").stdout
    )
    assert group in penstock("group", "list", "--type", "share", "--state", "stable").stdout
    assert group not in penstock("group", "list", "--type", "consumer").stdout
    assert group not in penstock("group", "list", "--state", "empty").stdout
    lines = penstock("group", "describe", group).stdout.splitlines()
    assert lines[0] == f"group {group}, share, stable, assignor simple, coordinator 1, 1 member(s)"
    assert lines[2].split()[:3] == ["a-member", "penstock-cli", "127.0.0.1"]
    assert lines[2].split()[-2:] == [f"{topic}-0", f"{topic}-1"]
    assert lines[3].split() == ["TOPIC", "PARTITION", "START", "END", "LAG", "CLIENT", "MEMBER"]
    assert lines[4].split() == [topic, "0", "-", "0", "-", "penstock-cli", "a-member"]


def test_the_lag_of_a_share_group_counts_records_that_are_not_acknowledged(
    penstock: Penstock, shared_broker: BrokerProcess, group: str, topic: str, send: Send
) -> None:
    send(topic, 0, list("abcde"))
    started(shared_broker, group, topic, {0: 2, 1: 0})

    (found,) = json.loads(penstock("group", "lag", group, "--json").stdout)

    assert found["lag"] == 3
    assert [(each["partition"], each["committed"], each["end"]) for each in found["partitions"]] == [
        (0, 2, 5),
        (1, 0, 0),
    ]
    assert penstock("group", "lag", group).stdout.endswith(f"{group} is 3 record(s) behind\n")


def test_the_lag_of_partitions_in_which_a_share_group_has_not_begun_is_unknown_and_not_zero(
    penstock: Penstock, shared_broker: BrokerProcess, group: str, topic: str, send: Send
) -> None:
    send(topic, 0, list("abcde"))
    send(topic, 1, list("abc"))
    started(shared_broker, group, topic, {0: 2})

    (found,) = json.loads(penstock("group", "lag", group, "--json").stdout)

    assert (found["lag"], found["knownLag"], found["unknownPartitions"]) == (None, 3, 1)
    assert [(each["partition"], each["lag"]) for each in found["partitions"]] == [(0, 3), (1, None)]
    last = penstock("group", "lag", group).stdout.splitlines()[-1]
    assert last == f"{group} is at least 3 record(s) behind; the lag of 1 partition(s) is unknown"


def test_a_share_group_is_reset_only_without_members(
    penstock: Penstock, shared_broker: BrokerProcess, group: str, topic: str, send: Send, reader: Reader
) -> None:
    send(topic, 0, list("abc"))
    started(shared_broker, group, topic, {0: 3})
    shown = penstock("group", "reset", group, "--topic", f"{topic}:0", "--to", "earliest").stdout
    assert shown.splitlines()[1].split() == [topic, "0", "3", "0"]
    assert shown.endswith("nothing was changed: add --execute to do it\n")

    penstock("group", "reset", group, "--all-topics", "--shift-by", "-2", "--execute")
    (found,) = json.loads(penstock("group", "lag", group, "--json").stdout)
    assert [each["committed"] for each in found["partitions"]] == [1, None]

    reader.say(0)
    failed = penstock("group", "reset", group, "--topic", topic, "--to", "latest", "--execute", fails=True)
    assert failed.stderr.startswith(f"penstock: cannot reset group {group}: it has 1 live member ")


def test_a_share_group_is_deleted_only_without_members(
    penstock: Penstock, group: str, reader: Reader
) -> None:
    reader.say(0)
    failed = penstock("group", "delete", group, fails=True)
    assert failed.stderr.startswith(f"penstock: cannot delete group {group}: it has 1 live member ")

    reader.say(-1)
    assert penstock("group", "delete", group).stdout == f"deleted group {group}\n"
    assert group not in penstock("group", "list").stdout

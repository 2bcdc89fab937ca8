import json

from confluent_kafka import TopicPartition

from tests.cli.conftest import Commit, Member, Penstock, Send, run_command


def described(penstock: Penstock, group: str) -> dict[str, object]:
    (found,) = json.loads(penstock("group", "describe", group, "--json").stdout)
    assert isinstance(found, dict)
    return found


def test_a_group_is_listed_with_its_type_and_state(
    penstock: Penstock, group: str, commit: Commit, member: Member
) -> None:
    commit({0: 0})
    listed = json.loads(penstock("group", "list", "--json").stdout)
    assert {"group": group, "type": "classic", "state": "empty"} in listed
    member()
    assert [group, "classic", "stable"] in [
        line.split() for line in penstock("group", "list", "--state", "stable").stdout.splitlines()
    ]
    assert group not in penstock("group", "list", "--state", "empty").stdout


def test_describe_shows_members_and_their_partitions(
    penstock: Penstock, group: str, topic: str, send: Send, member: Member
) -> None:
    send(topic, 0, ["a", "b", "c"])
    reader = member(**{"group.instance.id": "one"})
    reader.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    found = described(penstock, group)
    members = found["members"]
    assert isinstance(members, list)
    member_id = members[0].pop("memberId")
    assert found == {
        "group": group,
        "type": "classic",
        "state": "stable",
        "assignor": "range",
        "coordinator": 1,
        "members": [
            {"clientId": "a-reader", "host": "127.0.0.1", "instanceId": "one", "partitions": {topic: [0, 1]}}
        ],
        "offsets": [
            {
                "topic": topic,
                "partition": partition,
                "committed": committed,
                "end": end,
                "lag": lag,
                "clientId": "a-reader",
                "memberId": member_id,
            }
            for partition, committed, end, lag in ((0, 1, 3, 2), (1, None, 0, None))
        ],
    }
    first, members_head, shown_member, *_ = penstock("group", "describe", group).stdout.splitlines()
    assert first == f"group {group}, classic, stable, assignor range, coordinator 1, 1 member(s)"
    assert members_head.split() == ["MEMBER", "CLIENT", "HOST", "INSTANCE", "PARTITIONS"]
    assert shown_member.split() == [member_id, "a-reader", "127.0.0.1", "one", f"{topic}-0", f"{topic}-1"]


def test_lag_is_the_distance_between_committed_and_end(
    penstock: Penstock, group: str, topic: str, send: Send, commit: Commit
) -> None:
    send(topic, 0, list("abcde"))
    send(topic, 1, list("xy"))
    commit({0: 2, 1: 2})
    lines = penstock("group", "lag", group).stdout.splitlines()
    assert lines[1].split() == [group, topic, "0", "2", "5", "3", "-", "-"]
    assert lines[2].split() == [group, topic, "1", "2", "2", "0", "-", "-"]
    assert lines[3] == f"{group} is 3 record(s) behind"
    everyone = json.loads(penstock("group", "lag", "--json").stdout)
    assert [each["lag"] for each in everyone if each["group"] == group] == [3]


def test_a_group_with_live_members_is_not_deleted(penstock: Penstock, group: str, member: Member) -> None:
    member()
    failed = penstock("group", "delete", group, fails=True)
    assert failed.stderr.startswith(f"penstock: cannot delete group {group}: it has 1 live member ")
    assert described(penstock, group)["state"] == "stable"


def test_a_deleted_group_is_gone_with_its_offsets(penstock: Penstock, group: str, commit: Commit) -> None:
    commit({0: 0})
    assert penstock("group", "delete", group).stdout == f"deleted group {group}\n"
    assert group not in penstock("group", "list").stdout


def test_an_unknown_group_is_answered_with_the_nearest_one(
    penstock: Penstock, group: str, topic: str, commit: Commit
) -> None:
    commit({0: 0})
    for command in (("describe",), ("lag",), ("delete",), ("reset", "--topic", topic, "--to", "latest")):
        failed = penstock("group", command[0], group + "x", *command[1:], fails=True)
        assert failed.stderr == f"penstock: there is no group {group}x: did you mean {group}?\n"


def test_without_a_broker_it_is_one_line() -> None:
    done = run_command("group", "list", "-b", "127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("penstock: no broker at 127.0.0.1:1 (connection refused): ")
    assert done.stderr.count("\n") == 1

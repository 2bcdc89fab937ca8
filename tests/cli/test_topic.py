import json
import uuid

from tests.cli.conftest import Penstock, Send


def test_a_topic_is_created_listed_described_enlarged_and_deleted(penstock: Penstock) -> None:
    name = f"cli-{uuid.uuid4().hex[:12]}"
    made = penstock("topic", "create", name, "--partitions", "2", "-c", "retention.ms=60000")
    assert made.stdout == f"created topic {name}\n"
    listed = json.loads(penstock("topic", "list", "--json").stdout)
    assert {"name": name, "partitions": 2, "replicationFactor": 1} in listed
    penstock("topic", "alter", name, "--partitions", "3")
    (described,) = json.loads(penstock("topic", "describe", name, "--json").stdout)
    assert described["config"] == {"retention.ms": "60000"}
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2]
    assert described["partitions"][0]["isr"] == described["partitions"][0]["replicas"]
    assert penstock("topic", "delete", name).stdout == f"deleted topic {name}\n"
    assert name not in penstock("topic", "list").stdout


def test_describe_shows_the_start_and_end_offset_of_each_partition(
    penstock: Penstock, topic: str, send: Send
) -> None:
    send(topic, 1, ["a", "b", "c"])
    penstock("topic", "delete-records", topic, "--partition", "1", "--before", "2")
    (described,) = json.loads(penstock("topic", "describe", topic, "--json").stdout)
    offsets = [(each["startOffset"], each["endOffset"]) for each in described["partitions"]]
    assert offsets == [(0, 0), (2, 3)]
    text = penstock("topic", "describe", topic).stdout
    assert text.startswith(f"topic {topic}, id ")
    assert text.splitlines()[1].split()[:2] == ["PARTITION", "LEADER"]


def test_truncating_to_the_end_deletes_every_record(penstock: Penstock, topic: str, send: Send) -> None:
    send(topic, 0, ["a", "b"])
    done = penstock("topic", "delete-records", topic, "--before", "end")
    assert f"{topic}-0 now starts at offset 2\n" in done.stdout
    assert penstock("consume", topic, "--no-follow").stdout == ""


def test_a_topic_that_exists_is_refused_unless_that_is_fine(penstock: Penstock, topic: str) -> None:
    assert "already exists" in penstock("topic", "create", topic, fails=True).stderr
    assert penstock("topic", "create", topic, "--if-not-exists").stdout == f"topic {topic} already exists\n"


def test_a_bad_property_is_refused_with_the_brokers_reason(penstock: Penstock) -> None:
    failed = penstock("topic", "create", "cli-bad", "-c", "retention.ms=soon", fails=True)
    assert "retention.ms" in failed.stderr
    failed = penstock("topic", "create", "cli-bad", "-c", "no.such.setting=1", fails=True)
    assert "no.such.setting" in failed.stderr


def test_an_unknown_topic_is_answered_with_the_nearest_one(penstock: Penstock, topic: str) -> None:
    for command in (
        ("describe",),
        ("delete",),
        ("alter", "--partitions", "3"),
        ("delete-records", "--before", "end"),
    ):
        failed = penstock("topic", command[0], topic + "x", *command[1:], fails=True)
        assert failed.stderr == f"penstock: there is no topic {topic}x: did you mean {topic}?\n"


def test_more_than_the_library_can_ask_for_is_refused(penstock: Penstock, topic: str) -> None:
    for option, count in (("--partitions", "100001"), ("--replication-factor", "10001")):
        failed = penstock("topic", "create", topic + "-large", option, count, fails=True)
        assert f"Invalid value for '{option}'" in failed.stderr


def test_fewer_partitions_are_refused(penstock: Penstock, topic: str) -> None:
    failed = penstock("topic", "alter", topic, "--partitions", "1", fails=True)
    assert f"cannot give topic {topic} 1 partitions instead of 2" in failed.stderr

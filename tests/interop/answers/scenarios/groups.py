"""Groups that do not exist, committed offsets, and requests of operators."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "grouped"
_UNKNOWN_ID = b"\x07" * 16


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC, 2)
    _coordinators(asker)
    _unknown_groups(asker)
    _commits(asker, topic_id)
    _committed(asker, topic_id)
    _operators(asker)


def _coordinators(asker: Asker) -> None:
    for label, key_type, key in (
        ("group", 0, "g"), ("transaction", 1, "t"), ("unnamed", 0, ""), ("of type 9", 9, "x"),
    ):  # fmt: skip
        for version in (1, 3, 4, 6):
            keys = {"key": key} if version < 4 else {"coordinator_keys": [key]}
            asker.ask(label, "FindCoordinator", version, key_type=key_type, **keys)
    asker.ask("two", "FindCoordinator", 4, key_type=0, coordinator_keys=["a", "b"])
    asker.ask("none", "FindCoordinator", 4, key_type=0, coordinator_keys=[])


def _unknown_groups(asker: Asker) -> None:
    for group in ("nobody", ""):
        label = f"of {group!r}"
        for version in range(7):
            asker.ask(label, "DescribeGroups", version, groups=[group])
        for version in range(2):
            asker.ask(label, "ConsumerGroupDescribe", version, group_ids=[group])
        for version in range(3):
            asker.ask(label, "DeleteGroups", version, groups_names=[group])
        for version in range(5):
            asker.ask(label, "Heartbeat", version, group_id=group, generation_id=1, member_id="m")
        for version in range(6):
            protocol = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
            member = {"generation_id": 1, "member_id": "m", **protocol}
            asker.ask(label, "SyncGroup", version, group_id=group, assignments=[], **member)
            leaver = {"member_id": "m"} if version < 3 else {"members": [{"member_id": "m"}]}
            asker.ask(label, "LeaveGroup", version, group_id=group, **leaver)
        part = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
        asker.ask(label, "OffsetDelete", 0, group_id=group, topics=part)


def _commits(asker: Asker, topic_id: bytes) -> None:
    asked: dict[str, dict[str, Any]] = {
        "ok": {},
        "unknown topic": {"topic": "nobody"},
        "unknown partition": {"partition": 9},
        "partition -1": {"partition": -1},
        "generation 5": {"generation": 5, "member": "m"},
        "generation 0": {"generation": 0},
        "by a stranger": {"member": "stranger"},
        "unnamed": {"group": ""},
        "long note": {"note": "x" * 5000},
        "offset -5": {"offset": -5},
    }
    for label, wanted in asked.items():
        for version in (2, 5, 6, 8, 9, 10):
            topic = wanted.get("topic", TOPIC)
            named = {"name": topic}
            if version >= 10:
                named = {"topic_id": topic_id if topic == TOPIC else _UNKNOWN_ID}
            part = {
                "partition_index": wanted.get("partition", 0),
                "committed_offset": wanted.get("offset", 5),
                "committed_metadata": wanted.get("note", "note"),
            }
            asker.ask(
                label,
                "OffsetCommit",
                version,
                group_id=wanted.get("group", f"commits {label}"),
                generation_id_or_member_epoch=wanted.get("generation", -1),
                member_id=wanted.get("member", ""),
                topics=[{**named, "partitions": [part]}],
            )


def _committed(asker: Asker, topic_id: bytes) -> None:
    asked: dict[str, tuple[str, str, int]] = {
        "ok": ("commits ok", TOPIC, 0),
        "unknown group": ("nobody", TOPIC, 0),
        "unnamed group": ("", TOPIC, 0),
        "unknown topic": ("commits ok", "nobody", 0),
        "unknown partition": ("commits ok", TOPIC, 9),
    }
    for label, (group, topic, partition) in asked.items():
        for version in range(1, 11):
            named: dict[str, Any] = {"name": topic}
            if version >= 10:
                named = {"topic_id": topic_id if topic == TOPIC else _UNKNOWN_ID}
            topics = [{**named, "partition_indexes": [partition]}]
            whole = {"group_id": group, "topics": topics}
            asker.ask(label, "OffsetFetch", version, **({"groups": [whole]} if version >= 8 else whole))
    for version in (2, 7):
        asker.ask("all", "OffsetFetch", version, group_id="commits ok", topics=None)
    asker.ask("all", "OffsetFetch", 9, groups=[{"group_id": "commits ok", "topics": None}])
    asker.ask("no group", "OffsetFetch", 9, groups=[])


def _operators(asker: Asker) -> None:
    asker.ask("without members", "DescribeGroups", 6, groups=["commits ok"])
    asker.ask("of a classic group", "ConsumerGroupDescribe", 1, group_ids=["commits ok"])
    topics = [
        {"name": TOPIC, "partitions": [{"partition_index": 0}, {"partition_index": 9}]},
        {"name": "nobody", "partitions": [{"partition_index": 0}]},
    ]
    asker.ask("some", "OffsetDelete", 0, group_id="commits ok", topics=topics)
    asker.ask("none", "OffsetDelete", 0, group_id="commits ok", topics=[])
    for version, filters in (
        (4, {"states_filter": ["Nothing"]}), (5, {"types_filter": ["nothing"]}),
        (5, {"types_filter": ["classic"], "states_filter": ["empty"]}), (3, {}),
    ):  # fmt: skip
        asker.ask(f"by {filters}", "ListGroups", version, **filters)
    asker.ask("without members", "DeleteGroups", 2, groups_names=["commits ok"])

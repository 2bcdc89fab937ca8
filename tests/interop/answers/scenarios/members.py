"""A member's requests in a classic group, in a static one, and in a KIP-848 group, with every error."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "membered"
_JOIN: dict[str, Any] = {
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"\0\1"}],
}


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC, 2)
    for version in (0, 2, 3, 4, 5, 7, 9):
        _refused_joins(asker, version)
        _life(asker, version)
    _static(asker)
    _consumer_heartbeats(asker, topic_id)
    _consumer_life(asker, topic_id)


def _join(asker: Asker, label: str, version: int, group: str, **changes: Any) -> Any:
    fields = {**_JOIN, **changes}
    if version < 1:
        del fields["rebalance_timeout_ms"]
    return asker.ask(label, "JoinGroup", version, group_id=group, **fields)


def _refused_joins(asker: Asker, version: int) -> None:
    _join(asker, "short session", version, "refused", session_timeout_ms=1)
    _join(asker, "long session", version, "refused", session_timeout_ms=10**9)
    _join(asker, "unnamed", version, "")
    _join(asker, "no protocol", version, "refused", protocols=[])
    _join(asker, "no type", version, "refused", protocol_type="")
    _join(asker, "unknown member", version, "refused", member_id="who")


def _life(asker: Asker, version: int) -> None:
    group = f"classic {version}"
    joined = _join(asker, "first", version, group)
    if joined["error_code"]:
        joined = _join(asker, "again", version, group, member_id=joined["member_id"])
    member, generation = joined["member_id"], joined["generation_id"]
    me = {"group_id": group, "member_id": member, "generation_id": generation}
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    assignments = [{"member_id": member, "assignment": b"mine"}]

    def sync(label: str, **changes: Any) -> None:
        fields = {**me, **protocol, "assignments": assignments, **changes}
        asker.ask(f"{label} of {group}", "SyncGroup", min(version, 5), **fields)

    def beat(label: str, **changes: Any) -> None:
        asker.ask(f"{label} of {group}", "Heartbeat", min(version, 4), **{**me, **changes})

    beat("before the assignment")
    sync("another generation", generation_id=generation + 5)
    sync("another member", member_id="who")
    if version >= 5:
        sync("another protocol", protocol_name="other")
        sync("another type", protocol_type="other")
    sync("first")
    sync("again")
    beat("stable")
    beat("next generation", generation_id=generation + 1)
    beat("last generation", generation_id=generation - 1)
    beat("another member", member_id="who")
    asker.ask(f"of {group}", "DescribeGroups", min(version, 6), groups=[group])
    asker.ask(f"of {group} with members", "DeleteGroups", 2, groups_names=[group])
    for label, epoch, who in (
        ("by its member", generation, member), ("next generation", generation + 1, member),
        ("another member", generation, "who"), ("from outside", -1, ""),
    ):  # fmt: skip
        asker.ask(
            f"{label} of {group}",
            "OffsetCommit",
            8,
            group_id=group,
            generation_id_or_member_epoch=epoch,
            member_id=who,
            topics=[{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": 5}]}],
        )
    _join(asker, "another type", version, group, protocol_type="connect")
    leaver: dict[str, Any] = {"member_id": "who"}
    asker.ask(
        f"another member of {group}", "LeaveGroup", min(version, 5), group_id=group, **_left(version, leaver)
    )
    leaver = {"member_id": member}
    asker.ask(
        f"the member of {group}", "LeaveGroup", min(version, 5), group_id=group, **_left(version, leaver)
    )
    beat("gone")
    asker.ask(f"of {group} when left", "DescribeGroups", min(version, 6), groups=[group])
    asker.ask(f"of {group} when left", "DeleteGroups", 2, groups_names=[group])


def _left(version: int, leaver: dict[str, Any]) -> dict[str, Any]:
    return leaver if version < 3 else {"members": [leaver]}


def _static(asker: Asker) -> None:
    first = _join(asker, "static", 9, "static", group_instance_id="i")
    asker.ask(
        "static",
        "SyncGroup",
        5,
        group_id="static",
        generation_id=first["generation_id"],
        member_id=first["member_id"],
        group_instance_id="i",
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": first["member_id"], "assignment": b"mine"}],
    )
    second = _join(asker, "static again", 9, "static", group_instance_id="i")
    _join(asker, "static fenced", 9, "static", group_instance_id="i", member_id=first["member_id"])
    for label, member in (("fenced", first), ("static", second)):
        me = {"group_id": "static", "generation_id": second["generation_id"]}
        asker.ask(label, "Heartbeat", 4, member_id=member["member_id"], group_instance_id="i", **me)
        gone = {"member_id": member["member_id"], "group_instance_id": "i"}
        asker.ask(label, "LeaveGroup", 5, group_id="static", members=[gone])


def _beat(asker: Asker, label: str, version: int = 1, **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "group_id": "consumers",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
        "subscribed_topic_names": [TOPIC],
        "topic_partitions": [],
        **changes,
    }
    return asker.ask(label, "ConsumerGroupHeartbeat", version, **fields)


def _consumer_heartbeats(asker: Asker, topic_id: bytes) -> None:
    _beat(asker, "unnamed", group_id="")
    _beat(asker, "no member", member_id="")
    _beat(asker, "epoch 5", member_epoch=5)
    _beat(asker, "epoch -5", member_epoch=-5)
    _beat(asker, "no timeout", rebalance_timeout_ms=-1)
    _beat(asker, "no subscription", subscribed_topic_names=None)
    _beat(asker, "no partitions", topic_partitions=None)
    _beat(asker, "partitions at once", topic_partitions=[{"topic_id": topic_id, "partitions": [0]}])
    _beat(asker, "unknown assignor", server_assignor="nobody's")
    _beat(asker, "empty instance", instance_id="")
    _beat(asker, "empty rack", rack_id="")
    _beat(asker, "bad pattern", subscribed_topic_names=None, subscribed_topic_regex="(")
    _beat(asker, "static leaves without a name", member_epoch=-2)
    _beat(asker, "leaves what it is not in", member_epoch=-1, group_id="nobody")
    for label, changes in (
        ("no topics", {"subscribed_topic_names": []}),
        ("an empty pattern", {"subscribed_topic_names": None, "subscribed_topic_regex": ""}),
        ("an unknown topic", {"subscribed_topic_names": ["nobody"]}),
        ("a pattern", {"subscribed_topic_names": [], "subscribed_topic_regex": "nobody.*"}),
    ):
        group: dict[str, Any] = {"group_id": f"consumers of {label}", **changes}
        epoch = _beat(asker, f"subscribes to {label}", **group)["member_epoch"]
        asker.answers[f"ConsumerGroupHeartbeat v1 subscribes to {label}"]["member_epoch"] = "ITS OWN"
        asker.ask(f"of {label}", "ConsumerGroupDescribe", 1, group_ids=[group["group_id"]])
        described = asker.answers[f"ConsumerGroupDescribe v1 of {label}"]["groups"][0]
        described |= {"group_epoch": "ITS OWN", "assignment_epoch": "ITS OWN"}
        described["members"] = [{**each, "member_epoch": epoch > 0} for each in described["members"]]
        _beat(asker, f"leaves {label}", member_epoch=-1, group_id=group["group_id"])


def _consumer_life(asker: Asker, topic_id: bytes) -> None:
    epoch = _beat(asker, "joins")["member_epoch"]
    asker.answers["ConsumerGroupHeartbeat v1 joins"]["member_epoch"] = "ITS OWN"
    idle: dict[str, Any] = {
        "topic_partitions": None,
        "subscribed_topic_names": None,
        "rebalance_timeout_ms": -1,
    }
    _beat(asker, "of a greater epoch", member_epoch=epoch + 5, **idle)
    _beat(asker, "of a stranger", member_id="who", member_epoch=1, **idle)
    for label, at, who in (
        ("by a member", epoch, "m"), ("of a greater epoch", epoch + 1, "m"), ("from outside", -1, ""),
        ("by a stranger", 1, "who"), ("of epoch 0", 0, "m"),
    ):  # fmt: skip
        for version in (8, 9, 10):
            named = {"topic_id": topic_id} if version >= 10 else {"name": TOPIC}
            asker.ask(
                f"{label} of consumers",
                "OffsetCommit",
                version,
                group_id="consumers",
                generation_id_or_member_epoch=at,
                member_id=who,
                topics=[{**named, "partitions": [{"partition_index": 0, "committed_offset": 5}]}],
            )
        wanted = {"name": TOPIC, "partition_indexes": [0]}
        group = {"group_id": "consumers", "member_id": who or None, "member_epoch": at, "topics": [wanted]}
        asker.ask(f"{label} of consumers", "OffsetFetch", 9, groups=[group])
    asker.ask("of consumers", "Heartbeat", 4, group_id="consumers", generation_id=1, member_id="m")
    for version in (5, 6):
        asker.ask("of consumers", "DescribeGroups", version, groups=["consumers"])
    asker.ask("of consumers with members", "DeleteGroups", 2, groups_names=["consumers"])
    _join(asker, "a connector among consumers", 9, "consumers", protocol_type="connect")
    asker.ask("of consumers", "LeaveGroup", 5, group_id="consumers", members=[{"member_id": "who"}])
    parts = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
    asker.ask("of consumers that read it", "OffsetDelete", 0, group_id="consumers", topics=parts)
    _beat(asker, "leaves", member_epoch=-1)
    asker.ask("of consumers when left", "DescribeGroups", 6, groups=["consumers"])
    asker.ask("of consumers when left", "DeleteGroups", 2, groups_names=["consumers"])

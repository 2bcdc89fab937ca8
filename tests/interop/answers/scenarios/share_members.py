"""A member's life in a share group (KIP-932), and every request that belongs to another kind of group."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic
from tests.interop.answers.scenarios.share_common import (
    MEMBER,
    OTHER,
    await_coordinators,
    configure,
    heartbeat,
    join,
)

TOPIC = "share-membered"
_UNKNOWN_ID = b"\x07" * 16


def ask_all(asker: Asker) -> None:
    await_coordinators(asker, make_topic(asker, TOPIC, 2))
    _coordinators(asker)
    _heartbeats(asker)
    _unknown_groups(asker)
    _life(asker)
    _taken_names(asker)


def _beat(asker: Asker, label: str, **changes: Any) -> Any:
    fields = {"group_id": "share heartbeats", "topics": [TOPIC], **changes}
    return heartbeat(asker, label, **fields)


def _joined(asker: Asker, label: str, **fields: Any) -> int:
    """A first heartbeat. The number of its epoch is left out: Kafka goes through one more than there are changes."""
    epoch = int(_beat(asker, label, **fields)["member_epoch"])
    asker.answers[f"ShareGroupHeartbeat v1 {label}"]["member_epoch"] = epoch > 0
    return epoch


def _coordinators(asker: Asker) -> None:
    for label, key in (
        ("share partition", "g:AAAAAAAAAAAAAAAAAAAAAQ:0"), ("unnamed share partition", ""),
        ("share partition without a partition", "g:AAAAAAAAAAAAAAAAAAAAAQ"), ("share partition of a bad id", "g:x:0"),
        ("share partition -1", "g:AAAAAAAAAAAAAAAAAAAAAQ:-1"), ("share partition x", "g:AAAAAAAAAAAAAAAAAAAAAQ:x"),
        ("share partition of an unnamed group", ":AAAAAAAAAAAAAAAAAAAAAQ:0"),
    ):  # fmt: skip
        for version in (1, 3, 4, 5, 6):
            keys = {"key": key} if version < 4 else {"coordinator_keys": [key]}
            asker.ask(label, "FindCoordinator", version, key_type=2, **keys)


def _heartbeats(asker: Asker) -> None:
    _beat(asker, "unnamed", group_id="")
    _beat(asker, "blank", group_id=" ")
    _beat(asker, "no member", member_id="")
    _beat(asker, "blank member", member_id=" ")
    _beat(asker, "epoch 5", member_epoch=5)
    _beat(asker, "epoch -5", member_epoch=-5)
    _beat(asker, "epoch -2", member_epoch=-2)
    _beat(asker, "no subscription", topics=None)
    _joined(asker, "a topic twice", group_id="share twice", topics=["nobody", "nobody"])
    _beat(asker, "empty rack", rack_id="")
    _beat(asker, "leaves what it is not in", group_id="nobody", member_epoch=-1)
    for label, topics in (("no topics", []), ("an unknown topic", ["nobody"]), ("a bad name", ["a b"])):
        group = f"share of {label}"
        epoch = _joined(asker, f"subscribes to {label}", group_id=group, topics=topics)
        asker.ask(f"of {label}", "ShareGroupDescribe", 1, group_ids=[group])
        _beat(asker, f"leaves {label}", group_id=group, topics=topics, member_epoch=-1)
        asker.ask(f"of {label} when left", "ShareGroupDescribe", 1, group_ids=[group])
        for described in (f"of {label}", f"of {label} when left"):
            _relative(asker.answers[f"ShareGroupDescribe v1 {described}"]["groups"][0], epoch)


def _unknown_groups(asker: Asker) -> None:
    for group in ("nobody", ""):
        asker.ask(f"of {group!r}", "ShareGroupDescribe", 1, group_ids=[group])
        for version in (0, 1):
            for label, topics in (("all", None), ("one", [{"topic_name": "nobody", "partitions": [0]}])):
                asker.ask(
                    f"{label} of {group!r}", "DescribeShareGroupOffsets", version,
                    groups=[{"group_id": group, "topics": topics}],
                )  # fmt: skip
        changed = [{"topic_name": "nobody", "partitions": [{"partition_index": 0, "start_offset": 0}]}]
        asker.ask(f"of {group!r}", "AlterShareGroupOffsets", 0, group_id=group, topics=changed)
        asker.ask(
            f"of {group!r}", "DeleteShareGroupOffsets", 0, group_id=group, topics=[{"topic_name": "nobody"}]
        )
    asker.ask("of none", "ShareGroupDescribe", 1, group_ids=[])
    asker.ask("of two", "ShareGroupDescribe", 1, group_ids=["nobody", "somebody"])
    asker.ask("of none", "DescribeShareGroupOffsets", 1, groups=[])


def _life(asker: Asker) -> None:
    group, topic = "share life", TOPIC
    configure(asker, group, share_auto_offset_reset="earliest")
    for _ in range(2):  # who come and go, and leave epochs behind
        heartbeat(asker, None, topics=[topic], group_id=group, member_id=OTHER)
        heartbeat(asker, None, topics=None, group_id=group, member_id=OTHER, member_epoch=-1)
    epoch = join(asker, group, topic, partitions=2)
    me = {"group_id": group, "topics": None}
    _beat(asker, "idle", member_epoch=epoch, **me)
    _beat(asker, "the same subscription", member_epoch=epoch, group_id=group)
    _beat(asker, "of a greater epoch", member_epoch=epoch + 5, **me)
    _beat(asker, "of a lesser epoch", member_epoch=1, **me)
    _beat(asker, "of a stranger", member_id=OTHER, member_epoch=epoch, **me)
    for answer in ("idle", "the same subscription"):
        asker.answers[f"ShareGroupHeartbeat v1 {answer}"]["member_epoch"] -= epoch
    described = asker.ask("with a member", "ShareGroupDescribe", 1, group_ids=[group])["groups"][0]
    _relative(asker.answers["ShareGroupDescribe v1 with a member"]["groups"][0], described["group_epoch"])
    asker.ask(
        "with operations", "ShareGroupDescribe", 1, group_ids=[group], include_authorized_operations=True
    )
    _relative(asker.answers["ShareGroupDescribe v1 with operations"]["groups"][0], described["group_epoch"])
    _listed(asker, group)
    _as_another_kind(asker, group, "with a member")
    _beat(asker, "leaves", member_epoch=-1, **me)
    _beat(asker, "leaves again", member_epoch=-1, **me)
    asker.ask("when left", "ShareGroupDescribe", 1, group_ids=[group])
    _relative(asker.answers["ShareGroupDescribe v1 when left"]["groups"][0], described["group_epoch"])
    _as_another_kind(asker, group, "when left")
    asker.ask("of a share group when deleted", "ShareGroupDescribe", 1, group_ids=[group])


def _relative(group: dict[str, Any], epoch: int) -> None:
    """The number of earlier epochs may differ."""
    group |= {
        "group_epoch": group["group_epoch"] - epoch,
        "assignment_epoch": group["assignment_epoch"] - epoch,
    }
    for member in group["members"]:
        member["member_epoch"] -= epoch


def _listed(asker: Asker, group: str) -> None:
    for version, filters in (
        (3, {}), (4, {"states_filter": ["Stable"]}), (5, {"types_filter": ["share"]}),
        (5, {"types_filter": ["Share"], "states_filter": ["stable"]}), (5, {"types_filter": ["consumer"]}),
        (5, {"types_filter": ["share"], "states_filter": ["Empty"]}), (5, {"states_filter": ["Dead"]}),
    ):  # fmt: skip
        answer = asker.quietly("ListGroups", version, **filters)
        found = [each for each in answer["groups"] if each["group_id"] == group]
        asker.note(f"ListGroups v{version} with a share group by {filters}", {**answer, "groups": found})


def _as_another_kind(asker: Asker, group: str, when: str) -> None:
    label = f"of a share group {when}"
    topic = TOPIC
    protocols = [{"name": "range", "metadata": b"\0\1"}]
    asker.ask(
        label, "JoinGroup", 9, group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        member_id="", protocol_type="consumer", protocols=protocols,
    )  # fmt: skip
    asker.ask(
        label, "SyncGroup", 5, group_id=group, generation_id=1, member_id="m",
        protocol_type="consumer", protocol_name="range", assignments=[],
    )  # fmt: skip
    asker.ask(label, "Heartbeat", 4, group_id=group, generation_id=1, member_id="m")
    asker.ask(label, "LeaveGroup", 5, group_id=group, members=[{"member_id": "m"}])
    asker.ask(
        label, "ConsumerGroupHeartbeat", 1, group_id=group, member_id="m", member_epoch=0,
        rebalance_timeout_ms=30_000, subscribed_topic_names=[topic], topic_partitions=[],
    )  # fmt: skip
    asker.ask(label, "ConsumerGroupDescribe", 1, group_ids=[group])
    for version in (5, 6):
        asker.ask(label, "DescribeGroups", version, groups=[group])
    for version in (7, 9):
        asker.ask(
            label, "OffsetCommit", version, group_id=group, generation_id_or_member_epoch=-1, member_id="",
            topics=[{"name": topic, "partitions": [{"partition_index": 0, "committed_offset": 5}]}],
        )  # fmt: skip
    wanted = [{"name": topic, "partition_indexes": [0]}]
    asker.ask(label, "OffsetFetch", 7, group_id=group, topics=wanted)
    asker.ask(label, "OffsetFetch", 9, groups=[{"group_id": group, "topics": wanted}])
    parts = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    asker.ask(label, "OffsetDelete", 0, group_id=group, topics=parts)
    asker.ask(label, "DeleteGroups", 2, groups_names=[group])


def _taken_names(asker: Asker) -> None:
    """The ids of groups of other kinds, with members and without."""
    topic = TOPIC
    joining = {
        "group_id": "share: a classic group", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b"\0\1"}],
    }  # fmt: skip
    first = asker.quietly("JoinGroup", 9, member_id="", **joining)
    asker.quietly("JoinGroup", 9, member_id=first["member_id"], **joining)
    consuming: dict[str, Any] = {
        "group_id": "share: a consumer group", "member_id": MEMBER, "rebalance_timeout_ms": 30_000,
        "subscribed_topic_names": [topic], "topic_partitions": [],
    }  # fmt: skip
    asker.quietly("ConsumerGroupHeartbeat", 1, member_epoch=0, **consuming)
    _under_another_name(asker, "with a member")
    asker.quietly(
        "LeaveGroup", 5, group_id="share: a classic group", members=[{"member_id": first["member_id"]}]
    )
    asker.quietly("ConsumerGroupHeartbeat", 1, **{**consuming, "member_epoch": -1})
    _under_another_name(asker, "when left")


def _under_another_name(asker: Asker, when: str) -> None:
    topic = TOPIC
    for kind in ("classic", "consumer"):
        group, label = f"share: a {kind} group", f"of a {kind} group {when}"
        _beat(asker, label, group_id=group)
        asker.ask(label, "ShareGroupDescribe", 1, group_ids=[group])
        asker.ask(
            label, "DescribeShareGroupOffsets", 1, groups=[{"group_id": group, "topics": None}]
        )  # fmt: skip
        changed = [{"topic_name": topic, "partitions": [{"partition_index": 0, "start_offset": 0}]}]
        asker.ask(label, "AlterShareGroupOffsets", 0, group_id=group, topics=changed)
        asker.ask(label, "DeleteShareGroupOffsets", 0, group_id=group, topics=[{"topic_name": topic}])

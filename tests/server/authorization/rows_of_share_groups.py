"""Requests to the coordinator of share groups."""

from penstock.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from penstock.security.operations import Operation as Op
from tests.server.authorization.row import TOPIC, Place, group, row, topic

_READ, _EMPTY = "guarded-share-group", "guarded-empty-share-group"


async def with_a_member(place: Place) -> None:
    await place.guarded.admin.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[_READ]))
    answer = await place.guarded.admin.send(
        ShareGroupHeartbeatRequest(group_id=_READ, member_id="member", subscribed_topic_names=[TOPIC])
    )
    assert answer.error_code == 0


async def without_members(place: Place) -> None:
    await place.guarded.admin.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[_EMPTY]))
    start = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topics = [AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=[start])]
    answer = await place.guarded.admin.send(AlterShareGroupOffsetsRequest(group_id=_EMPTY, topics=topics))
    assert answer.error_code == 0


ROWS = [
    row(
        76,
        "",
        group(Op.READ, name=_READ),
        topic(Op.DESCRIBE),
        fields={"group_id": _READ, "member_id": "another", "subscribed_topic_names": [TOPIC]},
    ),
    row(
        77,
        "",
        group(Op.DESCRIBE, name=_READ),
        topic(Op.DESCRIBE),
        before=with_a_member,
        fields={"group_ids": [_READ]},
    ),
    row(
        90,
        "by name",
        group(Op.DESCRIBE, name=_READ),
        topic(Op.DESCRIBE),
        fields={"groups": [{"group_id": _READ, "topics": [{"topic_name": TOPIC, "partitions": [0]}]}]},
    ),
    row(
        90,
        "all",
        group(Op.DESCRIBE, name=_READ),
        topic(Op.DESCRIBE, refusal=None),
        before=with_a_member,
        fields={"groups": [{"group_id": _READ, "topics": None}]},
        shows=lambda answer: answer.groups[0].topics,
    ),
    row(
        91,
        "",
        group(Op.READ, name=_EMPTY),
        topic(Op.READ),
        fields={
            "group_id": _EMPTY,
            "topics": [{"topic_name": TOPIC, "partitions": [{"partition_index": 0, "start_offset": 0}]}],
        },
    ),
    row(
        92,
        "",
        group(Op.DELETE, name=_EMPTY),
        topic(Op.READ),
        before=without_members,
        fields={"group_id": _EMPTY, "topics": [{"topic_name": TOPIC}]},
    ),
]

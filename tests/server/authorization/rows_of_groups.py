"""Requests about consumer groups."""

from penstock.security.operations import Operation as Op
from tests.server.authorization.row import (
    GROUP,
    TOPIC,
    cluster,
    group,
    row,
    topic,
)

_STRANGER = "nobody-knows-this-member"
_COMMIT = [{"partition_index": 0, "committed_offset": 1}]

ROWS = [
    row(
        8,
        "by id",
        group(Op.READ),
        topic(Op.READ),
        fields=lambda place: {
            "group_id": GROUP,
            "topics": [{"topic_id": place.topic.id, "partitions": _COMMIT}],
        },
    ),
    row(
        8,
        "by name",
        group(Op.READ),
        topic(Op.READ),
        version=9,
        fields={"group_id": GROUP, "topics": [{"name": TOPIC, "partitions": _COMMIT}]},
    ),
    row(
        9,
        "by id",
        group(Op.DESCRIBE),
        topic(Op.DESCRIBE),
        fields=lambda place: {
            "groups": [
                {"group_id": GROUP, "topics": [{"topic_id": place.topic.id, "partition_indexes": [0]}]}
            ]
        },
    ),
    row(
        9,
        "by name",
        group(Op.DESCRIBE),
        topic(Op.DESCRIBE),
        version=7,
        fields={"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]},
    ),
    row(
        9,
        "v1",
        group(Op.DESCRIBE),
        topic(Op.DESCRIBE),
        version=1,
        fields={"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]},
    ),
    row(
        9,
        "of all topics",
        group(Op.DESCRIBE),
        topic(Op.DESCRIBE, refusal=None),
        version=9,
        fields={"groups": [{"group_id": GROUP, "topics": None}]},
        shows=lambda answer: answer.groups[0].topics,
    ),
    row(10, "of a group", group(Op.DESCRIBE), fields={"key_type": 0, "coordinator_keys": [GROUP]}),
    row(10, "of a group, v3", group(Op.DESCRIBE), version=3, fields={"key_type": 0, "key": GROUP}),
    row(
        11,
        "",
        group(Op.READ),
        fields={"group_id": GROUP, "member_id": _STRANGER, "session_timeout_ms": 10_000},
    ),
    row(12, "", group(Op.READ), fields={"group_id": GROUP, "member_id": _STRANGER}),
    row(13, "", group(Op.READ), fields={"group_id": GROUP, "members": [{"member_id": _STRANGER}]}),
    row(13, "v2", group(Op.READ), version=2, fields={"group_id": GROUP, "member_id": _STRANGER}),
    row(
        14,
        "",
        group(Op.READ),
        fields={"group_id": GROUP, "member_id": _STRANGER, "protocol_type": "x", "protocol_name": "y"},
    ),
    row(15, "", group(Op.DESCRIBE), fields={"groups": [GROUP]}),
    row(
        16,
        "",
        group(Op.DESCRIBE, None),
        shows=lambda answer: GROUP in [each.group_id for each in answer.groups],
    ),
    row(
        16,
        "by a right in the cluster",
        cluster(Op.DESCRIBE, None),
        shows=lambda answer: GROUP in [each.group_id for each in answer.groups],
    ),
    row(
        32,
        "of a group",
        group(Op.DESCRIBE_CONFIGS),
        fields={"resources": [{"resource_type": 32, "resource_name": GROUP, "configuration_keys": None}]},
    ),
    row(
        44,
        "of a group",
        group(Op.ALTER_CONFIGS),
        fields={"resources": [{"resource_type": 32, "resource_name": GROUP}], "validate_only": True},
    ),
    row(42, "", group(Op.DELETE, name="guarded-absent"), fields={"groups_names": ["guarded-absent"]}),
    row(
        47,
        "",
        group(Op.DELETE),
        topic(Op.READ),
        fields={"group_id": GROUP, "topics": [{"name": TOPIC, "partitions": [{"partition_index": 7}]}]},
    ),
    row(
        68,
        "",
        group(Op.READ),
        topic(Op.DESCRIBE),
        fields={
            "group_id": GROUP,
            "member_id": _STRANGER,
            "member_epoch": 5,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": None,
            "server_assignor": None,
        },
    ),
    row(69, "", group(Op.DESCRIBE), fields={"group_ids": [GROUP]}),
]

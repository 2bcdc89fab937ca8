"""Requests about topics and their records."""

from penstock.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.security.operations import Operation as Op
from tests.server.authorization.row import (
    DOOMED,
    TOPIC,
    TOPIC_REFUSED,
    Place,
    broker_row,
    cluster,
    row,
    topic,
)
from tests.server.live import TopicHandle, batch, produce_request

INVALID = "guarded/invalid"  # nobody can make it, but who may try is asked first
_READ = [{"partition": 0, "partition_max_bytes": 1}]


async def _make_doomed(place: Place) -> None:
    asked = CreatableTopic(name=DOOMED, num_partitions=1, replication_factor=1)
    (made,) = (await place.guarded.admin.send(CreateTopicsRequest(topics=[asked]))).topics
    if not made.error_code:
        place.doomed = TopicHandle(DOOMED, made.topic_id)


ROWS = [
    row(0, "by id", topic(Op.WRITE), fields=lambda place: produce_request(place.topic, {0: batch(b"v")})),
    row(
        0,
        "by name",
        topic(Op.WRITE),
        version=12,
        fields=lambda place: produce_request(place.topic, {0: batch(b"v")}, version=12),
    ),
    row(
        1,
        "by id",
        topic(Op.READ),
        fields=lambda place: {"topics": [{"topic_id": place.topic.id, "partitions": _READ}]},
    ),
    row(
        1,
        "by name",
        topic(Op.READ),
        version=12,
        fields={"topics": [{"topic": TOPIC, "partitions": _READ}]},
    ),
    broker_row(
        1,
        "as a follower",
        fields=lambda place: {
            "replica_state": {"replica_id": 9, "replica_epoch": 1},
            "topics": [{"topic_id": place.topic.id, "partitions": _READ}],
        },
    ),
    row(
        2,
        "",
        topic(Op.DESCRIBE),
        fields={"topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
    ),
    row(3, "by name", topic(Op.DESCRIBE), fields={"topics": [{"name": TOPIC}]}),
    row(
        3,
        "by id",
        topic(Op.DESCRIBE),
        fields=lambda place: {"topics": [{"name": None, "topic_id": place.topic.id}]},
    ),
    row(
        3,
        "of all",
        topic(Op.DESCRIBE, refusal=None),
        fields={"topics": None},
        shows=lambda answer: TOPIC in [each.name for each in answer.topics],
    ),
    row(
        3,
        "of all, v0",
        topic(Op.DESCRIBE, refusal=None),
        version=0,
        fields={"topics": []},
        shows=lambda answer: TOPIC in [each.name for each in answer.topics],
    ),
    row(
        3,
        "that makes a topic",
        topic(Op.DESCRIBE, INVALID),
        topic(Op.CREATE, INVALID),
        fields={"topics": [{"name": INVALID}], "allow_auto_topic_creation": True},
    ),
    row(
        3,
        "that makes a topic, by a right in the cluster",
        topic(Op.DESCRIBE, INVALID),
        cluster(Op.CREATE, TOPIC_REFUSED),
        fields={"topics": [{"name": INVALID}], "allow_auto_topic_creation": True},
    ),
    row(
        3,
        "with rights in the cluster",
        cluster(Op.DESCRIBE, None),
        version=10,
        fields={"topics": [], "include_cluster_authorized_operations": True},
        shows=lambda answer: answer.cluster_authorized_operations,
    ),
    row(
        19,
        "",
        topic(Op.CREATE, "guarded-new"),
        topic(Op.DESCRIBE_CONFIGS, "guarded-new"),
        fields={
            "topics": [{"name": "guarded-new", "num_partitions": 1, "replication_factor": 1}],
            "validate_only": True,
        },
    ),
    row(
        19,
        "by a right in the cluster",
        cluster(Op.CREATE, TOPIC_REFUSED),
        topic(Op.DESCRIBE_CONFIGS, "guarded-new"),
        fields={
            "topics": [{"name": "guarded-new", "num_partitions": 1, "replication_factor": 1}],
            "validate_only": True,
        },
    ),
    row(
        20,
        "by name",
        topic(Op.DELETE, DOOMED),
        fields={"topics": [{"name": DOOMED}]},
        before=_make_doomed,
    ),
    row(
        20,
        "by id",
        topic(Op.DELETE, DOOMED),
        fields=lambda place: {"topics": [{"name": None, "topic_id": place.doomed.id}]},
        before=_make_doomed,
    ),
    row(
        20,
        "before v6",
        topic(Op.DELETE, DOOMED),
        version=5,
        fields={"topic_names": [DOOMED]},
        before=_make_doomed,
    ),
    row(
        20,
        "by a right in the cluster",
        cluster(Op.DELETE, TOPIC_REFUSED),
        fields={"topics": [{"name": DOOMED}]},
        before=_make_doomed,
    ),
    row(
        21,
        "",
        topic(Op.DELETE),
        fields={"topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": 0}]}]},
    ),
    row(
        23,
        "",
        topic(Op.DESCRIBE),
        fields={"topics": [{"topic": TOPIC, "partitions": [{"partition": 0}]}]},
    ),
    row(
        23,
        "as a broker",
        cluster(Op.CLUSTER_ACTION, TOPIC_REFUSED),
        fields={"topics": [{"topic": TOPIC, "partitions": [{"partition": 0}]}]},
    ),
    row(
        37,
        "",
        topic(Op.ALTER),
        fields={"topics": [{"name": TOPIC, "count": 2, "assignments": None}], "validate_only": True},
    ),
    row(61, "", topic(Op.READ), fields={"topics": [{"name": TOPIC, "partition_indexes": [0]}]}),
    row(75, "by name", topic(Op.DESCRIBE), fields={"topics": [{"name": TOPIC}], "cursor": None}),
    row(
        75,
        "of all",
        topic(Op.DESCRIBE, refusal=None),
        fields={"topics": [], "cursor": None},
        shows=lambda answer: TOPIC in [each.name for each in answer.topics],
    ),
]

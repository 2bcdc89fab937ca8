"""Requests about the cluster, of operators and between brokers."""

from typing import Any

from penstock.cluster.metadata.topic_names import METADATA_TOPIC_ID
from penstock.security.operations import Operation as Op
from tests.server.authorization.row import GROUP, Fields, Place, broker_row, cluster, row, topic
from tests.server.authorization.row import TOPIC as TOPIC_NAME

_OTHER = "another-cluster"  # so that what is allowed changes nothing
_METADATA = "__cluster_metadata"
_ANY_ACL = {
    "resource_type_filter": 1,
    "resource_name_filter": "guarded-nothing",
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_MOVE = {
    "topics": [{"name": TOPIC_NAME, "partitions": [{"partition_index": 0, "replicas": [77]}]}],
}
_SHARE_PARTITION = {
    "group_id": GROUP,
    "topics": [{"topic_id": bytes([7] * 16), "partitions": [{"partition": 0}]}],
}


def _quorum(**more: Any) -> Fields:
    return {"topics": [{"topic_name": _METADATA, "partitions": [{"partition_index": 0}]}], **more}


def _settings(resource_type: int, name: str) -> dict[str, Any]:
    return {"resource_type": resource_type, "resource_name": name}


def _described(resource_type: int, name: str) -> Fields:
    return {"resources": [{**_settings(resource_type, name), "configuration_keys": None}]}


def _node_id(place: Place) -> str:
    return str(place.guarded.services.node_id)


ROWS = [
    broker_row(
        1,
        "of the metadata log",
        fields={
            "cluster_id": _OTHER,
            "topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [{"partition": 0}]}],
        },
    ),
    row(
        10,
        "of a share partition",
        cluster(Op.CLUSTER_ACTION),
        fields={"key_type": 2, "coordinator_keys": [f"{GROUP}:AAECAwQFBgcICQoLDA0ODw:0"]},
    ),
    row(17, "", fields={"mechanism": "PLAIN"}),
    row(18, "", fields={"client_software_name": "x", "client_software_version": "1"}),
    row(29, "", cluster(Op.DESCRIBE), fields=_ANY_ACL),
    row(30, "", cluster(Op.ALTER), fields={"creations": [{}]}),
    row(31, "", cluster(Op.ALTER), fields={"filters": [_ANY_ACL]}),
    row(32, "of a topic", topic(Op.DESCRIBE_CONFIGS), fields=_described(2, TOPIC_NAME)),
    row(32, "of a broker", cluster(Op.DESCRIBE_CONFIGS), fields=lambda p: _described(4, _node_id(p))),
    row(32, "of a broker's logs", cluster(Op.DESCRIBE_CONFIGS), fields=lambda p: _described(8, _node_id(p))),
    row(32, "of a mirror", cluster(Op.DESCRIBE_CONFIGS), fields=_described(126, "x")),
    row(32, "of clients' metrics", cluster(Op.DESCRIBE_CONFIGS), fields=_described(16, "x")),
    row(
        33,
        "of a topic",
        topic(Op.ALTER_CONFIGS),
        fields={"resources": [_settings(2, TOPIC_NAME)], "validate_only": True},
    ),
    row(
        33,
        "of all brokers",
        cluster(Op.ALTER_CONFIGS),
        fields={"resources": [_settings(4, "")], "validate_only": True},
    ),
    row(35, "", cluster(Op.DESCRIBE), fields={"topics": None}),
    row(36, ""),
    row(43, "", cluster(Op.ALTER), fields={"topic_partitions": [{"topic": TOPIC_NAME, "partitions": [0]}]}),
    row(
        44,
        "of a topic",
        topic(Op.ALTER_CONFIGS),
        fields={"resources": [_settings(2, TOPIC_NAME)], "validate_only": True},
    ),
    row(
        44,
        "of all brokers",
        cluster(Op.ALTER_CONFIGS),
        fields={"resources": [_settings(4, "")], "validate_only": True},
    ),
    row(
        44,
        "of a broker's logs",
        cluster(Op.ALTER_CONFIGS),
        fields=lambda p: {"resources": [_settings(8, _node_id(p))], "validate_only": True},
    ),
    row(
        44,
        "of a mirror",
        cluster(Op.ALTER),
        fields={"resources": [_settings(126, "x")], "validate_only": True},
    ),
    row(
        44,
        "of clients' metrics",
        cluster(Op.ALTER_CONFIGS),
        fields={"resources": [_settings(16, "x")], "validate_only": True},
    ),
    row(45, "", cluster(Op.ALTER), fields=_MOVE),
    row(46, "", cluster(Op.DESCRIBE), fields={"topics": None}),
    row(48, "", cluster(Op.DESCRIBE_CONFIGS)),
    row(
        49,
        "",
        cluster(Op.ALTER_CONFIGS),
        fields={
            "entries": [{"entity": [{"entity_type": "user", "entity_name": "x"}], "ops": []}],
            "validate_only": True,
        },
    ),
    row(50, "", cluster(Op.DESCRIBE), fields={"users": [{"name": "nobody"}]}),
    row(51, "", cluster(Op.ALTER), fields={"deletions": [{"name": "nobody", "mechanism": 1}]}),
    broker_row(52, "", fields=_quorum(cluster_id=_OTHER)),
    broker_row(53, "", fields=_quorum(cluster_id=_OTHER)),
    broker_row(54, "", fields=_quorum(cluster_id=_OTHER)),
    row(55, "", cluster(Op.DESCRIBE), fields=_quorum()),
    broker_row(56, "", fields={"broker_id": 77}),
    row(57, "", cluster(Op.ALTER), fields={"feature_updates": [], "validate_only": True}),
    broker_row(58, "", fields={"request_data": b"", "request_principal": b""}),
    broker_row(
        59,
        "",
        fields={"cluster_id": _OTHER, "topics": [{"name": _METADATA, "partitions": [{"partition": 0}]}]},
    ),
    row(
        60,
        "with rights in the cluster",
        cluster(Op.DESCRIBE, None),
        fields={"include_cluster_authorized_operations": True, "endpoint_type": 1},
        shows=lambda answer: answer.cluster_authorized_operations,
    ),
    broker_row(62, "", fields={"broker_id": 77, "cluster_id": _OTHER, "rack": None}),
    broker_row(63, "", fields={"broker_id": 77}),
    row(64, "", cluster(Op.ALTER), fields={"broker_id": 77}),
    broker_row(67, "", fields={"broker_id": 77}),
    broker_row(70, "", fields={"controller_id": 77, "listeners": [{"security_protocol": 9}]}),
    row(71, ""),
    row(72, ""),
    broker_row(73, "", fields={"broker_id": 77}),
    row(74, "", cluster(Op.DESCRIBE_CONFIGS)),
    row(80, "", cluster(Op.ALTER), fields={"cluster_id": _OTHER, "voter_id": 77}),
    row(81, "", cluster(Op.ALTER), fields={"cluster_id": _OTHER, "voter_id": 77}),
    broker_row(82, "", fields={"cluster_id": _OTHER, "voter_id": 77}),
    *(broker_row(key, "", fields=_SHARE_PARTITION) for key in range(83, 88)),
]

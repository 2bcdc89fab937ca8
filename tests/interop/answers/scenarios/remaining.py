"""APIs and versions that no other scenario asks for: one plain request in each version."""

import struct
from collections.abc import Callable
from typing import Any

from penstock.protocol.apis import APIS
from tests.interop.answers.asking import Asker, Fields
from tests.interop.answers.scenarios.common import fill, make_topic, records

TOPIC = "remaining"
GROUP = "remaining"
_METADATA_LOG = "__cluster_metadata"
_OF_THE_LOG = ("high_watermark", "leader_epoch", "log_end_offset")


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC)
    fill(asker, TOPIC)
    asker.quietly("FindCoordinator", 4, key_type=0, coordinator_keys=[GROUP])
    for api, fields in _requests(topic_id).items():
        spec = next(each for each in APIS.values() if each.name == api)
        for version in _versions(api, spec.versions):
            asker.ask("plain", api, version, **fields(version))
    for version in range(3):  # listed for old clients, and served by no broker
        asker.raw(f"Produce v{version} plain", struct.pack(">hhih", 0, version, 7, -1))
    for version in range(6):
        answer = asker.quietly("ListGroups", version)
        asker.note(f"ListGroups v{version} error", answer["error_code"])
    for version in range(3):
        _quorum(asker, version)
    for version in range(14):
        wanted = {"allow_auto_topic_creation": True} if version >= 4 else {}
        topics = [{"name": f"made on the way {version}".replace(" ", "-")}]
        asker.ask("a topic that is made on the way", "Metadata", version, topics=topics, **wanted)


def _versions(api: str, known: range) -> range:
    """As Kafka serves them."""
    return range(1, 3) if api == "WriteTxnMarkers" else known


def _quorum(asker: Asker, version: int) -> None:
    def ask(label: str, topic: str, partition: int) -> None:
        asked = [{"topic_name": topic, "partitions": [{"partition_index": partition}]}]
        answer = asker.quietly("DescribeQuorum", version, topics=asked)
        for each in (part for topic in answer["topics"] for part in topic["partitions"]):
            for place in (each, *each["current_voters"], *each["observers"]):
                place.update({name: "ITS OWN" for name in _OF_THE_LOG if name in place})
                place.update({name: "ITS OWN" for name in place if name.endswith("_timestamp")})
        for node in answer["nodes"]:
            for listener in node["listeners"]:
                listener["name"] = "ITS OWN"
        asker.note(f"DescribeQuorum v{version} {label}", answer)

    ask("of the metadata", _METADATA_LOG, 0)
    ask("of another partition", _METADATA_LOG, 1)
    ask("of another topic", TOPIC, 0)


def _requests(topic_id: bytes) -> dict[str, Callable[[int], Fields]]:
    topic_names = [{"name": TOPIC, "partition_indexes": [0]}]
    return {
        "Produce": lambda version: {
            "acks": -1,
            "timeout_ms": 5000,
            "topic_data": [
                {
                    **({"topic_id": topic_id} if version >= 13 else {"name": TOPIC}),
                    "partition_data": [{"index": 0, "records": records()}],
                }
            ],
        },
        "Fetch": lambda version: {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1000,
            "session_epoch": -1,
            "topics": [
                {
                    **({"topic_id": topic_id} if version >= 13 else {"topic": TOPIC}),
                    "partitions": [{"partition": 9, "fetch_offset": 0, "partition_max_bytes": 1000}],
                }
            ],
        },
        "Metadata": lambda version: {
            "topics": [{"name": TOPIC}],
            **({"allow_auto_topic_creation": False} if version >= 4 else {}),
        },
        "OffsetCommit": lambda version: {
            "group_id": "",
            "topics": [
                {
                    **({"topic_id": topic_id} if version >= 10 else {"name": TOPIC}),
                    "partitions": [{"partition_index": 0, "committed_offset": 1}],
                }
            ],
        },
        "FindCoordinator": lambda version: {"coordinator_keys": [GROUP]} if version >= 4 else {"key": GROUP},
        "JoinGroup": lambda _: {"group_id": "", "session_timeout_ms": 10_000, "protocol_type": "consumer"},
        "SaslHandshake": lambda _: {"mechanism": "PLAIN"},
        "SaslAuthenticate": lambda _: {"auth_bytes": b"x"},
        "DeleteTopics": lambda version: (
            {"timeout_ms": 5000, "topics": [{"name": "nobody"}]}
            if version >= 6
            else {"timeout_ms": 5000, "topic_names": ["nobody"]}
        ),
        "WriteTxnMarkers": lambda _: {
            "markers": [
                {
                    "producer_id": 4711,
                    "producer_epoch": 0,
                    "transaction_result": False,
                    "topics": [*topic_names, {"name": "nobody", "partition_indexes": [0]}],
                    "coordinator_epoch": 0,
                }
            ]
        },
        "DeleteAcls": lambda _: {
            "filters": [
                {
                    "resource_type_filter": 2,
                    "resource_name_filter": None,
                    "pattern_type_filter": 3,
                    "principal_filter": None,
                    "host_filter": None,
                    "operation": 1,
                    "permission_type": 3,
                }
            ]
        },
        "AlterReplicaLogDirs": lambda _: {
            "dirs": [{"path": "/nowhere", "topics": [{"name": TOPIC, "partitions": [0]}]}]
        },
        "CreatePartitions": lambda _: {
            "topics": [{"name": "nobody", "count": 2, "assignments": None}],
            "timeout_ms": 5000,
        },
        "CreateDelegationToken": lambda _: {"renewers": [], "max_lifetime_ms": -1},
        "RenewDelegationToken": lambda _: {"hmac": b"x", "renew_period_ms": -1},
        "ExpireDelegationToken": lambda _: {"hmac": b"x", "expiry_time_period_ms": -1},
        "DescribeDelegationToken": lambda _: {"owners": None},
        "ElectLeaders": lambda _: {
            "topic_partitions": [{"topic": "nobody", "partitions": [0]}],
            "timeout_ms": 5000,
        },
        "IncrementalAlterConfigs": lambda _: {
            "resources": [{"resource_type": 2, "resource_name": "nobody", "configs": []}]
        },
        "AlterPartitionReassignments": lambda _: {
            "timeout_ms": 5000,
            "topics": [{"name": "nobody", "partitions": [{"partition_index": 0, "replicas": [1]}]}],
        },
        "DescribeClientQuotas": lambda _: {
            "components": [{"entity_type": "user", "match_type": 0, "match": "nobody"}],
            "strict": True,
        },
        "AlterClientQuotas": lambda _: {
            "entries": [
                {
                    "entity": [{"entity_type": "user", "entity_name": "nobody"}],
                    "ops": [{"key": "nothing", "value": 1.0, "remove": False}],
                }
            ],
            "validate_only": True,
        },
        "ListTransactions": lambda _: {"state_filters": ["Ongoing"], "producer_id_filters": [4711]},
        "ConsumerGroupHeartbeat": lambda _: {"group_id": "", "member_id": "m", "member_epoch": 0},
        "ListConfigResources": lambda version: {"resource_types": [16]} if version >= 1 else {},
        "AddRaftVoter": _voter,
        "RemoveRaftVoter": lambda _: {
            "cluster_id": "another",
            "voter_id": 9,
            "voter_directory_id": b"\x01" * 16,
        },
        "StreamsGroupHeartbeat": lambda _: {"group_id": GROUP, "member_id": "m", "member_epoch": 0},
        "StreamsGroupDescribe": lambda _: {"group_ids": [GROUP]},
    }


def _voter(_version: int) -> dict[str, Any]:
    listeners = [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 1}]
    return {
        "cluster_id": "another",
        "timeout_ms": 1000,
        "voter_id": 9,
        "voter_directory_id": b"\x01" * 16,
        "listeners": listeners,
    }

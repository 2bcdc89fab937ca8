"""ApiVersions, unknown versions, Metadata, DescribeCluster, DescribeTopicPartitions."""

import struct
from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "described"


def ask_all(asker: Asker) -> None:
    _versions(asker)
    topic_id = make_topic(asker, TOPIC, 2)
    _metadata(asker, topic_id)
    _cluster(asker)
    _topic_partitions(asker)


def _versions(asker: Asker) -> None:
    for version in range(5):
        software = {"client_software_name": "asker", "client_software_version": "1"} if version >= 3 else {}
        answer = asker.quietly("ApiVersions", version, **software)
        for each in answer["api_keys"]:
            asker.note(f"ApiVersions v{version} of {each['api_key']}", each)
        for kind in ("supported", "finalized"):
            for each in answer[f"{kind}_features"]:
                asker.note(f"ApiVersions v{version} {kind} {each['name']}", each)
    asker.ask("without a name", "ApiVersions", 3)
    asker.ask("with a bad name", "ApiVersions", 3, client_software_name="-", client_software_version="1")
    for api_key, version in ((999, 0), (3, 99), (1, 3), (0, 2), (0, 99), (11, 99), (2, 0)):
        asker.raw(f"API {api_key} in version {version}", struct.pack(">hhih", api_key, version, 7, -1))


def _metadata(asker: Asker, topic_id: bytes) -> None:
    asked: dict[str, list[dict[str, Any]]] = {
        "one": [{"name": TOPIC}],
        "twice": [{"name": TOPIC}, {"name": TOPIC}],
        "unknown": [{"name": "nobody"}],
        "bad name": [{"name": "a b"}],
        "empty name": [{"name": ""}],
        "two dots": [{"name": ".."}],
        "long name": [{"name": "x" * 250}],
    }
    for label, topics in asked.items():
        for version in (4, 7, 8, 9, 10, 12, 13):
            asker.ask(label, "Metadata", version, topics=topics, allow_auto_topic_creation=False)
    for version in (1, 5, 13):
        asker.ask("none", "Metadata", version, topics=[])
    for version in (0, 3):
        asker.ask("bad name", "Metadata", version, topics=[{"name": "a b"}])
    for version in (12, 13):
        asker.ask("by id", "Metadata", version, topics=[{"name": None, "topic_id": topic_id}])
        asker.ask("by unknown id", "Metadata", version, topics=[{"name": None, "topic_id": b"\x09" * 16}])
        asker.ask(
            "by both", "Metadata", version, topics=[{"name": None, "topic_id": topic_id}, {"name": TOPIC}]
        )
        permitted = {"topics": [{"name": TOPIC}], "include_topic_authorized_operations": True}
        asker.ask("with operations", "Metadata", version, **permitted)


def _cluster(asker: Asker) -> None:
    asker.ask("with operations", "DescribeCluster", 0, include_cluster_authorized_operations=True)
    for version in (1, 2):
        for endpoint_type in (1, 2, 9):
            asker.ask(f"endpoints {endpoint_type}", "DescribeCluster", version, endpoint_type=endpoint_type)


def _topic_partitions(asker: Asker) -> None:
    def ask(label: str, name: str, limit: int, cursor: tuple[str, int] | None = None) -> None:
        at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
        asker.ask(
            label,
            "DescribeTopicPartitions",
            0,
            topics=[{"name": name}],
            response_partition_limit=limit,
            cursor=at,
        )

    ask("all", TOPIC, 10)
    ask("one", TOPIC, 1)
    ask("none", TOPIC, 0)
    ask("from a cursor", TOPIC, 2, (TOPIC, 1))
    ask("from a bad cursor", TOPIC, 2, (TOPIC, -1))
    ask("from a cursor behind", TOPIC, 2, ("zzz", 0))
    ask("unknown", "nobody", 2)
    ask("bad name", "a b", 2)

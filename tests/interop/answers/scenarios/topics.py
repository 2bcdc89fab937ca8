"""CreateTopics, CreatePartitions, DeleteTopics: successes and refusals."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import make_topic

TOPIC = "made"
_OURS = ("retention.segments", "segment.records")


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC, 2)
    _creations(asker)
    _partitions(asker)
    _deletions(asker, topic_id)


def _assigned(*replicas: list[int], first: int = 0) -> dict[str, Any]:
    assignments = [
        {"partition_index": first + number, "broker_ids": each} for number, each in enumerate(replicas)
    ]
    return {"num_partitions": -1, "replication_factor": -1, "assignments": assignments}


def _with(**configs: str | None) -> dict[str, Any]:
    return {"configs": [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]}


def _creations(asker: Asker) -> None:
    asked: dict[str, dict[str, Any]] = {
        "good": {},
        "exists": {"name": TOPIC},
        "no name": {"name": ""},
        "bad name": {"name": "a b"},
        "dot": {"name": "."},
        "name of 250": {"name": "x" * 250},
        "no partition": {"num_partitions": 0},
        "-2 partitions": {"num_partitions": -2},
        "defaults": {"num_partitions": -1, "replication_factor": -1},
        "100000 partitions": {"num_partitions": 100_000},
        "no replica": {"replication_factor": 0},
        "-2 replicas": {"replication_factor": -2},
        "two replicas": {"replication_factor": 2},
        "assigned": _assigned([1]),
        "assigned and counted": {**_assigned([1]), "num_partitions": 1},
        "assigned to nobody": _assigned([7]),
        "assigned twice": _assigned([1, 1]),
        "assigned with a gap": _assigned([1], first=1),
        "assigned to none": _assigned([]),
        "assigned unevenly": _assigned([1], [1, 7]),
        "good setting": _with(retention_ms="1000"),
        "padded setting": _with(retention_ms=" 1000 "),
        "two policies": _with(cleanup_policy="compact,delete"),
        "no policy": _with(cleanup_policy=""),
        "unknown setting": _with(nothing="1"),
        "no value": _with(retention_ms=None),
        "empty value": _with(retention_ms=""),
        "not a number": _with(retention_ms="abc"),
        "too low": _with(retention_ms="-5"),
        "too large": _with(segment_bytes="99999999999"),
        "not a choice": _with(compression_type="zip"),
        "not of the list": _with(cleanup_policy="zip"),
        "not a boolean": _with(preallocate="maybe"),
        "not a share": _with(min_cleanable_dirty_ratio="2"),
        "bad level": _with(compression_gzip_level="99"),
        "bad throttle": _with(leader_replication_throttled_replicas="x"),
        "remote": _with(remote_storage_enable="true"),
        "lags crossed": _with(min_compaction_lag_ms="100", max_compaction_lag_ms="10"),
    }
    for number, (label, changes) in enumerate(asked.items()):
        for validate_only in (True, False):
            topic = {"name": f"creation-{number}", "num_partitions": 1, "replication_factor": 1, **changes}
            _create(asker, f"{label}, validate {validate_only}", 7, [topic], validate_only=validate_only)
    for version in range(2, 7):
        topic = {"name": f"creation-v{version}", "num_partitions": 1, "replication_factor": 1}
        _create(asker, "good", version, [topic])
        _create(asker, "exists", version, [topic])
    twice = {"name": "creation-twice", "num_partitions": 1, "replication_factor": 1}
    _create(asker, "twice", 7, [twice, twice, {**twice, "name": "creation-once"}])
    _create(asker, "none", 7, [])
    _create(asker, "collision.1", 7, [{**twice, "name": "collision.1"}])
    _create(asker, "collision_1", 7, [{**twice, "name": "collision_1"}])


def _create(asker: Asker, label: str, version: int, topics: list[dict[str, Any]], **more: Any) -> None:
    answer = asker.quietly("CreateTopics", version, timeout_ms=10_000, topics=topics, **more)
    for topic in answer["topics"]:
        topic["configs"] = [
            each
            for each in topic["configs"] or ()
            if each["name"] not in _OURS and each["name"] != "flush.messages"  # see the test of configs
        ]
    asker.note(f"CreateTopics v{version} {label}", answer)


def _partitions(asker: Asker) -> None:
    def ask(label: str, count: int, name: str = TOPIC, version: int = 3, **more: Any) -> None:
        only = more.pop("validate_only", False)
        topic = {"name": name, "count": count, "assignments": None, **more}
        asker.ask(label, "CreatePartitions", version, topics=[topic], timeout_ms=10_000, validate_only=only)

    for version in (0, 1, 3):
        for count in (-1, 0, 1, 2):
            ask(f"{count}", count, version=version)
        ask("unknown", 3, "nobody", version)
        ask("validated", 3, version=version, validate_only=True)
    ask("too few", 4, assignments=[{"broker_ids": [1]}])
    ask("too many", 3, assignments=[{"broker_ids": [1]}, {"broker_ids": [1]}])
    ask("to nobody", 3, assignments=[{"broker_ids": [9]}])
    ask("twice", 3, assignments=[{"broker_ids": [1, 1]}])
    ask("to none", 3, assignments=[{"broker_ids": []}])
    ask("to more replicas", 3, assignments=[{"broker_ids": [1, 9]}])
    ask("assigned", 3, assignments=[{"broker_ids": [1]}])
    same = {"name": TOPIC, "count": 5, "assignments": None}
    asker.ask("named twice", "CreatePartitions", 3, topics=[same, same], timeout_ms=10_000)


def _deletions(asker: Asker, topic_id: bytes) -> None:
    def ask(label: str, *topics: dict[str, Any]) -> None:
        asker.ask(label, "DeleteTopics", 6, timeout_ms=10_000, topics=list(topics))

    by_name, by_id = {"name": TOPIC}, {"name": None, "topic_id": topic_id}
    for version in (1, 3, 5):
        for label, names in (("unknown", ["nobody"]), ("bad", ["a b"]), ("twice", [TOPIC, TOPIC])):
            asker.ask(label, "DeleteTopics", version, timeout_ms=10_000, topic_names=names)
        asker.ask(
            "good", "DeleteTopics", version, timeout_ms=10_000, topic_names=[f"creation-v{version + 1}"]
        )
    ask("unknown", {"name": "nobody"})
    ask("unknown id", {"name": None, "topic_id": b"\x06" * 16})
    ask("name with id", {"name": TOPIC, "topic_id": topic_id})
    ask("neither", {"name": None})
    ask("by name and by id", by_name, by_id)
    ask("twice by name", by_name, by_name)
    ask("twice by id", by_id, by_id)
    ask("none")
    ask("by id", by_id)
    ask("when gone", by_name)

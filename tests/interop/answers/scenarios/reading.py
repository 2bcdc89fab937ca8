"""ListOffsets, OffsetForLeaderEpoch, Fetch with and without sessions, DeleteRecords."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import FIRST_MS, fill, make_topic

TOPIC = "read"
_OFFSETS = range(1, 12)
_FETCHES = (4, 6, 7, 9, 11, 12, 13, 17)


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC, 2)
    fill(asker, TOPIC)
    _offsets(asker)
    _epochs(asker)
    _fetches(asker, topic_id)
    _sessions(asker, topic_id)
    _deletions(asker)


def _offsets(asker: Asker) -> None:
    def ask(label: str, version: int, timestamp: int = -1, **wanted: Any) -> None:
        part = {"partition_index": wanted.get("partition", 0), "timestamp": timestamp}
        if "epoch" in wanted:
            part["current_leader_epoch"] = wanted["epoch"]
        fields: dict[str, Any] = {"replica_id": wanted.get("replica", -1)}
        if version >= 2:
            fields["isolation_level"] = wanted.get("isolation", 0)
        topics = [{"name": wanted.get("topic", TOPIC), "partitions": [part]}]
        asker.ask(label, "ListOffsets", version, topics=topics, **fields)

    for version in _OFFSETS:
        for special in range(-1, -8, -1):
            ask(f"of {special}", version, special)
        for since in (0, 5, 90, 91):
            ask(f"since {since}", version, FIRST_MS + since)
        ask("unknown partition", version, partition=9)
        ask("unknown topic", version, topic="nobody")
    for version in (4, 7, 10):
        for epoch in (-1, 0, 1, 5):
            ask(f"in epoch {epoch}", version, epoch=epoch)
    ask("committed", 7, isolation=1)
    ask("partition -1", 7, partition=-1)
    ask("bad name", 7, topic="a b")
    ask("empty partition", 7, FIRST_MS, partition=1)
    ask("empty partition of -3", 7, -3, partition=1)
    for replica in (-2, -3, 0, 1, 5):
        ask(f"by replica {replica}", 7, replica=replica)
    asker.ask("nothing", "ListOffsets", 7, replica_id=-1, topics=[])


def _epochs(asker: Asker) -> None:
    def ask(label: str, version: int, topic: str, **part: int) -> None:
        replica = {"replica_id": -1} if version >= 3 else {}
        topics = [{"topic": topic, "partitions": [part]}]
        asker.ask(label, "OffsetForLeaderEpoch", version, topics=topics, **replica)

    for version in (2, 3, 4):
        for epoch in (-5, -1, 0, 1, 5):
            for current in (-1, 0, 1):
                label = f"{epoch} when {current}"
                ask(label, version, TOPIC, partition=0, current_leader_epoch=current, leader_epoch=epoch)
    ask("unknown partition", 4, TOPIC, partition=9)
    ask("unknown topic", 4, "nobody", partition=0)


def _fetch(version: int, topic_id: bytes, **wanted: Any) -> dict[str, Any]:
    part: dict[str, Any] = {
        "partition": wanted.get("partition", 0),
        "fetch_offset": wanted.get("offset", 0),
        "partition_max_bytes": wanted.get("partition_max_bytes", 1 << 20),
    }
    if version >= 9:
        part["current_leader_epoch"] = wanted.get("epoch", -1)
    if version >= 12:
        part["last_fetched_epoch"] = wanted.get("last_fetched_epoch", -1)
    topic = {"topic_id": topic_id} if version >= 13 else {"topic": wanted.get("topic", TOPIC)}
    fields: dict[str, Any] = {
        "max_wait_ms": wanted.get("max_wait_ms", 0),
        "min_bytes": wanted.get("min_bytes", 0),
        "max_bytes": wanted.get("max_bytes", 1 << 20),
        "isolation_level": wanted.get("isolation", 0),
        "topics": [] if wanted.get("nothing") else [{**topic, "partitions": [part]}],
    }
    if version >= 7:
        fields["session_id"] = wanted.get("session", 0)
        fields["session_epoch"] = wanted.get("session_epoch", -1)
    return fields


def _fetches(asker: Asker, topic_id: bytes) -> None:
    asked: dict[str, dict[str, Any]] = {
        "all": {},
        "from the middle": {"offset": 5},
        "from the end": {"offset": 10},
        "behind the end": {"offset": 11},
        "from -1": {"offset": -1},
        "unknown partition": {"partition": 9},
        "partition -1": {"partition": -1},
        "epoch 0": {"epoch": 0},
        "epoch 1": {"epoch": 1},
        "committed": {"isolation": 1},
        "no bytes": {"max_bytes": 0},
        "no bytes of a partition": {"partition_max_bytes": 0},
        "after epoch 0": {"last_fetched_epoch": 0},
        "after epoch 1": {"last_fetched_epoch": 1},
        "at least -1": {"min_bytes": -1},
    }
    for label, wanted in asked.items():
        for version in _FETCHES:
            asker.ask(label, "Fetch", version, **_fetch(version, topic_id, **wanted))
    for version in (4, 11, 12):
        asker.ask("unknown topic", "Fetch", version, **_fetch(version, b"", topic="nobody"))
    for version in (13, 17):
        asker.ask("unknown id", "Fetch", version, **_fetch(version, b"\x07" * 16))
        asker.ask("no id", "Fetch", version, **_fetch(version, bytes(16)))
    asker.ask("nothing", "Fetch", 12, max_wait_ms=0, min_bytes=0, max_bytes=100, topics=[])


def _sessions(asker: Asker, topic_id: bytes) -> None:
    for version in (7, 12, 17):

        def ask(label: str, version: int = version, **wanted: Any) -> Any:
            return asker.ask(label, "Fetch", version, **_fetch(version, topic_id, **wanted))

        ask("unknown session", session=12345, session_epoch=1)
        ask("end of an unknown session", session=12345, session_epoch=-1)
        session = ask("new session", session_epoch=0)["session_id"]
        ask("next of a session", session=session, session_epoch=1, nothing=True)
        ask("bad epoch of a session", session=session, session_epoch=5, nothing=True)
        ask("one more in a session", session=session, session_epoch=2, partition=1)
        ask("an error in a session", session=session, session_epoch=3, partition=9)
        ask("end of a session", session=session, session_epoch=-1, nothing=True)
        ask("ended session", session=session, session_epoch=4, nothing=True)


def _deletions(asker: Asker) -> None:
    topic = "trimmed"
    make_topic(asker, topic)
    fill(asker, topic)

    def ask(label: str, version: int, name: str, partition: int, offset: int) -> None:
        topics = [{"name": name, "partitions": [{"partition_index": partition, "offset": offset}]}]
        asker.ask(label, "DeleteRecords", version, timeout_ms=5000, topics=topics)

    for version in (0, 1, 2):
        for offset in (-5, -2, 11, 0, 3 + version, 2):
            ask(f"to {offset}", version, topic, 0, offset)
    ask("unknown partition", 2, topic, 9, 0)
    ask("unknown topic", 2, "nobody", 0, 0)
    ask("to the end", 2, topic, 0, -1)
    make_topic(asker, "compacted", cleanup_policy="compact")
    ask("compacted", 2, "compacted", 0, 0)
    for special in (-1, -2, -4):
        part = {"partition_index": 0, "timestamp": special}
        topics = [{"name": topic, "partitions": [part]}]
        asker.ask(f"of {special} when trimmed", "ListOffsets", 8, replica_id=-1, topics=topics)

"""The start offsets of share groups as operators see and change them, and the state behind them as brokers do."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import fill, make_topic
from tests.interop.answers.scenarios.share_common import (
    MEMBER,
    await_coordinators,
    configure,
    heartbeat,
    join,
)

TOPIC = "share-kept"
_UNKNOWN_ID = b"\x07" * 16


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC, 2, retention_ms="-1")
    await_coordinators(asker, topic_id)
    fill(asker, TOPIC)
    _state(asker, topic_id)
    _offsets(asker, topic_id)


class _Coordinator:
    """The share coordinator as brokers use it, about one partition."""

    def __init__(self, asker: Asker, group: str, topic_id: bytes, about: str) -> None:
        self._asker = asker
        self._group = group
        self._topic_id = topic_id
        self._about = about

    def ask(self, label: str, api: str, version: int = 0, partition: int = 0, **fields: Any) -> None:
        topics = [{"topic_id": self._topic_id, "partitions": [{"partition": partition, **fields}]}]
        whole = {"group_id": self._group, "topics": topics}
        self._asker.ask(f"{label}, {self._about}", api, version, **whole)

    def initialize(self, label: str, state_epoch: int, start_offset: int, partition: int = 0) -> None:
        fields = {"state_epoch": state_epoch, "start_offset": start_offset}
        self.ask(label, "InitializeShareGroupState", partition=partition, **fields)

    def read(self, label: str, leader_epoch: int, partition: int = 0) -> None:
        self.ask(label, "ReadShareGroupState", partition=partition, leader_epoch=leader_epoch)

    def summarize(self, label: str) -> None:
        for version in (0, 1):
            self.ask(label, "ReadShareGroupStateSummary", version, leader_epoch=0)

    def write(self, label: str, version: int = 1, **changes: Any) -> None:
        batch = {"first_offset": 3, "last_offset": 5, "delivery_state": 2, "delivery_count": 1}
        fields = {"state_epoch": 1, "leader_epoch": 0, "start_offset": 3, "state_batches": [batch]}
        self.ask(label, "WriteShareGroupState", version, **{**fields, **changes})

    def delete(self, label: str) -> None:
        self.ask(label, "DeleteShareGroupState")


def _state(asker: Asker, topic_id: bytes) -> None:
    for about, group, topic in (
        ("known topic", "kept", topic_id), ("unknown topic", "kept", _UNKNOWN_ID), ("unnamed group", "", topic_id),
    ):  # fmt: skip
        coordinator = _Coordinator(asker, group, topic, about)
        coordinator.read("before", 0)
        coordinator.summarize("before")
        coordinator.write("before")
        coordinator.delete("before")
        coordinator.initialize("first", 1, 2)
    coordinator = _Coordinator(asker, "kept", topic_id, "known topic")
    coordinator.initialize("again", 1, 7)
    coordinator.initialize("of an older epoch", 0, 7)
    coordinator.initialize("partition 9", 1, 2, partition=9)
    coordinator.initialize("partition -1", 1, 2, partition=-1)
    coordinator.read("initialized", 0)
    coordinator.summarize("initialized")
    coordinator.write("good", 0)
    coordinator.write("counted", delivery_complete_count=3)
    coordinator.write("of an older state", state_epoch=0)
    coordinator.write("of an unknown state", state_epoch=5)
    coordinator.write("of an older leader", leader_epoch=-1)
    coordinator.write("of a newer leader", leader_epoch=3)
    over = [
        {"first_offset": 4, "last_offset": 8, "delivery_state": 0, "delivery_count": 2},
        {"first_offset": 9, "last_offset": 9, "delivery_state": 4, "delivery_count": 1},
    ]
    coordinator.write("over each other", leader_epoch=3, start_offset=-1, state_batches=over)
    coordinator.read("by an older leader", 1)
    coordinator.read("written", 3)
    coordinator.read("partition -1", 3, partition=-1)
    coordinator.summarize("written")
    coordinator.write("moved on", leader_epoch=3, start_offset=10, state_batches=[])
    coordinator.read("moved on", 3)
    coordinator.delete("written")
    coordinator.delete("deleted")
    coordinator.read("deleted", 3)
    coordinator.summarize("deleted")
    for api in ("Initialize", "Read", "Write", "Delete"):
        asker.ask("no topics", f"{api}ShareGroupState", 0, group_id="kept", topics=[])
    asker.ask("no topics", "ReadShareGroupStateSummary", 1, group_id="kept", topics=[])


def _describe(asker: Asker, label: str, version: int, group: str, topics: Any) -> None:
    asker.ask(label, "DescribeShareGroupOffsets", version, groups=[{"group_id": group, "topics": topics}])


def _alter(asker: Asker, label: str, group: str, topic: str, partition: int, offset: int) -> None:
    part = {"partition_index": partition, "start_offset": offset}
    asker.ask(
        label, "AlterShareGroupOffsets", 0, group_id=group,
        topics=[{"topic_name": topic, "partitions": [part]}],
    )  # fmt: skip


def _offsets(asker: Asker, topic_id: bytes) -> None:
    group = "share offsets"
    configure(asker, group, share_auto_offset_reset="earliest")
    join(asker, group, TOPIC, partitions=2)
    _read_some(asker, group, topic_id)
    _alter(asker, "under a member", group, TOPIC, 0, 5)
    asker.ask("under a member", "DeleteShareGroupOffsets", 0, group_id=group, topics=[{"topic_name": TOPIC}])
    asked = {
        "all": None, "none": [], "one": [{"topic_name": TOPIC, "partitions": [0]}],
        "no partitions": [{"topic_name": TOPIC, "partitions": []}],
        "unknown topic": [{"topic_name": "nobody", "partitions": [0]}],
    }  # fmt: skip
    for version in (0, 1):
        for label, topics in asked.items():
            _describe(asker, f"{label} with a member", version, group, topics)
    heartbeat(asker, None, topics=None, group_id=group, member_epoch=-1)
    for version in (0, 1):
        _describe(asker, "all when left", version, group, None)
    for label, topic, partition, offset in (
        ("known", TOPIC, 0, 7), ("unknown topic", "nobody", 0, 7), ("unknown partition", TOPIC, 9, 7),
        ("offset -1", TOPIC, 0, -1), ("offset -5", TOPIC, 0, -5), ("offset 99", TOPIC, 1, 99),
    ):  # fmt: skip
        _alter(asker, label, group, topic, partition, offset)
        _describe(asker, f"all after {label}", 1, group, None)
    asker.ask("nothing", "AlterShareGroupOffsets", 0, group_id=group, topics=[])
    for label, names in (
        ("unknown topic", ["nobody"]), ("nothing", []), ("known", [TOPIC]), ("again", [TOPIC]),
    ):  # fmt: skip
        named = [{"topic_name": name} for name in names]
        asker.ask(label, "DeleteShareGroupOffsets", 0, group_id=group, topics=named)
        _describe(asker, f"all after deleting {label}", 1, group, None)
    _alter(asker, "deleted", group, TOPIC, 0, 4)
    asker.ask("of a share group without members", "DeleteGroups", 2, groups_names=[group])
    _describe(asker, "all of a deleted group", 1, group, None)


def _read_some(asker: Asker, group: str, topic_id: bytes) -> None:
    """Ten are read, and two of them accepted."""
    partition = {"partition_index": 0}
    session = {"group_id": group, "member_id": MEMBER}
    asker.quietly(
        "ShareFetch", 2, **session, share_session_epoch=0, max_wait_ms=5000, min_bytes=1, max_bytes=1_000_000,
        max_records=500, batch_size=500, topics=[{"topic_id": topic_id, "partitions": [partition]}],
    )  # fmt: skip
    accepted = {"first_offset": 0, "last_offset": 1, "acknowledge_types": [1]}
    asker.quietly(
        "ShareAcknowledge", 2, **session, share_session_epoch=1,
        topics=[{"topic_id": topic_id, "partitions": [{**partition, "acknowledgement_batches": [accepted]}]}],
    )  # fmt: skip

"""ShareFetch and ShareAcknowledge: sessions, acquired records, acknowledgements of every kind."""

from typing import Any

from tests.interop.answers.asking import Asker
from tests.interop.answers.scenarios.common import fill, make_topic
from tests.interop.answers.scenarios.share_common import MEMBER, OTHER, await_coordinators, configure, join

TOPIC = "share-read"
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
_UNKNOWN_ID = b"\x07" * 16
_VERSIONS = (1, 2)
_PATIENT_MS = 1000  # where records are to come, which they do as soon as there are any

Acks = list[tuple[int, int, list[int]]]


def ask_all(asker: Asker) -> None:
    topic_id = make_topic(asker, TOPIC, 2, retention_ms="-1")
    await_coordinators(asker, topic_id)
    for _ in range(2):
        fill(asker, TOPIC)
    for version in _VERSIONS:
        _sessions(asker, version, topic_id)
        _acknowledgements(asker, version, topic_id)
        _amounts(asker, version, topic_id)
    _renewals(asker, topic_id)
    _starts(asker, topic_id)
    _without_members(asker, topic_id)


class _Reader:
    """One session of one member. Its epoch grows with every request that was not refused as a whole."""

    def __init__(self, asker: Asker, group: str, version: int, topic_id: bytes, member: str = MEMBER) -> None:
        self.epoch = 0
        self._asker = asker
        self._group = group
        self._version = version
        self._topic_id = topic_id
        self._member = member

    def fetch(self, label: str, acks: Acks | None = None, **changes: Any) -> Any:
        partition = {"partition_index": 0, "acknowledgement_batches": _batches(acks)}
        topics = [{"topic_id": self._topic_id, "partitions": [partition]}]
        fields = {
            "max_wait_ms": 10, "min_bytes": 1, "max_bytes": 1_000_000, "max_records": 500, "batch_size": 500,
            "topics": topics,
        }  # fmt: skip
        return self._ask(label, "ShareFetch", {**fields, **changes})

    def acknowledge(self, label: str, acks: Acks | None = None, **changes: Any) -> Any:
        partition = {"partition_index": 0, "acknowledgement_batches": _batches(acks)}
        topics = [{"topic_id": self._topic_id, "partitions": [partition]}]
        return self._ask(label, "ShareAcknowledge", {"topics": topics, **changes})

    def _ask(self, label: str, api: str, fields: dict[str, Any]) -> Any:
        whole = {
            "group_id": self._group, "member_id": self._member, "share_session_epoch": self.epoch, **fields,
        }  # fmt: skip
        answer = self._asker.ask(f"{label} of {self._group}", api, self._version, **whole)
        if answer != "CLOSED" and answer["error_code"] == 0 and "share_session_epoch" not in fields:
            self.epoch += 1
        return answer


def _batches(acks: Acks | None) -> list[dict[str, Any]]:
    return [
        {"first_offset": first, "last_offset": last, "acknowledge_types": types}
        for first, last, types in acks or []
    ]


def _group(asker: Asker, name: str, **settings: str) -> str:
    configure(asker, name, **{"share_auto_offset_reset": "earliest", **settings})
    join(asker, name, TOPIC, partitions=2)
    return name


def _sessions(asker: Asker, version: int, topic_id: bytes) -> None:
    reader = _Reader(asker, _group(asker, f"share sessions {version}"), version, topic_id)
    for label, changes in (
        ("an unknown session", {"share_session_epoch": 5}), ("a session to end", {"share_session_epoch": -1}),
        ("epoch -5", {"share_session_epoch": -5}), ("no group", {"group_id": None}),
        ("an unnamed group", {"group_id": ""}),
        ("no member", {"member_id": None}), ("an unnamed member", {"member_id": ""}),
        ("a member's bad id", {"member_id": "m"}), ("a member's long id", {"member_id": "m" * 40}),
    ):  # fmt: skip
        fields: dict[str, Any] = {"share_session_epoch": 0, **changes}
        reader.fetch(label, topics=[], **fields)
        reader.acknowledge(label, [(0, 0, [ACCEPT])], **fields)
    reader.fetch("acknowledges at once", [(0, 0, [ACCEPT])])
    reader.fetch("first", max_wait_ms=_PATIENT_MS)
    reader.fetch("nothing more")
    reader.fetch("skips an epoch", share_session_epoch=reader.epoch + 1)
    reader.fetch("repeats an epoch", share_session_epoch=reader.epoch - 1)
    reader.acknowledge("skips an epoch", [(0, 0, [ACCEPT])], share_session_epoch=reader.epoch + 1)
    reader.acknowledge("another member", [(0, 0, [ACCEPT])], member_id=OTHER)
    reader.fetch("unlisted", topics=[])
    reader.fetch("unknown partition", topics=[{"topic_id": topic_id, "partitions": [{"partition_index": 9}]}])
    twice = [{"topic_id": topic_id, "partitions": [{"partition_index": 1}, {"partition_index": 1}]}]
    reader.fetch("a partition twice", topics=twice, max_wait_ms=300)
    forgotten = [
        {"topic_id": topic_id, "partitions": [0, 1, 9]},
        {"topic_id": _UNKNOWN_ID, "partitions": [0]},
    ]
    reader.fetch("forgets", topics=[], forgotten_topics_data=forgotten)
    reader.acknowledge("forgotten", [(0, 1, [ACCEPT])])
    reader.fetch("listed again")
    reader.acknowledge("ends", [(2, 2, [ACCEPT])], share_session_epoch=-1)
    reader.acknowledge("ends again", [(3, 3, [ACCEPT])], share_session_epoch=-1)
    reader.epoch = 0
    reader.fetch("begins again", topics=[])
    reader.fetch("goes on", max_wait_ms=_PATIENT_MS)
    reader.fetch("begins over", share_session_epoch=0)
    reader.epoch = 1
    reader.fetch("ends by fetching", share_session_epoch=-1)
    reader.fetch("ends by fetching nothing", [(2, 3, [ACCEPT])], share_session_epoch=-1)
    reader.epoch = 0
    reader.fetch("what is left", max_wait_ms=_PATIENT_MS)
    unknown = _Reader(asker, f"share sessions {version}", version, _UNKNOWN_ID, OTHER)
    unknown.fetch("unknown topic")


def _acknowledgements(asker: Asker, version: int, topic_id: bytes) -> None:
    group = _group(asker, f"share acknowledgements {version}")
    reader = _Reader(asker, group, version, topic_id)
    other = _Reader(asker, group, version, topic_id, OTHER)
    reader.fetch("first", max_wait_ms=_PATIENT_MS)
    other.fetch("the other's first")
    bad: dict[str, Acks] = {
        "no batch": [],
        "no type": [(0, 0, [])],
        "type 9": [(0, 0, [9])],
        "type -1": [(0, 0, [-1])],
        "renewed": [(0, 0, [RENEW])],
        "two types for three": [(0, 2, [ACCEPT, REJECT])],
        "first after last": [(3, 2, [ACCEPT])],
        "negative": [(-3, -2, [ACCEPT])],
        "overlapping": [(0, 2, [ACCEPT]), (2, 3, [ACCEPT])],
        "backwards": [(4, 5, [ACCEPT]), (0, 1, [ACCEPT])],
        "past the end": [(50, 60, [ACCEPT])],
        "over the end": [(18, 25, [ACCEPT])],
        "good and bad": [(8, 8, [ACCEPT]), (50, 60, [ACCEPT])],
    }
    for label, acks in bad.items():
        reader.acknowledge(label, acks)
    for label, acks in bad.items():
        if label != "no batch":
            reader.fetch(f"fetching, {label}", acks)
    other.acknowledge("another's", [(0, 0, [ACCEPT])])
    unknown = {"partition_index": 0, "acknowledgement_batches": _batches([(0, 0, [ACCEPT])])}
    reader.acknowledge("unknown topic", topics=[{"topic_id": _UNKNOWN_ID, "partitions": [unknown]}])
    nine = {**unknown, "partition_index": 9}
    reader.acknowledge("unknown partition", topics=[{"topic_id": topic_id, "partitions": [nine]}])
    one = {**unknown, "partition_index": 1}
    reader.acknowledge("a partition without records", topics=[{"topic_id": topic_id, "partitions": [one]}])
    reader.acknowledge("nothing", topics=[])
    reader.acknowledge("accepts", [(0, 1, [ACCEPT])])
    reader.acknowledge("accepts again", [(0, 1, [ACCEPT])])
    reader.acknowledge("releases", [(2, 3, [RELEASE]), (7, 7, [RELEASE])])
    reader.acknowledge("each otherwise", [(4, 6, [ACCEPT, RELEASE, REJECT])])
    reader.acknowledge("a gap", [(8, 9, [0])])
    other.fetch("the other's second", max_wait_ms=_PATIENT_MS)
    other.fetch(
        "the other accepts and reads on",
        [(2, 3, [ACCEPT]), (5, 5, [ACCEPT]), (7, 7, [RELEASE])],
        max_wait_ms=_PATIENT_MS,
    )
    reader.acknowledge("ends", share_session_epoch=-1)
    other.fetch("the other's last", max_wait_ms=_PATIENT_MS)


def _amounts(asker: Asker, version: int, topic_id: bytes) -> None:
    reader = _Reader(asker, _group(asker, f"share amounts {version}"), version, topic_id)
    for label, changes in (
        ("no records", {"max_records": 0}), ("-1 records", {"max_records": -1}), ("no bytes", {"max_bytes": 0}),
    ):  # fmt: skip
        reader.fetch(label, None, **changes)
        _given_back(reader, label)
    reader.fetch("3 records", max_wait_ms=_PATIENT_MS, max_records=3)
    _given_back(reader, "3 records")
    reader.fetch("batches of 4", max_wait_ms=_PATIENT_MS, batch_size=4)
    _given_back(reader, "batches of 4")
    if version >= 2:
        reader.fetch("3 records and no more", max_records=3, share_acquire_mode=1, max_wait_ms=_PATIENT_MS)
        reader.fetch(
            "2 records and no more",
            max_records=2,
            batch_size=1,
            share_acquire_mode=1,
            max_wait_ms=_PATIENT_MS,
        )
        reader.fetch("mode 7", share_acquire_mode=7)


def _given_back(reader: _Reader, label: str) -> None:
    reader.acknowledge(f"gives back {label}", [(0, 9, [RELEASE])])


def _renewals(asker: Asker, topic_id: bytes) -> None:
    reader = _Reader(asker, _group(asker, "share renewals"), 2, topic_id)
    reader.fetch("first", max_wait_ms=_PATIENT_MS)
    reader.acknowledge("renews", [(0, 4, [RENEW])], is_renew_ack=True)
    reader.acknowledge("renews and accepts", [(0, 1, [RENEW, ACCEPT])], is_renew_ack=True)
    reader.acknowledge("accepts as a renewal", [(2, 2, [ACCEPT])], is_renew_ack=True)
    reader.fetch("renews fetching", [(3, 3, [RENEW])], is_renew_ack=True)
    nothing: dict[str, Any] = {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 0,
        "max_records": 0,
        "batch_size": 0,
    }
    reader.fetch("renews fetching nothing", [(3, 3, [RENEW])], is_renew_ack=True, **nothing)
    reader.acknowledge("renews what is done", [(1, 1, [RENEW])], is_renew_ack=True)


def _starts(asker: Asker, topic_id: bytes) -> None:
    for label, start in (
        ("latest", "latest"), ("a day", "by_duration:P1D"), ("long", "by_duration:P9999D"),
    ):  # fmt: skip
        group = _group(asker, f"share from {label}", share_auto_offset_reset=start)
        _Reader(asker, group, 2, topic_id).fetch("first", max_wait_ms=300)
    topics = [{"topic_name": TOPIC, "partitions": [0]}]
    for label in ("latest", "a day", "long"):
        asker.ask(
            f"from {label}", "DescribeShareGroupOffsets", 1,
            groups=[{"group_id": f"share from {label}", "topics": topics}],
        )  # fmt: skip


def _without_members(asker: Asker, topic_id: bytes) -> None:
    """A fetch is not checked for membership."""
    configure(asker, "share strangers", share_auto_offset_reset="earliest")
    _Reader(asker, "share strangers", 2, topic_id).fetch("first", max_wait_ms=300)

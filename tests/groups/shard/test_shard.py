"""The state of a partition of the offsets topic: the same after a replay of its records as before."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cluster.coordination.change import Change
from penstock.groups.base.instant import Instant
from penstock.groups.classic.group import GroupSettings
from penstock.groups.classic.states import State
from penstock.groups.shard import shard as shard_module
from penstock.groups.shard.records import group_record
from penstock.groups.shard.shard import GroupShard
from penstock.groups.share import records as share_records
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, encode
from penstock.protocol.messages.group_metadata_record import GroupMetadataValue, MemberMetadata
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record
from penstock.protocol.wire import ZERO_UUID

DAY_MS = 24 * 3600 * 1000
RETENTION_MS = 7 * DAY_MS
SUBSCRIPTION = b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=["read"]), 0)


def at(ms: int) -> Instant:
    return Instant(float(ms), ms)


def new_shard() -> GroupShard:
    return GroupShard(GroupSettings())


def replayed(records: Sequence[NewRecord]) -> GroupShard:
    shard = new_shard()
    for offset, record in enumerate(records):
        shard.replay(Record(offset, record.timestamp, record.key, record.value, record.headers), -1)
    return shard


def made(*changes: Change) -> list[NewRecord]:
    """Make changes, and give their records."""
    records: list[NewRecord] = []
    for change in changes:
        records += change.records
        change.apply()
    return records


def commits(
    offsets: dict[tuple[str, str, int], int], at_ms: int = 0
) -> list[tuple[OffsetCommitKey, OffsetCommitValue]]:
    return [
        (
            OffsetCommitKey(group=group, topic=topic, partition=partition),
            OffsetCommitValue(offset=offset, commit_timestamp=at_ms),
        )
        for (group, topic, partition), offset in offsets.items()
    ]


def members(*member_ids: str) -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader=member_ids[0] if member_ids else None,
        current_state_timestamp=DAY_MS,
        members=[
            MemberMetadata(member_id=m, session_timeout=10_000, subscription=SUBSCRIPTION) for m in member_ids
        ],
    )


def shown(shard: GroupShard) -> tuple[object, object]:
    offsets = {
        (group, topic, partition): committed.value
        for group in shard.groups
        for topic, partitions in shard.offsets.topics(group)
        for partition, committed in partitions.items()
    }
    return offsets, {name: (g.state, g.record()) for name, g in shard.groups.items()}


OFFSETS = st.dictionaries(
    st.tuples(st.sampled_from("gh"), st.sampled_from("tu"), st.integers(0, 2)), st.integers(0, 99), max_size=4
)
ACTIONS = st.lists(
    st.one_of(
        OFFSETS.map(lambda offsets: ("commit", offsets)),
        st.sampled_from("tu").map(lambda topic: ("forget topic", topic)),
        st.sampled_from("gh").map(lambda group: ("delete group", group)),
        st.integers(0, 10).map(lambda days: ("days pass", days)),
    ),
    max_size=20,
)


@settings(deadline=None)
@given(ACTIONS)
def test_the_state_is_restored_from_the_log(actions: list[tuple[str, object]]) -> None:
    shard, written, now_ms = new_shard(), list[NewRecord](), 0
    for name, given_ in actions:
        if name == "commit":
            assert isinstance(given_, dict)
            written += made(shard.commit(commits(given_, now_ms), at(now_ms)))
        elif name == "forget topic":
            written += made(shard.delete_topic(str(given_), ZERO_UUID, at(now_ms)))
        elif name == "delete group":
            deleted = shard.delete_group(str(given_), at(now_ms))
            written += [] if isinstance(deleted, ErrorCode) else made(deleted)
        else:
            assert isinstance(given_, int)
            now_ms += given_ * DAY_MS
            written += made(*shard.expire(at(now_ms), RETENTION_MS))

    again = replayed(written)

    assert shown(again) == shown(shard)


def test_a_group_is_read_from_the_log_with_its_members() -> None:
    shard = replayed([group_record("g", members("a", "b"), 0)])

    group = shard.groups["g"]
    assert (group.state, group.generation, list(group.members)) == (State.STABLE, 3, ["a", "b"])
    assert group.subscribed_topics == frozenset({"read"})


def test_the_last_record_of_a_group_counts_and_a_tombstone_deletes_it() -> None:
    records = [group_record("g", members("a"), 0), group_record("g", members(), 0)]
    assert replayed(records).groups["g"].state is State.EMPTY

    assert replayed([*records, group_record("g", None, 0)]).groups == {}


def test_a_record_that_cannot_be_read_is_refused_and_changes_nothing() -> None:
    good = new_shard().commit(commits({("g", "t", 0): 7}), at(0)).records
    bad = [NewRecord(b"\x00\x01\x00"), NewRecord(b"\x00\x02\x00\x01g", b"\x00\x63")]

    shard = replayed([*good, NewRecord(None, b"x")])
    for each in bad:
        with pytest.raises(ProtocolError):
            shard.replay(Record(9, 0, each.key, each.value), -1)

    value = shard.offsets.get("g", "t", 0)
    assert value is not None
    assert value.offset == 7


def test_offsets_of_a_group_without_members_expire_one_by_one() -> None:
    shard = new_shard()
    shard.group_or_new("g")
    made(shard.commit(commits({("g", "t", 0): 1}, 0), at(0)))
    made(shard.commit(commits({("g", "t", 1): 1}, DAY_MS), at(DAY_MS)))

    assert made(*shard.expire(at(RETENTION_MS - 1), RETENTION_MS)) == []
    assert len(made(*shard.expire(at(RETENTION_MS), RETENTION_MS))) == 1

    assert shard.offsets.get("g", "t", 0) is None
    assert shard.offsets.get("g", "t", 1) is not None


def test_offsets_of_a_group_expire_from_the_time_it_became_empty() -> None:
    shard = replayed([group_record("g", members(), 0)])  # empty for a day already
    made(shard.commit(commits({("g", "t", 0): 1}, 0), at(0)))

    assert made(*shard.expire(at(DAY_MS + RETENTION_MS - 1), RETENTION_MS)) == []
    assert (
        len(made(*shard.expire(at(DAY_MS + RETENTION_MS), RETENTION_MS))) == 2
    )  # the offset, then the group


def test_a_group_with_members_keeps_the_offsets_of_subscribed_topics() -> None:
    shard = replayed([group_record("g", members("a"), 0)])
    made(shard.commit(commits({("g", "read", 0): 1, ("g", "formerly", 0): 1}, 0), at(0)))

    made(*shard.expire(at(10 * RETENTION_MS), RETENTION_MS))

    assert shard.offsets.get("g", "read", 0) is not None
    assert shard.offsets.get("g", "formerly", 0) is None
    assert "g" in shard.groups


def test_a_group_whose_subscriptions_cannot_be_read_keeps_all_its_offsets() -> None:
    value = GroupMetadataValue(
        protocol_type="consumer",
        protocol="range",
        members=[MemberMetadata(member_id="a", subscription=b"?")],
    )
    shard = replayed([group_record("g", value, 0)])
    made(shard.commit(commits({("g", "t", 0): 1}, 0), at(0)))

    assert made(*shard.expire(at(10 * RETENTION_MS), RETENTION_MS)) == []


def test_a_group_with_a_pending_join_does_not_expire() -> None:
    shard = new_shard()
    shard.group_or_new("g").pending_members["a"] = 1.0

    assert made(*shard.expire(at(10 * RETENTION_MS), RETENTION_MS)) == []
    assert "g" in shard.groups


def test_a_group_with_members_is_not_deleted() -> None:
    shard = replayed([group_record("g", members("a"), 0)])

    assert shard.delete_group("g", at(0)) is ErrorCode.NON_EMPTY_GROUP
    assert shard.delete_group("other", at(0)) is ErrorCode.GROUP_ID_NOT_FOUND


def new_share_group(shard: GroupShard) -> list[NewRecord]:
    """Make the share group "s" in a shard, in the next epoch; gives its records."""
    group = shard.new_share_group("s")
    group.bump_epoch(0)
    shard.shares["s"] = group
    return [share_records.encode(each, 0) for each in group.take_outbox()]


def test_the_epochs_of_a_recreated_share_group_are_above_those_of_the_deleted_one() -> None:
    shard = new_shard()
    records = new_share_group(shard)
    before = shard.shares["s"].epoch
    deletion = shard.delete_group("s", at(0))
    assert isinstance(deletion, Change)
    records += made(deletion)
    assert "s" not in shard.shares

    for another in (shard, replayed(records), replayed(records[-1:])):  # the last one is compacted
        again = new_share_group(another)
        assert another.shares["s"].epoch > before
        assert replayed(again).shares["s"].epoch == another.shares["s"].epoch


def test_the_remembered_epochs_of_deleted_share_groups_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shard_module, "_DELETED_SHARE_GROUPS_MAX", 2)
    shard = new_shard()
    for name in ("a", "b", "a", "c"):
        shard.shares[name] = shard.new_share_group(name)
        deletion = shard.delete_group(name, at(0))
        assert isinstance(deletion, Change)
        made(deletion)

    assert list(shard._deleted_share_epochs) == ["a", "c"]

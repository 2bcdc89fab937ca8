from penstock.groups.shard.offsets import CommittedOffsets
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.wire import ZERO_UUID

PRODUCER, OTHER = 9, 10


def key(topic: str = "t", partition: int = 0, group: str = "g") -> OffsetCommitKey:
    return OffsetCommitKey(group=group, topic=topic, partition=partition)


def value(offset: int) -> OffsetCommitValue:
    return OffsetCommitValue(offset=offset)


def test_the_last_commit_counts() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(1), 1)
    offsets.put(key(), value(2), 2)

    assert offsets.get("g", "t", 0) == value(2)
    assert offsets.get("g", "t", 1) is None
    assert offsets.get("other", "t", 0) is None


def test_removed_offsets_leave_no_state() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(1), 1)
    offsets.put(key(partition=1), value(1), 2)
    offsets.remove(key())
    assert offsets.has_any("g")

    offsets.remove(key(partition=1))
    offsets.remove(key(partition=1))

    assert not offsets.has_any("g")
    assert list(offsets.topics("g")) == []


def test_an_offset_of_an_open_transaction_is_invisible_and_makes_the_partition_unstable() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(1), 1)
    offsets.put(key(), value(2), 2, PRODUCER)

    assert offsets.get("g", "t", 0) == value(1)
    assert offsets.is_unstable("g", "t", 0)
    assert not offsets.is_unstable("g", "t", 1)


def test_a_committed_transactions_offsets_count() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(2), 2, PRODUCER)
    offsets.put(key(partition=1), value(3), 3, OTHER)

    offsets.end_transaction(PRODUCER, is_commit=True)

    assert offsets.get("g", "t", 0) == value(2)
    assert not offsets.is_unstable("g", "t", 0)
    assert offsets.is_unstable("g", "t", 1)


def test_the_offsets_of_an_aborted_transaction_are_dropped() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(2), 2, PRODUCER)

    offsets.end_transaction(PRODUCER, is_commit=False)

    assert offsets.get("g", "t", 0) is None
    assert not offsets.has_any("g")


def test_a_transaction_that_is_committed_late_does_not_hide_a_later_commit() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(2), 2, PRODUCER)
    offsets.put(key(), value(7), 3)

    offsets.end_transaction(PRODUCER, is_commit=True)

    assert offsets.get("g", "t", 0) == value(7)


def test_a_removed_offset_does_not_return_when_its_transaction_commits() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(2), 2, PRODUCER)
    offsets.remove(key())

    offsets.end_transaction(PRODUCER, is_commit=True)

    assert offsets.get("g", "t", 0) is None
    assert not offsets.has_any("g")


def test_committed_and_pending_offsets_are_found_by_group_and_by_topic() -> None:
    offsets = CommittedOffsets()
    offsets.put(key("t", 0), value(1), 1)
    offsets.put(key("t", 0), value(2), 2, PRODUCER)
    offsets.put(key("u", 1), value(3), 3, PRODUCER)
    offsets.put(key("t", 0, "h"), value(4), 4)

    assert offsets.keys_of("g") == [key("t", 0), key("u", 1)]
    assert offsets.keys_of_topic("t", ZERO_UUID) == [key("t", 0), key("t", 0, "h")]


def test_a_deleted_topic_keeps_the_offsets_of_another_topic_of_its_name() -> None:
    old, new = b"o" * 16, b"n" * 16
    offsets = CommittedOffsets()
    offsets.put(key("t", 0), OffsetCommitValue(offset=1, topic_id=old), 1)
    offsets.put(key("t", 1), OffsetCommitValue(offset=1, topic_id=new), 2)
    offsets.put(key("t", 2), OffsetCommitValue(offset=1), 3)
    offsets.put(key("t", 3), OffsetCommitValue(offset=1, topic_id=old), 4)
    offsets.put(key("t", 3), OffsetCommitValue(offset=2, topic_id=new), 5, PRODUCER)

    assert offsets.keys_of_topic("t", old) == [key("t", 0), key("t", 2)]


def test_an_unstable_offset_is_not_selected() -> None:
    offsets = CommittedOffsets()
    offsets.put(key("t", 0), value(1), 1)
    offsets.put(key("t", 1), value(1), 2)
    offsets.put(key("t", 1), value(2), 3, PRODUCER)

    assert offsets.select("g", lambda topic, _: topic == "t") == [key("t", 0)]


def test_offsets_of_transactions_that_may_have_ended_in_damaged_records_are_dropped() -> None:
    offsets = CommittedOffsets()
    offsets.put(key(), value(1), 1)
    offsets.put(key(), value(2), 2, PRODUCER)
    offsets.put(key(partition=1), value(3), 3, OTHER)
    offsets.drop_pending(lambda producer_id: producer_id == OTHER)
    offsets.end_transaction(PRODUCER, is_commit=True)
    offsets.end_transaction(OTHER, is_commit=True)

    assert (offsets.get("g", "t", 0), offsets.get("g", "t", 1)) == (value(1), value(3))

"""The state of one partition of `__share_group_state`, without a log: its records are in a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.coordination.change import Change
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.share_snapshot_record import ShareSnapshotValue
from penstock.protocol.messages.share_update_record import ShareUpdateValue
from penstock.protocol.records.builder import NewRecord
from penstock.protocol.records.record import Record
from penstock.share.state.records import Value, decode, encode
from penstock.share.state.shard import ShareStateShard, WriteContext
from penstock.share.state.values import (
    PersisterError,
    RecordState,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateBatch,
    StateUpdate,
)

TOPIC, OTHER = bytes([1] * 16), bytes([2] * 16)
KEY = SharePartitionKey("group", TOPIC, 0)
ACKNOWLEDGED, AVAILABLE = RecordState.ACKNOWLEDGED, RecordState.AVAILABLE
DONE = StateBatch(10, 14, ACKNOWLEDGED, 1)


class Scene:
    """A shard, the records that it wrote, and topics of two partitions each."""

    def __init__(self, updates_per_snapshot: int = 500) -> None:
        self.topics = {TOPIC: 2, OTHER: 2}
        self.log: list[NewRecord] = []
        self.now_ms = 1000
        self.payload_bytes_max = 1 << 20
        self.updates_per_snapshot = updates_per_snapshot
        self.shard = self.new_shard()

    def new_shard(self) -> ShareStateShard:
        return ShareStateShard(lambda topic_id: self.topics.get(topic_id, 0), self.updates_per_snapshot)

    @property
    def ctx(self) -> WriteContext:
        return WriteContext(self.now_ms, len(self.log), self.payload_bytes_max)

    def initialize(self, key: SharePartitionKey = KEY, *, epoch: int = 0, start: int = -1) -> None:
        self.make(self.shard.initialize(key, epoch, start, self.ctx))

    def make(self, change: Change | None) -> None:
        if change is not None:
            change.apply()
            self.log += change.records

    def read(self, leader_epoch: int, key: SharePartitionKey = KEY) -> ShareState:
        state, change = self.shard.read(key, leader_epoch, self.ctx)
        self.make(change)
        return state

    def write(
        self,
        *batches: StateBatch,
        key: SharePartitionKey = KEY,
        start: int = -1,
        leader_epoch: int = 0,
        epoch: int = 0,
        done: int = 0,
    ) -> None:
        update = StateUpdate(epoch, leader_epoch, start, done, batches)
        self.make(self.shard.write(key, update, self.ctx))

    def delete(self, key: SharePartitionKey = KEY) -> None:
        self.make(self.shard.delete(key, self.ctx))

    def value(self, number: int) -> Value:
        """A record of the log, decoded."""
        record = self.log[number]
        assert record.key is not None
        change = decode(record.key, record.value)
        assert change is not None
        return change[1]

    def kinds(self) -> list[str]:
        values = [self.value(number) for number in range(len(self.log))]
        return ["forget" if each is None else type(each).__name__ for each in values]

    def reload(self, first_offset: int = 0) -> None:
        """Begin anew with what the log has from an offset on."""
        self.shard = self.new_shard()
        for offset, record in enumerate(self.log):
            if offset >= first_offset:
                self.shard.replay(Record(offset, 0, record.key, record.value, ()), -1)


def refusal(code: ErrorCode) -> "pytest.RaisesExc[PersisterError]":
    return pytest.raises(PersisterError, check=lambda error: error.code is code)


def test_a_leader_reads_the_writes_of_the_previous_one() -> None:
    scene = Scene()
    scene.initialize(start=5)
    assert scene.read(0) == ShareState(0, 5)
    scene.write(DONE, start=10)
    scene.write(StateBatch(15, 15, AVAILABLE, 2))

    assert scene.read(1) == ShareState(0, 10, (DONE, StateBatch(15, 15, AVAILABLE, 2)))


def test_an_uninitialized_share_partition_is_neither_read_nor_written() -> None:
    scene = Scene()
    with refusal(ErrorCode.INVALID_REQUEST):
        scene.read(0)
    with refusal(ErrorCode.INVALID_REQUEST):
        scene.write(DONE)
    assert scene.shard.summary(KEY) == ShareSummary(0, 0, -1, -1)


def test_earlier_leaders_are_refused_after_a_new_one_has_read() -> None:
    scene = Scene()
    scene.initialize()
    scene.read(3)

    with refusal(ErrorCode.FENCED_LEADER_EPOCH):
        scene.write(DONE, leader_epoch=2)
    with refusal(ErrorCode.FENCED_LEADER_EPOCH):
        scene.read(2)
    scene.reload()
    with refusal(ErrorCode.FENCED_LEADER_EPOCH):
        scene.write(DONE, leader_epoch=2)
    scene.write(DONE, leader_epoch=3)


def test_a_leader_that_reads_again_writes_nothing() -> None:
    scene = Scene()
    scene.initialize()
    scene.read(3)
    written = len(scene.log)

    scene.read(3)

    assert len(scene.log) == written


def test_a_write_with_an_old_state_epoch_is_refused() -> None:
    scene = Scene()
    scene.initialize(epoch=1)
    scene.write(DONE, epoch=1)
    scene.initialize(epoch=2, start=0)

    with refusal(ErrorCode.FENCED_STATE_EPOCH):
        scene.write(DONE, epoch=1)
    with refusal(ErrorCode.FENCED_STATE_EPOCH):
        scene.initialize(epoch=1)
    assert scene.read(0) == ShareState(2, 0), "what was known of records is forgotten"


def test_a_former_leader_is_refused_after_another_initialization() -> None:
    scene = Scene()
    scene.initialize()
    scene.read(3)
    scene.initialize(epoch=1)

    with refusal(ErrorCode.FENCED_LEADER_EPOCH):
        scene.write(DONE, epoch=1, leader_epoch=2)
    assert scene.shard.summary(KEY).leader_epoch == 0, "nobody has read the new state"


def test_a_request_without_an_epoch_is_not_fenced() -> None:
    scene = Scene()
    scene.initialize(epoch=2)
    scene.read(3)
    scene.write(DONE, epoch=-1, leader_epoch=-1)
    scene.initialize(epoch=-1)

    assert scene.shard.summary(KEY).state_epoch == -1
    with refusal(ErrorCode.FENCED_STATE_EPOCH):
        scene.write(DONE, epoch=1, leader_epoch=3)


def test_a_read_registers_a_leader_and_a_write_does_not() -> None:
    scene = Scene()
    scene.initialize()
    scene.read(2)
    scene.write(DONE, leader_epoch=5)

    assert scene.shard.summary(KEY).leader_epoch == 2
    scene.write(DONE, leader_epoch=3)


@pytest.mark.parametrize("key", [KEY._replace(topic_id=bytes([9] * 16)), KEY._replace(partition=2)])
def test_a_partition_that_does_not_exist_is_refused(key: SharePartitionKey) -> None:
    scene = Scene()
    with refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        scene.initialize(key)
    with refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        scene.shard.summary(key)
    with refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        scene.delete(key)


def test_a_negative_partition_is_refused() -> None:
    with refusal(ErrorCode.INVALID_REQUEST):
        Scene().initialize(KEY._replace(partition=-1))


def test_the_summary_has_the_number_of_complete_records() -> None:
    scene = Scene()
    scene.initialize(epoch=4, start=5)
    assert scene.shard.summary(KEY) == ShareSummary(4, 0, 5, 0)
    scene.read(2)
    scene.write(DONE, epoch=4, leader_epoch=2, start=7, done=5)

    assert scene.shard.summary(KEY) == ShareSummary(4, 2, 7, 5)


def test_without_a_start_offset_the_number_of_complete_records_is_unknown() -> None:
    scene = Scene()
    scene.initialize()

    assert scene.shard.summary(KEY) == ShareSummary(0, 0, -1, -1)


def test_a_deleted_state_stays_deleted_after_a_restart() -> None:
    scene = Scene()
    scene.initialize()
    scene.delete()
    scene.delete()
    scene.reload()

    assert scene.kinds() == ["ShareSnapshotValue", "forget"]
    with refusal(ErrorCode.INVALID_REQUEST):
        scene.read(0)


def test_a_snapshot_with_the_whole_state_is_written_after_enough_updates() -> None:
    scene = Scene(updates_per_snapshot=2)
    scene.initialize()
    for offset in range(5):
        scene.write(StateBatch(offset * 2, offset * 2, ACKNOWLEDGED, 1))

    snapshot, update = "ShareSnapshotValue", "ShareUpdateValue"
    assert scene.kinds() == [snapshot, update, update, snapshot, update, update]
    before = scene.read(0)
    scene.reload(first_offset=3)
    assert scene.read(0) == before
    assert len(before.batches) == 5


@pytest.mark.parametrize("updates_per_snapshot", [0, 500])
def test_records_before_the_start_offset_are_removed(updates_per_snapshot: int) -> None:
    scene = Scene(updates_per_snapshot)
    scene.initialize(start=0)
    scene.write(StateBatch(0, 4, ACKNOWLEDGED, 1), StateBatch(8, 8, AVAILABLE, 1))

    scene.write(StateBatch(5, 6, ACKNOWLEDGED, 1), start=6)

    left = (StateBatch(6, 6, ACKNOWLEDGED, 1), StateBatch(8, 8, AVAILABLE, 1))
    assert scene.read(0) == ShareState(0, 6, left)
    written = scene.value(-1)
    assert isinstance(written, ShareSnapshotValue | ShareUpdateValue)
    assert written.state_batches[0].first_offset == 6, "nor is it written"


def test_every_snapshot_has_its_number() -> None:
    scene = Scene(updates_per_snapshot=0)
    scene.initialize()
    scene.write(DONE)
    scene.initialize(epoch=1)

    assert [getattr(scene.value(number), "snapshot_epoch", None) for number in range(3)] == [0, 1, 2]


def test_an_update_without_a_leader_epoch_keeps_the_leader() -> None:
    scene = Scene()
    scene.initialize()
    scene.read(4)
    scene.log.append(encode(KEY, ShareUpdateValue(leader_epoch=-1, start_offset=7), 0))
    scene.reload()

    assert scene.shard.summary(KEY) == ShareSummary(0, 4, 7, -1)


def test_the_log_is_needed_from_the_oldest_last_snapshot_on() -> None:
    scene = Scene(updates_per_snapshot=1)
    scene.initialize()
    scene.initialize(KEY._replace(partition=1))
    for offset in range(4):
        scene.write(StateBatch(offset, offset, ACKNOWLEDGED, 1))
    assert scene.shard.needed_from(len(scene.log)) == 1, "the other share partition has no later one"

    scene.delete(KEY._replace(partition=1))

    needed_from = scene.shard.needed_from(len(scene.log))
    assert needed_from == 5
    before = scene.read(0)
    scene.reload(needed_from)
    assert scene.read(0) == before


def test_when_all_state_is_deleted_no_record_of_the_log_is_needed() -> None:
    scene = Scene()
    scene.initialize()
    scene.delete()

    assert scene.shard.needed_from(len(scene.log)) == 2


def test_only_share_partitions_with_an_old_snapshot_get_a_new_one_and_only_once() -> None:
    scene = Scene()
    scene.initialize()
    scene.write(DONE)
    scene.now_ms += 500
    other = KEY._replace(partition=1)
    scene.initialize(other)
    scene.now_ms += 500
    before = scene.read(0)

    assert scene.shard.cold(scene.now_ms, 1000) == [KEY]
    snapshot = scene.shard.snapshot(KEY, scene.ctx)
    assert snapshot is not None
    scene.make(snapshot)

    assert scene.shard.cold(scene.now_ms, 1000) == []
    assert scene.shard.needed_from(len(scene.log)) == 2, "the other one's snapshot is the oldest now"
    scene.reload(2)
    assert scene.read(0) == before


def test_no_snapshots_are_written_while_all_share_partitions_are_idle() -> None:
    scene = Scene()
    scene.initialize()
    scene.now_ms += 1000
    snapshot = scene.shard.snapshot(KEY, scene.ctx)
    assert snapshot is not None
    scene.make(snapshot)
    scene.now_ms += 1000

    assert scene.shard.cold(scene.now_ms, 1000) == []


def test_share_partitions_of_deleted_topics_are_deleted() -> None:
    scene = Scene()
    scene.initialize()
    scene.initialize(KEY._replace(topic_id=OTHER))
    del scene.topics[OTHER]

    scene.make(scene.shard.delete_removed_topics(scene.ctx))

    assert scene.kinds()[2:] == ["forget"]
    assert len(scene.shard) == 1
    assert scene.read(0) == ShareState(0, -1)


def test_an_invalid_record_changes_nothing() -> None:
    scene = Scene()
    scene.initialize()
    assert scene.log[0].key is not None
    with pytest.raises(ProtocolError):
        scene.shard.replay(Record(1, 0, scene.log[0].key, b"\x00\x00\x01", ()), -1)
    scene.shard.replay(Record(2, 0, b"\x00\x63what is this", b"", ()), -1)
    scene.shard.replay(Record(3, 0, None, b"", ()), -1)
    scene.shard.replay(Record(4, 0, encode(KEY, ShareUpdateValue(), 0).key, None, ()), -1)

    assert scene.read(0) == ShareState(0, -1)


_writes = st.tuples(
    st.integers(0, 20),
    st.integers(0, 5),
    st.sampled_from([AVAILABLE, ACKNOWLEDGED]),
    st.integers(1, 3),
    st.integers(-1, 9),
)


@given(st.integers(0, 3), st.lists(_writes, max_size=15))
def test_a_replay_of_the_needed_part_of_the_log_is_the_state_itself(
    updates_per_snapshot: int, writes: list[tuple[int, int, RecordState, int, int]]
) -> None:
    scene = Scene(updates_per_snapshot)
    scene.initialize(start=0)
    start_offset = 0
    for first, length, state, count, start in writes:
        start_offset = max(start_offset, start)
        scene.write(StateBatch(first, first + length, state, count), start=start_offset if start >= 0 else -1)
    before, summary = scene.read(0), scene.shard.summary(KEY)

    scene.reload(scene.shard.needed_from(len(scene.log)))

    assert scene.read(0) == before
    assert scene.shard.summary(KEY) == summary


def scattered(count: int, first: int = 1) -> list[StateBatch]:
    """Every other record was accepted."""
    return [StateBatch(each, each, ACKNOWLEDGED, 1) for each in range(first, first + 2 * count, 2)]


def test_a_change_that_no_record_can_hold_is_refused_and_changes_nothing() -> None:
    scene = Scene()
    scene.initialize(start=0)
    before = scene.read(1)
    scene.payload_bytes_max = 1000
    with refusal(ErrorCode.MESSAGE_TOO_LARGE):
        scene.write(*scattered(100), leader_epoch=1)
    assert scene.read(1) == before
    scene.write(*scattered(10), leader_epoch=1)
    assert scene.read(1).batches == tuple(scattered(10))


def test_updates_are_written_until_a_snapshot_fits_into_a_record() -> None:
    scene = Scene(updates_per_snapshot=2)
    scene.initialize(start=0)
    scene.payload_bytes_max = 1000
    for turn in range(5):
        scene.write(*scattered(20, first=1 + 100 * turn))
    assert scene.kinds()[1:] == ["ShareUpdateValue"] * 5
    assert len(scene.read(0).batches) == 100
    scene.write(start=500)
    scene.write(start=501)
    assert scene.kinds()[-1] == "ShareSnapshotValue"
    assert scene.shard.needed_from(len(scene.log)) == len(scene.log) - 1


def test_the_log_is_kept_for_a_share_partition_whose_snapshot_would_be_too_large() -> None:
    scene = Scene()
    scene.initialize(start=0)
    scene.payload_bytes_max = 1000
    for turn in range(5):
        scene.write(*scattered(20, first=1 + 100 * turn))
    assert scene.shard.snapshot(KEY, scene.ctx) is None
    assert scene.shard.needed_from(len(scene.log)) == 0


def test_acknowledgements_before_a_missing_snapshot_are_dropped() -> None:
    """It may have set the group back: records must not be taken for acknowledged that are to be read again."""
    scene = Scene()
    scene.initialize(start=0)
    scene.write(DONE)
    scene.initialize(epoch=1, start=0)
    later = StateBatch(20, 20, ACKNOWLEDGED, 1)
    scene.write(later, epoch=1)
    del scene.log[2]  # the second snapshot
    scene.reload()
    assert scene.read(0).batches == (later,)

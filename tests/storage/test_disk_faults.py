"""A log keeps all acknowledged records, whatever the disk does."""

import errno

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.storage.errors import LogError, StorageError, StorageFailure
from penstock.storage.files import read_whole
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock_simulation.disk import Keep
from tests.storage.machine import Machine

LAST_OFFSET_DELTA_END = 27
"""Where the fields of a batch header end that say how far it reaches."""

# -- torn and lost writes -------------------------------------------------------------------------------


def test_a_batch_torn_at_any_byte_is_cut_whole_and_the_acknowledged_ones_survive() -> None:
    machine = Machine()
    machine.append("one", "two")
    machine.sync()
    start_bytes = machine.log.size_bytes
    machine.append("torn", "torn as well")
    batch_bytes = machine.log.size_bytes - start_bytes
    for kept_bytes in range(batch_bytes + 1):
        machine = Machine()
        machine.append("one", "two")
        machine.sync()
        machine.append("torn", "torn as well")
        log = machine.crash(torn=kept_bytes)
        is_whole = kept_bytes == batch_bytes
        expected = ["one", "two", "torn", "torn as well"] if is_whole else ["one", "two"]
        assert machine.values() == expected, f"{kept_bytes} bytes kept"
        assert machine.append("next").base_offset == len(expected), f"{kept_bytes} bytes kept"
        assert machine.values() == [*expected, "next"]
        machine.sync()
        machine.crash()
        assert machine.values() == [*expected, "next"], f"{kept_bytes} bytes kept, second crash"
        assert not log.damage


def test_unsynced_batches_are_lost_and_their_offsets_are_reused() -> None:
    machine = Machine()
    machine.append("kept")
    machine.sync()
    machine.append("lost")
    log = machine.crash()
    assert machine.values() == ["kept"]
    assert log.durable_offset == log.log_end_offset == 1
    assert machine.append("again").base_offset == 1


@pytest.mark.parametrize("page_bytes", [512, 4096])
@pytest.mark.parametrize("seed", range(20))
def test_whichever_pages_survive_the_log_is_a_prefix_with_all_synced_records(
    page_bytes: int, seed: int
) -> None:
    machine = Machine(seed, flush_messages=1)
    written = [f"{number}:" + "x" * 700 for number in range(20)]
    for number, value in enumerate(written):
        machine.append(value)
        if number == 9:
            machine.sync()
    log = machine.crash(Keep.PAGES, page_bytes=page_bytes)
    values = machine.values()
    assert values == written[: len(values)], f"seed {seed}"
    assert len(values) >= 10, f"seed {seed}"
    assert log.log_end_offset == len(values)


def test_a_new_segment_whose_name_was_lost_held_only_unacknowledged_records() -> None:
    machine = Machine(segment_records=2)
    for value in ("a", "b"):
        machine.append(value)
    machine.sync()
    machine.append("c")
    assert len(machine.log.segments) == 2
    machine.crash()
    assert machine.values() == ["a", "b"]
    assert machine.append("c2").base_offset == 2


def test_a_sync_after_a_roll_makes_the_name_of_the_new_segment_durable_too() -> None:
    machine = Machine(segment_records=2)
    for value in ("a", "b", "c"):
        machine.append(value)
    machine.sync()
    machine.crash()
    assert machine.values() == ["a", "b", "c"]


def test_several_rolls_between_two_syncs_are_all_covered_by_the_second() -> None:
    machine = Machine(segment_records=1)
    for value in "abcdef":
        machine.append(value)
    machine.sync()
    machine.append("g")
    machine.crash(Keep.PREFIX)
    assert machine.values()[:6] == list("abcdef")


def test_a_segment_without_its_predecessor_is_not_served() -> None:
    machine = Machine(segment_records=2)
    machine.append("a")
    machine.sync()
    machine.append("b")
    machine.append("c")
    third = machine.disk.open(machine.active_path)
    third.sync()
    machine.disk.sync_dir("/data/topic-0")
    machine.crash()
    assert machine.values() == ["a"]
    assert machine.append("b2").base_offset == 1
    machine.append("c2")
    machine.sync()
    machine.crash()
    assert machine.values() == ["a", "b2", "c2"]


def test_records_that_a_kill_left_in_the_page_cache_are_durable_once_the_log_is_reopened() -> None:
    machine = Machine()
    machine.append("in the page cache")
    machine.kill()
    assert machine.values() == ["in the page cache"]
    assert machine.log.durable_offset == 1
    machine.crash()
    assert machine.values() == ["in the page cache"]


def test_zeros_after_the_last_batch_are_cut_after_a_crash() -> None:
    machine = Machine()
    machine.append("one")
    machine.sync()
    path, size_bytes = machine.active_path, machine.log.size_bytes
    file = machine.disk.open(path)
    file.truncate(size_bytes + 5000)
    file.sync()
    machine.crash()
    assert machine.values() == ["one"]
    assert machine.disk.size(path) == size_bytes


# -- a sync that fails ----------------------------------------------------------------------------------


def test_a_failed_sync_acknowledges_nothing_refuses_writes_and_still_serves_durable_records() -> None:
    machine = Machine()
    machine.append("durable")
    machine.sync()
    machine.append("never synced")
    machine.disk.fail("sync", times=1)
    assert not machine.sync()
    log = machine.log
    assert log.durable_offset == log.committed_offset == 1
    assert log.failure is not None
    with pytest.raises(StorageFailure) as raised:
        machine.append("refused")
    assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert machine.values() == ["durable"]


def test_after_a_failed_sync_a_later_one_that_succeeds_acknowledges_nothing() -> None:
    machine = Machine()
    machine.append("dropped by the kernel")
    machine.disk.fail("sync", times=1)
    machine.sync()
    machine.sync()
    assert machine.log.durable_offset == 0
    machine.checkpoint()
    assert machine.log.recovery_point == 0


def test_a_restart_after_a_failed_sync_recovers_all_durable_records() -> None:
    machine = Machine()
    machine.append("durable")
    machine.sync()
    machine.append("dropped by the kernel")
    machine.disk.fail("sync", times=1)
    machine.sync()
    machine.crash()
    assert machine.values() == ["durable"]
    assert machine.append("next").base_offset == 1
    assert machine.sync()


def test_a_restart_on_a_failing_disk_does_not_count_unsynced_records_as_durable() -> None:
    machine = Machine()
    machine.append("in the page cache")
    machine.disk = machine.disk.kill()
    machine.disk.fail("sync")
    with pytest.raises((OSError, LogError)):
        machine.open()


def test_a_directory_that_cannot_be_synced_fails_the_log_like_a_file() -> None:
    machine = Machine(segment_records=1)
    machine.append("a")
    machine.sync()
    machine.append("b")
    machine.disk.fail("sync_dir", times=1)
    assert not machine.sync()
    assert machine.log.durable_offset == 1
    with pytest.raises(StorageFailure):
        machine.append("c")


# -- a full disk ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("writes_in_part", [False, True])
def test_a_full_disk_refuses_writes_serves_reads_and_recovers_when_room_returns(writes_in_part: bool) -> None:
    machine = Machine()
    machine.append("before")
    machine.sync()
    machine.disk.set_capacity(machine.disk.used_bytes + 20, writes_in_part=writes_in_part)
    for _ in range(3):
        with pytest.raises(StorageError) as raised:
            machine.append_idempotent(9, 0, "refused")
        assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert machine.values() == ["before"]
    assert machine.log.log_end_offset == 1
    machine.disk.set_capacity(None)
    assert machine.append_idempotent(9, 0, "accepted").base_offset == 1
    assert machine.append_idempotent(9, 0, "accepted").duplicate
    machine.sync()
    assert machine.values() == ["before", "accepted"]
    machine.crash()
    assert machine.values() == ["before", "accepted"]


def test_retention_makes_room_on_a_disk_too_full_for_a_producer_snapshot() -> None:
    machine = Machine(segment_bytes=1000)
    for number in range(30):
        machine.append_idempotent(9, number, "x" * 300)
    machine.append_idempotent(8, 0, "of another producer")
    machine.sync()
    full_bytes = machine.disk.used_bytes
    machine.disk.set_capacity(full_bytes)
    with pytest.raises(StorageError):
        machine.append_idempotent(9, 30, "x" * 300)
    machine.log.delete_oldest(5, now_ms=machine.now_ms)
    job = LogCheckpoint(machine.log).begin()
    if job is not None:
        job.run()
        LogCheckpoint(machine.log).finish(job)
    assert machine.disk.used_bytes < full_bytes - 3000
    assert machine.append_idempotent(9, 30, "x" * 300).base_offset == 31
    assert machine.append_idempotent(9, 30, "x" * 300).duplicate
    machine.sync()
    start_offset = machine.log.log_start_offset
    machine.crash()
    assert (machine.log.log_start_offset, machine.log.log_end_offset) == (start_offset, 32)
    assert machine.append_idempotent(9, 30, "x" * 300).duplicate
    assert machine.append_idempotent(8, 0, "of another producer").duplicate


@pytest.mark.parametrize("is_truncated", [False, True])
def test_a_producer_continues_after_retention_although_only_an_older_snapshot_has_it(
    is_truncated: bool,
) -> None:
    machine = Machine()
    machine.append_idempotent(9, 0, "in the snapshot")
    machine.checkpoint()
    machine.append_idempotent(9, 1, "in no snapshot")
    machine.sync()
    machine.disk.fail("write", ".snapshot", error=errno.ENOSPC)
    machine.log.delete_oldest(1, now_ms=machine.now_ms)
    machine.checkpoint()
    assert machine.log.chain.segments[0].base_offset == 2
    if is_truncated:
        machine.append("of a leader that lost its epoch")
        machine.log.truncate_to(2, now_ms=machine.now_ms)
    else:
        machine.kill()
    assert machine.append_idempotent(9, 2, "next").base_offset == 2
    assert machine.append_idempotent(9, 2, "next").duplicate


@pytest.mark.parametrize("keep", list(Keep))
def test_a_refused_write_does_not_reappear_after_a_crash(keep: Keep) -> None:
    machine = Machine()
    machine.append("before")
    machine.sync()
    machine.disk.set_capacity(machine.disk.used_bytes + 90, writes_in_part=True)
    with pytest.raises(StorageError):
        machine.append("refused " * 100)
    machine.disk.set_capacity(None)
    machine.append("after")
    machine.sync()
    machine.crash(keep)
    assert machine.values() == ["before", "after"]


@pytest.mark.parametrize("operation", ["create", "write", "truncate"])
@pytest.mark.parametrize("path_part", [".log", ".index", ".timeindex"])
def test_a_log_continues_after_the_disk_was_full_in_the_middle_of_a_roll(
    operation: str, path_part: str
) -> None:
    machine = Machine(segment_records=2, index_interval_bytes=0)
    for value in "ab":
        machine.append(value)
    machine.sync()
    fault = machine.disk.fail(operation, path_part, error=errno.ENOSPC)  # type: ignore[arg-type] # from the list above
    accepted = ["a", "b"]
    for value in "cde":
        try:
            machine.append(value)
        except StorageError:
            assert machine.values() == accepted
        except StorageFailure:
            break
        else:
            accepted.append(value)
    machine.disk.heal(fault)
    if machine.log.failure is None:
        machine.append("z")
        accepted.append("z")
        machine.sync()
        assert machine.values() == accepted
    machine.crash()
    assert machine.values() == accepted[: len(machine.values())]
    assert len(machine.values()) >= machine.log.durable_offset >= 2
    machine.append("last")
    assert machine.records()[-1].offset == machine.log.log_end_offset - 1


def test_an_append_over_several_segments_is_undone_completely_when_the_disk_runs_full() -> None:
    machine = Machine(segment_records=2)
    machine.append("a")
    machine.sync()
    before = machine.log.log_end_offset
    machine.disk.set_capacity(machine.disk.used_bytes + 100)
    with pytest.raises(StorageError):
        machine.append("b" * 300, "c")
    assert machine.log.log_end_offset == before
    machine.disk.set_capacity(None)
    assert machine.append("b").base_offset == before
    machine.sync()
    machine.crash()
    assert machine.values() == ["a", "b"]


def test_an_index_that_cannot_be_written_costs_only_a_rebuild() -> None:
    machine = Machine(index_interval_bytes=0)
    machine.disk.fail("write", ".index", error=errno.ENOSPC)
    machine.disk.fail("write", ".timeindex", error=errno.ENOSPC)
    for number in range(20):
        machine.append(f"v{number}")
    machine.sync()
    machine.checkpoint()
    assert machine.log.durable_offset == 20
    machine.crash()
    assert machine.values(13) == [f"v{number}" for number in range(13, 20)]


# -- reads ----------------------------------------------------------------------------------------------


def test_a_bad_sector_fails_the_reads_that_touch_it_and_no_others() -> None:
    machine = Machine(segment_records=2)
    for value in "abcd":
        machine.append(value)
    machine.sync()
    machine.disk.fail("read", machine.log.segments[0].log_path.rsplit("/", 1)[1])
    with pytest.raises((OSError, LogError)):
        machine.log.read(0, 1 << 20, offset_limit=4)
    assert machine.values(2) == ["c", "d"]
    assert machine.append("e").base_offset == 4
    machine.disk.heal()
    assert machine.values() == list("abcde")


# -- corruption -----------------------------------------------------------------------------------------------


def test_a_flipped_bit_above_the_recovery_point_is_found_and_no_later_record_is_served() -> None:
    machine = Machine()
    for value in ("good", "corrupted", "after"):
        machine.append(value)
    machine.sync()
    batch_bytes = machine.log.size_bytes // 3
    machine.disk.flip_bit(machine.active_path, batch_bytes + 65)
    machine.crash()
    assert machine.values() == ["good"]


def test_a_flipped_bit_below_the_recovery_point_loses_no_later_durable_record() -> None:
    machine = Machine()
    for value in ("good", "corrupted"):
        machine.append(value)
    machine.checkpoint()
    machine.append("after")
    machine.sync()
    machine.disk.flip_bit(machine.active_path, 70)
    machine.crash()
    assert machine.log.log_end_offset == 3
    assert machine.read(2).next_offset == 3


@pytest.mark.parametrize("rolls", [False, True])
@pytest.mark.parametrize("position", [*range(12), *range(23, 27)])  # offset, length, last offset delta
def test_recovery_cuts_nothing_durable_for_a_flipped_bit_below_the_recovery_point(
    position: int, rolls: bool
) -> None:
    """A batch with a corrupted offset may seem to end at the recovery point, while others still follow before it."""
    for bit in range(8):
        machine = Machine(index_interval_bytes=250)
        for value in "abcdefgh":
            machine.append(value)
        machine.checkpoint()
        path, size_bytes = machine.active_path, machine.log.size_bytes
        batch_bytes = size_bytes // 8
        assert machine.log.segments[0].indexes().offsets.position_before(7) == 4 * batch_bytes
        if rolls:
            machine.log.roll(now_ms=machine.now_ms)
            machine.sync()
        machine.disk.flip_bit(path, 5 * batch_bytes + position, bit)
        corrupted = read_whole(machine.disk, path)[:size_bytes]
        machine.crash()
        kept = read_whole(machine.disk, path)[:size_bytes]
        assert (kept, machine.log.log_end_offset) == (corrupted, 8), f"bit {bit}"


@pytest.mark.parametrize("index_interval_bytes", [100, 4096])
@pytest.mark.parametrize("rotten", [6, 7])
def test_a_bit_that_flips_in_a_header_below_the_recovery_point_makes_recovery_cut_nothing(
    rotten: int, index_interval_bytes: int
) -> None:
    """The batch may claim to reach up to the recovery point, say, though sound ones stand between."""
    for bit in range(8 * LAST_OFFSET_DELTA_END):
        machine = Machine(index_interval_bytes=index_interval_bytes)
        for number in range(8):
            machine.append(f"v{number}")
        machine.checkpoint()
        position = machine.log.size_bytes // 8 * rotten
        machine.append("after")
        machine.sync()
        size_bytes = machine.log.size_bytes
        machine.disk.flip_bit(machine.active_path, position + bit // 8, bit % 8)
        machine.kill()
        assert (machine.log.size_bytes, machine.log.log_end_offset) == (size_bytes, 9), f"bit {bit}"


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_damaged_index_never_hides_a_record(suffix: str) -> None:
    for position in range(0, 48, 4):
        machine = Machine(index_interval_bytes=0, segment_records=10)
        for number in range(25):
            machine.append(f"v{number}")
        machine.checkpoint()
        path = machine.log.segments[0].path(suffix)
        machine.disk.flip_bit(path, min(position, machine.disk.size(path) - 1), bit=2)
        machine.crash()
        for offset in range(25):
            first = machine.records(offset)[0]
            assert first.offset == offset, f"byte {position}, offset {offset}"


# -- producers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_a_retry_after_a_crash_is_recognised_when_the_first_try_was_durable(with_checkpoint: bool) -> None:
    machine = Machine(segment_records=3)
    for sequence in range(8):
        machine.append_idempotent(5, sequence, f"v{sequence}")
        if with_checkpoint and sequence == 4:
            machine.checkpoint()
    machine.sync()
    machine.crash()
    retried = machine.append_idempotent(5, 7, "v7")
    assert (retried.duplicate, retried.base_offset) == (True, 7)
    assert machine.append_idempotent(5, 8, "v8").base_offset == 8
    assert machine.values() == [f"v{n}" for n in range(9)]


def test_a_retry_after_a_crash_is_stored_when_the_first_try_was_lost() -> None:
    machine = Machine()
    machine.append_idempotent(5, 0, "a")
    machine.sync()
    machine.append_idempotent(5, 1, "b")
    machine.crash()
    retried = machine.append_idempotent(5, 1, "b")
    assert (retried.duplicate, retried.base_offset) == (False, 1)
    assert machine.values() == ["a", "b"]

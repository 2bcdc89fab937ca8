import errno

import pytest

from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import build_batch
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.compaction.keys import ENTRY_BYTES
from penstock.storage.compaction.rewrite import compact
from penstock.storage.files import read_whole
from penstock.storage.segment.offset_index import OffsetIndex
from penstock.storage.segment.time_index import TimeIndex
from penstock.storage.segment.transaction_index import AbortedTransaction, TransactionIndex
from tests.storage.segments import (
    DIRECTORY,
    all_pairs,
    job_of,
    keyed,
    new_disk,
    pairs_in,
    write_log,
    write_segment,
)

FIRST = "00000000000000000000"


def test_the_newest_record_of_every_key_remains_at_its_offset() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1 b=1|a=2", "c=1|b=2 d=1", "a=3")
    result = compact(disk, job_of(segments, end=7))
    assert pairs_in(disk, f"{FIRST}.log.cleaned") == "3:c=1 4:b=2 5:d=1 6:a=3"
    assert result.end_offset == 7
    assert [c.replaces for c in result.cleaned] == [(0, 3, 6)]
    assert (result.records_read, result.records_kept, result.key_count) == (7, 4, 4)


def test_the_source_segments_are_not_modified() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1", "a=2")
    before = {path: read_whole(disk, path) for path in disk.paths()}
    compact(disk, job_of(segments, end=2))
    assert {path: read_whole(disk, path) for path in before} == before


def test_rewritten_segments_survive_a_power_cut_once_their_names_are_synced() -> None:
    disk = new_disk()
    compact(disk, job_of(write_log(disk, "a=1", "a=2"), end=2))
    disk.sync_dir(DIRECTORY)
    disk = disk.crash()
    assert pairs_in(disk, f"{FIRST}.log.cleaned") == "1:a=2"
    assert disk.exists(f"{DIRECTORY}/{FIRST}.timeindex.cleaned")


def test_segments_are_merged_up_to_the_segment_size() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1", "b=1", "c=1", "a=2")
    result = compact(disk, job_of(segments, end=4, segment_bytes_max=2 * segments[0].size_bytes))
    assert [c.replaces for c in result.cleaned] == [(0, 1), (2, 3)]
    assert all_pairs(disk, ".log.cleaned") == "1:b=1 2:c=1 3:a=2"


def test_an_unchanged_segment_is_not_rewritten() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1", "b=1", "a=2")
    result = compact(disk, job_of(segments, end=3, segment_bytes_max=1))
    assert [c.base_offset for c in result.cleaned] == [0]
    assert [name for name in disk.list(DIRECTORY) if name.endswith(".log.cleaned")] == [
        f"{FIRST}.log.cleaned"
    ]


def test_records_of_the_clean_part_are_superseded_by_the_dirty_part() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1 b=1", "a=2")
    compact(disk, job_of(segments, end=3, first_dirty_offset=2))
    assert pairs_in(disk, f"{FIRST}.log.cleaned") == "1:b=1 2:a=2"


def test_keys_beyond_the_buffer_wait_for_the_next_pass() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1|b=1", "a=2|b=2|c=1|a=3")
    first = compact(disk, job_of(segments, end=6, dedupe_buffer_bytes=2 * ENTRY_BYTES))
    assert first.end_offset == 2
    rest = compact(disk, job_of(segments, end=6, first_dirty_offset=2, dedupe_buffer_bytes=3 * ENTRY_BYTES))
    assert rest.end_offset == 5
    assert pairs_in(disk, f"{FIRST}.log.cleaned") == "2:a=2 3:b=2 4:c=1 5:a=3"


def test_every_pass_cleans_at_least_one_batch() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1 b=1 c=1 d=1|a=2")
    result = compact(disk, job_of(segments, end=5, dedupe_buffer_bytes=1))
    assert result.end_offset == 4


def test_a_segment_that_loses_all_its_records_becomes_empty() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1", "a=2")
    result = compact(disk, job_of(segments, end=2, segment_bytes_max=1))
    assert [(c.base_offset, c.size_bytes) for c in result.cleaned] == [(0, 0)]


def test_the_indexes_find_every_indexed_batch_and_the_greatest_time() -> None:
    disk = new_disk()
    segments = write_log(disk, "|".join(f"k{n}={n}" for n in range(50)), "k0=new")
    compact(disk, job_of(segments, end=51))
    content = read_whole(disk, f"{DIRECTORY}/{FIRST}.log.cleaned")
    positions = {header.last_offset: position for position, header in iter_batches_strict(content)}
    index = OffsetIndex(0, read_whole(disk, f"{DIRECTORY}/{FIRST}.index.cleaned"))
    assert len(index) > 10
    assert all(index.position_before(offset) <= position for offset, position in positions.items())
    assert index.position_before(index.last_offset) == positions[index.last_offset]
    times = TimeIndex(0, read_whole(disk, f"{DIRECTORY}/{FIRST}.timeindex.cleaned"))
    assert times.last_timestamp == 500


def test_an_aborted_transaction_that_ends_here_stays_in_the_transaction_index() -> None:
    from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch

    disk = new_disk()
    data = build_batch(
        keyed("a=1"), base_offset=0, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    marker = build_end_txn_batch(
        EndTxnMarker(is_commit=False, coordinator_epoch=0),
        producer_id=7,
        producer_epoch=0,
        timestamp=500,
        base_offset=1,
    )
    aborted = AbortedTransaction(7, 0, 1, 2)
    segments = (write_segment(disk, 0, data, marker, build_batch(keyed("b=1"), base_offset=2)),)
    job = job_of(segments, end=3)
    compact(disk, type(job)(**{f: getattr(job, f) for f in job.__struct_fields__} | {"aborted": (aborted,)}))
    kept = TransactionIndex(read_whole(disk, f"{DIRECTORY}/{FIRST}.txnindex.cleaned"))
    assert kept.overlapping(0, 10)[0] == [aborted]
    assert pairs_in(disk, f"{FIRST}.log.cleaned").endswith("2:b=1")
    assert "a=1" not in pairs_in(disk, f"{FIRST}.log.cleaned")


@pytest.mark.parametrize("position", [66, 70, 71, 5])
def test_damage_stops_a_rewrite_and_leaves_no_files(position: int) -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1|b=2", "a=2")
    disk.flip_bit(f"{DIRECTORY}/{FIRST}.log", position)
    with pytest.raises(CorruptRecords):
        compact(disk, job_of(segments, end=3))
    assert not [name for name in disk.list(DIRECTORY) if name.endswith(".cleaned")]


def test_a_full_disk_stops_a_rewrite_and_leaves_no_files() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1|b=2", "a=2")
    disk.set_capacity(disk.used_bytes + 10)
    with pytest.raises(OSError) as raised:
        compact(disk, job_of(segments, end=3))
    assert raised.value.errno == errno.ENOSPC
    assert not [name for name in disk.list(DIRECTORY) if name.endswith(".cleaned")]

import os
from pathlib import Path

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_bench import disk
from penstock_bench.syncs import SyncCounter, count_batches, parse_perf


def test_the_sync_loop_leaves_nothing_behind(tmp_path: Path) -> None:
    for grown_to_bytes in (0, 1 << 20):
        path = str(tmp_path / "loop")
        assert disk.sync_loop(path, b"x" * 100, 0.01, grown_to_bytes=grown_to_bytes)
    assert os.listdir(tmp_path) == []


def test_raw_writes_leave_nothing_behind(tmp_path: Path) -> None:
    assert disk.write_with_syncs(str(tmp_path / "raw"), 10_000, 7) > 0
    assert os.listdir(tmp_path) == []


def test_only_the_log_files_of_the_topic_are_found_in_order(tmp_path: Path) -> None:
    for name in (
        "orders-0/1.log",
        "orders-0/0.log",
        "orders-0/0.index",
        "orders-1/0.log",
        "orders-x-0/0.log",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"abc")
    files = disk.segment_files(str(tmp_path), "orders")
    assert [os.path.relpath(f, tmp_path) for f in files] == [
        "orders-0/0.log",
        "orders-0/1.log",
        "orders-1/0.log",
    ]
    assert disk.total_bytes(files) == 9


def test_files_are_read_through_cat_and_through_the_loopback(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    disk.drop_page_cache([str(path)])
    assert disk.cat([str(path)]) > 0
    assert disk.cat_over_loopback([str(path), str(path)]) > 0


def test_batches_are_counted_by_their_headers(tmp_path: Path) -> None:
    batches = [build_batch([NewRecord(value=b"a" * n, timestamp=1)] * n, base_offset=n) for n in range(1, 6)]
    path = tmp_path / "0.log"
    path.write_bytes(b"".join(batches) + bytes(100))
    assert count_batches([str(path), str(path)]) == (10, 2 * sum(len(b) for b in batches))


def test_counts_of_perf_are_summed_without_those_it_could_not_count() -> None:
    output = (
        "12,,syscalls:sys_enter_fdatasync,5,100.00,,\n<not counted>,,syscalls:sys_enter_fsync,0,100.00,,\n"
    )
    assert parse_perf(output) == 12
    assert parse_perf("perf: no permission\n") == 0


def test_without_a_count_the_batches_are_the_estimate() -> None:
    # This process does no sync while it is watched, whether or not there is a perf to watch it.
    assert SyncCounter(os.getpid()).stop(17).count == 17

import errno
import threading
from collections.abc import Callable
from random import Random

import pytest

from penstock.runtime.clock import ManualClock
from penstock.storage.files import File, FileSystem, read_whole, write_atomically
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut

PATH = "/data/file"


def new_disk(
    seed: int = 1, *, capacity_bytes: int | None = None, clock: ManualClock | None = None
) -> FaultyDisk:
    disk = FaultyDisk(Random(seed), capacity_bytes=capacity_bytes, clock=clock)
    disk.make_dirs("/data")
    disk.sync_dir("/")
    return disk


def durable_file(disk: FaultyDisk, content: bytes, path: str = PATH) -> File:
    file = disk.open(path, create=True)
    file.write([content], 0)
    file.sync()
    disk.sync_dir("/data")
    return file


def test_the_disk_is_a_file_system() -> None:
    disk: FileSystem = new_disk()
    write_atomically(disk, PATH, b"abc")
    assert read_whole(disk, PATH) == b"abc"
    assert disk.list("/data") == ["file"]
    assert disk.size(PATH) == 3


def test_synced_bytes_survive_and_unsynced_ones_are_lost() -> None:
    disk = new_disk()
    durable_file(disk, b"kept").write([b" lost"], 4)
    assert read_whole(disk, PATH) == b"kept lost"
    assert read_whole(disk.crash(), PATH) == b"kept"


def test_an_overwrite_that_was_not_synced_shows_the_old_bytes_again() -> None:
    disk = new_disk()
    durable_file(disk, b"old").write([b"new"], 0)
    assert read_whole(disk.crash(), PATH) == b"old"


def test_a_truncation_that_was_not_synced_is_undone() -> None:
    disk = new_disk()
    durable_file(disk, b"whole").truncate(1)
    assert disk.size(PATH) == 1
    assert read_whole(disk.crash(), PATH) == b"whole"


def test_a_synced_file_without_a_synced_directory_is_lost() -> None:
    disk = new_disk()
    file = disk.open(PATH, create=True)
    file.write([b"data"], 0)
    file.sync()
    assert not disk.crash().exists(PATH)


def test_a_synced_directory_does_not_sync_the_bytes_of_its_files() -> None:
    disk = new_disk()
    disk.open(PATH, create=True).write([b"data"], 0)
    disk.sync_dir("/data")
    assert read_whole(disk.crash(), PATH) == b""


def test_a_removal_that_was_not_synced_brings_the_file_back() -> None:
    disk = new_disk()
    durable_file(disk, b"back").close()
    disk.remove(PATH)
    assert not disk.exists(PATH)
    assert read_whole(disk.crash(), PATH) == b"back"


def test_a_rename_that_was_not_synced_is_undone_completely() -> None:
    disk = new_disk()
    durable_file(disk, b"one")
    durable_file(disk, b"two", "/data/other")
    disk.rename("/data/other", PATH)
    assert read_whole(disk, PATH) == b"two"
    disk = disk.crash()
    assert read_whole(disk, PATH) == b"one"
    assert read_whole(disk, "/data/other") == b"two"


def test_a_rename_between_directories_never_leaves_both_names_or_none() -> None:
    for seed in range(30):
        disk = new_disk(seed)
        disk.make_dirs("/data/sub")
        durable_file(disk, b"x")
        disk.rename(PATH, "/data/sub/file")
        disk = disk.crash(Keep.PREFIX)
        assert len(disk.paths()) == 1, f"seed {seed}"


def test_a_directory_without_a_synced_parent_is_lost_with_its_files() -> None:
    disk = new_disk()
    disk.make_dirs("/data/topic")
    disk.open("/data/topic/file", create=True).sync()
    disk.sync_dir("/data/topic")
    assert not disk.crash().exists("/data/topic")


def test_directory_changes_survive_as_a_prefix() -> None:
    counts = set()
    for seed in range(50):
        disk = new_disk(seed)
        for name in "abc":
            disk.open(f"/data/{name}", create=True)
        names = disk.crash(Keep.PREFIX).list("/data")
        assert names == ["a", "b", "c"][: len(names)], f"seed {seed}"
        counts.add(len(names))
    assert counts == {0, 1, 2, 3}


@pytest.mark.parametrize("kept_bytes", range(9))
def test_a_torn_write_keeps_exactly_the_chosen_bytes(kept_bytes: int) -> None:
    disk = new_disk()
    file = durable_file(disk, b"ab")
    file.write([b"cdef"], 2)
    file.write([b"ghij"], 6)
    assert disk.unsynced_bytes(PATH) == 8
    assert read_whole(disk.crash(torn={PATH: kept_bytes}), PATH) == b"abcdefghij"[: 2 + kept_bytes]


@pytest.mark.parametrize("page_bytes", [512, 4096])
def test_pages_survive_in_any_combination_with_zeros_between(page_bytes: int) -> None:
    outcomes = set()
    for seed in range(60):
        disk = new_disk(seed)
        durable_file(disk, b"").write([b"x" * (3 * page_bytes)], 0)
        content = read_whole(disk.crash(Keep.PAGES, page_bytes=page_bytes), PATH)
        pages = [content[i : i + page_bytes] for i in range(0, len(content), page_bytes)]
        assert all(page in (b"x" * page_bytes, bytes(page_bytes)) for page in pages), f"seed {seed}"
        outcomes.add(bytes(page[0] for page in pages))
    assert outcomes == {b"", b"x", b"\0x", b"xx", b"\0\0x", b"x\0x", b"\0xx", b"xxx"}


def test_everything_unsynced_may_survive_too() -> None:
    disk = new_disk()
    disk.open(PATH, create=True).write([b"lucky"], 0)
    assert read_whole(disk.crash(Keep.EVERYTHING), PATH) == b"lucky"


def test_a_killed_process_leaves_the_page_cache_still_unsynced() -> None:
    disk = new_disk()
    durable_file(disk, b"a").write([b"b"], 1)
    disk = disk.kill()
    assert read_whole(disk, PATH) == b"ab"
    assert read_whole(disk.crash(), PATH) == b"a"


def test_the_same_seed_leaves_the_same_disk() -> None:
    def remains(seed: int) -> bytes:
        disk = new_disk(seed)
        durable_file(disk, b"").write([bytes(range(256)) * 100], 0)
        return read_whole(disk.crash(Keep.PAGES, page_bytes=512), PATH)

    assert remains(5) == remains(5)
    assert len({remains(seed) for seed in range(10)}) > 1


def test_a_failed_sync_marks_the_pages_clean_and_the_next_sync_does_not_write_them() -> None:
    disk = new_disk()
    file = durable_file(disk, b"safe")
    file.write([b" gone"], 4)
    disk.fail("sync", times=1)
    with pytest.raises(OSError) as raised:
        file.sync()
    assert raised.value.errno == errno.EIO
    file.sync()
    assert read_whole(disk, PATH) == b"safe gone"
    assert read_whole(disk.crash(), PATH) == b"safe"


def test_a_fault_lasts_until_it_is_healed_and_hits_only_matching_paths() -> None:
    disk = new_disk()
    bad, good = durable_file(disk, b"", "/data/bad.log"), durable_file(disk, b"", "/data/good.log")
    fault = disk.fail("sync", "bad")
    for _ in range(3):
        with pytest.raises(OSError):
            bad.sync()
    good.sync()
    disk.heal(fault)
    bad.sync()


def test_a_sync_covers_only_writes_from_before_it_began() -> None:
    disk = new_disk()
    file = durable_file(disk, b"")
    file.write([b"before"], 0)
    disk.before_sync(lambda path: file.write([b" during"], 6))
    file.sync()
    assert read_whole(disk.crash(), PATH) == b"before"


def test_a_slow_sync_does_not_block_writes_of_another_thread() -> None:
    disk = new_disk()
    file = durable_file(disk, b"")
    syncing, go_on = threading.Event(), threading.Event()

    def wait(path: str) -> None:
        syncing.set()
        assert go_on.wait(10)

    disk.before_sync(wait)
    thread = threading.Thread(target=file.sync)
    thread.start()
    assert syncing.wait(10)
    file.write([b"meanwhile"], 0)
    go_on.set()
    thread.join(10)
    assert disk.unsynced_bytes(PATH) == 9


def test_a_read_error_hits_its_byte_range_only() -> None:
    disk = new_disk()
    file = durable_file(disk, b"0123456789")
    disk.fail("read", begin=4, end=6)
    assert file.read(4, 0) == b"0123"
    assert file.read(4, 6) == b"6789"
    with pytest.raises(OSError):
        file.read(10, 0)


def test_a_flipped_bit_survives_a_crash() -> None:
    disk = new_disk()
    durable_file(disk, b"\x00\x00")
    disk.flip_bit(PATH, 1, bit=3)
    assert read_whole(disk, PATH) == b"\x00\x08"
    assert read_whole(disk.crash(), PATH) == b"\x00\x08"


def test_a_full_disk_refuses_growth_but_accepts_overwrites() -> None:
    disk = new_disk(capacity_bytes=8)
    file = durable_file(disk, b"12345678")
    with pytest.raises(OSError) as raised:
        file.write([b"9"], 8)
    assert raised.value.errno == errno.ENOSPC
    file.write([b"x"], 0)
    assert read_whole(disk, PATH) == b"x2345678"
    disk.set_capacity(9)
    file.write([b"9"], 8)
    assert disk.used_bytes == 9


def test_a_full_disk_may_leave_the_first_part_of_a_write() -> None:
    disk = new_disk()
    disk.set_capacity(5, writes_in_part=True)
    file = durable_file(disk, b"123")
    with pytest.raises(OSError):
        file.write([b"4567"], 3)
    assert read_whole(disk, PATH) == b"12345"


def test_room_is_freed_with_the_last_name_and_the_last_handle() -> None:
    disk = new_disk()
    file = durable_file(disk, b"12345678")
    disk.remove(PATH)
    assert disk.used_bytes == 8
    file.close()
    assert disk.used_bytes == 0
    durable_file(disk, b"1234").close()
    durable_file(disk, b"56", "/data/other").close()
    disk.rename("/data/other", PATH)
    assert disk.used_bytes == 2


def test_used_bytes_are_counted_again_after_a_crash() -> None:
    disk = new_disk()
    durable_file(disk, b"1234").write([b"5678"], 4)
    disk.remove(PATH)
    assert disk.crash().used_bytes == 4


def test_the_power_can_be_cut_before_any_operation() -> None:
    def work(disk: FaultyDisk) -> None:
        write_atomically(disk, PATH, b"new")

    baseline = new_disk()
    work(baseline)
    operations = baseline.operations[2:]
    assert [name for name, _ in operations] == ["create", "truncate", "write", "sync", "rename", "sync_dir"]
    for count in range(len(operations)):
        disk = new_disk()
        disk.cut_power_at(count)
        with pytest.raises(PowerCut):
            work(disk)
        with pytest.raises(PowerCut):
            disk.exists(PATH)
        assert not disk.crash().exists(PATH)


def test_operations_on_the_disk_of_before_a_crash_raise_a_power_cut() -> None:
    disk = new_disk()
    file = durable_file(disk, b"a")
    after = disk.crash()
    for use in (lambda: file.write([b"b"], 0), file.sync, file.size, lambda: disk.list("/")):
        with pytest.raises(PowerCut):
            use()
    file.close()
    assert read_whole(after, PATH) == b"a"
    assert after.used_bytes == 1


def test_a_lock_is_exclusive_and_freed_by_a_crash() -> None:
    disk = new_disk()
    with disk.lock("/data/.lock"):
        with pytest.raises(BlockingIOError), disk.lock("/data/.lock"):
            pass
        revived = disk.kill()
        with revived.lock("/data/.lock"):
            pass


def test_a_cold_disk_has_nothing_in_memory() -> None:
    disk = new_disk()
    file = durable_file(disk, b"abc")
    assert file.read_cached(3, 0) == b"abc"
    disk.set_cold(True)
    assert file.read_cached(3, 0) is None
    assert file.read(3, 0) == b"abc"


def test_errors_are_those_of_the_kernel() -> None:
    disk = new_disk()
    durable_file(disk, b"abc").close()
    disk.make_dirs("/data/dir/sub")
    cases: list[tuple[int, Callable[[], object]]] = [
        (errno.ENOENT, lambda: disk.open("/data/none")),
        (errno.ENOENT, lambda: disk.open("/none/file", create=True)),
        (errno.EISDIR, lambda: disk.open("/data/dir")),
        (errno.EEXIST, lambda: disk.make_dirs(PATH)),
        (errno.ENOENT, lambda: disk.remove("/data/none")),
        (errno.EISDIR, lambda: disk.remove("/data/dir")),
        (errno.ENOENT, lambda: disk.rename("/data/none", PATH)),
        (errno.EISDIR, lambda: disk.rename(PATH, "/data/dir")),
        (errno.ENOTDIR, lambda: disk.rename("/data/dir", PATH)),
        (errno.ENOTDIR, lambda: disk.list(PATH)),
        (errno.EBADF, lambda: disk.open(PATH, writable=False).write([b""], 0)),
    ]
    for number, use in cases:
        with pytest.raises(OSError) as raised:
            use()
        assert raised.value.errno == number


def test_removing_a_tree_frees_its_room() -> None:
    disk = new_disk()
    disk.make_dirs("/data/topic/sub")
    durable_file(disk, b"1", "/data/topic/a").close()
    durable_file(disk, b"2", "/data/topic/sub/b").close()
    disk.remove_tree("/data/topic")
    assert disk.list("/data") == []
    assert disk.used_bytes == 0


def test_modification_times_follow_the_clock() -> None:
    clock = ManualClock(1000)
    disk = new_disk(clock=clock)
    file = durable_file(disk, b"a")
    clock.advance(500)
    assert disk.modified_ms(PATH) == 1000
    file.write([b"b"], 0)
    assert disk.modified_ms(PATH) == 1500


def test_a_file_grown_by_truncation_takes_room_only_when_it_is_written() -> None:
    disk = new_disk(capacity_bytes=4)
    file = durable_file(disk, b"ab")
    file.truncate(100)
    assert file.size() == 100
    assert disk.used_bytes == 2
    file.write([b"cd"], 2)
    with pytest.raises(OSError):
        file.write([b"e"], 4)


def test_the_free_space_is_reported() -> None:
    disk = FaultyDisk(Random(1), capacity_bytes=1000)
    disk.make_dirs("/data")
    disk.open("/data/a", create=True).write([b"x" * 300], 0)
    assert disk.usage("/data") == (1000, 700)
    disk.set_capacity(100)
    assert disk.usage("/data") == (100, 0)
    disk.fail("usage", error=errno.EIO)
    with pytest.raises(OSError, match="/data"):
        disk.usage("/data")


@pytest.mark.parametrize("cut_at", range(5))
def test_a_sync_of_everything_makes_files_and_names_durable_unless_the_power_fails_in_it(cut_at: int) -> None:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    for name in "ab":
        file = disk.open(f"/d/{name}", create=True)
        file.write([b"x"], 0)
    disk.cut_power_at(cut_at)
    if cut_at == 4:  # the beginning, two files, the names
        disk.sync_all("/d")
        disk = disk.crash()
        assert [read_whole(disk, path) for path in disk.paths()] == [b"x", b"x"]
    else:
        with pytest.raises(PowerCut):
            disk.sync_all("/d")
        assert disk.crash().paths() == []


def failed_sync_of_all() -> tuple[FaultyDisk, File]:
    disk = new_disk()
    file = durable_file(disk, b"kept")
    file.write([b" lost"], 4)
    disk.fail("sync", PATH, times=1)
    with pytest.raises(OSError, match=PATH):
        disk.sync_all("/data")
    return disk, file


def test_a_failed_sync_of_all_files_is_reported_once_to_a_handle_that_was_open() -> None:
    disk, file = failed_sync_of_all()
    with pytest.raises(OSError, match=PATH):
        file.sync()
    file.sync()
    assert read_whole(disk.crash(), PATH) == b"kept"  # the pages count as clean


def test_the_error_of_a_failed_sync_of_all_files_is_lost_with_the_handle() -> None:
    disk, file = failed_sync_of_all()
    file.close()
    disk.open(PATH).sync()
    assert read_whole(disk.crash(), PATH) == b"kept"


def test_a_failed_sync_is_reported_to_each_handle_that_was_open() -> None:
    disk = new_disk()
    first, second = durable_file(disk, b"kept"), disk.open(PATH)
    disk.fail("sync", PATH, times=1)
    with pytest.raises(OSError, match=PATH):
        first.sync()
    first.sync()
    with pytest.raises(OSError, match=PATH):
        second.sync()
    second.sync()

import errno
from random import Random

import pytest

from penstock.storage.file_cache import FileCache
from penstock_simulation.disk import FaultyDisk


@pytest.fixture
def cache() -> FileCache:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    return FileCache(disk, open_files_max=2)


def test_a_file_is_opened_once(cache: FileCache) -> None:
    file = cache.file("/d/a", create=True)
    assert cache.file("/d/a") is file


def test_the_least_recently_used_file_is_closed_when_there_are_too_many(cache: FileCache) -> None:
    first = cache.file("/d/a", create=True)
    cache.file("/d/b", create=True)
    cache.file("/d/a")
    second = cache.file("/d/b")
    cache.file("/d/c", create=True)
    assert len(cache) == 2
    assert cache.file("/d/b") is second
    with pytest.raises(OSError):
        first.size()


def test_a_file_that_was_used_since_it_was_opened_is_spared_once(cache: FileCache) -> None:
    kept = cache.handle("/d/a", create=True)
    cache.file("/d/b", create=True)
    for handle in (kept, cache.handle("/d/b")):
        handle.is_recent = False
    kept.is_recent = True
    cache.file("/d/c", create=True)
    assert not kept.is_forgotten
    cache.file("/d/d", create=True)
    assert kept.is_forgotten


def test_a_pinned_file_is_never_closed_by_others(cache: FileCache) -> None:
    cache.file("/d/a", create=True)
    handle = cache.pin("/d/a")
    for name in "bcd":
        cache.file(f"/d/{name}", create=True)
    assert handle.file.size() == 0
    cache.unpin(handle)


def test_a_forgotten_file_stays_open_while_it_is_pinned(cache: FileCache) -> None:
    cache.file("/d/a", create=True)
    handle = cache.pin("/d/a")
    cache.forget("/d/a")
    assert handle.file.size() == 0
    cache.unpin(handle)
    with pytest.raises(OSError):
        handle.file.size()


def test_the_cache_shrinks_when_the_process_may_open_no_more_files() -> None:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    cache = FileCache(disk, open_files_max=100)
    for number in range(8):
        cache.file(f"/d/{number}", create=True)
    pinned = cache.pin("/d/0")
    disk.fail("create", "/d/new", error=errno.EMFILE, times=1)
    cache.file("/d/new", create=True)
    assert len(cache) == 7, (
        "one was closed, and another for the new one: so many were open when it was refused"
    )
    assert pinned.file.size() == 0
    for number in range(8):
        cache.file(f"/d/{number}")
    assert len(cache) == 7


def test_without_a_file_to_close_the_lack_of_descriptors_is_raised() -> None:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    disk.fail("create", "/d", error=errno.EMFILE)
    with pytest.raises(OSError, match="Too many open files"):
        FileCache(disk).file("/d/a", create=True)


def test_files_pinned_beyond_the_limit_are_closed_when_they_are_unpinned(
    cache: FileCache,
) -> None:
    handles = []
    for name in "abcde":
        cache.file(f"/d/{name}", create=True)
        handles.append(cache.pin(f"/d/{name}"))
    assert len(cache) == 5
    for handle in handles:
        cache.unpin(handle)
    cache.file("/d/f", create=True)
    assert len(cache) == 2


def test_when_one_of_several_cannot_be_pinned_none_is(cache: FileCache) -> None:
    cache.file("/d/a", create=True)
    with pytest.raises(FileNotFoundError):
        cache.pin_all(["/d/a", "/d/b"])
    assert cache.pin("/d/a").pin_count == 1


def test_closing_closes_everything(cache: FileCache) -> None:
    file = cache.file("/d/a", create=True)
    cache.close()
    assert len(cache) == 0
    with pytest.raises(OSError):
        file.size()

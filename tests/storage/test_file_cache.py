from random import Random

import pytest

from penstock.storage.file_cache import FileCache
from penstock.testing.disk import FaultyDisk


@pytest.fixture
def cache() -> FileCache:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    return FileCache(disk, open_files_max=2)


def test_a_file_is_opened_once(cache: FileCache) -> None:
    file = cache.file("/d/a", create=True)
    assert cache.file("/d/a") is file


def test_the_file_used_longest_ago_is_closed_when_there_are_too_many(cache: FileCache) -> None:
    first = cache.file("/d/a", create=True)
    cache.file("/d/b", create=True)
    cache.file("/d/a")
    second = cache.file("/d/b")
    cache.file("/d/c", create=True)
    assert len(cache) == 2
    assert cache.file("/d/b") is second
    with pytest.raises(OSError):
        first.size()


def test_a_pinned_file_is_never_closed_by_others(cache: FileCache) -> None:
    cache.file("/d/a", create=True)
    handle = cache.pin("/d/a")
    for name in "bcd":
        cache.file(f"/d/{name}", create=True)
    assert handle.file.size() == 0
    cache.unpin(handle)


def test_a_forgotten_file_stays_open_for_whom_it_is_pinned(cache: FileCache) -> None:
    cache.file("/d/a", create=True)
    handle = cache.pin("/d/a")
    cache.forget("/d/a")
    assert handle.file.size() == 0
    cache.unpin(handle)
    with pytest.raises(OSError):
        handle.file.size()


def test_closing_closes_everything(cache: FileCache) -> None:
    file = cache.file("/d/a", create=True)
    cache.close()
    assert len(cache) == 0
    with pytest.raises(OSError):
        file.size()

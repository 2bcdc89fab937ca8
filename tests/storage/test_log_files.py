import threading
from collections.abc import Callable
from random import Random

import pytest

from penstock.storage.errors import LogClosed
from penstock.storage.file_cache import FileCache
from penstock.storage.files import File
from penstock.storage.log_files import LogFiles
from penstock_simulation.disk import FaultyDisk

CLOSED = LogClosed("it was closed")


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/d")
    disk.open("/d/a", create=True).write([b"bytes"], 0)
    return disk


@pytest.mark.parametrize(
    "use",
    [
        lambda files: files.open("/d/a"),
        lambda files: files.exists("/d/a"),
        lambda files: files.list("/d"),
        lambda files: files.size("/d/a"),
        lambda files: files.modified_ms("/d/a"),
        lambda files: files.make_dirs("/d"),
        lambda files: files.rename("/d/a", "/d/b"),
        lambda files: files.remove("/d/a"),
        lambda files: files.remove_tree("/d"),
    ],
)
def test_a_closed_log_uses_no_path(disk: FaultyDisk, use: Callable[[LogFiles], object]) -> None:
    files = LogFiles(disk)
    files.close(CLOSED)
    with pytest.raises(LogClosed, match="it was closed"):
        use(files)
    assert disk.list("/d") == ["a"]


def test_a_closed_log_neither_gets_nor_closes_the_open_files_of_others(disk: FaultyDisk) -> None:
    cache = FileCache(disk)
    ended, other = cache.for_log(), cache.for_log()
    pinned = ended.pin("/d/a")
    ended.end(CLOSED)
    assert other.file("/d/a") is pinned.file
    with pytest.raises(LogClosed):
        ended.file("/d/a")
    with pytest.raises(LogClosed):
        ended.pin_all(["/d/a"])
    ended.forget("/d/a")
    ended.unpin(pinned)
    assert other.file("/d/a").read(5, 0) == b"bytes"


class SlowDisk(FaultyDisk):
    """Opening a file blocks until the test releases it."""

    def __init__(self) -> None:
        super().__init__(Random(1))
        self.make_dirs("/d")
        self.is_opening, self.may_open = threading.Event(), threading.Event()

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        self.is_opening.set()
        assert self.may_open.wait(60)
        return super().open(path, create=create, writable=writable)


def test_closing_waits_for_a_thread_that_is_using_a_path() -> None:
    """The thread has already checked: the directory must not be renamed before the use has ended."""
    disk = SlowDisk()
    files = LogFiles(disk)
    opening = threading.Thread(target=lambda: files.open("/d/a", create=True))
    opening.start()
    assert disk.is_opening.wait(60)
    seen: list[list[str]] = []

    def close() -> None:
        files.close(CLOSED)
        seen.append(disk.list("/d"))

    closing = threading.Thread(target=close)
    closing.start()
    disk.may_open.set()
    opening.join()
    closing.join()
    assert seen == [["a"]]

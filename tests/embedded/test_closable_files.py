import errno
import os
from pathlib import Path

import pytest

from penstock.embedded.closable_files import ClosableFiles
from penstock_simulation.disk import PowerCut


def test_files_and_locks_of_a_dead_node_are_closed_and_free_for_the_next(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    files = ClosableFiles()
    files.open(f"{tmp_path}/log", create=True).write([b"one"], 0)
    closed = files.open(f"{tmp_path}/other", create=True)
    closed.close()
    held = files.lock(f"{tmp_path}/lock")
    held.__enter__()
    with pytest.raises(BlockingIOError), ClosableFiles().lock(f"{tmp_path}/lock"):
        pass
    files.close_all()
    assert set(os.listdir("/proc/self/fd")) <= before
    with ClosableFiles().lock(f"{tmp_path}/lock"):
        held.__exit__(None, None, None)  # the old holder does not release the new holder's lock


def test_nothing_is_written_after_the_power_cut(tmp_path: Path) -> None:
    files = ClosableFiles()
    file = files.open(f"{tmp_path}/log", create=True)
    file.write([b"one"], 0)
    files.is_cut = True
    changes = (
        lambda: file.write([b"two"], 3),
        lambda: file.truncate(0),
        file.sync,
        lambda: files.remove(f"{tmp_path}/log"),
        lambda: files.rename(f"{tmp_path}/log", f"{tmp_path}/renamed"),
        lambda: files.open(f"{tmp_path}/new", create=True),
    )
    for change in changes:
        with pytest.raises(PowerCut):
            change()
    assert file.descriptor is None  # its syncs are not left to the kernel
    files.close_all()
    assert (tmp_path / "log").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["log"]


def test_a_failed_disk_works_again_when_it_is_repaired(tmp_path: Path) -> None:
    files = ClosableFiles()
    file = files.open(f"{tmp_path}/log", create=True)
    files.error = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    files.error = 0
    file.write([b"one"], 0)
    file.sync()
    assert file.read(10, 0) == b"one"
    assert file.descriptor is not None
    files.close_all()
